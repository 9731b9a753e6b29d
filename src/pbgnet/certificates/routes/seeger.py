"""The kl bound of Seeger and Maurer on the linear loss of the posterior's aggregate."""

from typing import ClassVar

from pbgnet.certificates.routes.base import LINEAR_LOSS, Evidence, Foresight, Route, Settings
from pbgnet.certificates.routes.measured import Measured
from pbgnet.certificates.routes.pac_bayes import (
    LossSettings,
    PosteriorEvidence,
    loss_bound,
    posterior_evidence,
)


class Seeger(Route):
    """`kl(risk, bound) <= (KL + ln(constant / delta)) / n` (paper, Theorem 1)."""

    name = "seeger"
    summary = "the kl bound on the linear loss of the posterior's aggregate"
    quantity = LINEAR_LOSS
    predictors = ("aggregate", "discarded aggregate")
    evidence_type: ClassVar[type[Evidence]] = PosteriorEvidence
    settings_type: ClassVar[type[Settings]] = LossSettings

    def plan(self, foresight: Foresight) -> LossSettings:
        """Take the requested constant."""
        return LossSettings(constant=foresight.constant)

    def evidence(self, measured: Measured, settings: LossSettings, delta: float) -> PosteriorEvidence:
        """Take the mean linear loss and the divergence."""
        return posterior_evidence(measured, delta)

    def value(self, evidence: PosteriorEvidence, settings: LossSettings, delta: float) -> float:
        """Bound the linear loss."""
        return loss_bound(evidence, settings, delta)

    def words(self, settings: LossSettings) -> str:
        """Name it."""
        return "kl bound"
