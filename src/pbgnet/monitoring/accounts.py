r"""Capital spread over bets and over the rows at which they begin: one test for early and late changes.

At each row, a bet multiplies its capital by a factor whose expectation, given the past, is at most 1 if the
tested hypothesis is true. One unit of capital is divided beforehand: a share `START_SHARE` goes to the bets
at the first row. The rest waits and goes to them gradually, :math:`w_s` of it before row s. After row t, all
of it together,

.. math:: E_t = g_t + \sum_j \frac1J \sum_{s \le t} w_s \prod_{i=s}^{t} f_{ij},

has expectation at most 1 at any time, even if that time is chosen while watching, and the probability that it
ever exceeds 1 / alpha is at most alpha (Ville). Here `g_t`, the part still waiting after t rows, falls like
the inverse square root of t: whatever was lost before a change, something is left to bet on it. All capital
of one bet is a single number, so only J numbers need to be kept.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.records import Count, Limits, Record

# Measured (docs/reference/monitoring.md): a larger share finds changes within the first hundreds of rows
# slightly sooner, a smaller one changes after thousands of rows. Between 0.5 and 0.75 it hardly matters.
START_SHARE = 0.7

# After this many rows, 70 % of the waiting capital still waits; after nine times as many, a third.
WAITING_ROWS = 1000.0

CHUNK = 1 << 16
"""Rows processed in one pass, which limits the memory and the rounding error of a running sum."""


def waiting_share(rows: ArrayLike) -> NDArray[np.float64]:
    """Return the share of the capital that still waits after this many rows.

    Examples
    --------
    >>> from pbgnet.monitoring.accounts import waiting_share
    >>> waiting_share([0, 8000]).round(3)
    array([0.3, 0.1])
    """
    passed = np.asarray(rows, dtype=np.float64)
    return np.asarray((1.0 - START_SHARE) / np.sqrt(1.0 + passed / WAITING_ROWS))


@dataclass(frozen=True)
class Accounts(Record):
    """What bets have made of their capital.

    Attributes
    ----------
    rows : int
        Number of rows seen.
    log_capital : tuple of float
        Logarithm of the capital of each bet, rounded down; empty before the first row.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.monitoring.accounts import Accounts
    >>> doubling = np.log(np.full((10, 1), 2.0))
    >>> accounts, log_e = Accounts().after(doubling)
    >>> accounts.rows, bool(log_e[-1] > np.log(0.7 * 2**10))
    (10, True)
    """

    rows: Count = 0
    log_capital: Annotated[tuple[float, ...], Limits(longest=64)] = ()

    @property
    def log_e(self) -> float:
        """Logarithm of E now, rounded down."""
        waiting = float(np.log(waiting_share(self.rows))) - 2.0**-48
        return float(np.logaddexp.reduce([*self.log_capital, waiting]))

    def after(self, log_factors: NDArray[np.float64]) -> tuple["Accounts", NDArray[np.float64]]:
        """Return the accounts after further rows, and the logarithm of E after each of them, rounded down.

        Parameters
        ----------
        log_factors : ndarray, shape (n, J)
            For each row and bet, the logarithm of the factor, finite and rounded down.
        """
        rows, capital = self.rows, np.array(self.log_capital)
        told = np.empty(len(log_factors))
        for start in range(0, len(log_factors), CHUNK):
            part = log_factors[start : start + CHUNK]
            capital, told[start : start + len(part)] = _advance(rows, capital, part)
            rows += len(part)
        return Accounts(rows, tuple(capital.tolist())), told


NO_ROWS = Accounts()
"""Before the first row."""


def _advance(
    rows: int, capital: NDArray[np.float64], log_factors: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the capital of each bet after some rows, and the logarithm of all capital after each.

    With L the running sum of the logarithms, what began at s is worth `w_s exp(L_t - L_{s-1})` at t:
    `exp(L_t)` times a running sum of `w_s exp(-L_{s-1})`, which is computed with logarithms.
    """
    n, n_bets = log_factors.shape
    waiting = waiting_share(np.arange(rows, rows + n + 1))
    begun = waiting[:-1] - waiting[1:] + (START_SHARE if rows == 0 else 0.0) * (np.arange(n) == 0)
    sums = np.cumsum(log_factors, axis=0)
    before = np.vstack([np.zeros((1, n_bets)), sums[:-1]])
    terms = np.log(begun / n_bets)[:, None] - before
    if capital.size:
        terms[0] = np.logaddexp(terms[0], capital)
    # The error of a running sum of n terms is n units of its largest, and of logarithms a few more.
    slack = (n + 16) * 2.0**-52 * (1.0 + float(np.abs(sums).max(initial=0.0)) + float(np.abs(terms).max()))
    held = sums + np.logaddexp.accumulate(terms, axis=0) - slack
    top = np.maximum(held.max(axis=1), np.log(waiting[1:]))
    shares = np.exp(held - top[:, None]).sum(axis=1) + waiting[1:] * np.exp(-top)
    return held[-1], np.asarray(top + np.log(shares) - slack)
