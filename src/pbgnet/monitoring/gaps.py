"""Labels, ids or groups in any form, and which of them are missing."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.exceptions import ShapeError
from pbgnet.preprocessing import is_missing
from pbgnet.validation import check_readable


def values_of(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return a list, array or column as a one-dimensional array; texts and mixed values as objects."""
    check_readable(name, values)
    array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    if array.dtype.kind in "US" and not hasattr(values, "dtype"):
        array = np.array(list(values), dtype=object)  # type: ignore[arg-type]
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ShapeError(f"{name} must have one value per row, got shape {array.shape}.")
    return array


def gaps_of(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where values are missing.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.monitoring.gaps import gaps_of
    >>> gaps_of(np.array(["a", None, float("nan")], dtype=object))
    array([False,  True,  True])
    """
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind == "M":
        return np.asarray(np.isnat(values))
    if values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=bool)
    return np.array([is_missing(item) for item in values.tolist()], dtype=bool)
