"""The split into rows that train the prior and rows that are certified.

It is a plain random split. A stratified one would make the prior depend on the labels of the
certified rows, and the bound would not hold.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.exceptions import DomainError, DtypeError

__all__ = ["certified_rows_of", "draw_prior_rows"]


def draw_prior_rows(n: int, fraction: float, seed: int) -> NDArray[np.int64]:
    """Draw `fraction` of n rows at random, in ascending order; at least one row is left on each side.

    Examples
    --------
    >>> from pbgnet.estimators.split import draw_prior_rows
    >>> len(draw_prior_rows(10, 0.5, seed=0))
    5
    """
    count = min(max(1, round(fraction * n)), n - 1)
    return np.sort(np.random.default_rng(seed).permutation(n)[:count]).astype(np.int64)


def certified_rows_of(n: int, prior_rows: ArrayLike) -> NDArray[np.int64]:
    """Return the rows among n that are not prior rows.

    Examples
    --------
    >>> from pbgnet.estimators.split import certified_rows_of
    >>> certified_rows_of(5, [0, 3])
    array([1, 2, 4])
    """
    rows = np.asarray(prior_rows)
    if rows.dtype.kind not in "iu" or rows.ndim != 1:
        raise DtypeError("prior_rows must be a list of row indices; pass np.flatnonzero(mask) for a mask.")
    if rows.size and not 0 <= rows.min() <= rows.max() < n:
        raise DomainError(f"prior_rows must lie between 0 and {n - 1}, the rows given to fit.")
    rest = np.setdiff1d(np.arange(n), rows).astype(np.int64)
    if rest.size == 0:
        raise DomainError("Every row is a prior row: there is nothing left to certify.")
    return rest
