"""The error rate of another classifier, from how often it disagrees with a certified vote."""

from dataclasses import dataclass
from typing import ClassVar

from pbgnet.bounds import disagreement_bound
from pbgnet.certificates.routes.base import ERROR_RATE, Evidence, Route, Settings
from pbgnet.certificates.routes.clopper_pearson import CountEvidence
from pbgnet.certificates.routes.measured import Measured
from pbgnet.exceptions import DomainError
from pbgnet.records import Probability


@dataclass(frozen=True)
class DisagreementEvidence(CountEvidence):
    """On how many rows the two differ, and the bound on the error rate of the certified vote."""

    reference_bound: Probability

    def slack_of(self, name: str) -> float | None:
        """The bound it builds on may not be stated lower."""
        return 0.0 if name == "reference_bound" else None


class Disagreement(Route):
    """`R(f) <= R(vote) + P(f and vote differ)`, the second from a count on rows without labels."""

    name = "disagreement"
    summary = "the bound of a certified vote, plus a count of the rows on which another classifier differs"
    quantity = ERROR_RATE
    predictors = ("classifier",)
    evidence_type: ClassVar[type[Evidence]] = DisagreementEvidence

    def evidence(self, measured: Measured, settings: Settings, delta: float) -> DisagreementEvidence:
        """Count the rows on which they differ."""
        if measured.reference_bound is None:
            raise DomainError("A disagreement needs the bound of a certified vote, and none was given.")
        return DisagreementEvidence(measured.n, measured.n_errors, measured.reference_bound)

    def value(self, evidence: DisagreementEvidence, settings: Settings, delta: float) -> float:
        """Add the two."""
        return disagreement_bound(evidence.reference_bound, evidence.n_errors, evidence.n, delta)

    def words(self, settings: Settings) -> str:
        """Name it."""
        return "disagreement"
