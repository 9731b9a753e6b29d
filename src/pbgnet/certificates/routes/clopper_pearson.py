"""The held-out count of errors: the Clopper-Pearson limits, from above and from below."""

from dataclasses import dataclass
from typing import ClassVar

from pbgnet.bounds import clopper_pearson_bound
from pbgnet.certificates.routes.base import ACCURACY, ERROR_RATE, Evidence, Route, Settings
from pbgnet.certificates.routes.measured import Measured
from pbgnet.exceptions import DomainError
from pbgnet.records import Count


@dataclass(frozen=True)
class CountEvidence(Evidence):
    """A number of rows, and how many of them are wrong."""

    n_errors: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_errors > self.n:
            raise DomainError(f"n_errors must be at most n, got {self.n_errors} of {self.n}.")

    @property
    def empirical_risk(self) -> float:
        """Share of the rows that are wrong."""
        return self.n_errors / self.n


class ClopperPearson(Route):
    """Exact, and the best possible from a count; for a predictor fixed without the rows."""

    name = "clopper-pearson"
    summary = "the held-out count of errors of a predictor that was fixed in advance"
    quantity = ERROR_RATE
    predictors = ("prior's vote", "classifier")
    evidence_type: ClassVar[type[Evidence]] = CountEvidence

    def evidence(self, measured: Measured, settings: Settings, delta: float) -> CountEvidence:
        """Count."""
        return CountEvidence(measured.n, measured.n_errors)

    def value(self, evidence: CountEvidence, settings: Settings, delta: float) -> float:
        """Return the upper limit."""
        return float(clopper_pearson_bound(evidence.n_errors, evidence.n, delta))

    def words(self, settings: Settings) -> str:
        """Name it."""
        return "held-out count"


class ClopperPearsonLower(ClopperPearson):
    """The same count from below: an upper limit of the rate of right answers, which is 1 less the error rate.

    Only rows that are certainly wrong count as errors here.
    """

    name = "clopper-pearson-lower"
    summary = "the same count from below: 1 minus this bound is a lower limit of the error rate"
    quantity = ACCURACY

    def evidence(self, measured: Measured, settings: Settings, delta: float) -> CountEvidence:
        """Count the certain errors."""
        return CountEvidence(measured.n, measured.n_sure_errors)

    def value(self, evidence: CountEvidence, settings: Settings, delta: float) -> float:
        """Return the upper limit of the rate of right answers."""
        return float(clopper_pearson_bound(evidence.n - evidence.n_errors, evidence.n, delta))

    def words(self, settings: Settings) -> str:
        """Name it."""
        return "held-out count, from below"
