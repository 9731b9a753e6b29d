"""A claim to reach: the expected error rate, the bound wanted, and its share of delta."""

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.bounds import count_probability, split_delta
from pbgnet.certificates import delta_of
from pbgnet.exceptions import DomainError, DtypeError
from pbgnet.validation import positive_int

MOST_CLAIMS = 10**6
"""More claims than any certificate holds."""

SMALLEST_DELTA = 1e-300
"""At a smaller share of delta, the exact bound proves nothing."""


@dataclass(frozen=True)
class Goal:
    """What is to be claimed; made by `make_goal`, which checks it.

    Attributes
    ----------
    error : float
        The expected error rate; it means the decimals as written, not the nearest double.
    claim : float
        The bound that is wanted, which is larger.
    delta : float
        The share of the failure probability for this claim.
    """

    error: float
    claim: float
    delta: float

    @property
    def exact_error(self) -> Fraction:
        """The error rate as a fraction: 1/50 for 0.02."""
        return as_written(self.error)

    def errors_at(self, n: int) -> int:
        """Return the expected number of errors among n rows, rounded up."""
        return errors_expected(self.exact_error, n)

    def proved_by(self, n_errors: ArrayLike, n: ArrayLike) -> NDArray[np.bool_]:
        """Whether the exact bound from this many errors among n rows is at most the claim.

        For a search, n need not be a whole number. If it holds for n, it holds for every larger n.
        """
        k, rows = np.asarray(n_errors, dtype=np.float64), np.asarray(n, dtype=np.float64)
        return np.asarray((k <= self.claim * rows) & (count_probability(k, rows, self.claim) <= self.delta))

    def errors_allowed(self, n: ArrayLike) -> NDArray[np.int64]:
        """Return the largest number of errors among n rows that still proves the claim; -1 if not even 0."""
        rows = np.asarray(n, dtype=np.int64)
        allowed, refused = np.full(rows.shape, -1), np.floor(self.claim * rows).astype(np.int64) + 1
        while np.any(refused - allowed > 1):
            middle = (allowed + refused) // 2
            proved = (middle < 0) | self.proved_by(np.maximum(middle, 0), rows)
            allowed, refused = np.where(proved, middle, allowed), np.where(proved, refused, middle)
        return allowed

    def errors_allowed_between(self, own: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the same for increasing numbers of rows, from the few at which one more error is allowed."""
        ends = self.errors_allowed(own[[0, -1]])
        further = np.arange(ends[0] + 1, ends[1] + 1)
        if further.size >= own.size:
            return self.errors_allowed(own)
        refused, allowed = np.full(further.shape, own[0]), np.full(further.shape, own[-1])
        while np.any(allowed - refused > 1):
            middle = (allowed + refused) // 2
            proved = self.proved_by(further, middle)
            allowed, refused = np.where(proved, middle, allowed), np.where(proved, refused, middle)
        return np.asarray(ends[0] + np.searchsorted(allowed, own, side="right"))

    def chance(self, n_errors: ArrayLike, n: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of at most this many errors among n rows, if `error` is the true rate."""
        return np.asarray(np.minimum(count_probability(n_errors, n, self.error), 1.0))


def make_goal(error: float, claim: float, confidence: float = 0.95, n_claims: int = 1) -> Goal:
    """Check a goal; see `pbgnet.planning.rows_needed` for its parts.

    Raises
    ------
    DomainError
        If no number of rows can reach it, or none is needed.
    """
    rate, bound = check_error(error), _number("claim", claim)
    delta = split_delta(delta_of(confidence), positive_int("n_claims", n_claims, MOST_CLAIMS))
    if not 0.0 < bound < 1.0:
        raise DomainError(
            f"claim must be a rate between 0 and 1, such as 0.03 for 3 %, got {claim!r:.60}. No "
            "number of rows proves an error rate of 0, and 1 needs no proof."
        )
    if bound <= rate:
        raise DomainError(
            f"A claim of {bound:g} cannot be reached with an error rate of {rate:g}, however many "
            "rows you have: the bound approaches the error rate and never falls below it. Claim "
            "a rate above the one you expect."
        )
    if delta < SMALLEST_DELTA:
        raise DomainError(
            f"Each of the {n_claims} claims gets a share of {delta:g} of delta, which is too "
            "little to prove anything."
        )
    return Goal(rate, bound, delta)


def as_written(number: float) -> Fraction:
    """Return a number with exactly its written decimals.

    Examples
    --------
    >>> from pbgnet.planning.goal import as_written
    >>> as_written(0.02)
    Fraction(1, 50)
    """
    return Fraction(repr(number))


def errors_expected(error: Fraction, n: int) -> int:
    """Return the expected number of errors among n rows, rounded up."""
    return math.ceil(n * error)


def check_error(error: object) -> float:
    """Return an error rate in [0, 1) as a float."""
    rate = _number("error", error)
    if not 0.0 <= rate < 1.0:
        raise DomainError(
            f"error must be a rate of at least 0 and below 1, such as 0.02 for 2 %, got {error!r:.60}."
        )
    return rate


def check_chance(chance: object) -> float:
    """Return a probability between 0 and 1 as a float."""
    value = _number("chance", chance)
    if not 0.0 < value < 1.0:
        raise DomainError(
            f"chance must lie between 0 and 1, such as 0.8, got {chance!r:.60}. No number of rows "
            "is certain to be enough."
        )
    return value


def check_share(name: str, share: object) -> float:
    """Return a share of rows, above 0 and at most 1, as a float."""
    value = _number(name, share)
    if not 0.0 < value <= 1.0:
        raise DomainError(f"{name} must be above 0 and at most 1, such as 0.7 for 70 %, got {share!r:.60}.")
    return value


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise DtypeError(f"{name} must be a number, got {value!r:.60} of type {type(value).__name__}.")
    try:
        return float(value)
    except OverflowError:  # a whole number too large for a double
        return math.inf
