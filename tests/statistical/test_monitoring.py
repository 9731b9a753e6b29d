"""Alarms without a change are as rare as they are said to be, and changes are found soon.

The figures in docs/reference/monitoring.md are of 2,000 worlds; these are fewer.
"""

import math

import numpy as np
import pytest
from scipy.stats import binom

from pbgnet import ChangeDetector
from pbgnet.bounds import clopper_pearson_bound
from pbgnet.monitoring.accounts import Accounts
from pbgnet.monitoring.error_bets import error_log_factors
from pbgnet.monitoring.limits import rate_limits

pytestmark = pytest.mark.statistical

ALPHA = 0.05
BOUND = float(clopper_pearson_bound(20, 1000, 0.05))
NEVER = 10**9


def rows_to_alarm(errors, bound=BOUND, alpha=ALPHA):
    _, log_e = Accounts().after(error_log_factors(errors, bound))
    return _first(log_e, alpha)


def rows_of_the_best_bet(errors, rate, bound=BOUND, alpha=ALPHA):
    """Of the one bet on the error rate there really is, from the first row."""
    steps = np.where(errors, math.log(rate / bound), math.log((1 - rate) / (1 - bound)))
    return _first(np.cumsum(steps), alpha)


def _first(log_e, alpha):
    alarms = np.flatnonzero(log_e >= -math.log(alpha))
    return int(alarms[0]) + 1 if alarms.size else NEVER


def at_the_bound(rng, n):
    return rng.random(n) < BOUND


def with_noise(rng, n):
    """A quarter of the errors are the classifier's, the others flips of the label."""
    flips = 0.75 * BOUND / (1 - 0.5 * BOUND)
    return (rng.random(n) < 0.25 * BOUND) ^ (rng.random(n) < flips)


def in_bursts(rng, n):
    """Errors make errors likelier for a while, up to the bound."""
    lots, errors, burst = rng.random(n), np.zeros(n, dtype=bool), 0
    for row in range(n):
        errors[row] = lots[row] < (BOUND if burst > 0 else 0.6 * BOUND)
        burst = 200 if errors[row] else burst - 1
    return errors


@pytest.mark.parametrize(
    ("stream", "n_rows"), [(at_the_bound, 20_000), (with_noise, 5000), (in_bursts, 2000)]
)
def test_false_alarms_are_rare(stream, n_rows):
    rng, n_worlds = np.random.default_rng(0), 200
    false = sum(rows_to_alarm(stream(rng, n_rows)) <= n_rows for _ in range(n_worlds))
    assert false <= binom.ppf(0.999, n_worlds, ALPHA)


def test_false_alarms_of_classes_together_are_rare():
    """A rare class and a frequent one, each at its own bound, and all rows: alpha is shared."""
    rng, n_worlds, n_rows = np.random.default_rng(1), 200, 5000
    of_rare, of_frequent, false = 0.6, 0.015, 0
    overall = 0.02 * of_rare + 0.98 * of_frequent
    for _ in range(n_worlds):
        rare = rng.random(n_rows) < 0.02
        errors = rng.random(n_rows) < np.where(rare, of_rare, of_frequent)
        parts = (
            (errors, overall, ALPHA / 2),
            (errors[rare], of_rare, ALPHA / 4),
            (errors[~rare], of_frequent, ALPHA / 4),
        )
        false += any(rows_to_alarm(*part) <= n_rows for part in parts)
    assert false <= binom.ppf(0.999, n_worlds, ALPHA)


@pytest.mark.parametrize("factor", [1.5, 2, 3, 5, 10])
def test_a_change_is_found_in_less_than_twice_the_rows_of_the_best_bet(factor):
    rng, rate = np.random.default_rng(2), factor * BOUND
    streams = [rng.random(8000) < rate for _ in range(60)]
    ours = np.median([rows_to_alarm(errors, alpha=0.01) for errors in streams])
    best = np.median([rows_of_the_best_bet(errors, rate, alpha=0.01) for errors in streams])
    assert best <= ours <= 2 * best


def test_a_late_change_is_found():
    rng, n_before = np.random.default_rng(3), 10_000
    streams = [np.append(rng.random(n_before) < 0.02, rng.random(3000) < 0.06) for _ in range(40)]
    delays = [rows_to_alarm(errors, alpha=0.01) - n_before for errors in streams]
    assert np.median(delays) < 1200


def test_limits_hold_at_all_times_while_the_rate_wanders():
    """What is limited is the mean of the probabilities, which change from row to row."""
    rng, n_worlds, rows = np.random.default_rng(4), 200, np.arange(1, 3001)
    times = np.unique(np.geomspace(1, 2360, 50).astype(int)) - 1
    failed = 0
    for _ in range(n_worlds):
        probabilities = 0.05 + 0.04 * np.sin(rows / rng.uniform(20, 500))
        errors = rng.random(rows.size) < probabilities
        for start in (0, 640):
            n_rows = times + 1
            low, high = rate_limits(np.cumsum(errors[start:])[times], n_rows, start, ALPHA)
            mean = np.cumsum(probabilities[start:])[times] / n_rows
            if (mean < low).any() or (mean > high).any():
                failed += 1
                break
    assert failed <= binom.ppf(0.999, n_worlds, ALPHA)


@pytest.mark.parametrize("round_to", [None, 0], ids=["numbers", "ties"])
def test_rows_that_do_not_change_are_seldom_said_to(round_to):
    rng, n_worlds, false = np.random.default_rng(5), 100, 0

    def rows(n):
        drawn = rng.exponential(size=(n, 2))
        return drawn if round_to is None else drawn.round(round_to)

    for world in range(n_worlds):
        detector = ChangeDetector(rows(100), rows(200), ALPHA, random_state=world)
        false += detector.update(rows(2000))
    assert false <= binom.ppf(0.999, n_worlds, ALPHA)
