"""Catoni's mixture: never below its formula, between what it averages, and without a sqrt(n)."""

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import MPContext

from pbgnet.bounds import catoni_bound, catoni_grid, catoni_mixture_bound, kl_inverse_upper, seeger_bound
from pbgnet.exceptions import DomainError, DtypeError, ShapeError

BELOW_ONE = 1.0 - 2.0**-53
SMALLEST = 5e-324

risks = st.one_of(
    st.floats(0.0, 1.0),
    st.floats(-60.0, 0.0).map(lambda e: 2.0**e),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, SMALLEST, BELOW_ONE]),
)
divergences = st.one_of(st.just(0.0), st.floats(-30.0, 20.0).map(lambda e: 2.0**e), st.just(math.inf))
deltas = st.one_of(
    st.floats(1e-12, 1.0, exclude_max=True), st.sampled_from([SMALLEST, 1e-300, 0.05, 0.5, BELOW_ONE])
)
counts = st.one_of(st.integers(1, 60), st.integers(1, 10**6), st.integers(8, 15).map(lambda e: 10**e))
trade_offs = st.one_of(st.floats(1e-6, 5.0), st.floats(-20.0, 10.0).map(lambda e: 2.0**e))
cases = st.lists(st.tuples(risks, divergences, counts, deltas), min_size=1, max_size=12)
ordinary = st.lists(
    st.tuples(st.floats(0.0, 0.5), st.floats(0.0, 300.0), st.integers(1, 10**6), st.floats(1e-9, 0.5)),
    min_size=1,
    max_size=12,
)
mixtures = st.lists(st.tuples(trade_offs, st.floats(1e-6, 1.0)), min_size=1, max_size=5).map(
    lambda pairs: (
        np.array([c for c, _ in pairs]),
        np.array([w for _, w in pairs]) / math.fsum(w for _, w in pairs),
    )
)


def examples(count: int) -> settings:
    return settings(deadline=None, derandomize=True, max_examples=count)


@pytest.fixture(scope="session")
def log_mixture():
    """Logarithm of the sum in 400 bits, and the budget it must not exceed."""
    context = MPContext()
    context.prec = 400
    mpf = context.mpf

    def value(p, risk, n, c, weights):
        total = context.zero
        for c_, w in zip(c.tolist(), weights.tolist(), strict=True):
            x = mpf(p) * -context.expm1(-mpf(c_))
            exponent = int(n) * (-context.log1p(-x) - mpf(c_) * mpf(risk))
            total += mpf(w) * context.exp(exponent)
        return context.log(total / context.fsum(weights.tolist()))

    def budget(divergence, delta):
        return mpf(divergence) - context.log(mpf(delta))

    return value, budget


# ----- never below the formula --------------------------------------------------------------------


@examples(50)
@given(cases=cases, mixture=mixtures)
def test_the_mixture_is_outward(log_mixture, cases, mixture):
    value, budget = log_mixture
    c, weights = mixture
    bounds = catoni_mixture_bound(*np.array(cases).T, c, weights)
    for (q, k, n, d), p in zip(cases, bounds.tolist(), strict=True):
        assert q <= p <= 1.0
        assert p == 1.0 or value(p, q, n, c, weights) >= budget(k, d)


def test_the_mixture_is_outward_next_to_one(log_mixture):
    """There 1 - p (1 - exp(-C)) has few digits left, unless it is computed as a sum."""
    value, budget = log_mixture
    weights = np.ones(1)
    for c in np.linspace(28.0, 40.0, 9)[:, None]:
        divergence = np.linspace(20.0, min(c[0], 36.0) - 0.1, 25)
        for k, p in zip(divergence, catoni_mixture_bound(0.0, divergence, 1, 0.9, c), strict=True):
            assert p == 1.0 or value(p, 0.0, 1, c, weights) >= budget(k, 0.9)


@pytest.mark.parametrize("n", [1e300, 1e305, 1.7e308])
def test_the_mixture_is_outward_where_products_underflow(log_mixture, n):
    value, budget = log_mixture
    for c in np.geomspace(1e-9, 1.0, 15)[:, None]:
        p = catoni_mixture_bound(0.0, 0.0, n, BELOW_ONE, c)
        assert p == 1.0 or value(p, 0.0, n, c, np.ones(1)) >= budget(0.0, BELOW_ONE)


