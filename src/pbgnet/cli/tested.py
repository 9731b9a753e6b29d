"""How a model did on a test set, kept beside it: shown next to its bounds, and no part of the proof."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbgnet.cli.folder import TableReading, features, load_record, reads_text
from pbgnet.cli.label_columns import label_matrix
from pbgnet.cli.tables import label_column
from pbgnet.exceptions import DomainError, LabelError
from pbgnet.records import Count, PositiveCount, Record

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from pbgnet.certificates import CertifiedModel, CertifiedPredictions
    from pbgnet.report import ErrorCount

TEST_SET, TEST_SCHEMA = "test.json", "pbgnet-test"


@dataclass(frozen=True)
class Tested(Record):
    """A count of errors on rows that should have had no part in anything."""

    n_rows: PositiveCount
    n_errors: Count
    n_seen: Count  # rows whose features are those of a row of the training table
    model: str  # fingerprint of the weights that answered, or of answers

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("n_errors", "n_seen"):
            if getattr(self, name) > self.n_rows:
                raise DomainError(
                    f"{name} must be at most n_rows, got {getattr(self, name)} of {self.n_rows}."
                )

    @property
    def counts(self) -> "ErrorCount":
        """What is shown beside the bounds."""
        from pbgnet.report import ErrorCount

        return ErrorCount(self.n_errors, self.n_rows, self.n_seen)

    def payload(self) -> dict[str, int]:
        """Return the counts for machines."""
        return {"rows": self.n_rows, "errors": self.n_errors, "rows_of_the_training_table": self.n_seen}


def measure_test_set(
    model: "CertifiedModel | CertifiedPredictions", data: Path, reading: TableReading, answering: Any = None
) -> Tested:
    """Count the errors of a model on the rows of a table, read as its own table was.

    Rows of the training table among them are told, and not refused: of few columns with few values, fresh
    draws may well be the same. `answering` is the fitted pipeline of a classifier that is not stored.
    """
    import warnings

    import numpy as np

    from pbgnet.certificates import row_fingerprints
    from pbgnet.exceptions import PBGNetWarning, SeenTestRowsWarning

    predictor: Any = model if answering is None else answering
    frame = reading.read(data, as_text=reads_text(predictor))
    truth = _truth(frame, model, reading, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PBGNetWarning)
        rows = features(frame, model, reading)
        answers = predictor.predict(rows)
    known = predictor.row_fingerprints if answering is None else answering.row_fingerprints_
    n_seen = int(np.isin(row_fingerprints(rows), known).sum())
    if n_seen:
        warnings.warn(
            f"{n_seen} of the {len(truth)} rows of the test set {data} are also in the training table: the "
            "error measured may be too small. Unless equal rows are to be expected, test on others.",
            SeenTestRowsWarning,
            stacklevel=2,
        )
    wrong = sum(a != b for a, b in zip(answers.tolist(), truth.tolist(), strict=True))
    return Tested(len(truth), wrong, n_seen, _identity(model))


def _truth(
    frame: "pd.DataFrame", model: "CertifiedModel | CertifiedPredictions", reading: TableReading, data: Path
) -> "NDArray[Any]":
    """Return the labels of a test set, all of them known to the model."""
    from pbgnet.certificates import label_values

    if absent := [name for name in reading.targets if name not in frame.columns]:
        raise LabelError(f"The test set {data} lacks the column of the labels, {absent[0]!r}.")
    if len(reading.targets) > 1:
        matrix: NDArray[Any] = label_matrix(frame, reading.targets, data).to_numpy()
        return matrix
    truth = label_values(label_column(frame, reading.targets[0], data))
    if unknown := [label for label in dict.fromkeys(truth.tolist()) if label not in model.classes]:
        raise LabelError(f"The test set {data} holds the unknown label {unknown[0]!r:.60}.")
    return truth


def load_test_set(folder: Path, model: "CertifiedModel | CertifiedPredictions") -> Tested | None:
    """Return what was kept, or None if there is nothing or it is of another model."""
    found = load_record(Tested, folder, TEST_SET, TEST_SCHEMA, "Remove it.")
    return found if found is not None and found.model == _identity(model) else None


def _identity(model: "CertifiedModel | CertifiedPredictions") -> str:
    """Return the fingerprint of the weights, or of the answers of a classifier that is not stored."""
    subject = model.certificate.subject
    return str(getattr(subject, "posterior_weights", None) or getattr(subject, "answers", ""))
