"""Limits of groups, and the largest difference between two, hold together as often as they say."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from pbgnet.certificates import certify

CONFIDENCE = 0.8
"""Low, so that failures can be counted."""

N_WORLDS = 250
CLASSES = ("no", "yes")


@dataclass(frozen=True)
class World:
    """Groups of very different sizes; the noise of labels differs between groups and classes."""

    sizes: NDArray[np.float64]
    noise: NDArray[np.float64]  # chance that the classifier's answer is wrong, by group and answer

    @classmethod
    def drawn(cls, rng):
        n_groups = int(rng.integers(2, 7))
        noise = rng.beta(0.5, 3.0, size=(n_groups, 2))
        noise[0] = noise[1]  # two groups that do not differ
        return cls(rng.dirichlet(np.full(n_groups, 0.5)), noise)

    def draw(self, n, rng):
        """Rows with the answer of the classifier and their group, and labels with noise."""
        group = rng.choice(len(self.sizes), n, p=self.sizes)
        answer = rng.integers(0, 2, n)
        wrong = rng.random(n) < self.noise[group, answer]
        table = pd.DataFrame({"row": rng.random(n), "answer": answer, "group": group})
        return table, np.array(CLASSES)[np.where(wrong, 1 - answer, answer)]

    @property
    def rates(self):
        """The true error rate of each group."""
        return self.noise.mean(axis=1)

    def class_rate(self, k):
        """The true error rate among rows of a class."""
        right, wrong = self.sizes @ (1 - self.noise[:, k]), self.sizes @ self.noise[:, 1 - k]
        return wrong / (right + wrong)

    def violated(self, certificate):
        """Whether any sentence of a certificate is false."""
        rates, groups = self.rates, certificate.by_group
        seen = [rates[int(group.name)] for group in groups]
        difference = certificate.largest_group_difference
        return (
            certificate.error_rate.value < self.sizes @ rates
            or any(not group.lower <= rates[int(group.name)] <= group.upper for group in groups)
            or any(
                claim.value < self.class_rate(CLASSES.index(claim.given_class.strip("'")))
                for claim in certificate.class_conditional
            )
            or (difference is not None and difference < max(seen) - min(seen))
        )


def classifier(X):
    return np.array(CLASSES)[np.asarray(X["answer"])]


def simulate(n_worlds, seed=0):
    """Return how many certificates hold a false sentence, and how many would, without sharing delta."""
    rng, false, unshared = np.random.default_rng(seed), 0, 0
    for _ in range(n_worlds):
        world = World.drawn(rng)
        X, y = world.draw(int(rng.integers(60, 600)), rng)
        by_class = bool(rng.integers(2)) and all(np.sum(y == name) >= 2 for name in CLASSES)
        asked = {"groups": "group", "classes": CLASSES, "class_conditional": by_class}
        certificate = certify(classifier, X, y, CONFIDENCE, **asked).certificate
        false += world.violated(certificate)
        shares = len(certificate.delta_plan.shares)
        careless = certify(classifier, X, y, max(1 - (1 - CONFIDENCE) * shares, 0.01), **asked).certificate
        unshared += world.violated(careless)
    return false, unshared


@pytest.mark.statistical
def test_all_limits_hold_together():
    false, unshared = simulate(N_WORLDS)
    assert false <= stats.binom.ppf(0.999, N_WORLDS, 1 - CONFIDENCE)
    # The sharing is needed: without it, sentences are false too often.
    assert unshared > stats.binom.ppf(0.999, N_WORLDS, 1 - CONFIDENCE)