@examples(50)
@given(cases=ordinary, mixture=mixtures)
def test_the_mixture_is_tight(log_mixture, cases, mixture):
    value, budget = log_mixture
    c, weights = mixture
    assume(c.min() >= 1e-3)
    bounds = catoni_mixture_bound(*np.array(cases).T, c, weights)
    for (q, k, n, d), p in zip(cases, bounds.tolist(), strict=True):
        assert value(p * (1.0 - 1e-10), q, n, c, weights) < budget(k, d)


@examples(50)
@given(cases=ordinary, c=st.floats(1e-6, 1e3))
def test_one_c_is_catoni(cases, c):
    arguments = np.array(cases).T
    mixture = catoni_mixture_bound(*arguments, [c])
    np.testing.assert_allclose(mixture, catoni_bound(*arguments, c=c), rtol=1e-9, atol=0.0)
    np.testing.assert_array_equal(mixture, catoni_mixture_bound(*arguments, c, 1.0))


@examples(50)
@given(cases=cases, mixture=mixtures)
def test_between_the_best_of_its_parts_and_a_union_over_them(cases, mixture):
    c, weights = mixture
    risk, divergence, n, delta = np.array(cases).T
    delta = np.maximum(delta, 1e-300)  # times a weight it must not become 0
    value = catoni_mixture_bound(risk, divergence, n, delta, c, weights)
    part = [catoni_bound(risk, divergence, n, delta, c=one) for one in c]
    union = [catoni_bound(risk, divergence, n, delta * w, c=one) for one, w in zip(c, weights, strict=True)]
    assert (value >= np.min(part, axis=0) * (1.0 - 1e-12)).all()
    # The rounding that is granted is absolute in nats, and so is worth the more the smaller n C is.
    slack = 1e-12 + 1e-12 / (n * c.min())
    assert (value <= np.min(union, axis=0) + slack).all()


def test_the_order_and_the_doubling_of_the_c_do_not_matter():
    c, weights = np.array([0.2, 0.5, 1.3]), np.array([0.5, 0.3, 0.2])
    arguments = (np.linspace(0.0, 0.4, 9), 3.0, 800, 0.05)
    value = catoni_mixture_bound(*arguments, c, weights)
    np.testing.assert_allclose(catoni_mixture_bound(*arguments, c[::-1], weights[::-1]), value, rtol=1e-13)
    doubled = catoni_mixture_bound(*arguments, np.tile(c, 2), np.tile(weights / 2, 2))
    np.testing.assert_allclose(doubled, value, rtol=1e-13)
    uniform = catoni_mixture_bound(*arguments, c, np.full(3, 1 / 3))
    np.testing.assert_allclose(catoni_mixture_bound(*arguments, c), uniform, rtol=1e-13)


def test_weights_are_divided_by_their_sum():
    """Within the tolerance a sum above 1 would otherwise promise too much."""
    w = np.array([0.5, 0.5])
    for scale in (1.0 - 5e-10, 1.0 + 5e-10):
        scaled = catoni_mixture_bound(0.1, 1.0, 100, 0.05, [0.5, 1.0], w * scale)
        assert scaled == pytest.approx(catoni_mixture_bound(0.1, 1.0, 100, 0.05, [0.5, 1.0], w), rel=1e-13)


# ----- order and corners --------------------------------------------------------------------------

GRID = np.array([0.1, 0.4, 1.6])


def test_monotone_in_every_argument():
    base = {"risk": 0.1, "divergence": 20.0, "n": 500, "delta": 0.05, "c": GRID}
    sweeps = {
        "risk": (np.linspace(0.0, 1.0, 101), 1.0),
        "divergence": (np.concatenate([[0.0], 10.0 ** np.linspace(-6.0, 6.0, 100)]), 1.0),
        "n": (np.unique(np.round(10.0 ** np.linspace(0.0, 9.0, 100))), -1.0),
        "delta": (np.concatenate([10.0 ** np.linspace(-300.0, -1.0, 100), [0.5, 0.99]]), -1.0),
    }
    for name, (values, direction) in sweeps.items():
        steps = direction * np.diff(catoni_mixture_bound(**{**base, name: values}))
        assert (steps >= -1e-13).all(), name
        assert steps.max() > 1e-3, name


