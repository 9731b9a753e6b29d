"""Twice a bound on the linear loss bounds the error rate of the vote; for codes, 2 / D times."""

from typing import ClassVar

import numpy as np

from pbgnet.bounds import divide_up, vote_quantile
from pbgnet.certificates.routes.base import ERROR_RATE, Evidence, Route, Settings
from pbgnet.certificates.routes.measured import Measured
from pbgnet.certificates.routes.pac_bayes import (
    LossSettings,
    PosteriorEvidence,
    loss_bound,
    over_all_labels,
    posterior_evidence,
)


class Doubled(Route):
    """Where the vote is wrong, its linear loss is at least D/2, which is 1/2 for two classes.

    With several labels, each has a vote, so the same bounds their Hamming loss, and L times it the share of
    rows with any wrong label.

    It uses the settings of the bound it doubles.
    """

    name = "doubled"
    summary = "twice the bound on the linear loss, for the error rate of the posterior's vote"
    quantity = ERROR_RATE
    predictors = ("vote", "discarded vote")
    hamming_loss_of = predictors
    evidence_type: ClassVar[type[Evidence]] = PosteriorEvidence
    settings_type: ClassVar[type[Settings]] = LossSettings

    def evidence(self, measured: Measured, settings: LossSettings, delta: float) -> PosteriorEvidence:
        """Take the mean linear loss, the divergence, and the accuracy of the vote."""
        return posterior_evidence(measured, delta, of_vote=True)

    def value(self, evidence: PosteriorEvidence, settings: LossSettings, delta: float) -> float:
        """Divide the bound on the loss by the smallest loss of an error."""
        loss = np.float64(loss_bound(evidence, settings, delta))
        rate = divide_up(loss, vote_quantile(1, 0, evidence.margin_error, evidence.distance))
        return over_all_labels(float(rate), evidence)

    def words(self, settings: LossSettings) -> str:
        """Name it, and the bound it doubles."""
        return "twice the kl bound" if settings.c is None else "twice the mixture"
