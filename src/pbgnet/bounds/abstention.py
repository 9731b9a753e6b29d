"""Answering only where a score is high enough: thresholds, and which of them are certified.

Thresholds decrease from one that few rows reach to one that all rows reach. At each of them, in this order,
the exact binomial tail tests whether the error rate among the rows that reach it is at most a target. Because
the order is fixed, the number of thresholds costs nothing (docs/theory/abstention.md).

References
----------
Wiens and Dmitrienko (2005), "The fallback procedure for evaluating a single family of hypotheses";
Angelopoulos et al. (2021), "Learn then test".
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from pbgnet.bounds.held_out import BETA_RELATIVE_ERROR
from pbgnet.exceptions import DomainError

N_THRESHOLDS = 64
"""Number of thresholds tested: with more, steps would be finer than a few thousand rows can tell apart."""

N_STARTS = 4
"""Number of thresholds at which the walk starts again, each with the same part of delta."""

# The first threshold is expected to be reached by this many times the rows that would be enough if none of
# them were wrong. With fewer, a single error or a few missing rows end the walk before it has begun.
FIRST_ROWS = 2.0

# Without scores, the first threshold on a probability p leaves 1 - p at this part of the target.
FIRST_DOUBT = 1.0 / 20.0


def binomial_tail(n_errors: ArrayLike, n: ArrayLike, rate: float) -> NDArray[np.float64]:
    """Return the probability of at most `n_errors` errors in n independent trials, rounded up.

    Parameters
    ----------
    n_errors, n : array_like of int, shape (...)
        Without any trial the probability is 1.
    rate : float
        In (0, 1).

    Examples
    --------
    >>> from pbgnet.bounds import binomial_tail
    >>> binomial_tail([0, 1, 0], [100, 100, 0], 0.05).round(6)  # the first is 0.95 ** 100
    array([0.005921, 0.037081, 1.      ])
    """
    errors, trials = np.broadcast_arrays(
        np.asarray(n_errors, dtype=np.float64), np.asarray(n, dtype=np.float64)
    )
    if bool((errors < 0).any()) or bool((errors > trials).any()):
        raise DomainError("n_errors must lie between 0 and n. Pass the count, not the rate.")
    if not 0.0 < rate < 1.0:
        raise DomainError(f"rate must lie between 0 and 1, got {rate!r}.")
    chance = special.betaincc(errors + 1.0, np.maximum(trials - errors, 1.0), rate)
    return np.where(errors >= trials, 1.0, np.minimum(chance * (1.0 + BETA_RELATIVE_ERROR), 1.0))


def last_certified(tails: ArrayLike, delta: float, starts: Sequence[int] = (0,)) -> int | None:
    """Walk through tests in their order, and return the last one passed; None if there is none.

    Each start brings an equal part of delta. It is used for test after test as long as they are passed, and
    is lost at the first that is not: the fallback procedure. The probability of passing any test whose
    hypothesis is true is at most delta, for any number of tests.

    Parameters
    ----------
    tails : array_like, shape (m,)
        The p-value of each test.
    delta : float
    starts : sequence of int
        Places where the walk begins, or begins again.

    Examples
    --------
    >>> from pbgnet.bounds import last_certified
    >>> last_certified([0.01, 0.02, 0.2, 0.01], 0.05)
    1
    >>> last_certified([0.01, 0.02, 0.2, 0.01], 0.05, starts=(0, 3))
    3
    """
    part, held = math.nextafter(delta / len(starts), 0.0), 0
    begin, last = frozenset(starts), None
    for place, tail in enumerate(np.asarray(tails, dtype=np.float64).tolist()):
        held += place in begin
        if held and tail <= part * held * (1.0 - 2.0**-50):
            last = place
        else:
            held = 0
    return last


def score_thresholds(
    scores: ArrayLike, n: int, error: float, delta: float, *, lowest: float | None = None
) -> tuple[float, ...]:
    """Choose thresholds from the scores of other rows, from few answers to many.

    Parameters
    ----------
    scores : array_like, shape (m,)
        Scores of rows that are not certified. They predict how many of n rows reach a threshold.
    n : int
        Number of rows to be certified.
    error, delta : float
        The target for the error rate among answered rows, and the share of delta.
    lowest : float, optional
        A number that no score is below, so that the last threshold answers all rows; by default the lowest
        score.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.bounds import score_thresholds
    >>> thresholds = score_thresholds(np.linspace(0, 1, 1000), 1000, 0.05, 0.05, lowest=0.0)
    >>> len(thresholds), round(thresholds[0], 3), thresholds[-1]
    (64, 0.883, 0.0)
    """
    needed = math.log(1.0 / delta) / -math.log1p(-error)
    shares = np.linspace(min(1.0, FIRST_ROWS * needed / n), 1.0, N_THRESHOLDS)
    values = np.asarray(scores, dtype=np.float64)
    found = _between(values, shares[shares < 1.0])
    end = float(values.min()) if lowest is None else lowest
    return _falling(np.append(found[found > end], end))


def probability_thresholds(error: float) -> tuple[float, ...]:
    """Return thresholds on the largest probability that do not depend on rows: geometric in 1 - p, then 0.

    Examples
    --------
    >>> from pbgnet.bounds import probability_thresholds
    >>> thresholds = probability_thresholds(0.02)
    >>> len(thresholds), round(thresholds[0], 6), round(thresholds[-2], 6), thresholds[-1]
    (64, 0.999, 0.5, 0.0)
    """
    doubts = np.geomspace(min(error * FIRST_DOUBT, 0.25), 0.5, N_THRESHOLDS - 1)
    return _falling(np.append(1.0 - doubts, 0.0))


def threshold_for(scores: ArrayLike, coverage: float) -> float:
    """Return a threshold that a given share of rows reaches, based on the scores of other rows.

    Examples
    --------
    >>> from pbgnet.bounds import threshold_for
    >>> threshold_for([0.1, 0.2, 0.3, 0.4], 0.5)
    0.25
    """
    return float(_between(np.asarray(scores, dtype=np.float64), np.array([coverage]))[0])


def spread_starts(n_thresholds: int) -> tuple[int, ...]:
    """Return the places of the starts, evenly spread over the thresholds.

    Examples
    --------
    >>> from pbgnet.bounds import spread_starts
    >>> spread_starts(64), spread_starts(2)
    ((0, 16, 32, 48), (0, 1))
    """
    count = min(N_STARTS, n_thresholds)
    return tuple(n_thresholds * k // count for k in range(count))


def _between(scores: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers that the given shares of the scores reach: half-way to the next lower score.

    No row has such a number as its score, so rounding cannot make a row miss it.
    """
    values, places = np.unique(scores, return_inverse=True)
    order = np.sort(places)[::-1]
    ranks = np.clip(np.ceil(shares * scores.size).astype(np.int64), 1, scores.size) - 1
    reached = order[ranks]
    below = np.maximum(reached - 1, 0)
    return np.asarray(values[below] / 2.0 + values[reached] / 2.0)


def _falling(thresholds: NDArray[np.float64]) -> tuple[float, ...]:
    """Drop equal thresholds, and put the highest first."""
    return tuple(np.unique(thresholds + 0.0)[::-1].tolist())
