r"""Limits of an error rate that hold at all times simultaneously, even if the rate changes from row to row.

Let `p_i` be the probability that row i is wrong, given the past, and `S_t` the number of errors among t rows.
For every fixed :math:`\lambda`, :math:`\exp(\lambda S_t) / \prod_i (1 + p_i (e^\lambda - 1))` has expectation
1 at any time. The logarithm is concave, so it is at least
:math:`\exp(\lambda S_t - t \ln(1 + \bar p_t (e^\lambda - 1)))`, where :math:`\bar p_t` is the mean of the
p_i. The same holds for the average over several :math:`\lambda`. Values of that mean for which it is above 1
/ alpha are refuted.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

TILTS = np.geomspace(0.02, 4.0, 12)
"""The lambdas: close to the best one for 10 to a million rows and rates from 0.001 up."""

HALVINGS = 60

START_EVERY = 64
"""A stretch of rows may begin at each multiple of this number of rows."""


def lower_limit(n_errors: ArrayLike, n_rows: ArrayLike, alpha: ArrayLike) -> NDArray[np.float64]:
    """Return a lower limit of the mean of the error probabilities of rows, rounded down.

    Parameters
    ----------
    n_errors, n_rows : array_like of int
        Errors and rows, at one time or several.
    alpha : array_like of float
        Probability that any of the limits of one sequence of rows, at any time, is too high.

    Examples
    --------
    >>> from pbgnet.monitoring.limits import lower_limit
    >>> lower_limit([6, 60, 600], [100, 1000, 10000], 0.01).round(4)
    array([0.0082, 0.0364, 0.0517])
    """
    errors, rows, level = np.broadcast_arrays(
        np.asarray(n_errors, dtype=np.float64), np.asarray(n_rows, dtype=np.float64), np.asarray(alpha)
    )
    budget = -np.log(level) * (1.0 + 2.0**-48)
    low, high = np.zeros(rows.shape), np.ones(rows.shape)
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        exponents = TILTS * errors[..., None] - rows[..., None] * np.log1p(
            np.expm1(TILTS) * middle[..., None]
        )
        exponents -= 2.0**-46 * (1.0 + TILTS * errors[..., None])
        refuted = np.logaddexp.reduce(exponents, axis=-1) - np.log(TILTS.size) >= budget
        low, high = np.where(refuted, middle, low), np.where(refuted, high, middle)
    return np.asarray(low)


def rate_limits(
    n_errors: ArrayLike, n_rows: ArrayLike, starts: ArrayLike, alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a lower and an upper limit of the error rate of stretches of rows, valid for all simultaneously.

    Parameters
    ----------
    n_errors, n_rows : array_like of int
        Errors and rows of each stretch.
    starts : array_like of int
        Number of rows before the stretch: a multiple of `START_EVERY`. The starting points share the
        probability: the k-th has 1 / ((k + 1) (k + 2)) of it, and these shares sum to 1.
    alpha : float
        Probability that any limit, upper or lower, of any stretch fails at any time.

    Examples
    --------
    >>> from pbgnet.monitoring.limits import rate_limits
    >>> low, high = rate_limits([20, 60], [1000, 1000], [0, 9984], 0.01)
    >>> low.round(3), high.round(3)
    (array([0.007, 0.025]), array([0.043, 0.116]))
    """
    place = np.asarray(starts, dtype=np.float64) / START_EVERY
    share = alpha / (2.0 * (place + 1.0) * (place + 2.0))
    errors, rows = np.asarray(n_errors), np.asarray(n_rows)
    return lower_limit(errors, rows, share), 1.0 - lower_limit(rows - errors, rows, share)
