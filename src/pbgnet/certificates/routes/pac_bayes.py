"""What the PAC-Bayes routes share: evidence with a divergence, and the two bounds on a loss."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Self

from pbgnet.bounds import catoni_mixture_bound, sampled_risk_ceiling, seeger_bound
from pbgnet.certificates.routes.base import Evidence, Settings
from pbgnet.certificates.routes.measured import Measured, risk_ceiling
from pbgnet.exceptions import DomainError
from pbgnet.records import Limits, NonNegative, OpenProbability, Positive, PositiveCount, Probability


@dataclass(frozen=True)
class PosteriorEvidence(Evidence):
    """A mean loss of the posterior, and its divergence from the prior.

    Attributes
    ----------
    n : int
    empirical_risk : float
        Mean of the loss of the route, as computed.
    numerical_error : float
        Proved bound on the distance between the computed and the exact mean.
    divergence : float
        KL(posterior || prior) of one network, rounded up.
    margin_error : float
        Proved bound on the error of an output of the deployed vote; near 0 its answer may differ from the
        exact one. 0 if the bound is only about the loss.
    differing, of_outputs : int
        The smallest share of outputs in which the class of a row differs from another, in lowest terms; 1 of
        1 for two classes, for labels, and if the bound is only about the loss.
    n_labels : int
        If rows with any wrong label count, the number of labels: a wrong row is wrong in at least one of
        them. Otherwise 1.
    n_draws : int or None
        Number of independent draws from which the risk was estimated; None if it was computed.
    sampling_delta : float or None
        The share of delta that the draws pay.
    """

    empirical_risk: Probability
    numerical_error: NonNegative
    divergence: NonNegative
    margin_error: NonNegative = 0.0
    differing: PositiveCount = 1
    of_outputs: PositiveCount = 1
    n_labels: PositiveCount = 1
    n_draws: PositiveCount | None = None
    sampling_delta: OpenProbability | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.differing > self.of_outputs:
            raise DomainError("Two classes cannot differ in more outputs than the network has.")

    @property
    def distance(self) -> Fraction:
        """The smallest share of outputs in which the class of a row differs from another."""
        return Fraction(self.differing, self.of_outputs)

    def at(self, delta: float) -> Self:
        """Return the same evidence for another share of delta, of which the draws pay the same part."""
        return self if self.sampling_delta is None else replace(self, sampling_delta=delta)

    def slack_of(self, name: str) -> float | None:
        """The divergence may not be stated lower."""
        return 0.0 if name == "divergence" else None

    def risk(self) -> float:
        """Return the largest exact empirical risk that is possible given rounding, or sampling."""
        if (self.n_draws is None) != (self.sampling_delta is None):
            raise DomainError(
                "A sampled risk uses a share of delta: give both n_draws and sampling_delta, or neither."
            )
        risk = self.empirical_risk
        if self.n_draws is not None and self.sampling_delta is not None:
            risk = sampled_risk_ceiling(risk, self.n_draws, self.sampling_delta)
        return risk_ceiling(risk, self.numerical_error)


@dataclass(frozen=True)
class LossSettings(Settings):
    """How a loss is bounded: with the kl theorem, or with a mixture.

    Attributes
    ----------
    constant : {"maurer", "paper"} or None
        The constant of the kl theorem.
    c, weights : tuple of float or None
        Trade-offs and weights of the mixture; weights None for equal ones.

    Examples
    --------
    >>> from pbgnet.certificates.routes.pac_bayes import LossSettings
    >>> LossSettings(constant="maurer", c=(1.0,))
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DomainError: A loss is bounded either by the kl theorem (constant) or by a mixture (c):
    give exactly one of them.
    """

    constant: Annotated[str, Limits(choices=("maurer", "paper"))] | None = None
    c: Annotated[tuple[Positive, ...], Limits(longest=1024)] | None = None
    weights: Annotated[tuple[Positive, ...], Limits(longest=1024)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.constant is None) == (self.c is None):
            raise DomainError(
                "A loss is bounded either by the kl theorem (constant) or by a mixture (c): give exactly "
                "one of them."
            )
        if self.weights is not None and len(self.weights) != len(self.c or ()):
            raise DomainError("weights must have one value for each c.")


def posterior_evidence(measured: Measured, delta: float, *, of_vote: bool = False) -> PosteriorEvidence:
    """Take the linear loss from the rows, or from draws that estimate it; for the vote, all it needs."""
    risk, error = measured.mean_loss()
    evidence = PosteriorEvidence(measured.n, risk, error, require_divergence(measured))
    if of_vote:
        evidence = replace(
            evidence,
            margin_error=measured.margin_error,
            differing=measured.distance.numerator,
            of_outputs=measured.distance.denominator,
            n_labels=measured.n_labels,
        )
    if (sample := measured.sample) is None:
        return evidence
    return replace(evidence, empirical_risk=sample.risk, n_draws=sample.n_draws, sampling_delta=delta)


def require_divergence(measured: Measured) -> float:
    """Return the divergence, or raise an error if there is none."""
    if measured.divergence is None:
        raise DomainError("This route is for a network with a prior, but no divergence was measured.")
    return measured.divergence


def loss_bound(evidence: PosteriorEvidence, settings: LossSettings, delta: float) -> float:
    """Bound the expected loss by the kl theorem or by the mixture."""
    risk, divergence, n = evidence.risk(), evidence.divergence, evidence.n
    if settings.c is not None:
        return float(catoni_mixture_bound(risk, divergence, n, delta, settings.c, settings.weights))
    return float(seeger_bound(risk, divergence, n, delta, constant=str(settings.constant)))


def over_all_labels(bound: float, evidence: PosteriorEvidence) -> float:
    """Return a bound on the rows with any wrong label, given one on the share of wrong labels; rounded up."""
    if evidence.n_labels == 1:
        return bound
    return min(1.0, math.nextafter(bound * evidence.n_labels, 2.0))
