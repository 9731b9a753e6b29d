"""Certificates of several labels, in a world whose risks are known: they fail as seldom as they say."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from scipy import stats

from pbgnet.bounds import split_delta
from pbgnet.certificates.classifier import LabelAnswers
from pbgnet.certificates.data import Classes
from pbgnet.certificates.network import Situation, Terms, delta_of, evaluate, unions
from pbgnet.certificates.network.strategy import propose
from pbgnet.certificates.routes import Foresight
from pbgnet.networks import AggregatedNetwork, LabelCode

pytestmark = pytest.mark.statistical

CONFIDENCE, REPETITIONS, N_ROWS = 0.7, 70, 30
LABELS = ("'a'", "'b'", "'c'")
POINTS = np.array(list(itertools.product((-1.0, 0.5, 1.0), repeat=2)))
"""A row is one of these, each as likely as any other."""

PRIOR = np.array([[2.0, 0.3], [0.2, 2.0], [1.5, -1.2]])
STEPS = [np.zeros((3, 2)), *(0.5 * np.random.default_rng(0).normal(size=(6, 3, 2)))]
"""From the prior to posteriors: the rows choose the one of which the most can be said."""


@dataclass(frozen=True)
class World:
    """Each label of a point is there with a chance of its own, independent of the others."""

    chances: np.ndarray  # shape (points, labels)

    def draw(self, n, rng):
        """Draw the places of rows among the points, and whether they have each label."""
        places = rng.integers(0, len(POINTS), n)
        return places, (rng.random((n, 3)) < self.chances[places]).astype(np.int64)

    def risks(self, network):
        """Exact: rows with any wrong label, wrong labels, those of a drawn network, and each label."""
        with torch.no_grad():
            output = network(torch.tensor(POINTS)).numpy()
        wrong = np.where(output > 0, 1 - self.chances, self.chances)
        any_wrong = 1 - np.prod(1 - wrong, axis=1)
        drawn = (1 - (2 * self.chances - 1) * output) / 2
        names = dict(zip(LABELS, wrong.mean(axis=0), strict=True))
        return {
            "error rate": any_wrong.mean(),
            "hamming loss": wrong.mean(),
            "linear loss": drawn.mean(),
        } | names


def worlds():
    """Labels that the prior tells well, and labels that are nearly drawn at random."""
    clean = (POINTS @ PRIOR.T > 0).astype(float)
    return {"clear": World(0.03 + 0.94 * clean), "noisy": World(0.3 + 0.4 * clean)}


def network_of(weights):
    return AggregatedNetwork([torch.tensor(weights)], [torch.tensor(PRIOR)], intercept=False)


def simulate(world, certificate, *, per_label=False):
    """Return how often a claim was wrong, and how often its empirical risk was below the true one."""
    rng = np.random.default_rng(1)
    terms = Terms(CONFIDENCE, certificate=certificate, per_label=per_label)
    delta = terms.delta
    wanted = terms.wanted(LABELS, True, None)
    for union in unions(terms, (certificate,), wanted):
        delta = split_delta(delta, union.count)
    networks = [network_of(PRIOR + step) for step in STEPS]
    at_points = [evaluate(network, POINTS, np.zeros((9, 3), dtype=int), LabelCode(3)) for network in networks]

    def answers(network, places, labels):
        return replace(network, output=network.output[places], truth=labels)

    margins = answers(at_points[0], *world.draw(60, rng)).margins
    proposals = propose(certificate, Foresight(N_ROWS, delta, margins), True)
    violated = optimistic = 0
    for _ in range(REPETITIONS):
        found = [answers(network, *rows) for rows in [world.draw(N_ROWS, rng)] for network in at_points]
        best = int(np.argmin([each.risk + each.divergence / N_ROWS for each in found]))
        situation = Situation(found[best], found[0], LABELS)
        claims = [situation.claim(proposal, delta) for proposal in proposals]
        claims += [situation.claim(proposals[-1], delta, claimed.event) for claimed in wanted.claims]
        truth = world.risks(networks[0 if certificate == "held-out" else best])
        violated += any(truth[claim.label or claim.quantity] > claim.value for claim in claims)
        optimistic += any(truth[claim.label or claim.quantity] > claim.empirical_risk for claim in claims)
    return violated, optimistic


@pytest.mark.parametrize("world", worlds())
@pytest.mark.parametrize("certificate", ["held-out", "seeger", "mixture", "vote", "per label"])
def test_all_claims_together_fail_as_seldom_as_they_say(world, certificate):
    per_label = certificate == "per label"
    violated, optimistic = simulate(
        worlds()[world], "held-out" if per_label else certificate, per_label=per_label
    )
    allowed = stats.binom.ppf(0.999, REPETITIONS, 1 - CONFIDENCE)
    assert violated <= allowed
    if certificate in ("held-out", "per label"):
        assert optimistic > allowed  # the test has power: the counts alone would fail it


def simulate_classifier(world, *, per_label, repetitions=REPETITIONS):
    """Return the same for a classifier that is known by its answers alone."""
    rng, network = np.random.default_rng(3), network_of(PRIOR)
    delta = delta_of(CONFIDENCE)
    truth = world.risks(network)
    violated = optimistic = 0
    for _ in range(repetitions):
        places, labels = world.draw(N_ROWS, rng)
        answers = (POINTS[places] @ PRIOR.T > 0).astype(np.int64)
        claims = LabelAnswers(Classes(("a", "b", "c")), labels, answers).claims(per_label, delta)[0]
        violated += any(truth[claim.label or claim.quantity] > claim.value for claim in claims)
        optimistic += any(truth[claim.label or claim.quantity] > claim.empirical_risk for claim in claims)
    return violated, optimistic


@pytest.mark.parametrize("world", worlds())
@pytest.mark.parametrize("per_label", [False, True])
def test_any_classifier_is_certified_as_surely(world, per_label):
    violated, optimistic = simulate_classifier(worlds()[world], per_label=per_label)
    allowed = stats.binom.ppf(0.999, REPETITIONS, 1 - CONFIDENCE)
    assert violated <= allowed
    if world == "noisy":
        assert optimistic > allowed  # the test has power


def test_the_world_is_as_it_says():
    """The exact risks are those of many rows."""
    world, network = worlds()["noisy"], network_of(PRIOR)
    rows, labels = world.draw(100_000, np.random.default_rng(2))
    answers, truth = evaluate(network, POINTS[rows], labels, LabelCode(3)), world.risks(network)
    assert answers.n_errors / answers.n == pytest.approx(truth["error rate"], abs=0.006)
    assert answers.wrong_labels.mean() == pytest.approx(truth["hamming loss"], abs=0.006)
    assert answers.risk == pytest.approx(truth["linear loss"], abs=0.006)
