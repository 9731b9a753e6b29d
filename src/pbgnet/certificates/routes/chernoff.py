"""The held-out mean of a loss in [0, 1]: the kl (Chernoff) bound, valid for any values of the loss."""

from dataclasses import dataclass
from typing import ClassVar

from pbgnet.bounds import chernoff_bound
from pbgnet.certificates.routes.base import LINEAR_LOSS, Evidence, Route, Settings
from pbgnet.certificates.routes.measured import Measured, risk_ceiling
from pbgnet.records import NonNegative, Probability


@dataclass(frozen=True)
class MeanEvidence(Evidence):
    """A mean loss, as computed, and a proved bound on its distance from the exact one."""

    empirical_risk: Probability
    numerical_error: NonNegative


class Chernoff(Route):
    """`kl(mean, bound) <= ln(1 / delta) / n`; for a predictor fixed without the rows."""

    name = "chernoff"
    summary = "the held-out mean loss of a predictor that was fixed in advance, by the kl bound"
    quantity = LINEAR_LOSS
    predictors = ("prior's aggregate", "classifier")
    any_loss_of = "classifier"
    evidence_type: ClassVar[type[Evidence]] = MeanEvidence

    def evidence(self, measured: Measured, settings: Settings, delta: float) -> MeanEvidence:
        """Average."""
        return MeanEvidence(measured.n, *measured.mean_loss())

    def value(self, evidence: MeanEvidence, settings: Settings, delta: float) -> float:
        """Invert kl."""
        return float(
            chernoff_bound(risk_ceiling(evidence.empirical_risk, evidence.numerical_error), evidence.n, delta)
        )

    def words(self, settings: Settings) -> str:
        """Name it."""
        return "held-out bound"
