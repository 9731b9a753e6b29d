"""The claims of a certificate as rows of a table."""

from collections.abc import Sequence

from pbgnet.certificates import (
    Certificate,
    Claim,
    SelectionEvidence,
    SelectionSettings,
    round_down,
    round_up,
)
from pbgnet.declaration.blocks import Block, Paragraph, Table

COLUMNS = ("what is bounded", "among", "at least", "at most", "counted", "rows", "share of delta")
NONE = "-"

MOST_LINES = 30
"""Most claims of each kind that are shown: those with the largest bounds."""

QUANTITIES = {
    "hamming loss": "share of wrong labels (Hamming loss)",
    "linear loss": "expected linear loss",
    "brier loss": "expected Brier loss",
    "accuracy": "share of right answers",
    "error rate of answered rows": "error rate",
    "rate of unanswered rows": "share left unanswered",
}
"""Explanations of quantities whose name is not enough."""

KINDS = {
    "overall": "claims over all rows",
    "given_class": "classes",
    "answered": "pairs of classes",
    "label": "labels",
    "group": "groups",
}


def claim_blocks(certificate: Certificate) -> list[Block]:
    """Return the claims as a table, and a note on what was left out."""
    lines, told = [], []
    from_above = [claim for claim in certificate.claims if claim.quantity != "accuracy"]
    for kind, words in KINDS.items():
        claims = [claim for claim in from_above if kind_of(claim) == kind]
        shown = claims
        if len(claims) > MOST_LINES:
            ordered = sorted(claims, key=lambda claim: -claim.value)
            shown, rest = ordered[:MOST_LINES], ordered[MOST_LINES:]
            told.append(
                f"Only the {MOST_LINES} largest bounds of the {len(claims)} {words} are shown; the "
                f"others are at most {round_up(rest[0].value)}, and certificate.json lists them."
            )
        lines += [_line(certificate, claim) for claim in shown]
    if (balanced := certificate.balanced_error_rate) is not None:
        told.append(f"The mean of the error rates of the classes is at most {round_up(balanced)}.")
    if (difference := certificate.largest_group_difference) is not None:
        told.append(f"The error rates of any two groups differ by at most {round_up(difference)}.")
    return [Table(COLUMNS, tuple(lines)), *map(Paragraph, told)]


def kind_of(claim: Claim) -> str:
    """Return which part of the rows, or of the answers, a claim is about."""
    kinds = [kind for kind in ("answered", "given_class", "label", "group") if _part(claim, kind) is not None]
    return kinds[0] if kinds else "overall"


def speaks_of(certificate: Certificate, kind: str) -> bool:
    """Whether there are separate claims for classes, labels or groups."""
    return any(_part(claim, kind) is not None for claim in certificate.claims)


def _line(certificate: Certificate, claim: Claim) -> tuple[str, ...]:
    limits = [other for other in certificate.claims if claim.group is not None and other.group == claim.group]
    lower = next(
        (round_down(group.lower) for group in certificate.by_group if group.name == claim.group), NONE
    )
    asked = certificate.answered_limit if claim is certificate.answered_error_rate else round_up(claim.value)
    upper = asked if claim.value < 1 else "1 (nothing is proved)"
    share = sum(limit.delta for limit in limits or [claim])
    counts = _counts(certificate, claim)
    return _what(certificate, claim), _among(certificate, claim), lower, upper, *counts, f"{share:.4g}"


def _counts(certificate: Certificate, claim: Claim) -> tuple[str, str]:
    """Return the counted rate, and the number of rows."""
    evidence, settings = claim.evidence, claim.settings
    if not isinstance(evidence, SelectionEvidence) or not isinstance(settings, SelectionSettings):
        return f"{claim.empirical_risk:.4f}", str(evidence.n)
    if certificate.threshold is None:
        return NONE, str(evidence.n)
    place = settings.thresholds.index(certificate.threshold)
    answered = evidence.answered[place]
    if claim is certificate.unanswered_rate:
        return f"{1 - answered / evidence.n:.4f}", str(evidence.n)
    return f"{evidence.wrong[place] / max(1, answered):.4f}", str(answered)


def _what(certificate: Certificate, claim: Claim) -> str:
    if claim.answered is not None:
        return f"share answered {claim.answered}"
    if claim.label is not None:
        return f"error rate of label {claim.label}"
    if certificate.of_labels and claim.quantity == "error rate":
        return "share of rows with any wrong label"
    return QUANTITIES.get(claim.quantity, claim.quantity)


def _among(certificate: Certificate, claim: Claim) -> str:
    if claim is certificate.answered_error_rate and certificate.threshold is not None:
        return f"rows with a score of at least {certificate.threshold:.6g}"
    parts: Sequence[str] = [
        f"rows of {words} {part}"
        for words, kind in (("class", "given_class"), ("group", "group"))
        if (part := _part(claim, kind)) is not None
    ]
    return " and ".join(parts) or "all rows"


def _part(claim: Claim, kind: str) -> str | None:
    value: str | None = getattr(claim, kind)
    return value