@pytest.mark.parametrize("divergence", [math.inf, 1.7e308, 1e9])
@pytest.mark.parametrize("risk", [0.0, 0.3, 1.0])
def test_huge_divergence_says_nothing(risk, divergence):
    assert catoni_mixture_bound(risk, divergence, 1000, 0.05, GRID) == 1.0


@pytest.mark.parametrize("c", [[1e-6], [1e3], [1e-6, 1e3], GRID])
def test_risk_one_says_nothing(c):
    for n, delta in ((1, 0.5), (1000, 0.05), (10**9, BELOW_ONE)):
        assert catoni_mixture_bound(1.0, 0.0, n, delta, c) == 1.0


def test_risk_zero_without_a_limit_on_c():
    """For C so large that exp(-C) is nothing the bound is 1 - exp(-budget)."""
    for n in (1, 1000):
        budget = (2.0 - math.log(0.05)) / n
        for zero in (0.0, -0.0):
            value = catoni_mixture_bound(zero, 2.0, n, 0.05, [1000.0])
            assert value == pytest.approx(-math.expm1(-budget), rel=1e-12)


@pytest.mark.parametrize("delta", [SMALLEST, 1e-300, 1e-16, BELOW_ONE])
def test_extreme_confidence(delta):
    value = catoni_mixture_bound(0.1, 5.0, 100_000, delta, GRID)
    assert 0.1 < value < 1.0
    assert catoni_mixture_bound(0.1, 5.0, 10, 1e-300, GRID) == 1.0


@pytest.mark.parametrize("n", [1e100, 1e300, 1.7e308])
def test_sample_sizes_that_overflow_stay_sound(n):
    for risk in (0.0, 0.25, 0.75):
        assert risk <= catoni_mixture_bound(risk, 1.0, n, 0.05, [0.5, 700.0]) <= 1.0


def test_there_is_no_sqrt_of_n_to_pay():
    """At the C that is best for the budget without a constant the price does not grow with n."""
    for n in (10**3, 10**5, 10**6):
        risk, divergence, delta = 20.0 / n, 1.5, 0.05
        free = kl_inverse_upper(risk, (divergence - math.log(delta)) / n)
        grid = catoni_grid(risk, divergence, n, delta)
        paid = catoni_mixture_bound(risk, divergence, n, delta, grid) / free
        assert paid < 1.03
        assert seeger_bound(risk, divergence, n, delta, "maurer") / free > paid + 0.05


# ----- the grid -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_the_grid_is_geometric_around_the_best_c(size):
    risk, divergence, n, delta = 0.02, 2.0, 5000, 0.05
    grid = catoni_grid(risk, divergence, n, delta, size, factor=2.0)
    assert grid.shape == (size,)
    centre = math.exp(np.log(grid).mean())
    c = np.geomspace(0.2, 5.0, 1000) * centre
    best = c[np.argmin(catoni_bound(risk, divergence, n, delta, c))]
    assert centre == pytest.approx(best, rel=0.15)
    if size > 1:
        assert grid[-1] / grid[0] == pytest.approx(4.0, rel=1e-12)
        np.testing.assert_allclose(np.diff(np.log(grid)), math.log(4.0) / (size - 1), rtol=1e-9)


@pytest.mark.parametrize(
    ("risk", "divergence", "n"),
    [
        (0.0, 0.0, 1),
        (0.0, 1.0, 10**6),
        (1.0, 0.0, 10),
        (0.3, math.inf, 10),
        (0.5, 0.0, 10**15),
        (0.5, 1e9, 5),
    ],
)
def test_the_grid_is_usable_everywhere(risk, divergence, n):
    grid = catoni_grid(risk, divergence, n, 0.05)
    assert np.isfinite(grid).all()
    assert (grid > 0.0).all()
    assert (np.diff(grid) > 0.0).all()
    assert catoni_mixture_bound(risk, divergence, n, 0.05, grid) <= 1.0


