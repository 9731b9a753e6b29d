"""Separate claims for rows of a class, of a group, or answered rows; and how delta is shared."""

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pbgnet.certificates import Wanted
from pbgnet.exceptions import DomainError, DtypeError, OptionError
from pbgnet.planning.goal import Goal, as_written, check_share
from pbgnet.planning.needed import CACHED, MOST_ROWS, first_rows, rows_for_chance, rows_for_good
from pbgnet.validation import check_kind

WHOLE = "all rows"
ANSWERED = "answered rows"

SUM_SLACK = 0.02
"""How far the sum of all shares may be from 1: people write 0.33 three times."""

MOST_PARTS = 1000

# The number of rows of a part is random; values beyond this many standard deviations are ignored.
DEVIATIONS = 7.0
MOST_POINTS = 2001


@dataclass(frozen=True)
class DeltaParts:
    """The number of equal parts of delta, divided as certificates do it.

    Attributes
    ----------
    n_claims : int
        Number of claims.
    of_each : int
        Parts for each claim over all rows, of a class, or of answered rows.
    of_group : int
        Parts for each of the two limits of a group; the limits of all groups have half of delta together.
    """

    n_claims: int
    of_each: int
    of_group: int


def share_delta(n_classes: int = 0, n_groups: int = 0, abstains: bool = False) -> DeltaParts:
    """Return how delta is shared by claims over all rows, of each class, of each group, of answered rows.

    A group has two limits, an upper and a lower one. If rows may be left unanswered, there are two more
    claims: the error rate of answered rows, and the share of unanswered rows.

    Examples
    --------
    >>> from pbgnet.planning import share_delta
    >>> share_delta(n_classes=3)
    DeltaParts(n_claims=4, of_each=4, of_group=4)
    >>> share_delta(n_groups=2)
    DeltaParts(n_claims=5, of_each=2, of_group=8)
    """
    for name, count in (("n_classes", n_classes), ("n_groups", n_groups)):
        check_kind(name, count, int)
        if not 0 <= count <= MOST_PARTS:
            raise DomainError(f"{name} must be between 0 and {MOST_PARTS}, got {count!r:.60}.")
    check_kind("abstains", abstains, bool)
    groups = tuple(map(str, range(n_groups)))
    wanted = Wanted(
        tuple(map(str, range(n_classes))), class_conditional=n_classes > 0, groups=groups, selective=abstains
    )
    of_each = math.prod(union.count for union in wanted.unions(1))
    limits = [claimed.event for claimed in wanted.claims if claimed.event.group is not None]
    of_group = round(0.5 / wanted.delta_of(limits[0], 0.5, of_each)) if limits else of_each
    return DeltaParts(1 + len(wanted.claims), of_each, of_group)


@dataclass(frozen=True)
class Part:
    """A part of the rows with its own claim, and how many rows of the table that takes.

    Attributes
    ----------
    kind : {"all", "class", "group"}
    name : str
    share : float
        Share of the certified rows, as far as it is known beforehand.
    claim : float
    rows : int
        Certified rows, over all parts, with which the claim is reached if error rate and share turn out as
        expected. Errors are rounded up, the rows of the part down.
    chance : float
        The probability that this many rows reach it, if the true error rate is the expected one.
    rows_for_good : int
        The number of rows from which on every larger number reaches it, too.
    rows_with_chance : int
        Certified rows that reach the claim with the requested probability; both the errors and the rows of
        the part are random.
    errors_allowed : int
        Errors allowed among the rows of the part, at `rows_with_chance` and the expected share.
    """

    kind: str
    name: str
    share: float
    claim: float
    rows: int
    chance: float
    rows_for_good: int
    rows_with_chance: int
    errors_allowed: int

    @property
    def own_rows(self) -> int:
        """The number of rows of the part, out of `rows`."""
        return rows_of_part(self.rows, self.share)


