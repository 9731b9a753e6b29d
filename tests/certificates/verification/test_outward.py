"""Bounds are compared outward: stated too low they fail, however little; a little higher may be rounding."""

import dataclasses
import functools

import numpy as np
import pytest
from tests.certificates.conftest import Reads, build_model, failed, forged, make_data, make_learned, verify

from pbgnet.certificates import CertifiedModel, certify, certify_by_disagreement
from pbgnet.certificates.verification.cases import AnswersCase, NetworkCase
from pbgnet.certificates.verification.steps import ANSWERS_STEPS, NETWORK_STEPS

SAMPLED = {"aggregation": "monte_carlo", "n_samples": 20, "seed": 3, "hidden": (3,)}
FRESH = np.random.default_rng(9).normal(size=(500, 1))


def shipped():
    vote = build_model("zero")[0]
    return certify_by_disagreement(vote, lambda X: np.where(X[:, 0] > 0.1, "yes", "no"), FRESH), FRESH, None


def counted(**options):
    x, y = make_data()
    return certify(Reads(), x, y, **options), x, y


CERTIFIED = {
    "seeger": functools.partial(make_learned, shift=0.5, certificate="seeger"),
    "mixture": functools.partial(make_learned, shift=0.5, certificate="mixture"),
    "vote, classes": functools.partial(make_learned, shift=0.5, certificate="vote", class_conditional=True),
    "held-out": functools.partial(make_learned, shift=0.5, certificate="held-out"),
    "auto": functools.partial(make_learned, shift=-7.9, hidden=(3,), certificate="auto"),
    "sampled": functools.partial(make_learned, shift=0.5, certificate="mixture", **SAMPLED),
    "classifier": functools.partial(counted, class_conditional=True, loss="brier"),
    "disagreement": shipped,
}


@pytest.fixture(params=CERTIFIED, scope="module")
def certified(request):
    return CERTIFIED[request.param]()


def changed(certified, part, k, claim):
    """The same certificate with another k-th claim, or alternative."""
    listed = list(getattr(certified.certificate, part))
    listed[k] = claim
    return forged(certified, **{part: tuple(listed)})


def refusal(genuine, X, y):
    """Return what tells whether one step of `verify` fails for another certificate of the same network.

    What the network answers, and what was known beforehand, is computed once: no number that is changed here
    has a part in it.
    """
    if not isinstance(genuine, CertifiedModel):
        return lambda step, forgery: not ANSWERS_STEPS[step](AnswersCase(forgery, X, y)).ok
    original = NetworkCase(genuine, X, y)
    known = {name: getattr(original, name) for name in ("table", "situation", "foresight")}

    def refused(step, forgery):
        case = NetworkCase(forgery, X, y)
        vars(case).update(known)
        return not NETWORK_STEPS[step](case).ok

    return refused


def each(certified):
    """Every claim and alternative, with its place and the step that recomputes it."""
    for part, step in (("claims", "bound"), ("alternatives", "alternatives")):
        for k, claim in enumerate(getattr(certified.certificate, part)):
            yield part, k, claim, step


def test_a_bound_that_is_stated_too_low_fails_however_little(certified):
    model, X, y = certified
    assert verify(model, X, y).ok
    refused = refusal(model, X, y)
    for part, k, claim, step in each(model):
        for lowered in (claim.value - 1e-6, claim.value * (1 - 1e-10), claim.value * (1 - 3e-12)):
            forgery = changed(model, part, k, dataclasses.replace(claim, value=lowered))
            assert refused(step, forgery), (claim, lowered)


def test_a_bound_that_is_stated_higher_by_rounding_passes_and_by_more_fails(certified):
    model, X, y = certified
    refused = refusal(model, X, y)
    for part, k, claim, step in each(model):
        if claim.value < 0.99:
            for factor, ok in ((1 - 1e-13, True), (1 + 5e-10, True), (1 + 1e-8, False)):
                nudged = changed(model, part, k, dataclasses.replace(claim, value=claim.value * factor))
                assert refused(step, nudged) != ok, (claim, factor)


@pytest.mark.parametrize("name", ["divergence", "refuted_mean"])
def test_evidence_that_is_stated_too_low_fails_with_a_bound_that_follows_from_it(certified, name):
    model, X, y = certified
    refused = refusal(model, X, y)
    for part, k, claim, _ in each(model):
        stated = getattr(claim.evidence, name, None)
        if stated is None or claim.discarded:  # no such evidence, or on trust
            continue
        # Losses of a network are computed again, with their error.
        little = 2e-9 if name == "refuted_mean" and claim.predictor != "classifier" else 1e-10
        for factor, ok in ((1 - little, False), (1 + 5e-10, True)):
            evidence = dataclasses.replace(claim.evidence, **{name: stated * factor})
            forgery = changed(model, part, k, dataclasses.replace(claim, evidence=evidence).recomputed())
            step = "evidence" if part == "claims" else "alternatives"
            assert refused(step, forgery) != ok, (claim, factor)


def test_draws_that_pay_more_than_they_were_given_fail():
    model, X, y = CERTIFIED["sampled"]()
    claim = model.certificate.claims[0]
    evidence = dataclasses.replace(claim.evidence, sampling_delta=claim.delta * (1 + 1e-10))
    forgery = changed(model, "claims", 0, dataclasses.replace(claim, evidence=evidence).recomputed())
    assert "evidence" in failed(verify(forgery, X, y))


def test_the_bound_that_a_disagreement_leans_on_is_compared_outward_too():
    model, X, _ = shipped()
    subject, claim = model.certificate.subject, model.certificate.error_rate
    lower = subject.reference.claim.value * (1 - 1e-10)
    reference = dataclasses.replace(
        subject.reference, claim=dataclasses.replace(subject.reference.claim, value=lower)
    )
    evidence = dataclasses.replace(claim.evidence, reference_bound=lower)
    forgery = forged(
        model,
        subject=dataclasses.replace(subject, reference=reference),
        claims=(dataclasses.replace(claim, evidence=evidence).recomputed(),),
    )
    assert "reference" in failed(verify(forgery, X))


def test_a_stated_divergence_that_is_too_low_fails(build):
    model, X, y = build("random")
    subject = model.certificate.network
    for factor, ok in ((1 - 1e-10, False), (1 + 5e-10, True)):
        told = dataclasses.replace(subject, divergence=subject.divergence * factor)
        assert ("divergence" not in failed(verify(forged(model, subject=told), X, y))) == ok
