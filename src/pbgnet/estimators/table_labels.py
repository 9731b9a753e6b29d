"""The labels of a table, checked before any work is done."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from pbgnet.certificates import Classes, label_values
from pbgnet.exceptions import LabelError, ShapeError
from pbgnet.validation import check_readable


def check_labels(y: ArrayLike, table: Any) -> NDArray[Any]:
    """Return the labels of a table that is large enough to be split, none of them missing."""
    check_readable("y", y)
    if getattr(table, "ndim", 2) != 2 or table.shape[1] == 0:
        raise ShapeError(f"Expected a two-dimensional table (rows, columns), got shape {tuple(table.shape)}.")
    labels: NDArray[Any] = column_or_1d(np.asarray(y))
    n = table.shape[0]
    if len(labels) != n:
        raise ShapeError(f"The table has {n} rows but there are {len(labels)} labels.")
    missing = sum(1 for label in labels.tolist() if label is None or label != label)
    if missing:
        raise LabelError(f"{missing} of {n} labels are missing; drop those rows first.")
    return labels


def classes_of(y: NDArray[Any]) -> Classes:
    """Return the classes that labels name, two or more, in ascending order."""
    label_values(y)  # says what is wrong with mixed kinds of labels
    # Sorting a million texts takes seconds; a set of them does not.
    found = np.array(sorted(set(y.tolist())), dtype=object) if y.dtype.kind == "O" else np.unique(y)
    if y.dtype.kind != "O":  # numbers may be no classes
        check_classification_targets(y)
    if len(found) < 2:
        raise LabelError(
            f"The labels contain only one class ({found.tolist()}); a classifier needs at least two."
        )
    return Classes(tuple(found.tolist()))
