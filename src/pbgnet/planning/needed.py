"""How many certified rows a claim needs, by the exact bound on the error rate (Clopper-Pearson).

Errors are whole numbers, so the bound is a sawtooth: it decreases with the rows as long as the number of
errors stays the same, and jumps up with each further error. So there are two answers: the smallest number of
rows that reaches the claim, and the number from which on the claim is always reached.

The searches run over the number of errors k. With k errors the claim needs `rows_for(k)` rows, which
increases with k. For fractional numbers of rows, both conditions below hold from some k on. The search begins
there, and then scans for what rounding to whole rows changes.
"""

import functools
import math
from collections.abc import Callable
from fractions import Fraction

from pbgnet.exceptions import DomainError
from pbgnet.planning.goal import Goal, check_chance, make_goal

MOST_ROWS = 10**10
"""A claim that needs more rows than this counts as out of reach."""

CACHED = 256
"""Number of answers that are cached: the parts of a plan mostly ask the same questions."""


def rows_needed(
    error: float,
    claim: float,
    confidence: float = 0.95,
    *,
    n_claims: int = 1,
    chance: float | None = None,
    for_all_larger: bool = False,
) -> int:
    """Return how many certified rows it takes to claim an error rate.

    Without `chance`: the smallest number n of rows such that, if the classifier is wrong on ``error * n`` of
    them, **rounded up**, the exact (Clopper-Pearson) bound is at most `claim`. This treats the observed error
    rate as known. It is larger than the true one about as often as it is smaller, so n rows reach the claim
    only about half of the time.

    With `chance`: the smallest number of rows such that, if `error` is the **true** error rate, the bound is
    at most `claim` with at least this probability over the draw of the rows. Use this number to decide how
    many labels to buy; it is like the power of a study.

    Parameters
    ----------
    error : float
        The error rate you expect, in [0, 1).
    claim : float
        The bound you want, between `error` and 1.
    confidence : float, default=0.95
        Confidence of the certificate.
    n_claims : int, default=1
        Number of claims, including this one, that share delta = 1 - confidence equally; see
        `pbgnet.planning.share_delta`.
    chance : float, optional
        Probability of reaching the claim, such as 0.8.
    for_all_larger : bool, default=False
        Return the smallest number such that **every** larger number of rows is enough, too, instead of the
        first number that is enough: each further error makes the bound jump up.

    Returns
    -------
    int

    Raises
    ------
    DomainError
        If the claim is not above the error rate, or needs more than 10**10 rows.

    Examples
    --------
    >>> from pbgnet import rows_needed
    >>> rows_needed(0.02, 0.03)  # 17 errors among 846 rows
    846
    >>> rows_needed(0.02, 0.03, for_all_larger=True)
    1004
    >>> rows_needed(0.02, 0.03, chance=0.8)
    1542
    >>> rows_needed(0, 0.01)  # without any error
    299
    """
    goal = make_goal(error, claim, confidence, n_claims)
    if chance is not None:
        return rows_for_chance(goal, check_chance(chance), bool(for_all_larger))
    return rows_for_good(goal) if for_all_larger else first_rows(goal)


@functools.lru_cache(maxsize=CACHED)
def first_rows(goal: Goal) -> int:
    """Return the smallest number of rows at which the expected errors, rounded up, prove the claim."""
    error = goal.exact_error
    if error == 0:
        return rows_for(goal, 0)
    # With k errors there are at most k / error rows.
    k = _first(lambda k: bool(goal.proved_by(k, k / goal.error)), 1, _most_errors(goal))
    while not goal.proved_by(k, math.floor(k / error)):
        k += 1
    return max(rows_for(goal, k), math.floor((k - 1) / error) + 1)


@functools.lru_cache(maxsize=CACHED)
def rows_for_good(goal: Goal) -> int:
    """Return the smallest number of rows from which on the expected errors always prove the claim."""
    error = goal.exact_error
    if error == 0:
        return rows_for(goal, 0)
    # With k errors there are more than (k - 1) / error rows.
    k = _first(lambda k: bool(goal.proved_by(k, (k - 1) / goal.error)), 2, _most_errors(goal))
    while goal.proved_by(k, _fewest_rows(k, error)):
        k -= 1  # it ends with 1 error among 1 row
    return min(rows_for(goal, k), _fewest_rows(k + 1, error))


@functools.lru_cache(maxsize=CACHED)
def rows_for_chance(goal: Goal, chance: float, for_all_larger: bool = False) -> int:
    """Return the smallest number of rows that reach the claim with a probability, at the true error rate."""
    most = _most_errors(goal)
    if for_all_larger:
        # While k errors are allowed, the probability falls with the rows; it is smallest just before k + 1
        # are.
        k = _first(lambda k: bool(goal.chance(k, _real_rows_for(goal, k + 1)) >= chance), 0, most)
        while k >= 0 and goal.chance(k, rows_for(goal, k + 1) - 1) >= chance:
            k -= 1
        return rows_for(goal, k + 1)
    k = _first(lambda k: bool(goal.chance(k, _real_rows_for(goal, k)) >= chance), 0, most)
    while goal.chance(k, rows_for(goal, k)) < chance:
        k += 1
    return rows_for(goal, k)


def rows_for(goal: Goal, n_errors: int) -> int:
    """Return the smallest number of rows among which this many errors prove the claim."""
    return _first(lambda n: bool(goal.proved_by(n_errors, n)), n_errors + 1, MOST_ROWS)


def _real_rows_for(goal: Goal, n_errors: int) -> float:
    """Return the same as a fractional number."""
    high = float(rows_for(goal, n_errors))
    low = high - 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if goal.proved_by(n_errors, middle) else (middle, high)
    return high


def _fewest_rows(n_errors: int, error: Fraction) -> int:
    """Return the smallest number of rows at which this many errors are expected, rounded up."""
    return math.floor((n_errors - 1) / error) + 1


def _most_errors(goal: Goal) -> int:
    return math.ceil(goal.claim * MOST_ROWS)


def _first(holds: Callable[[int], bool], start: int, most: int) -> int:
    """Return the smallest whole number from `start` on at which a condition holds that then keeps holding."""
    step = 1
    low, high = start - 1, start
    while not holds(high):
        if high >= most:
            raise DomainError(
                f"The claim needs more than {MOST_ROWS:g} rows: it is too close to the error rate, or to 0."
            )
        low, high, step = high, min(high + step, most), 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
