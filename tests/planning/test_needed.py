"""Rows that a claim needs: the figures themselves, and each search against a plain walk over all rows."""

import math
import time

import numpy as np
import pytest
from scipy import stats

import pbgnet
from pbgnet.bounds import clopper_pearson_bound
from pbgnet.exceptions import DomainError, DtypeError
from pbgnet.planning import bound_by_rows, rows_needed
from pbgnet.planning.goal import make_goal
from pbgnet.planning.needed import MOST_ROWS


def bound(n_errors, n, delta=0.05):
    return float(clopper_pearson_bound(n_errors, n, delta))


def test_two_percent_observed_and_three_claimed_take_846_rows():
    assert pbgnet.rows_needed(0.02, 0.03) == 846
    assert math.ceil(0.02 * 846) == math.ceil(0.02 * 845) == 17
    assert bound(17, 846) <= 0.03 < bound(17, 845)
    assert bound(math.ceil(0.02 * 851), 851) > 0.03  # one error more undoes it
    assert rows_needed(0.02, 0.03, for_all_larger=True) == 1004
    assert bound(math.ceil(0.02 * 1003), 1003) > 0.03


def walk(goal, chance, n_rows):
    """Answer the four questions by looking at every number of rows."""
    rows = np.arange(1, n_rows)
    allowed = np.array([_allowed(goal, n) for n in rows.tolist()])
    expected = np.array([math.ceil(n * goal.exact_error) for n in rows.tolist()])
    reached = np.where(allowed >= 0, goal.chance(np.maximum(allowed, 0), rows), 0.0) >= chance
    answers = []
    for holds in (expected <= allowed, reached):
        assert holds[-1]
        failing = rows[~holds]
        answers += [int(rows[holds][0]), int(failing[-1]) + 1 if failing.size else 1]
    return answers


def _allowed(goal, n):
    """The most errors after which so few, or fewer, have at most the probability delta at the claim."""
    counts = np.arange(math.floor(goal.claim * n) + 1)
    return int(np.sum(stats.binom.cdf(counts, n, goal.claim) <= goal.delta)) - 1


@pytest.mark.parametrize(
    ("error", "claim", "confidence", "n_claims", "chance"),
    [
        (0.02, 0.06, 0.95, 1, 0.8),
        (0.0, 0.05, 0.95, 3, 0.9),
        (0.001, 0.05, 0.99, 1, 0.5),
        (0.07, 0.14, 0.9, 2, 0.95),
        (0.3, 0.55, 0.999, 1, 0.8),
        (0.66, 0.9, 0.99, 1, 0.5),  # in these three, rounding to whole rows matters in every search
        (0.45, 0.58, 0.9, 1, 0.5),
        (0.34, 0.44, 0.5, 1, 0.8),
        (0.8, 0.93, 0.5, 1, 0.3),
        (0.02, 0.08, 0.3, 1, 0.99),
    ],
)
def test_the_searches_against_a_walk(error, claim, confidence, n_claims, chance):
    goal = make_goal(error, claim, confidence, n_claims)

    def found(**more):
        return rows_needed(error, claim, confidence, n_claims=n_claims, **more)

    answers = [
        found(),
        found(for_all_larger=True),
        found(chance=chance),
        found(chance=chance, for_all_larger=True),
    ]
    assert answers == walk(goal, chance, 2 * max(answers) + 40)


def test_decimals_are_meant_as_written():
    """0.07 * 100 is 7.000000000000001 in doubles; 8 errors would be expected."""
    assert bound_by_rows(0.07, [100])[0].n_errors == 7


def test_the_chance_is_that_of_drawn_rows():
    n = rows_needed(0.02, 0.03, chance=0.8)
    errors, times = np.unique(np.random.default_rng(0).binomial(n, 0.02, size=40_000), return_counts=True)
    reached = times @ (clopper_pearson_bound(errors, n, 0.05) <= 0.03) / 40_000
    assert reached == pytest.approx(0.803, abs=0.01)


def test_shared_confidence_takes_more_rows():
    assert rows_needed(0.02, 0.03, n_claims=4) == rows_needed(0.02, 0.03, 0.9875) > 846


@pytest.mark.parametrize("error", [0.0, 2e-7, 9e-7])
def test_tiny_claims_are_fast(error):
    begin = time.process_time()
    rows = [rows_needed(error, 1e-6, chance=chance) for chance in (None, 0.8)]
    assert time.process_time() - begin < 1.0
    assert bound(math.ceil(error * rows[0]), rows[0]) <= 1e-6
    if error == 0:
        assert rows == [2_995_731, 2_995_731]


def test_confidence_near_one():
    n = rows_needed(0.02, 0.03, 1 - 2**-53)
    assert bound(math.ceil(n * 0.02), n, 2**-53) <= 0.03
    assert n < 20_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0.03, 0.03), "cannot be reached"),
        ((0.04, 0.03), "cannot be reached"),
        ((0.02, 1.0), "1 needs no proof"),
        ((0.0, 0.0), "No number of rows proves"),
        ((-0.1, 0.3), "error must be a rate"),
        ((float("nan"), 0.3), "error must be a rate"),
        ((0.1, float("nan")), "claim must be a rate"),
        ((0.02, 0.03, 1.0), "confidence must be"),
        ((0.02, 0.020000001), "more than 1e.10 rows"),
        ((0.0, 1e-12), "more than 1e.10 rows"),
    ],
)
def test_what_is_impossible_is_said(arguments, words):
    with pytest.raises(DomainError, match=words):
        rows_needed(*arguments)


def test_odd_options():
    with pytest.raises(DtypeError, match="error must be a number"):
        rows_needed("0.02", 0.03)
    for chance in (0.0, 1.0, float("nan")):
        with pytest.raises(DomainError, match="chance must lie"):
            rows_needed(0.02, 0.03, chance=chance)
    with pytest.raises(DomainError, match="n_claims"):
        rows_needed(0.02, 0.03, n_claims=0)
    assert MOST_ROWS == 10**10  # as the docstring says


def test_the_bound_by_rows():
    points = bound_by_rows(0.02, (100, 1000), n_claims=2)
    assert [point.n_errors for point in points] == [2, 20]
    assert [point.bound for point in points] == [bound(2, 100, 0.025), bound(20, 1000, 0.025)]
    assert points[1].gap == points[1].bound - 0.02
    assert bound_by_rows(0.02, ()) == ()
    for rows in ("12", [0], [1.5], 3):
        with pytest.raises((DomainError, DtypeError)):
            bound_by_rows(0.02, rows)
