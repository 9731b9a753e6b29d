"""Sentences about a classifier that only answers when it is sure."""

from decimal import ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING

from pbgnet.bounds import percent, percent_up, round_up
from pbgnet.certificates.routes import Claim, SelectionEvidence, SelectionSettings, certified_place
from pbgnet.exceptions import DomainError

if TYPE_CHECKING:
    from pbgnet.certificates.format.certificate import Certificate

THRESHOLDS_SETTLED = (
    "The scores, the candidate thresholds for answering and the target for answered rows were fixed before "
    "looking at the certified rows."
)
SCORE_OF_ROW = "The score of a row depends only on that row and the classifier, not on other rows."


def certified_threshold(claim: Claim) -> float | None:
    """Return the threshold that a claim about answered rows certifies; None if there is none."""
    evidence, settings = _counts_of(claim)
    place = certified_place(evidence, settings, claim.delta)
    return None if place is None else settings.thresholds[place]


def answered_share(claim: Claim) -> float:
    """Return the share of certified rows that are answered at the certified threshold."""
    evidence, settings = _counts_of(claim)
    place = certified_place(evidence, settings, claim.delta)
    return 0.0 if place is None else evidence.answered[place] / evidence.n


def answered_limit(claim: Claim) -> str:
    """Write the bound on the error rate of answered rows: a target as asked for, a limit rounded up."""
    return round_up(claim.value) if _counts_of(claim)[1].target is None else repr(claim.value)


def answered_percent(claim: Claim) -> str:
    """Write the same bound as a percentage, without the sign."""
    target = _counts_of(claim)[1].target
    return percent_up(claim.value) if target is None else percent(target)


def bounded_answers(certificate: "Certificate") -> str:
    """Return what the statement says of answered rows; "" where all rows are answered."""
    claim, unanswered = certificate.answered_error_rate, certificate.unanswered_rate
    if claim is None or unanswered is None:
        return ""
    threshold, target = certified_threshold(claim), _counts_of(claim)[1].target
    if threshold is None:
        return (
            "; no threshold of the score is shown to keep the error rate of answered rows at or below "
            f"{target!r}"
        )
    reached = f"rows with a score of at least {threshold:.6g}"
    if claim.value >= 1:
        return f"; nothing is proved about {reached}"
    return (
        f"; if only {reached} are answered, the error rate of answered rows is at most "
        f"{answered_limit(claim)}, and at most {round_up(unanswered.value)} of all rows are left unanswered"
    )


def summed_up_answers(certificate: "Certificate") -> str:
    """Return what the summary says about answered rows, a sentence; "" if all rows are answered."""
    claim, unanswered = certificate.answered_error_rate, certificate.unanswered_rate
    if claim is None or unanswered is None:
        return ""
    target = _counts_of(claim)[1].target
    if claim.value >= 1:
        few = "a useful share" if target is None else f"at most {percent(target)} %"
        return f" Answers no rows: no threshold is shown to keep wrong answers to {few}."
    least = (1 - Decimal(unanswered.value)) * 100
    return (
        f" Answers {100 * answered_share(claim):.1f} % of rows (at least "
        f"{least.quantize(Decimal('0.1'), rounding=ROUND_FLOOR)} %), and is wrong on at most "
        f"{answered_percent(claim)} % of those it answers."
    )


def _counts_of(claim: Claim) -> tuple[SelectionEvidence, SelectionSettings]:
    evidence, settings = claim.evidence, claim.settings
    if not isinstance(evidence, SelectionEvidence) or not isinstance(settings, SelectionSettings):
        raise DomainError(f"The {claim.quantity} is not a claim about answered rows.")
    return evidence, settings
