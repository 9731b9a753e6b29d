"""Guarantees that are put together: sampled risks, disagreement, two classes, several routes."""

import numpy as np
import pytest
from scipy import stats

from pbgnet.bounds import (
    chernoff_bound,
    clopper_pearson_bound,
    disagreement_bound,
    sampled_risk_ceiling,
    split_delta,
)

pytestmark = pytest.mark.statistical

DELTA = 0.2
REPETITIONS = 2500
ALLOWED = stats.binom.ppf(0.999, REPETITIONS, DELTA)


# ----- a sampled risk -----------------------------------------------------------------------------


def draw_risks(rng: np.random.Generator, rows: np.ndarray, draws: int, shared: bool) -> np.ndarray:
    """Averages over rows of different means; shared draws use one random number for all rows."""
    shape = (REPETITIONS, draws, 1 if shared else rows.size)
    return (rng.random(shape) < rows).mean(axis=(1, 2))


ROWS = np.array([0.001, 0.01, 0.02, 0.05, 0.5, 0.9])


def test_the_ceiling_of_a_sampled_risk_is_violated_at_most_delta_of_the_time():
    risks = draw_risks(np.random.default_rng(0), ROWS, 30, shared=False)
    ceilings = chernoff_bound(risks, 30 * ROWS.size, DELTA)
    assert ceilings[0] == sampled_risk_ceiling(float(risks[0]), 30 * ROWS.size, DELTA)
    assert (ceilings < ROWS.mean()).sum() <= ALLOWED
    # As if the sampled risk were exact:
    assert (risks < ROWS.mean()).sum() > ALLOWED


def test_draws_shared_by_all_rows_count_once():
    rows = np.full(50, 0.1)
    risks = draw_risks(np.random.default_rng(1), rows, 40, shared=True)
    assert (chernoff_bound(risks, 40, DELTA) < 0.1).sum() <= ALLOWED
    assert (chernoff_bound(risks, 40 * 50, DELTA) < 0.1).sum() > ALLOWED


def test_a_held_out_bound_on_a_sampled_risk_pays_for_both():
    """Random rows, each with its own mean, each drawn a few times; certified is the mean of all rows."""
    n, draws, rng = 60, 5, np.random.default_rng(2)
    means = rng.choice(ROWS, (REPETITIONS, n))
    sampled = rng.binomial(draws, means).mean(axis=1) / draws
    half = split_delta(DELTA, 2)
    bound = chernoff_bound(chernoff_bound(sampled, n * draws, half), n, half)
    assert (bound < ROWS.mean()).sum() <= ALLOWED


# ----- disagreement -------------------------------------------------------------------------------


def disagreement_world(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Errors of h on n labelled rows, disagreements of f with h on m others, and the error rate of f.

    f is wrong wherever h is, and wherever the two disagree: the sum of the rates is attained.
    """
    error_rate, disagreement = 0.06, 0.04
    errors = rng.binomial(n, error_rate, REPETITIONS)
    return errors, rng.binomial(m, disagreement, REPETITIONS), error_rate + disagreement


def test_disagreement_is_violated_at_most_delta_of_the_time():
    n, m = 150, 200
    errors, disagreements, truth = disagreement_world(np.random.default_rng(3), n, m)
    half = split_delta(DELTA, 2)
    certified = clopper_pearson_bound(np.arange(n + 1), n, half)
    table = {
        (e, d): disagreement_bound(float(certified[e]), int(d), m, half)
        for e, d in set(zip(errors.tolist(), disagreements.tolist(), strict=True))
    }
    bounds = np.array([table[pair] for pair in zip(errors.tolist(), disagreements.tolist(), strict=True)])
    assert (bounds < truth).sum() <= ALLOWED
    # The count as if it were the rate, or the bound of h alone:
    assert (clopper_pearson_bound(errors, n, DELTA) < truth).sum() > ALLOWED
    assert (errors / n + disagreements / m < truth).sum() > ALLOWED


# ----- two classes --------------------------------------------------------------------------------


def class_violations(rng: np.random.Generator, delta: float) -> int:
    """Samples on which either bound fails; how many rows each class has is random, too."""
    n, share, rates = 300, 0.3, (0.04, 0.11)
    positive = np.maximum(rng.binomial(n, share, REPETITIONS), 1)
    failed = np.zeros(REPETITIONS, dtype=bool)
    for count, rate in zip((positive, n - positive), rates, strict=True):
        failed |= clopper_pearson_bound(rng.binomial(count, rate), count, delta) < rate
    return int(failed.sum())


def test_both_classes_are_covered_together():
    assert class_violations(np.random.default_rng(4), split_delta(DELTA, 2)) <= ALLOWED
    assert class_violations(np.random.default_rng(4), DELTA) > ALLOWED


# ----- several routes -----------------------------------------------------------------------------


def route_violations(rng: np.random.Generator, delta: float, n_routes: int = 4) -> int:
    """The smallest of several bounds on the same sample size, and whether it is below its own truth."""
    n, rate = 200, 0.1
    bounds = clopper_pearson_bound(rng.binomial(n, rate, (REPETITIONS, n_routes)), n, delta)
    return int((bounds.min(axis=1) < rate).sum())


def test_looking_at_several_routes_has_its_price():
    assert route_violations(np.random.default_rng(5), split_delta(DELTA, 4)) <= ALLOWED
    assert route_violations(np.random.default_rng(5), DELTA) > ALLOWED


def test_a_route_chosen_on_other_rows_has_none():
    rng, n, rate = np.random.default_rng(6), 200, 0.1
    on_prior_rows = rng.binomial(n, rate, (REPETITIONS, 4))
    on_certified_rows = rng.binomial(n, rate, (REPETITIONS, 4))
    chosen = on_prior_rows.argmin(axis=1)
    errors = on_certified_rows[np.arange(REPETITIONS), chosen]
    assert (clopper_pearson_bound(errors, n, DELTA) < rate).sum() <= ALLOWED
