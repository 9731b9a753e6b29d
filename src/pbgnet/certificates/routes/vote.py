"""The error rate of the vote through T networks, of which at most k are right, without the factor 2."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from pbgnet.bounds import FIXED_GRID, catoni_grid, choose_vote, vote_bound, vote_loss_error, vote_losses
from pbgnet.certificates.routes.base import ERROR_RATE, Evidence, Foresight, Route, Settings
from pbgnet.certificates.routes.measured import Measured, mean_loss
from pbgnet.certificates.routes.pac_bayes import (
    LossSettings,
    PosteriorEvidence,
    over_all_labels,
    require_divergence,
)
from pbgnet.exceptions import DomainError
from pbgnet.records import Limits


@dataclass(frozen=True)
class VoteSettings(LossSettings):
    """T and k, and how the loss "at most k of T networks are right" is bounded."""

    n_networks: Annotated[int, Limits(low=1, high=5000)] = 1
    n_right: Annotated[int, Limits(low=0, high=4999)] = 0


class Vote(Route):
    """Draws T networks per row; where the vote is wrong, at most k of them are right with probability q.

    With several labels, one is drawn as well, and the T networks answer on it: that bounds the Hamming loss
    of the votes, and L times it the share of rows with any wrong label.
    """

    name = "vote"
    summary = "the error rate of the posterior's vote, through several networks and without the factor 2"
    quantity = ERROR_RATE
    predictors = ("vote", "discarded vote")
    hamming_loss_of = predictors
    evidence_type: ClassVar[type[Evidence]] = PosteriorEvidence
    settings_type: ClassVar[type[Settings]] = VoteSettings

    def plan(self, foresight: Foresight) -> VoteSettings:
        """Choose T, k and C by the margins on prior rows."""
        if foresight.margins is None:
            return VoteSettings(c=FIXED_GRID)
        n, delta = foresight.n, foresight.delta
        mixture, kl = (
            choose_vote(
                foresight.margins.ravel(),
                foresight.divergence,
                n,
                delta,
                mixture=mixture,
                distance=foresight.distance,
            )
            for mixture in (True, False)
        )
        if kl.expected_bound < mixture.expected_bound:
            return VoteSettings(constant="maurer", n_networks=kl.n_networks, n_right=kl.n_right)
        total = mixture.n_networks * foresight.divergence
        c = tuple(catoni_grid(mixture.expected_risk, total, n, delta).tolist())
        return VoteSettings(c=c, n_networks=mixture.n_networks, n_right=mixture.n_right)

    def chosen(self, settings: VoteSettings) -> tuple[str, ...]:
        """Name T and k, and the trade-offs."""
        told = (
            f"the number of networks in the vote, {settings.n_networks}, and the rule that a row is lost if "
            f"at most {settings.n_right} of them are right"
        )
        return (
            (told,)
            if settings.c is None
            else (told, f"the {len(settings.c)} trade-off values C of its mixture")
        )

    def evidence(self, measured: Measured, settings: VoteSettings, delta: float) -> PosteriorEvidence:
        """Take the mean probability that at most k of T networks are right."""
        if measured.margins is None:
            raise DomainError("This route needs the margins of a network, but none were measured.")
        margins = np.clip(measured.margins, -1.0, 1.0)
        risk = mean_loss(vote_losses(margins, settings.n_networks, settings.n_right))
        error = vote_loss_error(settings.n_networks, settings.n_right, measured.margin_error)
        return PosteriorEvidence(
            measured.n,
            risk,
            error,
            require_divergence(measured),
            measured.margin_error,
            measured.distance.numerator,
            measured.distance.denominator,
            measured.n_labels,
        )

    def value(self, evidence: PosteriorEvidence, settings: VoteSettings, delta: float) -> float:
        """Bound that probability at the divergence of T networks, and divide by q."""
        bound = float(
            vote_bound(
                evidence.risk(),
                evidence.divergence,
                evidence.n,
                delta,
                settings.n_networks,
                settings.n_right,
                settings.c,
                settings.weights,
                margin_error=evidence.margin_error,
                distance=evidence.distance,
            )
        )
        return over_all_labels(bound, evidence)

    def words(self, settings: VoteSettings) -> str:
        """Name it and T."""
        return f"vote of {settings.n_networks} network{'s' * (settings.n_networks > 1)}"
