"""The constants of the kl theorem, and the sharing of delta."""

import importlib.util
import math
from fractions import Fraction
from types import ModuleType

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pbgnet.bounds import Constant, binary_kl, maurer_xi, split_delta
from pbgnet.exceptions import DomainError, DtypeError, PBGNetError

SMALLEST = 5e-324


def exact_xi(n: int) -> Fraction:
    """Maurer's sum in whole numbers."""
    powers = [j**j for j in range(n + 1)]
    return Fraction(sum(math.comb(n, k) * powers[k] * powers[n - k] for k in range(n + 1)), n**n)


def precise_xi(n: int) -> mpmath.mpf:
    """Maurer's sum in 60 digits, for n where whole numbers grow too long."""
    with mpmath.workdps(60):
        log_terms = [mpmath.loggamma(k + 1) - (k * mpmath.log(k) if k else 0) for k in range(n + 1)]
        return mpmath.fsum(mpmath.exp(log_terms[n] - log_terms[k] - log_terms[n - k]) for k in range(n + 1))


# ----- maurer_xi ----------------------------------------------------------------------------------


@pytest.mark.parametrize("start", range(1, 301, 100))
def test_xi_is_never_below_the_exact_sum(start):
    for n in range(start, start + 100):
        value, truth = Fraction(maurer_xi(n)), exact_xi(n)
        assert truth <= value <= truth * (1 + Fraction(1, 10**13)), n


@pytest.mark.parametrize("n", [511, 1000, 2500, 4096])
def test_xi_for_thousands(n):
    truth = precise_xi(n)
    assert truth <= maurer_xi(n) <= truth * (1 + mpmath.mpf("1e-13"))


def test_the_two_references_agree():
    assert abs(precise_xi(40) - mpmath.mpf(exact_xi(40).numerator) / exact_xi(40).denominator) < 1e-13


def test_xi_lies_between_its_elementary_bounds():
    n = np.arange(1, 3001)
    xi = np.array([maurer_xi(int(size)) for size in n])
    rounding = 1.0 + 1e-14  # n = 1 meets 2 sqrt(n) exactly
    assert (np.sqrt(n) <= xi).all()
    assert (xi <= 2.0 * np.sqrt(n) * rounding).all()
    assert (np.diff(xi) > 0.0).all()
    # Maurer's asymptotics: sqrt(pi n / 2) + 2/3 + o(1).
    np.testing.assert_allclose((xi - np.sqrt(np.pi * n / 2.0))[99:], 2.0 / 3.0, atol=0.02)


def test_xi_far_beyond_the_sum():
    for n in (10**8, 10**12, 10**100, 10**300):
        root = math.sqrt(math.pi / 2.0) * math.sqrt(n)
        assert root < maurer_xi(n) <= root * (1.0 + 2e-4)
        assert maurer_xi(n) <= 2.0 * math.sqrt(n)


@pytest.fixture
def closed_form() -> ModuleType:
    """A private copy of the module that uses its closed form for every n (with a cache of its own)."""
    spec = importlib.util.find_spec("pbgnet.bounds.confidence")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.LARGEST_SUMMED_N = 0
    return module


def test_the_closed_form_for_large_n_is_an_upper_bound(closed_form):
    for n in [*range(1, 200), 500, 1000, 10_000, 100_000, 1_000_000]:
        above, value = closed_form.maurer_xi(n), maurer_xi(n)
        # It is 4/3 too much, which at ten million is the 4e-4 that the module states.
        assert value < above < value + 1.4, n
        assert above > value * (1.0 + 1e-4), n  # else the copy summed after all


@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize("p", [0.5, 0.1, 1e-3, 0.99])
def test_xi_is_the_moment_of_a_bernoulli_loss(n, p):
    """E exp(n kl(mean || p)) is xi(n) for every p: what the constant is for."""
    k = np.arange(n + 1)
    moment = np.sum(stats.binom.pmf(k, n, p) * np.exp(n * binary_kl(k / n, p)))
    assert moment == pytest.approx(maurer_xi(n), rel=1e-11)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize("p", [0.5, 0.1, 0.99])
