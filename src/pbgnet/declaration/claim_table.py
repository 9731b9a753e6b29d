"""The claims of a certificate as lines of a table, whatever they speak of."""

from collections.abc import Sequence

from pbgnet.certificates import Certificate, Claim, SelectionEvidence, SelectionSettings, round_up
from pbgnet.declaration.blocks import Block, Paragraph, Table

COLUMNS = ("what is bounded", "among", "at most", "counted", "rows", "share of delta")

MOST_LINES = 30
"""Of each kind so many claims are shown, those with the largest bounds."""

QUANTITIES = {
    "hamming loss": "share of wrong labels (Hamming loss)",
    "linear loss": "expected linear loss",
    "brier loss": "expected Brier loss",
    "accuracy": "share of right answers",
    "error rate of answered rows": "error rate",
    "rate of unanswered rows": "share left unanswered",
}
"""Where the name of a quantity does not say it all."""

KINDS = {
    "overall": "claims over all rows",
    "given_class": "classes",
    "answered": "pairs of classes",
    "label": "labels",
    "group": "limits of groups",
}


def claim_blocks(certificate: Certificate) -> list[Block]:
    """Return the claims as a table, and what was left out of it."""
    lines, told = [], []
    for kind, words in KINDS.items():
        claims = [claim for claim in certificate.claims if kind_of(claim) == kind]
        shown = claims
        if len(claims) > MOST_LINES:
            ordered = sorted(claims, key=lambda claim: -claim.value)
            shown, rest = ordered[:MOST_LINES], ordered[MOST_LINES:]
            told.append(
                f"Of the {len(claims)} {words} those with the {MOST_LINES} largest bounds are shown; all "
                f"others are at most {round_up(rest[0].value)}, and certificate.json has them."
            )
        lines += [_line(certificate, claim) for claim in shown]
    if (balanced := certificate.balanced_error_rate) is not None:
        told.append(f"The mean of the error rates of the classes is at most {round_up(balanced)}.")
    return [Table(COLUMNS, tuple(lines)), *map(Paragraph, told)]


def kind_of(claim: Claim) -> str:
    """Return of which parts of the rows, or of the answers, a claim speaks."""
    kinds = [kind for kind in ("answered", "given_class", "label", "group") if _part(claim, kind) is not None]
    return kinds[0] if kinds else "overall"


def speaks_of(certificate: Certificate, kind: str) -> bool:
    """Whether something is claimed of classes, labels or groups apart."""
    return any(_part(claim, kind) is not None for claim in certificate.claims)


def _line(certificate: Certificate, claim: Claim) -> tuple[str, ...]:
    of_answers = claim == certificate.answered_error_rate
    bound = certificate.answered_limit if of_answers else round_up(claim.value)
    if claim.value >= 1:
        bound = "1 (nothing is proved)"
    counted, rows = _counted(certificate, claim)
    among = "answered rows" if of_answers else _among(claim)
    return _what(certificate, claim), among, bound, counted, str(rows), f"{claim.delta:.4g}"


def _counted(certificate: Certificate, claim: Claim) -> tuple[str, int]:
    """Return what was counted of the quantity, and among how many rows: at the threshold, if there is one."""
    evidence, settings = claim.evidence, claim.settings
    if isinstance(evidence, SelectionEvidence) and isinstance(settings, SelectionSettings):
        if claim == certificate.unanswered_rate:
            return f"{1 - (certificate.answered_share or 0.0):.4f}", evidence.n
        if certificate.threshold is None:
            return "-", 0
        place = settings.thresholds.index(certificate.threshold)
        answered = evidence.answered[place]
        return f"{evidence.wrong[place] / max(1, answered):.4f}", answered
    risk = claim.empirical_risk
    return f"{1 - risk if claim.quantity == 'accuracy' else risk:.4f}", evidence.n


def _what(certificate: Certificate, claim: Claim) -> str:
    if claim.answered is not None:
        return f"share answered {claim.answered}"
    if claim.label is not None:
        return f"error rate of label {claim.label}"
    if certificate.of_labels and claim.quantity == "error rate":
        return "share of rows with any wrong label"
    return QUANTITIES.get(claim.quantity, claim.quantity)


def _among(claim: Claim) -> str:
    parts: Sequence[str] = [
        f"rows of {words} {part}"
        for words, kind in (("class", "given_class"), ("group", "group"))
        if (part := _part(claim, kind)) is not None
    ]
    return " and ".join(parts) or "all rows"


def _part(claim: Claim, kind: str) -> str | None:
    value: str | None = getattr(claim, kind, None)  # claims of older kinds know nothing of groups
    return value
