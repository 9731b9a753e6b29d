"""Bets against "each row is wrong with probability at most B, given the past".

A bet on the rate q > B has the factor q / B for an error and (1 - q) / (1 - B) for a right answer: a
likelihood ratio. Its expectation is at most 1 for every probability up to B, whatever that depends on. The
best q is the true error rate, which is unknown, so there are bets on several, given by their odds.
"""

import numpy as np
from numpy.typing import NDArray

ODDS = (1.5, 2.5, 5.0, 12.0)
"""Odds of an error that are bet on, as multiples of those of the bound (docs/reference/monitoring.md)."""

SMALLEST_BOUND = 1e-9
"""A smaller bound is tested as this one, which keeps the factors finite."""


def error_log_factors(errors: NDArray[np.bool_], bound: float) -> NDArray[np.float64]:
    """Return the logarithms of the factors of all bets, rounded down: shape (n, J).

    Parameters
    ----------
    errors : ndarray of bool, shape (n,)
        Whether each row was answered wrongly.
    bound : float
        B, below 1.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.monitoring.error_bets import error_log_factors
    >>> np.exp(error_log_factors(np.array([True, False]), 0.5)).round(3)
    array([[1.2  , 1.429, 1.667, 1.846],
           [0.8  , 0.571, 0.333, 0.154]])
    """
    tested = max(bound, SMALLEST_BOUND)
    odds = np.array(ODDS)
    # With odds r times those of B, (1 - q) / (1 - B) is 1 / (1 - B + r B), and q / B is r times that.
    right = -np.log1p((odds - 1.0) * tested)
    wrong = np.log(odds) + right
    both = np.stack([right, wrong]) - 2.0**-48
    return np.asarray(both[errors.astype(np.int64)])
