"""Several labels per row: a matrix of 0 and 1, with one column per label."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates.data.labels import Classes, label_values
from pbgnet.exceptions import LabelError, OptionError, ShapeError
from pbgnet.networks import AnyCode, Code, LabelCode, make_code
from pbgnet.preprocessing import column_names
from pbgnet.validation import check_readable


def has_several_labels(y: Any) -> bool:
    """Whether labels are a matrix of two or more columns, one for each label that a row may have.

    Examples
    --------
    >>> from pbgnet.certificates.data import has_several_labels
    >>> has_several_labels([[1, 0], [0, 0]]), has_several_labels([1, 0]), has_several_labels([[1], [0]])
    (True, False, False)
    """
    if y is None:
        return False
    check_readable("y", y)
    shape = y.shape if hasattr(y, "shape") else np.shape(y)
    return len(shape) == 2 and shape[1] > 1


def indicator_values(y: Any) -> NDArray[np.int8]:
    """Return the labels of rows as 0 and 1, shape (n, L); a table of them may be sparse, or hold true/false.

    Raises
    ------
    LabelError
        If a value is missing, or is neither 0 nor 1.
    ShapeError
        If there are fewer than two columns: a single label is an ordinary classification.

    Examples
    --------
    >>> from pbgnet.certificates.data import indicator_values
    >>> indicator_values([[True, False], [True, True]]).tolist()
    [[1, 0], [1, 1]]
    """
    if not has_several_labels(y):
        raise ShapeError(
            "Several labels must come as a matrix of 0 and 1 with at least two columns, one for each label. "
            "For a single label, use PBGNetClassifier."
        )
    if hasattr(y, "toarray"):
        values = np.asarray(y.toarray())
    else:
        values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.dtype.kind not in "biuf":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise LabelError("A matrix of labels must contain only 0 and 1, or true and false.") from error
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise LabelError("The matrix of labels has missing values; drop those rows first.")
    if not np.isin(values, (0, 1)).all():
        other = values[~np.isin(values, (0, 1))].ravel()[0]
        raise LabelError(
            f"A matrix of labels must contain only 0 and 1, got {float(other):g}. Outputs with more than two "
            "values are not supported."
        )
    return values.astype(np.int8)


def target_values(y: ArrayLike) -> NDArray[Any]:
    """Return labels one per row, as `label_values`, or several as 0 and 1, shape (n, L)."""
    return indicator_values(y) if has_several_labels(y) else label_values(y)


def label_names(y: Any) -> Classes:
    """Return the names of several labels: those of the columns of a table, or 0, 1 and so on.

    Examples
    --------
    >>> from pbgnet.certificates.data import label_names
    >>> label_names([[1, 0, 0], [0, 1, 1]]).labels
    (0, 1, 2)
    """
    count, names = indicator_values(y).shape[1], column_names(y)
    return Classes(tuple(range(count)) if names is None else names)


def code_for(labels: NDArray[Any], code: str | ArrayLike | Code, count: int) -> AnyCode:
    """Return what the outputs of a network mean for rows with these labels: classes, or each label."""
    if labels.ndim == 1:
        return make_code(code, count)
    if not isinstance(code, str) or code != "auto":
        raise OptionError("Several labels have one output each and do not need a code; leave it out.")
    return LabelCode(labels.shape[1])
