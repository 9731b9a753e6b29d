"""The error rate in each group: its limits, small groups, and the sentences about them."""

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from pbgnet.bounds import clopper_pearson_bound, percent_up, round_down, round_up
from pbgnet.certificates.data import GroupSize, GroupsRecord
from pbgnet.certificates.routes import ACCURACY, ERROR_RATE, Claim

if TYPE_CHECKING:
    from pbgnet.certificates.format.certificate import Certificate

SMALL = 0.1
"""A group is small if, even without an error among its rows, the upper limit would be above this."""

MOST_TOLD = 5
"""Up to this many groups, limits are listed one by one."""

WORST = 3
"""With more groups, this many are named: those with the largest upper limits."""


class GroupLimits(NamedTuple):
    """What is claimed about the error rate in one group.

    Attributes
    ----------
    name : str
        As Python writes it.
    n, n_errors : int
        Certified rows of the group, and those of them that are wrong.
    lower, upper : float
        The certified interval.
    """

    name: str
    n: int
    n_errors: int
    lower: float
    upper: float


def limits_of_groups(claims: Iterable[Claim]) -> tuple[GroupLimits, ...]:
    """Return the limits of each group that has both, in the order of the claims."""
    found: dict[str, dict[str, Claim]] = {}
    for claim in claims:
        if claim.group is not None:
            found.setdefault(claim.group, {})[claim.quantity] = claim
    return tuple(
        GroupLimits(
            name,
            both[ERROR_RATE].evidence.n,
            int(getattr(both[ERROR_RATE].evidence, "n_errors", 0)),
            _complement(both[ACCURACY].value),
            both[ERROR_RATE].value,
        )
        for name, both in found.items()
        if ERROR_RATE in both and ACCURACY in both
    )


def small_groups(groups: GroupsRecord, delta: float) -> tuple[GroupSize, ...]:
    """Return the groups with few rows; which they are does not depend on labels or answers."""
    return tuple(
        size for size in groups.sizes if size.n == 0 or float(clopper_pearson_bound(0, size.n, delta)) > SMALL
    )


def statement_of_groups(certificate: "Certificate", subject: str = "the error rate") -> str:
    """Say between which limits the error rate of each group is, and how far two of them differ."""
    limits = certificate.by_group
    if not limits:
        return ""
    told = f"; {subject} is {_between(limits, round_down, round_up)}"
    difference = certificate.largest_group_difference
    if difference is not None:
        told += f", so the error rates of any two groups differ by at most {round_up(difference)}"
    return told


def summary_of_groups(certificate: "Certificate") -> str:
    """Say how often it is wrong in the worst group, and how far two groups differ."""
    limits, difference = certificate.by_group, certificate.largest_group_difference
    if not limits:
        return ""
    worst = max(limits, key=lambda group: group.upper)
    told = (
        f", at most {percent_up(worst.upper)} % in every group (the largest for {worst.name}, "
        f"{_rows(worst.n)})"
    )
    if difference is not None:
        told += f", and no two groups differ by more than {percent_up(difference)} percentage points"
    return told


def groups_settled(certificate: "Certificate") -> tuple[str, ...]:
    """Say that the groups were not chosen by labels."""
    groups = certificate.groups
    if groups is None:
        return ()
    by = "were given row by row" if groups.column is None else f"were read from column {groups.column!r}"
    return (
        f"The groups {by}. How rows are grouped was decided before looking at the labels of the certified "
        "rows, and the group of a row does not depend on other rows. The number of certified rows in each "
        "group is taken as it is.",
    )


def small_groups_told(certificate: "Certificate") -> tuple[str, ...]:
    """Name the groups about which little can be said."""
    small = certificate.small_groups
    if not small:
        return ()
    named = [f"{size.name} ({size.n or 'no'} certified {'row' if size.n == 1 else 'rows'})" for size in small]
    listed = f"{', '.join(named[:-1])} and {named[-1]}" if len(named) > 1 else named[0]
    head = f"Some groups are small: {listed}." if len(named) > 1 else f"One group is small: {listed}."
    return (
        f"{head} With so few rows, an error rate of {SMALL:g} could not be ruled out even if none of them "
        "were wrong.",
    )


def _rows(count: int) -> str:
    return f"{count} {'row' if count == 1 else 'rows'}"


def _between(limits: Sequence[GroupLimits], down: Callable[[float], str], up: Callable[[float], str]) -> str:
    several = len(limits) > MOST_TOLD
    named = sorted(limits, key=lambda group: -group.upper)[:WORST] if several else limits
    parts = [
        f"between {down(group.lower)} and {up(group.upper)} among the {_rows(group.n)} of group {group.name}"
        for group in named
    ]
    if several:
        others = [group for group in limits if group not in named]
        lowest, largest = min(group.lower for group in others), max(group.upper for group in others)
        parts.append(f"between {down(lowest)} and {up(largest)} in each of the other {len(others)} groups")
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _complement(value: float) -> float:
    """Return 1 minus a number in [0, 1], rounded down."""
    exact = 1 - Fraction(value)
    rounded = float(exact)
    return rounded if rounded <= exact else math.nextafter(rounded, 0.0)