@pytest.mark.parametrize("wrong_risk", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("wrong_divergence", [0.5, 1.0, 2.0])
def test_the_default_grid_forgives_a_factor_of_two(wrong_risk, wrong_divergence):
    risk = np.array([0.002, 0.005, 0.01, 0.03, 0.15])
    for divergence, n in ((1.0, 5000), (2.0, 30000), (30.0, 10000)):
        free = kl_inverse_upper(risk, (divergence - math.log(0.05)) / n)
        for q, best in zip(risk, free, strict=True):
            grid = catoni_grid(q * wrong_risk, divergence * wrong_divergence, n, 0.05)
            assert catoni_mixture_bound(q, divergence, n, 0.05, grid) < 1.055 * best


# ----- arrays and bad input -----------------------------------------------------------------------


def test_broadcasting_equals_elementwise():
    risk = np.array([0.0, 0.1, 1.0])
    divergence = np.array([[0.0], [30.0]])
    n = np.array([10, 1000])[:, None, None]
    value = catoni_mixture_bound(risk, divergence, n, 0.05, GRID)
    assert value.shape == (2, 2, 3)
    for i, k, j in np.ndindex(value.shape):
        one = catoni_mixture_bound(risk[j], divergence[k, 0], n[i, 0, 0], 0.05, torch.tensor(GRID))
        assert type(one) is np.float64
        assert value[i, k, j] == one
    assert catoni_mixture_bound([], 1.0, 10, 0.05, GRID).shape == (0,)


VALID = {"risk": 0.1, "divergence": 10.0, "n": 1000, "delta": 0.05, "c": GRID}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"risk": 1.1}, DomainError, "risk must lie"),
        ({"divergence": -1.0}, DomainError, "divergence must lie"),
        ({"n": 0}, DomainError, "n must lie"),
        ({"delta": 1.0}, DomainError, "delta must lie"),
        ({"c": [0.5, 0.0]}, DomainError, r"c must lie in \(0, inf\)"),
        ({"c": [0.5, math.nan]}, DomainError, "c must lie"),
        ({"c": math.inf}, DomainError, "c must lie"),
        ({"c": []}, ShapeError, "at least one"),
        ({"c": [[0.5, 1.0]]}, ShapeError, "list of at least one"),
        ({"c": "0.5"}, DtypeError, "c must hold"),
        ({"weights": [0.5, 0.5]}, ShapeError, "one entry for each of the 3 C"),
        ({"weights": [[0.2, 0.3, 0.5]]}, ShapeError, "one entry for each"),
        ({"weights": [0.5, 0.5, 0.5]}, DomainError, r"sum to 1, got 1\.5"),
        ({"weights": [0.5, 0.2, 0.2]}, DomainError, "Divide them by their sum"),
        ({"weights": [0.5, 0.5, 0.0]}, DomainError, "weights must lie"),
        ({"weights": [1.5, -0.75, 0.25]}, DomainError, "weights must lie"),
        ({"weights": [math.nan] * 3}, DomainError, "weights must lie"),
    ],
)
def test_bad_input_is_refused(change, error, message):
    with pytest.raises(error, match=message):
        catoni_mixture_bound(**{**VALID, **change})


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"size": 0}, DomainError, "size must be at least 1"),
        ({"size": 2.5}, DtypeError, "size must be a whole number"),
        ({"factor": 0.9}, DomainError, "factor must be at least 1"),
        ({"factor": math.inf}, DomainError, "factor must be positive and finite"),
        ({"risk": [0.1, 0.2]}, ShapeError, "one risk"),
        ({"risk": -0.1}, DomainError, "risk must lie"),
    ],
)
def test_bad_grids_are_refused(change, error, message):
    with pytest.raises(error, match=message):
        catoni_grid(**{"risk": 0.1, "divergence": 1.0, "n": 100, "delta": 0.05, **change})
