"""Capital over bets and beginnings: the recursion against the sum it stands for, and fairness."""

import itertools
import math

import numpy as np
import pytest

from pbgnet.monitoring.accounts import CHUNK, START_SHARE, Accounts, waiting_share
from pbgnet.monitoring.error_bets import ODDS, error_log_factors


def by_definition(factors):
    """What all beginnings are worth after each row, summed one by one."""
    n, n_bets = factors.shape
    waiting = waiting_share(np.arange(n + 1))
    begun = waiting[:-1] - waiting[1:]
    begun[0] += START_SHARE
    values = []
    for t in range(n):
        held = sum(begun[s] * factors[s : t + 1].prod(axis=0).sum() / n_bets for s in range(t + 1))
        values.append(waiting[t + 1] + held)
    return np.array(values)


def test_it_is_the_sum_over_all_beginnings():
    factors = np.random.default_rng(0).uniform(0.5, 1.6, size=(60, 3))
    accounts, log_e = Accounts().after(np.log(factors))
    expected = by_definition(factors)
    assert np.exp(log_e) == pytest.approx(expected, rel=1e-9)
    assert (np.exp(log_e) <= expected).all()  # rounded down
    assert accounts.log_e == pytest.approx(log_e[-1], abs=1e-9)


def test_it_is_rounded_down_over_many_rows():
    errors = np.random.default_rng(2).random(20_000) < 0.05
    factors = error_log_factors(errors, 0.03)
    _, log_e = Accounts().after(factors)
    waiting = waiting_share(np.arange(errors.size + 1)).astype(np.longdouble)
    capital, exact = np.zeros(len(ODDS), dtype=np.longdouble), []
    for row, factor in enumerate(np.exp(factors.astype(np.longdouble))):
        begun = waiting[row] - waiting[row + 1] + (START_SHARE if row == 0 else 0)
        capital = (capital + begun / len(ODDS)) * factor
        exact.append(np.log(waiting[row + 1] + capital.sum()))
    assert (log_e <= exact).all()
    assert np.asarray(exact - log_e, dtype=np.float64) == pytest.approx(0.0, abs=1e-6)


def test_it_does_not_matter_how_rows_are_divided():
    errors = np.random.default_rng(1).random(CHUNK + 1000) < 0.1
    factors = error_log_factors(errors, 0.1)
    whole, log_e = Accounts().after(factors)
    parts, last = Accounts(), None
    for part in np.array_split(factors, 7):
        parts, last = parts.after(part)
    assert parts.rows == whole.rows == len(errors)
    assert last[-1] == pytest.approx(log_e[-1], abs=1e-4)


@pytest.mark.parametrize("bound", [0.001, 0.03, 0.5, 0.99])
def test_the_game_is_fair_at_the_bound_and_better_below(bound):
    """The expectation over all courses of a few rows: 1 at the bound, whatever came before; less below it."""
    n = 6
    for probability in (bound, bound / 3):
        mean = 0.0
        for course in itertools.product([False, True], repeat=n):
            _, log_e = Accounts().after(error_log_factors(np.array(course), bound))
            chance = math.prod(probability if wrong else 1 - probability for wrong in course)
            mean += chance * math.exp(log_e[-1])
        assert mean == pytest.approx(1.0, abs=1e-10) if probability == bound else mean < 1.0
        assert mean <= 1.0


def test_something_waits_for_late_changes():
    quiet = np.zeros(100_000, dtype=bool)
    accounts, log_e = Accounts().after(error_log_factors(quiet, 0.03))
    assert log_e[-1] > math.log(0.02)
    assert len(accounts.log_capital) == len(ODDS)
    assert all(math.isfinite(capital) for capital in accounts.log_capital)


def test_a_bound_of_zero_is_refuted_by_one_error():
    _, log_e = Accounts().after(error_log_factors(np.array([False, True]), 0.0))
    assert log_e[0] < 0.0 < log_e[1]
