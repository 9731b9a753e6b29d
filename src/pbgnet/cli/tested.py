"""How a model did on a test set, kept beside it: shown next to its bounds, and no part of the proof."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pbgnet.cli.folder import TableReading, features, load_record, reads_text
from pbgnet.cli.tables import label_column, read_table
from pbgnet.exceptions import DomainError, LabelError
from pbgnet.records import Count, PositiveCount, Record

if TYPE_CHECKING:
    from pbgnet.certificates import CertifiedModel

TEST_SET, TEST_SCHEMA = "test.json", "pbgnet-test"


@dataclass(frozen=True)
class Tested(Record):
    """A count of errors on rows that had no part in anything."""

    n_rows: PositiveCount
    n_errors: Count
    model: str  # fingerprint of the weights that answered

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_errors > self.n_rows:
            raise DomainError(f"n_errors must be at most n_rows, got {self.n_errors} of {self.n_rows}.")

    @property
    def counts(self) -> tuple[int, int]:
        """Number of errors, and of rows."""
        return self.n_errors, self.n_rows

    def payload(self) -> dict[str, int]:
        """Return the counts for machines."""
        return {"rows": self.n_rows, "errors": self.n_errors}


def measure_test_set(model: "CertifiedModel", data: Path, reading: TableReading) -> Tested:
    """Count the errors of a model on the rows of a table, read as its own table was."""
    import warnings

    from pbgnet.certificates import label_values
    from pbgnet.exceptions import PBGNetWarning

    frame = read_table(data, reading.missing, as_text=reads_text(model))
    assert reading.target is not None
    if reading.target not in frame.columns:
        raise LabelError(f"The test set {data} lacks the column of the labels, {reading.target!r}.")
    truth = label_values(label_column(frame, reading.target, data))
    if unknown := [label for label in dict.fromkeys(truth.tolist()) if label not in model.classes]:
        raise LabelError(f"The test set {data} holds the unknown label {unknown[0]!r:.60}.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PBGNetWarning)
        answers = model.predict(features(frame, model, reading))
    wrong = sum(a != b for a, b in zip(answers.tolist(), truth.tolist(), strict=True))
    return Tested(truth.size, wrong, model.certificate.network.posterior_weights)


def load_test_set(folder: Path, model: "CertifiedModel") -> Tested | None:
    """Return what was kept, or None if there is nothing or it is of another model."""
    found = load_record(Tested, folder, TEST_SET, TEST_SCHEMA, "Remove it.")
    same = found is not None and found.model == model.certificate.network.posterior_weights
    return found if same else None
