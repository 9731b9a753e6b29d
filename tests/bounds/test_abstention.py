"""Thresholds of a score: exact tails, the walk through them, and where thresholds are placed."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbgnet.bounds import (
    binomial_tail,
    clopper_pearson_bound,
    last_certified,
    probability_thresholds,
    score_thresholds,
    spread_starts,
    threshold_for,
)
from pbgnet.exceptions import DomainError


@given(st.integers(0, 60), st.integers(0, 60), st.floats(1e-6, 1 - 1e-6))
def test_the_tail_is_that_of_the_binomial_and_rounded_up(k, more, rate):
    n, p = k + more, Fraction(rate)
    exact = sum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k + 1))
    found = Fraction(float(binomial_tail(k, n, rate)))
    assert min(exact, 1) <= found <= min(exact * (1 + Fraction(3, 10**9)), 1) or exact < 1e-290


def test_a_test_is_passed_where_the_limit_of_clopper_and_pearson_is_at_most_the_target():
    for n in (50, 203, 1000):
        for k in range(0, 20):
            for target in (0.01, 0.02, 0.05, 0.3):
                passed = bool(binomial_tail(k, n, target) <= 0.05)
                assert passed == bool(clopper_pearson_bound(k, n, 0.05) <= target)


def test_without_an_answer_nothing_is_shown():
    assert binomial_tail([0, 3], [0, 3], 0.1).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("errors", "n", "rate"), [(2, 1, 0.1), (-1, 3, 0.1), (0, 3, 0.0), (0, 3, 1.0)])
def test_impossible_counts_and_rates_are_refused(errors, n, rate):
    with pytest.raises(DomainError):
        binomial_tail(errors, n, rate)


class TestWalk:
    def test_it_stops_at_the_first_failure_whatever_follows(self):
        assert last_certified([0.0, 0.04, 0.06, 0.0, 0.0], 0.05) == 1
        assert last_certified([0.06, 0.0], 0.05) is None

    def test_it_begins_anew_with_what_a_start_brings(self):
        tails = [1.0, 0.0, 0.02, 0.02, 1.0]
        assert last_certified(tails, 0.05, (0, 2)) == 3
        assert last_certified([1.0, 0.0, 0.03, 0.03, 1.0], 0.05, (0, 2)) is None  # half of delta each

    def test_what_was_not_lost_is_added_up(self):
        assert last_certified([0.02, 0.049, 0.049], 0.05, (0, 1)) == 2
        assert last_certified([0.03, 0.049, 0.049], 0.05, (0, 1)) is None

    def test_delta_is_never_exceeded(self):
        delta = 0.1
        for count in (1, 2, 3, 4, 7):
            starts, above = tuple(range(count)), math.nextafter(delta, 1.0)
            assert last_certified([0.0] * (count - 1) + [above], delta, starts) in (None, count - 2)


class TestPlaces:
    def test_the_first_threshold_leaves_enough_rows_for_a_test(self):
        scores, n = np.random.default_rng(0).random(5000), 4000
        first = score_thresholds(scores, n, 0.02, 0.0166, lowest=0.0)[0]
        expected = n * np.mean(scores >= first)
        assert 1.8 < expected / (math.log(1 / 0.0166) / -math.log(0.98)) < 2.2

    @given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.sampled_from([None, 0.0]))
    def test_coinciding_thresholds_are_dropped_and_the_others_fall(self, scores, lowest):
        found = score_thresholds(np.array(scores, dtype=float), 100, 0.05, 0.05, lowest=lowest)
        assert found
        assert all(high > low for high, low in pairwise(found))
        assert min(scores) >= found[-1]

    def test_no_threshold_but_the_lowest_is_a_score(self):
        scores = np.random.default_rng(1).integers(0, 40, 1000) / 40
        found = score_thresholds(scores, 1000, 0.05, 0.05, lowest=0.0)
        assert not set(found[:-1]) & set(scores.tolist())

    def test_too_few_rows_leave_the_threshold_that_answers_all(self):
        assert score_thresholds([0.2, 0.4], 10, 0.01, 0.01, lowest=0.0) == (0.0,)

    def test_the_share_asked_for_reaches_the_threshold(self):
        scores = np.linspace(0, 1, 101)
        for share in (0.01, 0.5, 0.73, 1.0):
            assert np.mean(scores >= threshold_for(scores, share)) == pytest.approx(share, abs=0.011)

    def test_probabilities_need_no_rows(self):
        for error in (1e-6, 0.02, 0.9):
            found = probability_thresholds(error)
            assert found[-1] == 0.0
            assert 0.5 < found[0] < 1.0

    def test_starts_are_places(self):
        for count in range(1, 70):
            starts = spread_starts(count)
            assert starts[0] == 0
            assert list(starts) == sorted(set(starts))
            assert starts[-1] < count
