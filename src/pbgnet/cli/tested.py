"""How a model did on a test set, kept beside it: shown next to its bounds, and no part of the proof."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pbgnet.cli.folder import TableReading, features, reads_text, standing
from pbgnet.cli.tables import label_column, read_table
from pbgnet.exceptions import DamagedFileError, LabelError, PBGNetError

if TYPE_CHECKING:
    from pbgnet.certificates import CertifiedModel

__all__ = ["Tested", "load_test_set", "measure_test_set", "save_test_set"]

FILE = "test.json"
SCHEMA, SCHEMA_VERSION = "pbgnet-test", 1


@dataclass(frozen=True)
class Tested:
    """A count of errors on rows that had no part in anything.

    Attributes
    ----------
    n_rows, n_errors : int
    model : str
        Fingerprint of the weights that answered.
    """

    n_rows: int
    n_errors: int
    model: str

    @property
    def error_rate(self) -> float:
        """Share of errors."""
        return self.n_errors / self.n_rows


def measure_test_set(model: "CertifiedModel", data: Path, reading: TableReading) -> Tested:
    """Count the errors of a model on the rows of a table, read as its own table was."""
    import warnings

    import numpy as np

    from pbgnet.certificates.fingerprints import label_values
    from pbgnet.exceptions import PBGNetWarning

    frame = read_table(data, reading.missing, as_text=reads_text(model))
    assert reading.target is not None
    if reading.target not in frame.columns:
        raise LabelError(f"The test set {data} lacks the column of the labels, {reading.target!r}.")
    truth = label_values(label_column(frame, reading.target, data))
    if truth.size == 0:
        raise LabelError(f"The test set {data} has no rows.")
    if unknown := [label for label in dict.fromkeys(truth.tolist()) if label not in model.classes]:
        raise LabelError(f"The test set {data} holds the unknown label {unknown[0]!r:.60}.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PBGNetWarning)
        answers = model.predict(features(frame, model, reading))
    wrong = sum(a != b for a, b in zip(answers.tolist(), truth.tolist(), strict=True))
    return Tested(int(np.size(truth)), wrong, str(model.certificate.fingerprints.posterior))


def save_test_set(folder: Path, measured: Tested) -> None:
    """Keep it in the folder of the model."""
    from pbgnet.files import write_whole

    content = {"schema": SCHEMA, "version": SCHEMA_VERSION, **asdict(measured)}
    write_whole(folder / FILE, json.dumps(content, indent=2) + "\n")


def load_test_set(folder: Path, model: "CertifiedModel") -> Tested | None:
    """Return what was kept, or None if there is nothing or it is of another model."""
    from pbgnet.certificates.records import parse_json, read_keys

    path = standing(folder) / FILE
    if not path.is_file():
        return None
    try:
        content = read_keys(parse_json(path.read_text(encoding="utf-8")), [*_HEAD, *_KEYS])
        counts = [content[key] for key in ("n_rows", "n_errors")]
        known = (content["schema"], content["version"]) == (SCHEMA, SCHEMA_VERSION)
        if (
            not known
            or not all(type(count) is int for count in counts)
            or not 0 <= counts[1] <= counts[0] > 0
        ):
            raise DamagedFileError("it holds no count of errors.")
    except (PBGNetError, UnicodeDecodeError) as error:
        raise DamagedFileError(f"{path} is damaged: {error} Remove it.") from error
    measured = Tested(*(content[key] for key in _KEYS))
    return measured if measured.model == model.certificate.fingerprints.posterior else None


_HEAD, _KEYS = ("schema", "version"), ("n_rows", "n_errors", "model")
