"""Which rows made the prior and which are certified: two sets of indices that never meet."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.exceptions import DomainError, DtypeError, PriorLeakageError, ShapeError

__all__ = ["Split", "as_rows", "check_split", "draw_prior_rows"]


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

    def n_left_out(self, n_rows: int) -> int:
        """Return how many rows of a table of n_rows are in neither set.

        Examples
        --------
        >>> from pbgnet.certificates import check_split
        >>> check_split([0, 1], [3, 4]).n_left_out(6)
        2
        """
        return max(0, n_rows - self.prior_rows.size - self.certified_rows.size)


def draw_prior_rows(n: int, fraction: float, seed: int) -> NDArray[np.int64]:
    """Draw `fraction` of n rows at random, in ascending order; at least one row is left on each side.

    It is a plain random split. A stratified one would make the prior depend on the labels of the
    certified rows, and the bound would not hold.

    Examples
    --------
    >>> from pbgnet.certificates import draw_prior_rows
    >>> len(draw_prior_rows(10, 0.5, seed=0))
    5
    """
    count = min(max(1, round(fraction * n)), n - 1)
    return np.sort(np.random.default_rng(seed).permutation(n)[:count]).astype(np.int64)


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


def check_split(prior_rows: ArrayLike, certified_rows: ArrayLike, n_rows: int | None = None) -> Split:
    """Return the two sets of rows, or raise if the theorem forbids them.

    It is cheap, so that a mistake can be found before anything is trained.

    Parameters
    ----------
    prior_rows, certified_rows : array_like of int
    n_rows : int, optional
        Number of rows of the table, to see that no index lies beyond its end.

    Raises
    ------
    PriorLeakageError
        If a row is in both.
    DomainError
        If a row is named twice, is negative, lies beyond the table, or none is certified.

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
        if n_rows is not None and rows.size and int(rows.max()) >= n_rows:
            raise DomainError(
                f"{name} names row {int(rows.max())}, but the table ends with row {n_rows - 1}."
            )
        values, counts = np.unique(rows, return_counts=True)
        if values.size != rows.size:
            twice = int(values[np.argmax(counts > 1)])
            raise DomainError(f"{name} names a row twice, row {twice}; the rows must be independent draws.")
    both = np.intersect1d(split.prior_rows, split.certified_rows)
    if both.size:
        raise PriorLeakageError(
            f"{both.size} of the {split.certified_rows.size} certified rows are also prior rows, for example "
            f"row {int(both[0])}: the bound would not hold. Fit prior and preprocessing on other rows."
        )
    return split
