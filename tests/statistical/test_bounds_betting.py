"""The betting bound in worlds whose means are known, and versions with the usual mistakes."""

import math

import numpy as np
import pytest
from scipy import special, stats

from pbgnet.bounds import betting_bound, betting_grid

pytestmark = pytest.mark.statistical

DELTA = 0.2
REPETITIONS = 1500
ALLOWED = stats.binom.ppf(0.999, REPETITIONS, DELTA)
N = 60


def rare(scale: float):
    """Losses 0 and 1 of which none is a 1 in `scale * DELTA` of the samples. At 1 Markov is sharp."""
    p = -math.expm1(math.log(scale * DELTA) / N)
    return lambda rng, shape: (rng.random(shape) < p) * 1.0, p


def unequal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Rows whose laws differ; what is bounded is the average of their means."""
    b = np.linspace(1.0, 9.0, shape[-1])
    return rng.beta(0.5 * b / 4.5, b - 0.5 * b / 4.5, shape)


WORLDS = {
    "beta(2, 8)": (lambda rng, shape: rng.beta(2, 8, shape), 0.2),
    "beta(0.2, 1.8)": (lambda rng, shape: rng.beta(0.2, 1.8, shape), 0.1),
    "uniform": (lambda rng, shape: rng.random(shape), 0.5),
    "one in ten": (lambda rng, shape: (rng.random(shape) < 0.1) * 1.0, 0.1),
    "heads or tails": (lambda rng, shape: (rng.random(shape) < 0.5) * 1.0, 0.5),
    "rare and large": (lambda rng, shape: np.where(rng.random(shape) < 0.03, 1.0, 0.02), 0.0494),
    "constant": (lambda rng, shape: np.full(shape, 0.3), 0.3),
    "rare": rare(0.95),
    "unequal rows": (unequal, 0.5 / 4.5),
}


def violations(bound, draw, mean: float) -> int:
    """Count samples whose bound is below the mean. Samples that differ in order only share their bound."""
    samples = np.sort(draw(np.random.default_rng(0), (REPETITIONS, N)), axis=1)
    distinct, repeats = np.unique(samples, axis=0, return_counts=True)
    return sum(count for losses, count in zip(distinct, repeats, strict=True) if bound(losses) < mean)


@pytest.mark.parametrize(("draw", "mean"), WORLDS.values(), ids=WORLDS.keys())
def test_the_bound_is_violated_at_most_delta_of_the_time(draw, mean):
    assert draw(np.random.default_rng(1), (4000, N)).mean() == pytest.approx(mean, rel=0.02)
    for prior in (draw(np.random.default_rng(2), (N,)), None):
        grid = betting_grid(prior, N, DELTA)
        assert violations(lambda losses, grid=grid: betting_bound(losses, DELTA, grid), draw, mean) <= ALLOWED


def test_the_mean_of_the_losses_is_no_bound():
    for name, (draw, mean) in WORLDS.items():
        if name != "constant":
            assert violations(np.mean, draw, mean) > ALLOWED, name


# ----- sharp --------------------------------------------------------------------------------------

BETS = [0.999, 1.0]


def beyond_one(losses: np.ndarray) -> float:
    """A bet of 3, for losses that are all 0: the capital is (1 - 3 + 3 / (1 - m))^n."""
    return 1.0 if losses.any() else 1.0 - 3.0 / (2.0 + DELTA ** (-1.0 / losses.size))


WRONG = {
    "a sum where an average belongs": lambda losses: betting_bound(losses, 2.0 * DELTA, BETS),
    "the sample counted twice": lambda losses: betting_bound(np.tile(losses, 2), DELTA, BETS),
    "bets beyond 1": beyond_one,
}


def test_next_to_its_limit_the_bound_fails_as_often_as_it_may():
    failed = violations(lambda losses: betting_bound(losses, DELTA, BETS), *rare(0.95))
    assert 0.85 * DELTA * REPETITIONS < failed <= ALLOWED
    assert violations(lambda losses: betting_bound(losses, DELTA, BETS), *rare(1.05)) == 0


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_wrong_versions_are_found_out(wrong):
    assert violations(wrong, *rare(1.8)) > ALLOWED
    assert violations(lambda losses: betting_bound(losses, DELTA, BETS), *rare(1.8)) <= ALLOWED


def test_losses_of_a_network_are_covered_with_the_grid_of_its_own_prior_rows():
    """A new grid for every sample, from other rows: the guarantee is given S0, hence over both."""
    rng = np.random.default_rng(3)
    mean, failed = 0.2819, 0
    for _ in range(300):
        prior, losses = (1.0 - special.erf(0.5 * (rng.standard_normal((2, N)) + 1.0))) / 2.0
        failed += betting_bound(losses, DELTA, betting_grid(prior, N, DELTA)) < mean
    assert 0 < failed <= stats.binom.ppf(0.999, 300, DELTA)
