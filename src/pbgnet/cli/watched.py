"""Rows for ``pbgnet monitor``: answers, how sure they are, and labels, from a table in a file."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbgnet.cli.folder import TableReading, features, reads_text
from pbgnet.cli.given_tables import GivenTables
from pbgnet.cli.tables import check_column, read_table
from pbgnet.cli.verify import read_as_certified
from pbgnet.exceptions import OptionError, UncertifiedError
from pbgnet.table_files import is_csv

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from pbgnet.certificates import CertifiedModel, CertifiedPredictions
    from pbgnet.monitoring import ChangeDetector

    Certified = CertifiedModel | CertifiedPredictions

ANSWER, MARGIN = "(answer)", "(margin)"
"""Columns beside those of the table that are compared: the class answered, and the lead of its share."""

PREDICTION = "prediction"
"""Where `pbgnet predict` puts what was answered."""

# Without prior rows, every fourth certified row, at random, fixes the bins, and is not compared.
BIN_SHARE = 4


@dataclass(frozen=True)
class Columns:
    """Columns of a table of new rows that are not features, by name."""

    prediction: str | None
    id: str | None
    groups: str | None

    @property
    def named(self) -> tuple[str, ...]:
        """All that were named."""
        return tuple(name for name in (self.prediction, self.id, self.groups) if name is not None)


@dataclass(frozen=True)
class NewRows:
    """Rows of a table, ready to be counted."""

    features: Any
    answers: "NDArray[Any]"
    margins: "NDArray[np.float64] | None"
    labels: Any
    ids: Any
    groups: Any
    answered: "NDArray[np.bool_]"

    def extra(self) -> dict[str, Any]:
        """Return what is compared besides the columns of the table."""
        return _extra(self.answers, self.margins)


def read_new_rows(loaded: "Certified", data: Path, reading: TableReading, columns: Columns) -> NewRows:
    """Read new rows, and the model's answers; if it is not stored, a column has the answers."""
    import numpy as np

    from pbgnet.certificates import CertifiedModel

    as_text = reads_text(loaded) if isinstance(loaded, CertifiedModel) else True
    frame = read_table(data, reading.missing, as_text=as_text, header=reading.header)
    for kind, name in (("prediction", columns.prediction), ("id", columns.id), ("group", columns.groups)):
        if name is not None:
            check_column(kind, name, frame.columns)
    if len(reading.targets) != 1:
        raise OptionError("The model does not record which column holds the labels; name it with --target.")
    target = reading.targets[0]
    names = getattr(loaded, "feature_names", None) or ()
    others = [name for name in (*columns.named, PREDICTION) if name not in names]
    if not names and loaded.certificate.fingerprints.columns is not None:
        others = []  # columns are known by their names, and others do no harm
    table = features(frame, loaded, replace(reading, dropped=(*reading.dropped, *others)))
    if isinstance(loaded, CertifiedModel):
        if columns.prediction is not None:
            raise OptionError("The model is stored and makes its own predictions; leave out --prediction.")
        answers, margins, answered = _answer(loaded, table)
    else:
        column = columns.prediction or reading.answers or PREDICTION
        answers, margins = _written_answers(loaded, frame, column, data), None
        answered = ~frame[column].isna().to_numpy()
    labels = np.full(len(frame), None, dtype=object)
    if target in frame.columns:
        labels = _as_labels(loaded, frame[target], data)
    return NewRows(
        table,
        answers,
        margins,
        labels,
        None if columns.id is None else frame[columns.id],
        None if columns.groups is None else frame[columns.groups],
        answered,
    )


def make_detector(
    loaded: "Certified", reference: Path, reading: TableReading, alpha: float
) -> "ChangeDetector":
    """Return a test of change against the certified rows of the table that was given to train."""
    import numpy as np

    from pbgnet.certificates import CertifiedModel, fingerprint_features
    from pbgnet.monitoring import ChangeDetector
    from pbgnet.preprocessing import take_rows

    _, table = read_as_certified(loaded, GivenTables.of([reference]), reading)
    if fingerprint_features(table) != loaded.certificate.fingerprints.features:
        raise UncertifiedError(
            f"{reference} is not the table the certificate was made from; pass the original one."
        )
    bins, certified = _bin_rows_and_others(loaded, len(table))
    if isinstance(loaded, CertifiedModel):
        answers, margins, _ = _answer(loaded, table)
        bin_extra = _extra(answers[bins], margins[bins])
        extra = _extra(answers[certified], margins[certified])
    else:
        # Of rows that made the classifier no answers are kept; the classes are the bins in any case.
        placed = np.empty(len(table), dtype=object)
        rows = np.arange(len(table)) if loaded.split is None else loaded.split.certified_rows
        placed[rows] = loaded.labels
        if loaded.scores is not None and loaded.certificate.threshold is not None:  # as new rows will be
            placed[rows[loaded.scores.values < loaded.certificate.threshold]] = None
        extra, bin_extra = {ANSWER: placed[certified]}, {ANSWER: np.resize(loaded.classes, bins.size)}
    return ChangeDetector(
        take_rows(table, bins), take_rows(table, certified), alpha, bin_extra=bin_extra, reference_extra=extra
    )


def _bin_rows_and_others(loaded: "Certified", n_rows: int) -> tuple["NDArray[np.int64]", "NDArray[np.int64]"]:
    """Return the rows that fix bins and those to compare with: prior rows and certified rows."""
    import numpy as np

    split = loaded.split
    if split is not None and split.prior_rows.size:
        return split.prior_rows, split.certified_rows
    rows = np.random.default_rng(0).permutation(n_rows)
    return np.sort(rows[: n_rows // BIN_SHARE]), np.sort(rows[n_rows // BIN_SHARE :])


def _answer(
    model: "CertifiedModel", table: Any
) -> tuple["NDArray[Any]", "NDArray[np.float64]", "NDArray[np.bool_]"]:
    """Return the answer to each row, by how much its share is ahead of the next, and if it is sure enough."""
    import numpy as np

    output = model.output(table)
    shares = np.sort(model.inputs.shares(output), axis=1)
    sure = np.ones(len(output), dtype=bool)
    if model.certificate.answered_error_rate is not None:
        told = model.inputs.sure_answers(output, model.certificate.threshold)
        sure = np.array([answer is not None for answer in told], dtype=bool)
    return model.inputs.answers(output), shares[:, -1] - shares[:, -2], sure


def _written_answers(loaded: "Certified", frame: "pd.DataFrame", name: str, data: Path) -> "NDArray[Any]":
    if name not in frame.columns:
        raise OptionError(
            f"The model is not stored, so pbgnet cannot ask it for predictions, and {data} has no "
            f"column {name!r} with them; name that column with --prediction."
        )
    return _as_labels(loaded, frame[name], data)


def _as_labels(loaded: "Certified", column: "pd.Series[Any]", data: Path) -> "NDArray[Any]":
    """Return a column as labels, None if missing; texts of a CSV in the type of the classes."""
    import numpy as np

    from pbgnet.cli.cells import parse_labels

    cells = column.tolist()
    texts = [cell for cell in cells if isinstance(cell, str)]
    if not is_csv(data) or isinstance(loaded.classes[0], str) or not texts:
        return np.asarray(column.to_numpy(dtype=object))
    read = iter(parse_labels(texts).tolist())
    return np.array([next(read) if isinstance(cell, str) else None for cell in cells], dtype=object)


def _extra(answers: "NDArray[Any]", margins: "NDArray[np.float64] | None") -> dict[str, Any]:
    return {ANSWER: answers} if margins is None else {ANSWER: answers, MARGIN: margins}
