"""Mixture and vote in worlds whose risks are known, against posteriors that cheat as far as they can.

A bound for all posteriors must hold for the worst of them. Here it is chosen after the sample was seen
and with the true risks known. Versions with the usual mistakes run through the same worlds and must be
found out.
"""

import math

import numpy as np
import pytest
from scipy import stats

from pbgnet.bounds import catoni_mixture_bound, vote_bound, vote_losses, vote_quantile

pytestmark = pytest.mark.statistical

DELTA = 0.2
REPETITIONS = 2000
ALLOWED = stats.binom.ppf(0.999, REPETITIONS, DELTA)


def gibbs(score: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Posteriors over M networks in favour of high scores, and their divergences from the uniform prior.

    `score` (..., M) gives posteriors (..., B, M), one for each of B slopes; an infinite one picks the best.
    """
    best = score == score.max(axis=-1, keepdims=True)
    finite = np.where(np.isfinite(slopes), slopes, 0.0)[:, None]
    weight = np.exp(finite * (score - score.max(axis=-1, keepdims=True))[..., None, :])
    # One network alone, the first of the best, costs all of ln M.
    alone = (np.cumsum(best, axis=-1) == 1) & best
    weight = np.where(np.isfinite(slopes)[:, None], weight, alone[..., None, :])
    posterior = weight / weight.sum(axis=-1, keepdims=True)
    log_ratio = np.log(np.where(posterior > 0, posterior * score.shape[-1], 1.0))
    return posterior, np.maximum((posterior * log_ratio).sum(axis=-1), 0.0)


# ----- mixture ------------------------------------------------------------------------------------

N, NETWORKS = 20, 16
C = np.array([0.5, 12.0, 15.0])


def mixture(risk, divergence):
    return catoni_mixture_bound(risk, divergence, N, DELTA, C)


WRONG_MIXTURES = {
    "without the divergence": lambda risk, K: catoni_mixture_bound(risk, 0.0, N, DELTA, C),
    "half the divergence": lambda risk, K: catoni_mixture_bound(risk, K / 2, N, DELTA, C),
    "the sample counted twice": lambda risk, K: catoni_mixture_bound(risk, K, 2 * N, DELTA, C),
    "a sum where a mean belongs": lambda risk, K: catoni_mixture_bound(
        risk, np.maximum(K - math.log(3), 0.0), N, DELTA, C
    ),
}


def mixture_violations(bound, scale: float) -> int:
    """Violations where a network without an error on the sample is as rare as `scale * delta / M`."""
    rng = np.random.default_rng(int(100 * scale))
    p = -math.expm1(math.log(scale * DELTA / NETWORKS) / N)
    losses = rng.binomial(N, p, (REPETITIONS, NETWORKS)) / N
    posterior, divergence = gibbs(-N * losses, np.array([0.0, 0.3, 1.0, 3.0, math.inf]))
    risk = np.clip((posterior * losses[:, None, :]).sum(axis=-1), 0.0, 1.0)
    return int((bound(risk, divergence) < p).any(axis=1).sum())


SCALES = (0.6, 1.3, 2.6, 5.0, 10.0)


@pytest.mark.parametrize("scale", SCALES)
def test_the_mixture_is_violated_at_most_delta_of_the_time(scale):
    assert mixture_violations(mixture, scale) <= ALLOWED


def test_the_worlds_bring_the_mixture_to_its_limit():
    """Next to the value of p where it fails most it fails nearly as often as it may."""
    assert max(mixture_violations(mixture, scale) for scale in np.linspace(0.3, 0.7, 5)) > 0.25 * ALLOWED


@pytest.mark.parametrize("wrong", WRONG_MIXTURES.values(), ids=WRONG_MIXTURES.keys())
def test_wrong_mixtures_are_found_out(wrong):
    assert max(mixture_violations(wrong, scale) for scale in SCALES) > ALLOWED


# ----- vote ---------------------------------------------------------------------------------------


VOTE_REPETITIONS = 200
ALLOWED_VOTES = stats.binom.ppf(0.999, VOTE_REPETITIONS, DELTA)


def vote_violations(bound, vote: tuple[int, int], right: np.ndarray, n: int) -> int:
    """Violations over samples of n rows; `right` (M, points) says which network is right where.

    All labels are 1, so that a margin of 0 is an error: the sign of 0 is -1.
    """
    rng = np.random.default_rng(7)
    count = rng.multinomial(n, np.full(right.shape[1], 1 / right.shape[1]), VOTE_REPETITIONS)
    # Right on what was seen and wrong on what was not: the worst a posterior can be.
    score = count @ right.T / n - (count == 0) @ right.T / right.shape[1]
    posterior, divergence = gibbs(n * score, np.array([0.0, 0.1, 0.3, 1.0, 3.0, math.inf]))
    margins = np.clip(posterior @ (2.0 * right - 1.0), -1.0, 1.0)
    error_rate = (margins <= 1e-12).mean(axis=-1)
    risk = (vote_losses(margins, *vote) * count[:, None, :]).sum(axis=-1) / n
    return int((bound(np.clip(risk, 0.0, 1.0), divergence, n, *vote) < error_rate).any(axis=1).sum())


def kl_vote(risk, K, n, T, k):
    return vote_bound(risk, K, n, DELTA, T, k)


def mixture_vote(risk, K, n, T, k):
    return vote_bound(risk, K, n, DELTA, T, k, c=[0.3, 1.0, 3.0])


VOTES = [(1, 0), (2, 1), (3, 1), (5, 3), (8, 6)]


def guessing_networks() -> np.ndarray:
    """3000 networks that guess on 80 points: on a few rows some of them are always right."""
    return np.random.default_rng(1).random((3000, 80)) > 0.5


def tied_networks() -> np.ndarray:
    """48 networks that are all right, but for a third of the points where half of them is."""
    right = np.ones((48, 60), dtype=bool)
    right[:24, :20] = False
    return right


@pytest.mark.parametrize("bound", [kl_vote, mixture_vote])
@pytest.mark.parametrize("vote", VOTES)
def test_the_vote_is_violated_at_most_delta_of_the_time(bound, vote):
    assert vote_violations(bound, vote, guessing_networks(), n=10) <= ALLOWED_VOTES
    assert vote_violations(bound, vote, tied_networks(), n=1500) <= ALLOWED_VOTES


@pytest.mark.parametrize("vote", [(2, 1), (5, 3), (8, 6)])
def test_a_vote_without_its_divergence_is_found_out(vote):
    def wrong(risk, K, n, T, k):
        return vote_bound(risk, 0.0, n, DELTA, T, k)

    assert vote_violations(wrong, vote, guessing_networks(), n=10) > ALLOWED_VOTES


@pytest.mark.parametrize("vote", [(3, 1), (5, 3), (8, 5)])
def test_a_threshold_that_is_off_by_one_is_found_out(vote):
    """The loss counts k right networks and q counts k + 1: too much is divided away."""

    def wrong(risk, K, n, T, k):
        return vote_bound(risk, K, n, DELTA, T, k) * vote_quantile(T, k) / vote_quantile(T, k + 1)

    assert vote_violations(wrong, vote, tied_networks(), n=1500) > ALLOWED_VOTES


def test_the_risk_of_one_network_without_the_factor_two_is_found_out():
    def wrong(risk, K, n, T, k):
        return vote_bound(risk, K, n, DELTA, T, k) / 2.0

    assert vote_violations(wrong, (1, 0), tied_networks(), n=1500) > ALLOWED_VOTES


@pytest.mark.parametrize("T", [2, 4, 8])
def test_every_network_of_the_vote_costs_its_divergence(T):
    """All answers to 1000 points, a priori alike; the posterior keeps those that are right on the sample.

    Each of its D points halves the networks, so K = D ln 2. On the others half of them is right: a
    margin of 0, an error where the label is 1.
    """
    rng, n, points = np.random.default_rng(9), 40, 1000
    samples = rng.integers(points, size=(VOTE_REPETITIONS, n))
    seen = np.array([len(set(sample)) for sample in samples.tolist()])
    error_rate = 1.0 - seen / points
    divergence = seen * math.log(2.0)
    bound = vote_bound(0.0, divergence, n, DELTA, T, T - 1)
    assert (bound < error_rate).sum() <= ALLOWED_VOTES
    as_if_one = vote_bound(0.0, divergence / T, n, DELTA, T, T - 1)
    assert (as_if_one < error_rate).sum() > ALLOWED_VOTES
