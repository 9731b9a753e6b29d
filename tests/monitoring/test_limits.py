"""Limits at all times: what they refute, and that they close in."""

import numpy as np
import pytest
from scipy.stats import beta

from pbgnet.monitoring.claims import RECENT_ROWS, WatchedClaim
from pbgnet.monitoring.limits import START_EVERY, TILTS, lower_limit, rate_limits


def test_the_limit_is_where_the_average_of_the_bets_reaches_its_line():
    limit = float(lower_limit(60, 1000, 0.01))
    for shift, reached in ((-1e-9, True), (1e-9, False)):
        exponents = TILTS * 60 - 1000 * np.log1p(np.expm1(TILTS) * (limit + shift))
        assert (np.exp(exponents).mean() >= 100) == reached


def test_it_is_below_the_limit_for_one_time_and_closes_in():
    rows = np.array([100, 1000, 10_000, 100_000])
    errors = rows * 6 // 100
    limits = lower_limit(errors, rows, 0.01)
    assert (limits < beta.ppf(0.01, errors, rows - errors + 1)).all()
    assert (np.diff(limits) > 0).all()
    assert 0.06 - limits[-1] < 0.005
    assert lower_limit([0, 0], [10, 0], 0.01).tolist() == [0.0, 0.0]


def test_shares_of_all_beginnings_sum_to_one():
    place = np.arange(10**6)
    assert (1.0 / ((place + 1.0) * (place + 2.0))).sum() == pytest.approx(1.0, abs=2e-6)
    early, late = rate_limits([30, 30], [1000, 1000], [0, 100 * START_EVERY], 0.05)
    assert early[1] < early[0] < 0.03 < late[0] < late[1]


def test_the_present_rate_is_that_of_the_latest_rows():
    claim = WatchedClaim(0.03, 1.0)
    for rate in (0.0, 1.0):
        claim = claim.after(np.full(2000, rate == 1.0), 0.01)
    last = claim.recent_rates(0.01)[-1]
    assert last.n_errors == last.n_rows
    assert RECENT_ROWS <= last.n_rows <= RECENT_ROWS + 2 * START_EVERY
    assert last.first_row == 4000 - last.n_rows + 1
    assert last.lower > 0.9
    assert last.upper == 1.0