def plan_part(kind: str, name: str, share: float, goal: Goal, chance: float) -> Part:
    """Return how many certified rows a claim about a part of them takes."""
    rows, with_chance = _whole_rows(first_rows(goal), share), _rows_with_chance(goal, share, chance)
    return Part(
        kind,
        name,
        share,
        goal.claim,
        rows,
        chance_of_claim(goal, rows, share),
        _whole_rows(rows_for_good(goal), share),
        with_chance,
        int(goal.errors_allowed(rows_of_part(with_chance, share))),
    )


def rows_of_part(n: int, share: float) -> int:
    """Return how many of n rows a part has, rounded down."""
    return math.floor(n * as_written(share))


def chance_of_claim(goal: Goal, n: int, share: float = 1.0) -> float:
    """Return the probability that n certified rows prove the claim about a part of them.

    The number of errors is random, and for a share below 1 so is the number of rows of the part.
    """
    if share == 1.0:
        own, weights = np.array([n]), np.ones(1)
    else:
        own, weights = _own_rows(n, share)
    allowed = goal.errors_allowed_between(own)
    reached = np.where(allowed >= 0, goal.chance(np.maximum(allowed, 0), own), 0.0)
    return min(1.0, float(weights @ reached))


def read_shares(what: str, shares: Mapping[str, float] | None) -> dict[str, float]:
    """Check the shares of all classes, or of all groups, by name."""
    if shares is None:
        return {}
    if not isinstance(shares, Mapping):
        raise DtypeError(f"The shares of {what} must be a mapping from name to share, got {shares!r:.60}.")
    checked = {str(name): check_share(f"The share of {name!r:.40}", share) for name, share in shares.items()}
    if len(checked) < 2 or len(checked) > MOST_PARTS:
        raise OptionError(f"There must be 2 to {MOST_PARTS} {what}, got {len(checked)}.")
    if abs(sum(checked.values()) - 1.0) > SUM_SLACK:
        raise DomainError(
            f"The shares of the {what} must add up to 1, got {sum(checked.values()):.4g}: the "
            "confidence is shared between all of them, so none can be left out."
        )
    return checked


def _whole_rows(own: int, share: float) -> int:
    """Return the smallest number of rows of which a part has this many."""
    return math.ceil(own / as_written(share))


@functools.lru_cache(maxsize=CACHED)
def _rows_with_chance(goal: Goal, share: float, chance: float) -> int:
    """Return the rows that reach the claim with a probability; for a share below 1 found by bisection.

    The probability grows with the rows except for ripples, so slightly fewer rows may be enough too.
    """
    if share == 1.0:
        return rows_for_chance(goal, chance)
    low, high = 0, _whole_rows(rows_for_chance(goal, chance), share)
    while (found := chance_of_claim(goal, high, share)) < chance:
        low, high = high, high + max(1, high // (2 if found < chance / 2 else 8))
        if high > MOST_ROWS:
            raise DomainError(
                f"A claim about a share of {share:g} of the rows needs more than {MOST_ROWS:g} rows."
            )
    return _bisect(lambda n: chance_of_claim(goal, n, share) >= chance, low, high)


def _bisect(holds: Callable[[int], bool], low: int, high: int) -> int:
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _own_rows(n: int, share: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return possible numbers of rows of a part of n, and their probabilities; a sample of them if many."""
    mean, spread = n * share, DEVIATIONS * math.sqrt(n * share * (1.0 - share)) + 10.0
    low, high = max(0, math.floor(mean - spread)), min(n, math.ceil(mean + spread))
    own = np.unique(np.linspace(low, high, min(high - low + 1, MOST_POINTS)).astype(np.int64))
    logs = special.xlogy(own, share) + special.xlog1py(n - own, -share)
    logs += special.gammaln(n + 1) - special.gammaln(own + 1) - special.gammaln(n - own + 1)
    weights = np.exp(logs - logs.max())
    return own, weights / weights.sum()
