"""Sentences about a classifier that answers only where it is sure."""

from decimal import ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING

from pbgnet.certificates.format.numbers import percent, percent_up, round_up
from pbgnet.certificates.routes import Claim, SelectionEvidence, SelectionSettings, certified_place
from pbgnet.exceptions import DomainError

if TYPE_CHECKING:
    from pbgnet.certificates.format.certificate import Certificate

THRESHOLDS_SETTLED = (
    "The scores, and the thresholds from which rows are answered, were fixed before looking at the certified "
    "rows."
)
SCORE_OF_ROW = "The score of a row depends on that row and the classifier alone, not on other rows."


def place_of(claim: Claim) -> int | None:
    """Return the place of the threshold that a claim about answered rows certifies; None if it does none."""
    evidence, settings = claim.evidence, claim.settings
    if not isinstance(evidence, SelectionEvidence) or not isinstance(settings, SelectionSettings):
        raise DomainError(f"The {claim.quantity} is not one of answered rows.")
    return certified_place(evidence, settings, claim.delta)


def certified_threshold(claim: Claim) -> float | None:
    """Return the threshold that is certified; None if there is none."""
    place = place_of(claim)
    return None if place is None else claim.settings.thresholds[place]  # type: ignore[attr-defined]


def answered_share(claim: Claim) -> float:
    """Return the share of certified rows that are answered at the threshold that is certified."""
    place = place_of(claim)
    return 0.0 if place is None else claim.evidence.answered[place] / claim.evidence.n  # type: ignore[attr-defined]


def bounded_answers(certificate: "Certificate") -> str:
    """Return what the statement says of answered rows; "" where all rows are answered."""
    claim, unanswered = certificate.answered_error_rate, certificate.unanswered_rate
    if claim is None or unanswered is None:
        return ""
    threshold, target = certified_threshold(claim), claim.settings.target  # type: ignore[attr-defined]
    if threshold is None:
        return f"; at no threshold of the score is the error rate of answered rows shown to be at most {target!r}"
    if claim.value >= 1:
        return f"; nothing is proved about rows with a score of at least {threshold:.6g}, so many are answered"
    rate = round_up(claim.value) if target is None else repr(target)
    return (
        f"; where only rows with a score of at least {threshold:.6g} are answered, the error rate of answered "
        f"rows is at most {rate}, and at most {round_up(unanswered.value)} of all rows are left unanswered"
    )


def summed_up_answers(certificate: "Certificate") -> str:
    """Return what the summary says of answered rows, a sentence; "" where all rows are answered."""
    claim, unanswered = certificate.answered_error_rate, certificate.unanswered_rate
    if claim is None or unanswered is None:
        return ""
    target = claim.settings.target  # type: ignore[attr-defined]
    if claim.value >= 1:
        limit = "anything" if target is None else f"at most {percent(target)} %"
        return f" Answers no rows: of none is it shown that it is wrong on {limit} of those it answers."
    rate = percent_up(claim.value) if target is None else percent(target)
    least = Decimal(1) - Decimal(unanswered.value)
    return (
        f" Answers {100 * answered_share(claim):.1f} % of rows (at least {percent_down(least)} %), and is "
        f"wrong on at most {rate} % of those it answers."
    )


def percent_down(share: Decimal) -> str:
    """Write a share as a percentage with one decimal, rounded down."""
    return str((share * 100).quantize(Decimal("0.1"), rounding=ROUND_FLOOR))
