"""Which rows made the prior and which are certified: two sets of indices that never meet."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.exceptions import DomainError, DtypeError, PriorLeakageError, ShapeError

__all__ = ["Split", "as_rows", "check_split"]


@dataclass(frozen=True, eq=False)
class Split:
    """Indices into the table given by the user.

    Attributes
    ----------
    prior_rows : ndarray of int64
        Rows that the prior or the preprocessing was fitted on; may be empty.
    certified_rows : ndarray of int64
        Rows the bound was computed on.
    """

    prior_rows: NDArray[np.int64]
    certified_rows: NDArray[np.int64]


def as_rows(name: str, rows: ArrayLike) -> NDArray[np.int64]:
    """Return indices of rows as a read-only int64 array.

    Examples
    --------
    >>> from pbgnet.certificates.split import as_rows
    >>> as_rows("prior_rows", [2, 0])
    array([2, 0])
    """
    array: NDArray[Any] = np.asarray(rows)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise DtypeError(f"{name} must hold indices of rows, got {array.dtype}; pass np.flatnonzero(mask).")
    if array.ndim != 1:
        raise ShapeError(f"{name} must be one list of indices, got shape {array.shape}.")
    result = array.astype(np.int64)
    result.setflags(write=False)
    return result


def check_split(prior_rows: ArrayLike, certified_rows: ArrayLike) -> Split:
    """Return the two sets of rows, or raise if the theorem forbids them.

    Raises
    ------
    PriorLeakageError
        If a row is in both.
    DomainError
        If a row is named twice, is negative, or none is certified.

    Examples
    --------
    >>> from pbgnet.certificates.split import check_split
    >>> check_split([0, 1], [1, 2])
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.PriorLeakageError: 1 of the 2 certified rows are also prior rows, for example row 1:
    the bound would not hold. Fit prior and preprocessing on other rows.
    """
    split = Split(as_rows("prior_rows", prior_rows), as_rows("certified_rows", certified_rows))
    if split.certified_rows.size == 0:
        raise DomainError("There is no row to certify; at least one is needed.")
    for name, rows in (("prior_rows", split.prior_rows), ("certified_rows", split.certified_rows)):
        if rows.size and int(rows.min()) < 0:
            raise DomainError(f"{name} must count from 0, got {int(rows.min())}.")
        if np.unique(rows).size != rows.size:
            raise DomainError(f"{name} names a row twice; the rows must be independent draws.")
    both = np.intersect1d(split.prior_rows, split.certified_rows)
    if both.size:
        raise PriorLeakageError(
            f"{both.size} of the {split.certified_rows.size} certified rows are also prior rows, for example "
            f"row {int(both[0])}: the bound would not hold. Fit prior and preprocessing on other rows."
        )
    return split
