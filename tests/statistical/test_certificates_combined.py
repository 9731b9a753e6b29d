"""Groups with abstention, or with several labels: all claims hold together as often as a certificate says.

Tables have finitely many kinds of rows, so that every rate is known exactly.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from pbgnet.certificates import certify, certify_selective

pytestmark = pytest.mark.statistical

CONFIDENCE, N_WORLDS = 0.7, 100
"""A low confidence, so that failures can be counted."""

ALLOWED = stats.binom.ppf(0.999, N_WORLDS, 1 - CONFIDENCE)
LABELS = ("wet", "warm")


@dataclass(frozen=True)
class World:
    """Kinds of rows: the share, group and score of each, and the chance that each of two labels is wrong."""

    shares: NDArray[np.float64]
    group: NDArray[np.int64]
    score: NDArray[np.float64]
    wrong: NDArray[np.float64]

    @classmethod
    def drawn(cls, rng):
        n_groups, n_scores = int(rng.integers(2, 6)), int(rng.integers(2, 30))
        group, place = (each.ravel() for each in np.mgrid[:n_groups, :n_scores])
        sizes = rng.dirichlet(np.full(n_groups, 0.7))[group] * rng.dirichlet(np.ones(n_scores))[place]
        score = place / (n_scores - 1)
        rates = (0.3 * (1 - score) ** 2 + 0.02)[:, None] * rng.choice([0.3, 1.0, 2.0], (n_groups, 2))[group]
        rates[rng.random(len(rates)) < 0.1] = 0.5  # wherever the classifier may be sure, it can be wrong
        return cls(sizes / sizes.sum(), group, score, rates)

    def draw(self, n, rng):
        """Rows with the answer of the classifier, and the labels."""
        kind = rng.choice(self.shares.size, n, p=self.shares)
        answer = rng.integers(0, 2, (n, 2))
        table = pd.DataFrame({"row": rng.random(n), "group": self.group[kind], "score": self.score[kind]})
        table[list(LABELS)] = answer
        return table, np.where(rng.random((n, 2)) < self.wrong[kind], 1 - answer, answer)

    def rate(self, wrong, rows=True):
        """The mean of a rate over some kinds of rows."""
        weights = np.where(rows, self.shares, 0.0)
        return min(1.0, weights @ wrong / max(weights.sum(), 1e-300))

    def group_rates(self, wrong):
        """Truths about each group, under the quantity and the name of the group."""
        rates = {str(g): self.rate(wrong, self.group == g) for g in np.unique(self.group).tolist()}
        upper = {("error rate", name): rate for name, rate in rates.items()}
        return upper | {("accuracy", name): 1 - rate for name, rate in rates.items()}


def one_label(X):
    return np.asarray(X["wet"])


def both_labels(X):
    return np.asarray(X[list(LABELS)])


def sureness(model, X):
    return np.asarray(X["score"])


def judged(certificate, truth):
    """Whether any sentence is false, and whether any would be that told what was counted as it is."""
    claims = certificate.claims
    rates = [truth["error rate", group.name] for group in certificate.by_group]
    false = any(claim.value < truth[_key(claim)] for claim in claims)
    false |= (certificate.largest_group_difference or 1.0) < max(rates) - min(rates)
    return false, any(claim.empirical_risk < truth[_key(claim)] for claim in claims)


def _key(claim):
    return (claim.quantity, claim.label or claim.group)


def with_answered_rows(rng):
    """Judge a certificate with groups of a classifier that may abstain, in a world of its own."""
    world = World.drawn(rng)
    X, Y = world.draw(int(rng.integers(100, 500)), rng)
    certificate = certify_selective(
        one_label,
        X,
        Y[:, 0],
        0.12,
        training_data=world.draw(150, rng)[0],
        scores=sureness,
        groups="group",
        confidence=CONFIDENCE,
    ).certificate
    wrong, threshold = world.wrong[:, 0], certificate.threshold
    reached = world.score >= (np.inf if threshold is None else threshold)
    truth = world.group_rates(wrong) | {
        ("error rate", None): world.rate(wrong),
        ("error rate of answered rows", None): world.rate(wrong, reached),
        ("rate of unanswered rows", None): world.rate(~reached),
    }
    return judged(certificate, truth)


def with_labels(rng):
    """Judge a certificate with groups of a classifier with several labels, in a world of its own."""
    world = World.drawn(rng)
    X, Y = world.draw(int(rng.integers(60, 400)), rng)
    labels = pd.DataFrame(Y, columns=list(LABELS))
    certificate = certify(both_labels, X, labels, CONFIDENCE, groups="group", per_label=True).certificate
    any_wrong = 1 - np.prod(1 - world.wrong, axis=1)
    truth = world.group_rates(any_wrong) | {
        ("error rate", None): world.rate(any_wrong),
        ("hamming loss", None): world.rate(world.wrong.mean(axis=1)),
    }
    truth |= {("error rate", repr(name)): world.rate(world.wrong[:, k]) for k, name in enumerate(LABELS)}
    return judged(certificate, truth)


@pytest.mark.parametrize("judge", [with_answered_rows, with_labels])
def test_all_sentences_hold_together(judge):
    rng = np.random.default_rng(1)
    false, optimistic = np.sum([judge(rng) for _ in range(N_WORLDS)], axis=0)
    assert false <= ALLOWED
    assert optimistic > ALLOWED  # the test has power: counts alone would fail it
