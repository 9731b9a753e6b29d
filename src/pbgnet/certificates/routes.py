"""From the evidence of a claim to its value: one function per route, used to issue and to verify."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from pbgnet.bounds import catoni_mixture_bound, chernoff_bound, clopper_pearson_bound, seeger_bound
from pbgnet.bounds.disagreement import disagreement_bound
from pbgnet.bounds.sampled import sampled_risk_ceiling
from pbgnet.bounds.vote import divide_up, vote_bound, vote_quantile
from pbgnet.certificates.claim import Claim, Evidence, Settings
from pbgnet.certificates.evaluation import risk_ceiling
from pbgnet.exceptions import DomainError

__all__ = ["claim_value"]

Value = TypeVar("Value")


def claim_value(claim: Claim) -> float:
    """Return the bound that the evidence, the settings and the share of delta of a claim give.

    Its own value is not looked at.

    Examples
    --------
    >>> from pbgnet.certificates.claim import Claim, Evidence
    >>> from pbgnet.certificates.routes import claim_value
    >>> counted = Evidence(100, 0.0, n_errors=0)
    >>> round(claim_value(Claim("error rate", "classifier", "clopper-pearson", 1.0, 0.05, counted)), 6)
    0.029513
    """
    return ROUTES[claim.route](claim.evidence, claim.settings, claim.delta)


def _risk(evidence: Evidence) -> float:
    """Return the largest exact empirical risk that rounding, or sampling, leaves open."""
    if evidence.n_draws is None:
        return risk_ceiling(evidence.empirical_risk, evidence.numerical_error)
    sampled = sampled_risk_ceiling(
        evidence.empirical_risk, evidence.n_draws, _given("sampling_delta", evidence.sampling_delta)
    )
    return risk_ceiling(sampled, evidence.numerical_error)


def _loss(evidence: Evidence, settings: Settings, delta: float) -> float:
    """Bound a loss in [0, 1] by the kl theorem or by the mixture."""
    return (_seeger if settings.c is None else _mixture)(evidence, settings, delta)


def _seeger(evidence: Evidence, settings: Settings, delta: float) -> float:
    divergence, constant = _given("divergence", evidence.divergence), _given("constant", settings.constant)
    return float(seeger_bound(_risk(evidence), divergence, evidence.n, delta, constant=constant))


def _mixture(evidence: Evidence, settings: Settings, delta: float) -> float:
    divergence, c = _given("divergence", evidence.divergence), _given("c", settings.c)
    return float(catoni_mixture_bound(_risk(evidence), divergence, evidence.n, delta, c, settings.weights))


def _doubled(evidence: Evidence, settings: Settings, delta: float) -> float:
    return float(
        divide_up(np.float64(_loss(evidence, settings, delta)), vote_quantile(1, 0, evidence.margin_error))
    )


def _vote(evidence: Evidence, settings: Settings, delta: float) -> float:
    return float(
        vote_bound(
            _risk(evidence),
            _given("divergence", evidence.divergence),
            evidence.n,
            delta,
            _given("n_networks", settings.n_networks),
            _given("n_right", settings.n_right),
            settings.c,
            settings.weights,
            margin_error=evidence.margin_error,
        )
    )


def _counted(evidence: Evidence, settings: Settings, delta: float) -> float:
    return float(clopper_pearson_bound(_given("n_errors", evidence.n_errors), evidence.n, delta))


def _averaged(evidence: Evidence, settings: Settings, delta: float) -> float:
    return float(chernoff_bound(_risk(evidence), evidence.n, delta))


def _disagreement(evidence: Evidence, settings: Settings, delta: float) -> float:
    reference = _given("reference_bound", evidence.reference_bound)
    return disagreement_bound(reference, _given("n_errors", evidence.n_errors), evidence.n, delta)


ROUTES: dict[str, Callable[[Evidence, Settings, float], float]] = {
    "seeger": _seeger,
    "catoni-mixture": _mixture,
    "doubled": _doubled,
    "vote": _vote,
    "clopper-pearson": _counted,
    "chernoff": _averaged,
    "disagreement": _disagreement,
}


def _given(name: str, value: Value | None) -> Value:
    """Return what a route needs, or say that the claim lacks it."""
    if value is None:
        raise DomainError(f"The claim lacks {name}, which its route needs.")
    return value
