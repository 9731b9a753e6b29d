"""A plan: all claims with the rows they need, how the bound decreases, and how to divide a table."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pbgnet.bounds import clopper_pearson_bound, split_delta
from pbgnet.certificates import delta_of
from pbgnet.exceptions import OptionError
from pbgnet.planning.by_rows import BoundAtRows, bound_by_rows
from pbgnet.planning.goal import Goal, check_chance, check_share, make_goal
from pbgnet.planning.needed import MOST_ROWS
from pbgnet.planning.parts import (
    ANSWERED,
    WHOLE,
    Part,
    chance_of_claim,
    plan_part,
    read_shares,
    rows_of_part,
    share_delta,
)
from pbgnet.validation import positive_int

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Shares of a table to certify."""

DIGITS = (1, 2, 5)
SPAN = 12.0
"""The bound is shown from this many times fewer rows than needed to this many times more."""


@dataclass(frozen=True)
class CurvePoint(BoundAtRows):
    """What this many rows prove, and the probability that they prove the claim if `error` is the rate."""

    chance: float


@dataclass(frozen=True)
class SplitPoint:
    """A way to divide a table.

    Attributes
    ----------
    share : float
        Share of the table that is certified.
    certified, fitted : int
        Rows.
    bound, gap : float
        Bound over all rows, or all answered rows, at the expected error rate; and its distance from that
        rate.
    chance : float
        Probability of reaching the claim that needs the most rows.
    """

    share: float
    certified: int
    fitted: int
    bound: float
    gap: float
    chance: float


@dataclass(frozen=True)
class Plan:
    """What it takes to claim an error rate; made by `plan_rows`.

    Attributes
    ----------
    error, claim, confidence, chance : float
        As requested.
    answered : float
        Share of rows that are answered; 1 without abstention.
    n_claims : int
        Number of claims that share delta.
    n_parts : int
        Number of equal parts of delta, for claims that are not about a group.
    delta : float
        One of these parts.
    parts : tuple of Part
        All rows first, then classes, then groups.
    curve : tuple of CurvePoint
        How the bound over all rows, or over answered rows, decreases.
    n_rows : int or None
        Number of rows of the table to divide, if there is one.
    split : tuple of SplitPoint
        Ways to divide it.
    """

    error: float
    claim: float
    confidence: float
    chance: float
    answered: float
    n_claims: int
    n_parts: int
    delta: float
    parts: tuple[Part, ...]
    curve: tuple[CurvePoint, ...]
    n_rows: int | None
    split: tuple[SplitPoint, ...]

    @property
    def overall(self) -> Part:
        """The claim over all rows, or over all answered rows."""
        return self.parts[0]

    @property
    def deciding(self) -> Part:
        """The claim that needs the most rows, usually that of the rarest class or group."""
        return max(self.parts, key=lambda part: part.rows_with_chance)

    @property
    def certified_rows(self) -> int:
        """Number of rows to certify, so that each claim on its own is reached with the chance."""
        return self.deciding.rows_with_chance

    @property
    def n_missing(self) -> int:
        """Number of rows missing from the table; at least one row is left for training."""
        return 0 if self.n_rows is None else max(0, self.certified_rows + 1 - self.n_rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values for JSON."""
        return {**asdict(self), "certified_rows": self.certified_rows, "deciding": self.deciding.name}


def plan_rows(
    error: float,
    claim: float,
    confidence: float = 0.95,
    *,
    chance: float = 0.8,
    n_rows: int | None = None,
    class_shares: Mapping[str, float] | None = None,
    class_claim: float | None = None,
    group_shares: Mapping[str, float] | None = None,
    group_claim: float | None = None,
    answered: float = 1.0,
) -> Plan:
    """Plan a certificate before you buy labels: how many rows it needs, and how to divide a table.

    Parameters
    ----------
    error, claim, confidence
        As in `rows_needed`. The error rate is assumed to be the same in all classes and groups.
    chance : float, default=0.8
        Probability of reaching each claim on its own.
    n_rows : int, optional
        Number of rows of a table to divide between training and certification.
    class_shares, group_shares : mapping of str to float, optional
        The share of the rows in each class or group, to plan a claim for each.
    class_claim, group_claim : float, optional
        The bound you want for each of them. Default: `claim`.
    answered : float, default=1.0
        The share of rows that the classifier answers; `claim` is then about answered rows only. Claims about
        classes and groups are about all their rows, answered or not.

    Examples
    --------
    >>> from pbgnet.planning import plan_rows
    >>> plan = plan_rows(0.02, 0.03, class_shares={"ham": 0.9, "spam": 0.1}, class_claim=0.06)
    >>> plan.n_claims, plan.deciding.name, plan.certified_rows
    (3, 'spam', 2385)
    """
    sure, share = check_chance(chance), check_share("answered", answered)
    classes, groups = read_shares("classes", class_shares), read_shares("groups", group_shares)
    for what, given, named in (("class", class_claim, classes), ("group", group_claim, groups)):
        if given is not None and not named:
            raise OptionError(f"{what}_claim requires {what}_shares: the share of rows in each part.")
    shared = share_delta(len(classes), len(groups), share < 1.0)
    goal = make_goal(error, claim, confidence, shared.of_each)
    of_class, of_group = (claim if own is None else own for own in (class_claim, group_claim))
    goals = {
        "class": make_goal(error, of_class, confidence, shared.of_each),
        "group": make_goal(error, of_group, confidence, shared.of_group),
    }
    parts = [plan_part("all", WHOLE if share == 1.0 else ANSWERED, share, goal, sure)]
    for kind, shares in (("class", classes), ("group", groups)):
        parts += [plan_part(kind, name, own, goals[kind], sure) for name, own in shares.items()]
    table = None if n_rows is None else positive_int("n_rows", n_rows, MOST_ROWS)
    hardest = max(parts, key=lambda part: part.rows_with_chance)
    return Plan(
        goal.error,
        goal.claim,
        float(confidence),
        sure,
        share,
        shared.n_claims,
        shared.of_each,
        split_delta(delta_of(confidence), shared.of_each),
        tuple(parts),
        _curve(goal, confidence, shared.of_each, rows_of_part(parts[0].rows, share)),
        table,
        () if table is None else _split(table, goal, share, hardest, goals.get(hardest.kind, goal)),
    )


def _curve(goal: Goal, confidence: float, n_parts: int, needed: int) -> tuple[CurvePoint, ...]:
    """Return bounds at round numbers of rows around the number needed."""
    powers = range(int(math.log10(needed)) - 2, int(math.log10(needed)) + 3)
    rows = [digit * 10**power for power in powers if power >= 0 for digit in DIGITS]
    shown = [n for n in rows if needed / SPAN <= n <= needed * SPAN]
    points = bound_by_rows(goal.error, shown, confidence, n_claims=n_parts)
    return tuple(CurvePoint(**vars(point), chance=chance_of_claim(goal, point.rows)) for point in points)


def _split(n_rows: int, goal: Goal, answered: float, hardest: Part, its_goal: Goal) -> tuple[SplitPoint, ...]:
    """Return what each share of certified rows gives."""
    points = []
    for share in SHARES:
        certified = rows_of_part(n_rows, share)
        own = rows_of_part(certified, answered)
        if own < 1:
            continue
        bound = float(clopper_pearson_bound(goal.errors_at(own), own, goal.delta))
        chance = chance_of_claim(its_goal, certified, hardest.share)
        points.append(SplitPoint(share, certified, n_rows - certified, bound, bound - goal.error, chance))
    return tuple(points)
