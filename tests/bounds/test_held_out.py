"""Held-out bounds: never below the exact limit, and covering as often as they promise."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pbgnet.bounds import binary_kl, chernoff_bound, clopper_pearson_bound, count_probability
from pbgnet.exceptions import DomainError, DtypeError, ShapeError

BELOW_ONE = 1.0 - 2.0**-53
SMALLEST = 5e-324


def fraction_cdf(k: int, n: int, p: Fraction) -> Fraction:
    """P(Bin(n, p) <= k) without any rounding."""
    return sum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k + 1))


def cdf_above(k: int, n: int, p: float) -> mpmath.mpf:
    """P(Bin(n, p) <= k), for p >= k / n, in 60 digits and not below the truth.

    Terms are summed downwards from k, where they fall faster than geometrically; the rest is below
    the geometric series that is added at the end.
    """
    with mpmath.workdps(60):
        p = mpmath.mpf(p)
        odds = (1 - p) / p
        log_term = mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)
        term = mpmath.exp(log_term + k * mpmath.log(p) + (n - k) * mpmath.log1p(-p))
        total, ratio = term, mpmath.mpf(0)
        for j in range(k, 0, -1):
            ratio = j * odds / (n - j + 1)
            if ratio < 1 and term * ratio / (1 - ratio) < total * mpmath.mpf("1e-30"):
                break
            term *= ratio
            total += term
        else:
            return total
        return total + term * ratio / (1 - ratio)


# ----- Clopper-Pearson ----------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.9, 0.5, 0.05, 1e-6, 1e-40, 1e-300])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 30])
def test_clopper_pearson_against_whole_numbers(n, delta):
    k = np.arange(n)
    bounds = clopper_pearson_bound(k, n, delta)
    for errors, bound in zip(k.tolist(), bounds.tolist(), strict=True):
        assert bound == 1.0 or fraction_cdf(errors, n, Fraction(bound)) <= Fraction(delta)
        inside = Fraction(bound) * (1 - Fraction(1, 10**7))
        if inside > Fraction(errors, n):  # a limit below the observed rate is raised to it
            assert fraction_cdf(errors, n, inside) > Fraction(delta)
    assert clopper_pearson_bound(n, n, delta) == 1.0


@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-3, 1e-10, 1e-100, 1e-300])
@pytest.mark.parametrize("n", [100, 1000, 10**4, 10**5, 10**6])
def test_clopper_pearson_for_large_samples(n, delta):
    k = np.unique([0, 1, 2, 10, n // 1000, n // 20, n // 2, n - n // 20, n - 10, n - 1])
    bounds = clopper_pearson_bound(k, n, delta)
    for errors, bound in zip(k.tolist(), bounds.tolist(), strict=True):
        if bound == 1.0:  # the limit is closer to 1 than any double
            assert n - errors <= 10
            continue
        assert cdf_above(errors, n, bound) <= delta
        assert cdf_above(errors, n, bound * (1.0 - 1e-7)) > delta


@pytest.mark.parametrize("delta", [2.0**-1022, 1e-310, 1e-320, SMALLEST])
@pytest.mark.parametrize(("k", "n"), [(0, 100), (10, 1000), (500, 1000)])
def test_clopper_pearson_where_the_probability_underflows(k, n, delta):
    bound = float(clopper_pearson_bound(k, n, delta))
    assert bound == 1.0 or cdf_above(k, n, bound) <= delta


@pytest.mark.parametrize("n", [1, 2, 10, 1000, 10**6, 10**9])
@pytest.mark.parametrize("delta", [0.9, 0.05, 1e-12, 1e-300])
def test_no_errors_have_a_closed_form(n, delta):
    bound = clopper_pearson_bound(0, n, delta)
    with mpmath.workdps(60):
        truth = -mpmath.expm1(mpmath.log(delta) / n)  # 1 - delta^(1/n)
        assert truth <= bound <= truth * (1 + mpmath.mpf("1e-7"))


@pytest.mark.parametrize("n", [1, 2, 10, 10**6, 10**12])
def test_nothing_but_errors_says_nothing(n):
    for delta in (SMALLEST, 0.05, BELOW_ONE):
        assert clopper_pearson_bound(n, n, delta) == 1.0


def test_clopper_pearson_is_the_quantile_of_a_beta_law():
    n = np.array([5, 50, 5000])[:, None]
    k = np.array([0, 1, 4])
    np.testing.assert_allclose(
        clopper_pearson_bound(k, n, 0.05), stats.beta.ppf(0.95, k + 1, n - k), rtol=1e-8, atol=0.0
    )


def test_the_probability_of_a_count_is_rounded_up_and_falls_between_whole_numbers():
    k = np.arange(8)
    exact = [float(fraction_cdf(errors, 7, Fraction(1, 8))) for errors in k.tolist()]
    found = count_probability(k, 7, 0.125)
    assert np.all(found >= exact)
    np.testing.assert_allclose(found, exact, rtol=1e-8)
    assert np.all(np.diff(count_probability(3, np.linspace(3.5, 60, 200), 0.1)) < 0)


def test_clopper_pearson_is_monotone():
    k, n, delta = np.arange(51), np.arange(50, 500), np.linspace(0.01, 0.99, 99)
    assert (np.diff(clopper_pearson_bound(k, 50, 0.05)) > 0.0).all()
    assert (np.diff(clopper_pearson_bound(10, n, 0.05)) < 0.0).all()
    assert (np.diff(clopper_pearson_bound(10, 50, delta)) <= 0.0).all()


# ----- Chernoff -----------------------------------------------------------------------------------


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, -0.0, 1.0, SMALLEST, BELOW_ONE])),
            st.one_of(st.integers(1, 1000), st.integers(1, 10**15)),
            st.one_of(
                st.floats(1e-9, 1.0, exclude_max=True),
                st.sampled_from([SMALLEST, 1e-300, 0.05, BELOW_ONE]),
            ),
        ),
        min_size=1,
        max_size=25,
    )
)
def test_chernoff_is_outward_and_tight(exact, exact_kl, cases):
    risk, n, delta = np.array(cases).T
    for (q, size, d), bound in zip(cases, chernoff_bound(risk, n, delta), strict=True):
        budget = -exact.log(exact.mpf(d)) / size
        assert bound == 1.0 or exact_kl(q, bound) >= budget
        if bound > q:
            assert exact_kl(q, math.nextafter(bound, 0.0)) < budget * (1 + exact.mpf(2) ** -43)


@pytest.mark.parametrize("n", [1, 3, 10, 100, 1000, 10**5])
@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-9, 1e-200])
def test_chernoff_is_never_smaller_than_clopper_pearson(n, delta):
    k = np.unique(np.linspace(0, n, 40).round())
    # Clopper-Pearson carries the error granted to the incomplete beta function.
    assert (chernoff_bound(k / n, n, delta) >= clopper_pearson_bound(k, n, delta) * (1.0 - 1e-8)).all()


def test_chernoff_corners():
    assert chernoff_bound(1.0, 10, 0.05) == 1.0
    assert chernoff_bound(0.0, 1, 0.25) == pytest.approx(0.75, rel=1e-13)
    assert chernoff_bound(0.0, 100, 0.05) == pytest.approx(1.0 - 0.05**0.01, rel=1e-12)
    assert chernoff_bound(0.5, 1, 1e-300) == 1.0
    assert chernoff_bound(0.5, 100, BELOW_ONE) > 0.5


def test_a_budget_that_underflows_is_not_an_empty_budget():
    """ln(1/delta) / n rounds to 0 here, but the limit lies above the risk."""
    for risk in (0.0, 0.25):
        assert chernoff_bound(risk, 1e308, BELOW_ONE) > risk


# ----- the guarantee ------------------------------------------------------------------------------


def miss_probability(bounds: np.ndarray, n: int, p: np.ndarray) -> np.ndarray:
    """P(bound(K) < p) for K ~ Bin(n, p); bounds has one entry per count."""
    missed = bounds[:, None] < p
    return np.sum(stats.binom.pmf(np.arange(n + 1)[:, None], n, p) * missed, axis=0)


@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-4])
@pytest.mark.parametrize("n", [1, 2, 10, 200])
def test_exact_coverage(n, delta):
    """The chance to miss jumps up right above each bound, so that is where to look."""
    k = np.arange(n + 1)
    for bounds in (clopper_pearson_bound(k, n, delta), chernoff_bound(k / n, n, delta)):
        p = np.concatenate([np.nextafter(bounds[bounds < 1.0], 2.0), np.linspace(0.001, 0.999, 97)])
        miss = miss_probability(bounds, n, p)
        assert (miss <= delta * (1.0 + 1e-7)).all()
    # Clopper-Pearson misses as often as it may, right there; Chernoff pays for its simplicity.
    exact_limits = clopper_pearson_bound(k, n, delta)
    attained = miss_probability(exact_limits, n, np.nextafter(exact_limits[:-1], 2.0))
    np.testing.assert_allclose(attained[exact_limits[:-1] > k[:-1] / n + 1e-6], delta, rtol=1e-5)


@pytest.mark.statistical
@pytest.mark.parametrize("p", [0.01, 0.1, 0.5, 0.9])
def test_coverage_by_simulation(p):
    n, delta, repetitions = 80, 0.1, 20_000
    errors = np.random.default_rng(0).binomial(n, p, repetitions)
    allowed = delta + 4.0 * math.sqrt(delta * (1.0 - delta) / repetitions)
    k = np.arange(n + 1)
    assert np.mean(clopper_pearson_bound(k, n, delta)[errors] < p) <= allowed
    assert np.mean(chernoff_bound(k / n, n, delta)[errors] < p) <= allowed


@pytest.mark.statistical
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.2, 1.8), (0.05, 0.05), (9.0, 1.0)])
def test_chernoff_coverage_for_losses_in_the_unit_interval(a, b):
    n, delta, repetitions = 40, 0.2, 10_000
    means = np.random.default_rng(1).beta(a, b, (repetitions, n)).mean(axis=1)
    missed = np.mean(chernoff_bound(means, n, delta) < a / (a + b))
    assert missed <= delta
    assert binary_kl(means.mean(), a / (a + b)) < 1e-3  # the world is the one that was meant


# ----- arrays -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [clopper_pearson_bound, chernoff_bound])
def test_broadcasting_equals_elementwise(bound):
    first, n, delta = np.array([0, 1, 1]), np.array([[1], [50]]), np.array([0.5, 1e-6])[:, None, None]
    value = bound(first, n, delta)
    assert value.shape == (2, 2, 3)
    assert value.dtype == np.float64
    for d, i, j in np.ndindex(value.shape):
        one = bound(first[j], n[i, 0], delta[d, 0, 0])
        assert type(one) is np.float64
        assert value[d, i, j] == one
    assert bound([], 10, 0.05).shape == (0,)


@pytest.mark.parametrize("convert", [list, np.array, torch.tensor, lambda x: np.array(x, dtype=np.uint8)])
def test_every_kind_of_array_is_taken(convert):
    expected = clopper_pearson_bound(np.array([0.0, 2.0]), np.array([10.0, 20.0]), 0.05)
    np.testing.assert_array_equal(clopper_pearson_bound(convert([0, 2]), convert([10, 20]), 0.05), expected)
    np.testing.assert_array_equal(
        chernoff_bound(convert([0, 1]), convert([10, 20]), 0.05), chernoff_bound([0.0, 1.0], [10, 20], 0.05)
    )


# ----- bad input ----------------------------------------------------------------------------------

VALID = {
    clopper_pearson_bound: {"n_errors": 3, "n": 100, "delta": 0.05},
    chernoff_bound: {"risk": 0.03, "n": 100, "delta": 0.05},
}
OUTSIDE = {
    "n": (r"\[1, inf\)", [0, -5, 0.5, math.nan, math.inf, -math.inf]),
    "delta": (r"\(0, 1\)", [0.0, -0.0, 1.0, -0.1, 5.0, math.nan, math.inf, -math.inf]),
    "risk": (r"\[0, 1\]", [-SMALLEST, 1.0 + 2.0**-52, 3.0, math.nan, math.inf, -math.inf]),
    "n_errors": (r"\[0, inf\]", [-1, -SMALLEST, -math.inf, math.nan]),
}
NOT_REAL = [
    "1",
    None,
    True,
    [True],
    1j,
    np.array([1], dtype=object),
    torch.tensor(True),
    torch.tensor(1j),
]
EVERY_ARGUMENT = pytest.mark.parametrize(
    ("bound", "name"), [(bound, name) for bound, valid in VALID.items() for name in valid]
)


@pytest.mark.parametrize(
    ("bound", "name", "interval", "bad"),
    [
        (bound, name, OUTSIDE[name][0], bad)
        for bound, valid in VALID.items()
        for name in valid
        for bad in OUTSIDE[name][1]
    ],
)
def test_numbers_outside_their_range_are_refused(bound, name, interval, bad):
    for value in (bad, [VALID[bound][name], bad]):
        with pytest.raises(DomainError, match=f"^{name} must lie in {interval}"):
            bound(**{**VALID[bound], name: value})


@pytest.mark.parametrize("bad", [101, math.inf, 0.03, 2.5, [3, 101], [0.5, 3]])
def test_errors_must_be_counted_within_n(bad):
    with pytest.raises(DomainError, match=r"whole numbers between 0 and n\. Pass the count, not the rate"):
        clopper_pearson_bound(bad, 100, 0.05)


@pytest.mark.parametrize("bound", VALID)
def test_fractional_sample_sizes_are_refused(bound):
    with pytest.raises(DomainError, match="n must be a whole number"):
        bound(**{**VALID[bound], "n": 10.5})


@EVERY_ARGUMENT
@pytest.mark.parametrize("bad", NOT_REAL, ids=repr)
def test_what_is_no_real_number_is_refused(bound, name, bad):
    with pytest.raises(DtypeError, match=f"^{name} must hold real numbers"):
        bound(**{**VALID[bound], name: bad})


@EVERY_ARGUMENT
def test_gradients_are_refused(bound, name):
    with pytest.raises(DtypeError, match=f"^{name} requires a gradient"):
        bound(**{**VALID[bound], name: torch.tensor(1.0, requires_grad=True)})


@pytest.mark.parametrize("bound", VALID)
def test_shapes_that_do_not_broadcast_are_refused(bound):
    with pytest.raises(ShapeError, match="broadcast"):
        bound([0, 1], [10, 20, 30], 0.05)
    with pytest.raises(ShapeError, match="broadcast"):
        bound([0, 1], 10, [0.05, 0.1, 0.2])
