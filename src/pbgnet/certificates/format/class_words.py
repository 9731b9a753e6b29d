"""Sentences about classes, or labels: each by name if they are few, otherwise the worst of them."""

from collections.abc import Callable, Mapping, Sequence

from pbgnet.certificates.routes import Claim

MOST_CLASSES = 5
"""Up to this many classes, bounds are listed one by one."""

WORST = 3
"""With more classes, this many are named: those with the largest bounds."""


def told_by_class(claims: Sequence[Claim], write: Callable[[float], str]) -> str:
    """Say what the error rate is at most among the rows of each class.

    Parameters
    ----------
    claims : sequence of Claim
        One per class, two or more.
    write : callable
        Writes a bound, rounded up.
    """
    named = {claim: f"among rows of class {claim.given_class}" for claim in claims}
    return _told(named, "among rows of any other class", write)


def told_by_label(claims: Sequence[Claim], write: Callable[[float], str]) -> str:
    """Say what the error rate of each of several labels is at most; the parameters are those of classes."""
    named = {claim: f"in label {claim.label}" for claim in claims}
    return _told(named, "in any other label", write)


def _told(named: Mapping[Claim, str], others: str, write: Callable[[float], str]) -> str:
    claims = list(named)
    told = worst_classes(claims) if len(claims) > MOST_CLASSES else claims
    parts = [f"at most {write(claim.value)} {named[claim]}" for claim in told]
    if len(told) < len(claims):
        largest = max(claim.value for claim in claims if claim not in told)
        parts.append(f"at most {write(largest)} {others}")
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def told_of_cells(cells: Sequence[Claim], write: Callable[[float], str]) -> str:
    """Say that each cell of the confusion matrix is bounded, and by how much at most."""
    worst = max(cells, key=lambda claim: claim.value)
    return (
        f"the rate at which one class is answered with another is bounded for each of the {len(cells)} "
        f"pairs, by at most {write(worst.value)} (class {worst.given_class} answered with {worst.answered})"
    )


def worst_classes(claims: Sequence[Claim]) -> list[Claim]:
    """Return the few claims with the largest values, the largest first."""
    return sorted(claims, key=lambda claim: -claim.value)[:WORST]
