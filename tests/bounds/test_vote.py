"""The vote through T networks: exact tails, rounded outward, and the paper's factor 2 as a special case."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from pbgnet.bounds import (
    catoni_mixture_bound,
    seeger_bound,
    vote_bound,
    vote_loss_error,
    vote_losses,
    vote_quantile,
)
from pbgnet.exceptions import DomainError, DtypeError, ShapeError

BELOW_ONE = 1.0 - 2.0**-53
SMALL_VOTES = [(T, k) for T in range(1, 9) for k in range(T)]
LARGE_VOTES = [
    (T, k)
    for T in (40, 301, 1000, 5000)
    for k in (0, 1, T // 10, T // 2 - 9, T // 2, T // 2 + 9, T // 2 + int(2 * math.sqrt(T)), T - 2, T - 1)
]


def exact_loss(T: int, k: int, margin: float | Fraction) -> Fraction:
    """P(Bin(T, (1 + margin) / 2) <= k) without any rounding."""
    right = (1 + Fraction(margin)) / 2
    return sum(math.comb(T, j) * right**j * (1 - right) ** (T - j) for j in range(k + 1))


def precise_loss(T: int, k: int, margin: float) -> mpmath.mpf:
    """The same in 400 bits, for large T."""
    with mpmath.workprec(400):
        wrong, right = (1 - mpmath.mpf(margin)) / 2, (1 + mpmath.mpf(margin)) / 2
        if 0 in (wrong, right):
            return mpmath.mpf(0) if wrong == 0 else mpmath.mpf(1)
        term = total = wrong**T
        for j in range(k):
            term = term * (T - j) / (j + 1) * right / wrong
            total += term
        return total


margins = st.one_of(
    st.floats(-1.0, 1.0),
    st.floats(-50.0, 0.0).map(lambda e: 1.0 - 2.0**e),
    st.floats(-50.0, 0.0).map(lambda e: 2.0**e - 1.0),
    st.sampled_from([-1.0, 0.0, -0.0, 1.0, BELOW_ONE, 5e-324]),
)
votes = st.integers(1, 40).flatmap(lambda T: st.tuples(st.just(T), st.integers(0, T - 1)))


def examples(count: int) -> settings:
    return settings(deadline=None, derandomize=True, max_examples=count)


# ----- losses -------------------------------------------------------------------------------------


@examples(200)
@given(vote=votes, margin=margins)
def test_losses_against_whole_numbers(vote, margin):
    truth = exact_loss(*vote, margin)
    loss = float(vote_losses(margin, *vote))
    assert 0.0 <= loss <= 1.0
    assert abs(Fraction(loss) - truth) <= Fraction(vote_loss_error(*vote))
    if truth > Fraction(1, 10**280):  # small ones keep their digits
        assert abs(Fraction(loss) / truth - 1) < Fraction(1, 10**9)


@pytest.mark.parametrize(("T", "k"), LARGE_VOTES)
def test_losses_of_many_networks(T, k):
    near = 2 * k / T - 1 + np.array([-3.0, -1.0, -0.1, 0.0, 0.1, 1.0, 3.0]) / math.sqrt(T)
    values = np.clip([*near, -0.99, 0.01, 0.5, 0.999], -1.0, 1.0)
    for margin, loss in zip(values.tolist(), vote_losses(values, T, k).tolist(), strict=True):
        truth = precise_loss(T, k, margin)
        assert abs(loss - truth) <= 1e-12
        assert truth < 1e-280 or abs(loss / truth - 1) < 1e-10


def test_losses_at_the_ends_and_for_one_network():
    grid = np.linspace(-1.0, 1.0, 41)
    np.testing.assert_allclose(vote_losses(grid, 1, 0), (1.0 - grid) / 2.0, rtol=1e-15, atol=0.0)
    for vote in SMALL_VOTES:
        assert vote_losses([1.0, -1.0], *vote).tolist() == [0.0, 1.0]
        assert (np.diff(vote_losses(grid, *vote)) <= 0.0).all()


def test_a_loss_by_drawing_networks():
    rng = np.random.default_rng(0)
    right = (rng.random((400_000, 7)) < 0.8).sum(axis=1)
    for k in range(7):
        assert vote_losses(0.6, 7, k) == pytest.approx(np.mean(right <= k), abs=0.004)


def test_losses_keep_the_shape_of_the_margins():
    for shape in [(), (1,), (0,), (2, 3)]:
        assert vote_losses(torch.zeros(shape), 3, 1).shape == shape
    assert vote_losses([0.5, 0.0], 2, 0).dtype == np.float64


# ----- what an error of the margins costs ----------------------------------------------------------


@examples(200)
@given(vote=votes, margin=margins, error=st.floats(-30.0, -1.0).map(lambda e: 2.0**e))
def test_the_error_covers_every_margin_within_it(vote, margin, error):
    limit = Fraction(vote_loss_error(*vote, error))
    loss = Fraction(float(vote_losses(margin, *vote)))
    for shifted in (margin - error, margin + error):
        true_margin = Fraction(min(1.0, max(-1.0, shifted)))
        assert abs(loss - exact_loss(*vote, true_margin)) <= limit


@pytest.mark.parametrize(("T", "k"), [*SMALL_VOTES, (101, 60), (5000, 2500)])
def test_the_slope_is_the_steepest(T, k):
    grid = np.linspace(-1.0, 1.0, 20_001)
    steepest = np.abs(np.diff(vote_losses(grid, T, k))).max() / (grid[1] - grid[0])
    slope = (vote_loss_error(T, k, 1e-4) - vote_loss_error(T, k)) / 1e-4
    assert steepest <= slope * (1.0 + 1e-7)
    assert steepest == pytest.approx(slope, rel=1e-2)


def test_the_error_is_at_most_one_and_never_nothing():
    assert vote_loss_error(3, 1, 100.0) == 1.0
    assert 0.0 < vote_loss_error(3, 1) <= 1e-9


# ----- q ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("T", "k"), [*SMALL_VOTES, *LARGE_VOTES[:-9], (5000, 2600)])
def test_the_quantile_is_rounded_down_to_the_last_bit(T, k):
    truth = Fraction(sum(math.comb(T, j) for j in range(k + 1)), 2**T)
    q = vote_quantile(T, k)
    assert Fraction(q) <= truth < Fraction(math.nextafter(q, 2.0))


@examples(100)
@given(vote=votes, error=st.floats(0.0, 0.2))
def test_the_quantile_of_a_vote_that_is_computed_with_an_error(vote, error):
    """The deployed vote can err only where the exact margin is at most the error."""
    q = vote_quantile(*vote, error)
    assert 0.0 <= q <= vote_quantile(*vote)
    assert Fraction(q) <= exact_loss(*vote, Fraction(error))


def test_the_quantile_is_the_smallest_loss_of_an_error():
    for T, k in SMALL_VOTES:
        wrong = np.linspace(-1.0, 0.0, 101)  # at 0 too: the vote is -1 there, and the label may be 1
        assert vote_losses(wrong, T, k).min() == pytest.approx(vote_quantile(T, k), rel=1e-14)


# ----- the bound ----------------------------------------------------------------------------------

ARGUMENTS = (np.array([0.0, 0.001, 0.03, 0.4, 1.0]), np.array([[0.0], [1.5], [40.0], [math.inf]]), 3000, 0.05)
C = np.array([0.3, 0.9, 2.7])


def test_one_network_is_the_factor_two():
    assert vote_quantile(1, 0) == 0.5
    doubled = np.minimum(2.0 * seeger_bound(*ARGUMENTS, constant="maurer"), 1.0)
    np.testing.assert_array_equal(vote_bound(*ARGUMENTS, 1, 0), doubled)
    doubled = np.minimum(2.0 * catoni_mixture_bound(*ARGUMENTS, C), 1.0)
    np.testing.assert_array_equal(vote_bound(*ARGUMENTS, 1, 0, C), doubled)


@examples(100)
@given(
    vote=votes,
    risk=st.floats(0.0, 1.0),
    divergence=st.floats(0.0, 50.0),
    n=st.integers(1, 10**5),
    delta=st.floats(1e-9, 0.999),
    mixture=st.booleans(),
)
def test_the_bound_is_the_one_at_t_times_the_divergence_over_q(vote, risk, divergence, n, delta, mixture):
    T, k = vote
    inner = (
        catoni_mixture_bound(risk, T * divergence, n, delta, C)
        if mixture
        else seeger_bound(risk, T * divergence, n, delta, constant="maurer")
    )
    exact = Fraction(float(inner)) * 2**T / sum(math.comb(T, j) for j in range(k + 1))
    bound = float(vote_bound(risk, divergence, n, delta, T, k, C if mixture else None))
    assert bound == 1.0 or Fraction(bound) >= exact
    assert Fraction(bound) <= min(Fraction(1), exact * (1 + Fraction(1, 2**50)))


def test_weights_reach_the_mixture():
    w = [0.7, 0.2, 0.1]
    assert vote_bound(0.01, 1.0, 3000, 0.05, 2, 1, C, w) == pytest.approx(
        catoni_mixture_bound(0.01, 2.0, 3000, 0.05, C, w) / 0.75, rel=1e-15
    )


@pytest.mark.parametrize("c", [None, C])
def test_monotone_in_every_argument(c):
    base = {"risk": 0.03, "divergence": 2.0, "n": 3000, "delta": 0.05, "n_networks": 5, "n_right": 3, "c": c}
    sweeps = {
        "risk": (np.linspace(0.0, 1.0, 101), 1.0),
        "divergence": (np.linspace(0.0, 400.0, 101), 1.0),
        "delta": (10.0 ** np.linspace(-300.0, -0.01, 100), -1.0),
    }
    for name, (values, direction) in sweeps.items():
        steps = direction * np.diff(vote_bound(**{**base, name: values}))
        assert (steps >= -1e-13).all(), name
        assert steps.max() > 1e-3, name
    by_error = [float(vote_bound(**base, margin_error=e)) for e in (0.0, 1e-9, 1e-3, 0.1, 10.0)]
    assert by_error == sorted(by_error)
    assert by_error[0] < by_error[2]
    assert by_error[-1] == 1.0


def test_a_quantile_that_underflows_says_nothing():
    assert vote_quantile(5000, 0) == 0.0
    assert vote_bound(0.0, 0.0, 10**6, 0.05, 5000, 0) == 1.0
    assert vote_bound([0.0, 0.1], 0.0, 10**6, 0.05, 5000, 0).tolist() == [1.0, 1.0]


@examples(60)
@given(vote=votes, values=st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=30))
def test_no_bound_is_below_the_error_rate_on_the_sample(vote, values):
    """With n of the order of everything the bound approaches risk / q, which is above the rate of errors."""
    assume(vote_quantile(*vote) > 1e-3)
    risk = min(1.0, float(np.mean(vote_losses(values, *vote))) + vote_loss_error(*vote))
    assert vote_bound(risk, 0.0, 10**9, 0.5, *vote) >= np.mean(np.array(values) <= 0.0)


# ----- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [lambda T, k: vote_losses(0.0, T, k), vote_loss_error, vote_quantile])
@pytest.mark.parametrize(
    ("T", "k", "error", "message"),
    [
        (0, 0, DomainError, "n_networks must be at least 1"),
        (5001, 0, DomainError, "n_networks must be at most 5000"),
        (2.0, 0, DtypeError, "n_networks must be a whole number"),
        (True, 0, DtypeError, "n_networks must be a whole number"),
        (3, 3, DomainError, "n_right must lie between 0 and 2"),
        (3, -1, DomainError, "n_right must lie between 0 and 2"),
        (3, 1.0, DtypeError, "n_right must be a whole number"),
        (3, None, DtypeError, "n_right must be a whole number"),
        (3, False, DtypeError, "n_right must be a whole number"),
    ],
)
def test_votes_that_are_none_are_refused(call, T, k, error, message):
    with pytest.raises(error, match=message):
        call(T, k)
    with pytest.raises(error, match=message):
        vote_bound(0.1, 1.0, 100, 0.05, T, k)


@pytest.mark.parametrize("bad", [1.0 + 2.0**-52, -1.5, math.nan, math.inf])
def test_margins_outside_their_range_are_refused(bad):
    with pytest.raises(DomainError, match=r"margins must lie in \[-1, 1\]"):
        vote_losses([0.0, bad], 3, 1)


@pytest.mark.parametrize("call", [vote_loss_error, vote_quantile])
@pytest.mark.parametrize("bad", [-1e-9, math.nan, math.inf])
def test_errors_of_margins_outside_their_range_are_refused(call, bad):
    with pytest.raises(DomainError, match="margin_error must lie"):
        call(3, 1, bad)
    with pytest.raises(ShapeError, match="margin_error must be one number"):
        call(3, 1, [0.1, 0.2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"risk": 1.5}, "risk must lie"),
        ({"divergence": -1.0}, "divergence must lie"),
        ({"n": 0}, "n must lie"),
        ({"delta": 0.0}, "delta must lie"),
        ({"weights": [1.0]}, "pass c as well"),
    ],
)
def test_bad_bounds_are_refused(change, message):
    valid = {"risk": 0.1, "divergence": 1.0, "n": 100, "delta": 0.05, "n_networks": 3, "n_right": 1}
    with pytest.raises(DomainError, match=message):
        vote_bound(**{**valid, **change})


@pytest.mark.parametrize("distance", [1, Fraction(2, 3), Fraction(8, 15), Fraction(1, 5)])
@pytest.mark.parametrize("vote", [(1, 0), (4, 2), (9, 8), (300, 250), (5000, 4600)])
def test_the_quantile_of_a_code_is_the_binomial_tail_rounded_down(vote, distance):
    T, k = vote
    right = 1 - Fraction(distance) / 2
    exact = (
        sum(math.comb(T, j) * right**j * (1 - right) ** (T - j) for j in range(k + 1)) if T < 400 else None
    )
    q = vote_quantile(T, k, distance=distance)
    assert q == pytest.approx(stats.binom.cdf(k, T, float(right)), rel=1e-9, abs=1e-300)
    if exact is not None:
        assert q <= exact < q * (1 + 1e-15) + 1e-300


@pytest.mark.parametrize("distance", [0, 2, 0.5, True, Fraction(-1, 2), "1"])
def test_distances_that_no_code_has_are_refused(distance):
    with pytest.raises(DomainError, match="distance"):
        vote_quantile(3, 1, distance=distance)


def test_a_smaller_distance_makes_a_larger_bound():
    bounds = [vote_bound(0.01, 0.5, 2000, 0.05, 5, 4, distance=Fraction(d, 10)) for d in range(10, 0, -1)]
    assert all(a < b for a, b in pairwise(bounds))
