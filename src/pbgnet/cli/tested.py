"""The result of a model on a test set."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbgnet.cli.folder import TableReading, features, reads_text
from pbgnet.cli.label_columns import label_matrix
from pbgnet.cli.tables import label_column
from pbgnet.exceptions import LabelError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from pbgnet.certificates import CertifiedModel, CertifiedPredictions
    from pbgnet.report import TestSet


def measure_test_set(
    model: "CertifiedModel | CertifiedPredictions", data: Path, reading: TableReading, answering: Any = None
) -> "TestSet":
    """Count the errors of a model on the rows of a table, read as its own table was.

    Rows that are also in the training table are reported, but not an error: with few columns and few values,
    fresh draws may well be equal. `answering` is the fitted pipeline of a classifier that is not stored.
    """
    import warnings

    import numpy as np

    from pbgnet.certificates import row_fingerprints
    from pbgnet.exceptions import PBGNetWarning, SeenTestRowsWarning
    from pbgnet.report import TestSet, identity_of

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
            f"{n_seen} of the {len(truth)} rows of the test set {data} are also in the training "
            "table, so the measured error may be too small. Unless you expect equal rows, test "
            "on others.",
            SeenTestRowsWarning,
            stacklevel=2,
        )
    wrong = sum(a != b for a, b in zip(answers.tolist(), truth.tolist(), strict=True))
    return TestSet(len(truth), wrong, n_seen, identity_of(model))


def _truth(
    frame: "pd.DataFrame", model: "CertifiedModel | CertifiedPredictions", reading: TableReading, data: Path
) -> "NDArray[Any]":
    """Return the labels of a test set, all of them known to the model."""
    from pbgnet.certificates import label_values

    if absent := [name for name in reading.targets if name not in frame.columns]:
        raise LabelError(f"The test set {data} does not have the label column {absent[0]!r}.")
    if len(reading.targets) > 1:
        matrix: NDArray[Any] = label_matrix(frame, reading.targets, data).to_numpy()
        return matrix
    target = reading.targets[0]
    named = isinstance(model.classes[0], str)  # "12" of a test set may be a word, beside "01" elsewhere
    truth = label_values(frame[target] if named else label_column(frame, target, data))
    if unknown := [label for label in dict.fromkeys(truth.tolist()) if label not in model.classes]:
        raise LabelError(
            f"The test set {data} contains the label {unknown[0]!r:.60}, which the model does not know."
        )
    return truth
