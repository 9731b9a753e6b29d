"""The split into rows that train the prior and rows that are certified.

It is a plain random split. A stratified one would make the prior depend on the labels of the
certified rows, and the bound would not hold.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates import SplitRecord, draw_prior_rows
from pbgnet.certificates.split import as_rows
from pbgnet.exceptions import DomainError, DtypeError

__all__ = ["certified_rows_of", "choose_prior_rows"]


def choose_prior_rows(
    n: int, given: ArrayLike | None, fraction: float | None, seed: int
) -> tuple[NDArray[np.int64], SplitRecord]:
    """Return the rows set apart for the prior, and how they were chosen.

    Parameters
    ----------
    n : int
        Number of rows.
    given : array_like of int, optional
        The user's own choice.
    fraction : float, optional
        Share of the rows to draw otherwise; None for no prior rows.
    seed : int
        Of the draw.

    Examples
    --------
    >>> from pbgnet.estimators.split import choose_prior_rows
    >>> rows, record = choose_prior_rows(10, None, 0.5, seed=0)
    >>> len(rows), record.how
    (5, 'drawn')
    """
    if given is not None:
        rows = as_rows("prior_rows", given)
        return rows, SplitRecord("given" if rows.size else "none")
    if fraction is None:
        return np.empty(0, dtype=np.int64), SplitRecord("none")
    if n < 2:
        raise DomainError(f"Found {n} sample: the prior and the certificate each need one at least.")
    return draw_prior_rows(n, fraction, seed), SplitRecord("drawn", seed=seed, fraction=fraction)


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