def test_xi_bounds_the_moment_of_a_three_valued_loss(n, p):
    """The mean of two Bernoulli variables is a loss in {0, 1/2, 1}: n of them make a Binomial(2n)."""
    k = np.arange(2 * n + 1)
    moment = np.sum(stats.binom.pmf(k, 2 * n, p) * np.exp(n * binary_kl(k / (2 * n), p)))
    assert 1.0 < moment < maurer_xi(n)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("draw", "mean"),
    [
        (lambda rng, size: (rng.uniform(size=size) < 0.2).astype(float), 0.2),
        (lambda rng, size: rng.uniform(size=size), 0.5),
        (lambda rng, size: rng.beta(0.3, 1.7, size), 0.15),
    ],
    ids=["bernoulli", "uniform", "beta"],
)
def test_xi_bounds_the_simulated_moment(draw, mean):
    n, repetitions = 50, 40_000
    losses = draw(np.random.default_rng(0), (repetitions, n))
    moments = np.exp(n * binary_kl(losses.mean(axis=1), mean))
    standard_error = moments.std() / math.sqrt(repetitions)
    assert moments.mean() <= maurer_xi(n) + 4.0 * standard_error


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (0, DomainError),
        (-3, DomainError),
        (2.0, DtypeError),
        (2.5, DtypeError),
        (True, DtypeError),
        ("3", DtypeError),
        (None, DtypeError),
        (math.nan, DtypeError),
        (math.inf, DtypeError),
        (3 + 0j, DtypeError),
        (torch.tensor(3), DtypeError),
        ([3], DtypeError),
        (np.array([3]), DtypeError),
    ],
)
def test_xi_of_what_is_no_count_is_refused(bad, error):
    with pytest.raises(error, match="n must be"):
        maurer_xi(bad)


def test_what_xi_was_asked_before_does_not_change_what_it_refuses():
    """A cache must not answer for an argument that equals one of an allowed type."""
    assert maurer_xi(np.int64(1)) == maurer_xi(1)
    assert maurer_xi(np.int64(6)) == maurer_xi(n=6) == maurer_xi(6)
    for bad in (True, 6.0, np.float64(6.0)):
        with pytest.raises(DtypeError, match="n must be a whole number"):
            maurer_xi(bad)
        with pytest.raises(DtypeError, match="n must be a whole number"):
            maurer_xi(n=bad)


def test_xi_next_to_the_end_of_the_doubles_is_not_too_small():
    assert maurer_xi(10**307) > math.sqrt(math.pi / 2.0) * math.sqrt(1e307)
    assert maurer_xi(10**308) > math.sqrt(math.pi / 2.0) * math.sqrt(1e308)


def test_constants_have_names():
    assert [member.value for member in Constant] == ["paper", "maurer"]
    assert Constant("paper") is Constant.PAPER
    assert Constant.MAURER == "maurer"


# ----- split_delta --------------------------------------------------------------------------------


@settings(deadline=None, derandomize=True, max_examples=500)
@given(
    st.one_of(st.floats(1e-290, 1.0, exclude_max=True), st.floats(-900.0, -1e-3).map(lambda e: 2.0**e)),
    st.integers(1, 10**6),
)
def test_shares_never_add_up_to_more_than_delta(delta, n_priors):
    share = Fraction(split_delta(delta, n_priors))
    assert 0 < share * n_priors <= Fraction(delta)
    assert share * n_priors >= Fraction(delta) * (1 - Fraction(1, 2**51))


@pytest.mark.parametrize("delta", [SMALLEST, 1e-310, 1e-300, 0.05, 0.5, 1.0 - 2.0**-53])
def test_one_prior_keeps_all_of_delta(delta):
    assert split_delta(delta, 1) == delta


@pytest.mark.parametrize("n_priors", [2, 3, 9, 10**9])
@pytest.mark.parametrize("delta", [SMALLEST, 1e-310, 2.0**-1022, 0.05])
def test_shares_of_a_delta_that_underflows(delta, n_priors):
    try:
        share = split_delta(delta, n_priors)
    except PBGNetError:
        return
    assert 0 <= Fraction(share) * n_priors <= Fraction(delta)


def test_share_is_a_python_float_whatever_delta_was():
    for delta in (0.25, np.float64(0.25), np.float32(0.25), np.array(0.25), torch.tensor(0.25)):
        for n_priors in (1, np.int32(1)):
            assert type(split_delta(delta, n_priors)) is float
            assert split_delta(delta, n_priors) == 0.25


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf, -math.inf])
def test_delta_to_share_must_be_a_probability(bad):
    with pytest.raises(DomainError, match=r"delta must lie in \(0, 1\)"):
        split_delta(bad, 3)


@pytest.mark.parametrize("bad", ["0.1", True, None, 0.1j, torch.tensor(0.1, requires_grad=True)], ids=repr)
def test_delta_to_share_must_be_real(bad):
    with pytest.raises(DtypeError, match="delta"):
        split_delta(bad, 3)


def test_only_one_delta_is_shared():
    with pytest.raises(PBGNetError, match="delta"):
        split_delta([0.1, 0.2], 3)


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (0, DomainError),
        (-1, DomainError),
        (2.0, DtypeError),
        (True, DtypeError),
        ("2", DtypeError),
        (None, DtypeError),
        (math.nan, DtypeError),
        (math.inf, DtypeError),
        ([2], DtypeError),
    ],
)
def test_number_of_priors_must_be_a_count(bad, error):
    with pytest.raises(error, match="n_priors must be"):
        split_delta(0.1, bad)
