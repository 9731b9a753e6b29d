"""What is claimed of a classifier that answers only where it is sure: does it hold as often as it says?

Scores take finitely many values, so that the error rate and the share of the rows that reach a threshold are
known exactly.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from pbgnet.certificates.routes import ROUTES, Foresight, Measured, certified_place, make_claim

pytestmark = pytest.mark.statistical

DELTA = 0.3
"""Low confidence, so that failures can be counted; a third for each claim."""

N_ROWS, N_WORLDS, TARGET = 300, 100, 0.1


@dataclass(frozen=True)
class World:
    """Values of the score, how often each occurs, and how often the classifier is wrong there."""

    scores: np.ndarray
    shares: np.ndarray
    errors: np.ndarray

    def draw(self, n, rng):
        places = rng.choice(self.scores.size, n, p=self.shares)
        return self.scores[places], rng.random(n) < self.errors[places]

    def truth(self, threshold):
        """The error rate among rows that reach a threshold, and the share of these rows."""
        reached = self.scores >= threshold
        share = self.shares[reached].sum()
        return (self.shares * self.errors)[reached].sum() / max(share, 1e-300), share


def world(n_values, errors, weights=None):
    scores = np.linspace(0, 1, n_values)
    weights = np.ones(n_values) if weights is None else weights(scores)
    return World(scores, weights / weights.sum(), errors(scores))


WORLDS = {
    "clear": world(400, lambda s: 0.5 * np.exp(-6 * s)),
    "noisy labels": world(400, lambda s: 0.09 + 0.8 * 0.5 * np.exp(-9 * s)),
    "never below the target": world(400, lambda s: np.full_like(s, TARGET + 1e-6)),
    "just below the target": world(400, lambda s: np.full_like(s, TARGET - 1e-6)),
    "worst where it is sure": world(400, lambda s: np.where(s > 0.8, 0.25, 0.03)),
    "good, bad, good": world(400, lambda s: np.where((s > 0.45) & (s < 0.7), 0.3, 0.02)),
    "skew": world(400, lambda s: 0.4 * (1 - s) + 0.02, lambda s: np.exp(9 * s)),
    "six values": world(6, lambda s: 0.35 * (1 - s) ** 2 + 0.02),
    "two values": world(2, lambda s: np.where(s > 0, TARGET + 1e-6, 0.4), lambda s: 1 + 8 * s),
}


def failures(world, rng, *, n_worlds=N_WORLDS, coverage=None, n_prior=200):
    """How often a claim is wrong, of each kind and of any; and how often a threshold is certified."""
    wrong = np.zeros(3, dtype=int)
    joint = certified = 0
    share = DELTA / 3
    for _ in range(n_worlds):
        prior, _ = world.draw(n_prior, rng)
        foresight = Foresight(
            N_ROWS, share, scores=prior, max_error=None if coverage else TARGET, coverage=coverage
        )
        settings = ROUTES["fixed-sequence"].plan(foresight)
        scores, errors = world.draw(N_ROWS, rng)
        measured = Measured(errors, scores=scores)
        answered, unanswered = (
            make_claim("classifier", name, measured, settings, delta=share)
            for name in ("fixed-sequence", "unanswered-count")
        )
        overall = make_claim("classifier", "clopper-pearson", measured, delta=share)
        place = certified_place(answered.evidence, settings, share)
        found = [overall.value < world.truth(-1.0)[0], False, False]
        if place is not None:
            error, reached = world.truth(settings.thresholds[place])
            found[1:] = [error > answered.value, 1.0 - reached > unanswered.value]
        wrong += found
        joint += any(found)
        certified += place is not None
    return wrong, joint, certified


def allowed(n_worlds, rate):
    return stats.binom.ppf(0.999, n_worlds, rate)


@pytest.mark.parametrize("name", WORLDS)
def test_target_and_coverage_hold_together_as_often_as_stated(name):
    wrong, joint, _ = failures(WORLDS[name], np.random.default_rng(1))
    assert joint <= allowed(N_WORLDS, DELTA)
    assert wrong.max() <= allowed(N_WORLDS, DELTA / 3)


@pytest.mark.parametrize("coverage", [0.2, 0.7, 1.0])
@pytest.mark.parametrize("name", ["clear", "worst where it is sure", "six values"])
def test_the_error_rate_at_a_given_coverage_holds_as_often_as_stated(name, coverage):
    wrong, joint, certified = failures(WORLDS[name], np.random.default_rng(2), coverage=coverage)
    assert certified == N_WORLDS
    assert joint <= allowed(N_WORLDS, DELTA)
    assert wrong.max() <= allowed(N_WORLDS, DELTA / 3)


def test_the_test_can_fail():
    """Where every threshold is a true null, the limit at the best of them would fail far too often."""
    world, rng = WORLDS["never below the target"], np.random.default_rng(3)
    share, picked = DELTA / 3, 0
    for _ in range(N_WORLDS):
        scores, errors = world.draw(N_ROWS, rng)
        foresight = Foresight(N_ROWS, share, scores=scores, max_error=TARGET)
        settings = ROUTES["fixed-sequence"].plan(foresight)
        evidence = ROUTES["fixed-sequence"].evidence(Measured(errors, scores=scores), settings, share)
        tails = stats.binom.cdf(evidence.wrong, evidence.answered, TARGET)
        picked += bool((tails <= share).any())
    assert picked > allowed(N_WORLDS, share)


def test_thresholds_are_certified_where_they_can_be():
    for name in ("clear", "six values", "good, bad, good"):
        assert failures(WORLDS[name], np.random.default_rng(4))[2] > 0.4 * N_WORLDS
