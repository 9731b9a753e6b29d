"""PAC-Bayes bounds: never below their formula, equal where theorems say so, and the paper's own numbers."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pbgnet.bounds import (
    CatoniOptimum,
    Constant,
    catoni_bound,
    catoni_optimal,
    maurer_xi,
    mcallester_bound,
    seeger_bound,
)
from pbgnet.exceptions import DomainError, DtypeError, ShapeError, UnknownNameError

BELOW_ONE = 1.0 - 2.0**-53
SMALLEST = 5e-324


def optimal_value(*arguments, **options):
    return catoni_optimal(*arguments, **options).bound


learned_catoni = partial(catoni_bound, c=1.0, constant="paper")

BOUNDS = {
    "seeger": seeger_bound,
    "mcallester": mcallester_bound,
    "catoni": learned_catoni,
    "catoni fixed C": partial(catoni_bound, c=1.0),
    "catoni optimal": optimal_value,
}
EVERY_BOUND = pytest.mark.parametrize("bound", BOUNDS.values(), ids=BOUNDS.keys())
# Those that follow from the kl theorem, where a constant must be paid.
WITH_CONSTANT = {name: BOUNDS[name] for name in ("seeger", "mcallester", "catoni optimal")}
EVERY_KL_BOUND = pytest.mark.parametrize("bound", WITH_CONSTANT.values(), ids=WITH_CONSTANT.keys())
EVERY_CONSTANT = pytest.mark.parametrize("constant", list(Constant))

risks = st.one_of(
    st.floats(0.0, 1.0),
    st.floats(-60.0, 0.0).map(lambda e: 2.0**e),
    st.floats(-53.0, 0.0).map(lambda e: 1.0 - 2.0**e),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, SMALLEST, BELOW_ONE]),
)
divergences = st.one_of(st.just(0.0), st.floats(-30.0, 20.0).map(lambda e: 2.0**e))
deltas = st.one_of(
    st.floats(1e-12, 1.0, exclude_max=True),
    st.sampled_from([SMALLEST, 1e-300, 0.05, 0.05 / 9, 0.5, BELOW_ONE]),
)
counts = st.one_of(st.integers(1, 60), st.integers(1, 10**6), st.integers(8, 15).map(lambda e: 10**e))
trade_offs = st.one_of(st.floats(1e-3, 50.0), st.floats(-60.0, 12.0).map(lambda e: 2.0**e))
# Many cases per example: the bounds are vectorised, and a call costs more than its entries.
cases = st.lists(st.tuples(risks, divergences, counts, deltas, trade_offs), min_size=1, max_size=25)


def examples(count: int) -> settings:
    return settings(deadline=None, derandomize=True, max_examples=count)


@pytest.fixture(scope="session")
def exact_budget(exact):
    """(K + ln(constant / delta)) / n in high precision; Maurer's sum in whole numbers."""

    def budget(divergence, n, delta, constant):
        factor = exact.one
        if constant == "paper":
            factor = 2 * exact.sqrt(n)
        elif constant == "maurer":
            total = sum(math.comb(n, k) * k**k * (n - k) ** (n - k) for k in range(n + 1))
            share = Fraction(total, n**n)
            factor = exact.mpf(share.numerator) / share.denominator
        return (exact.mpf(divergence) + exact.log(factor / exact.mpf(delta))) / n

    return budget


# ----- never below the formula --------------------------------------------------------------------


@EVERY_CONSTANT
@examples(40)
@given(cases=cases)
def test_seeger_is_outward_and_tight(exact, exact_kl, exact_budget, constant, cases):
    risk, divergence, n, delta, _ = np.array(cases).T
    n = 1 + n % 60 if constant == "maurer" else n  # whole numbers of the reference stay short
    bounds = seeger_bound(risk, divergence, n, delta, constant)
    for q, k, size, d, bound in zip(risk, divergence, n, delta, bounds, strict=True):
        budget = exact_budget(k, int(size), d, constant)
        assert q <= bound <= 1.0
        assert bound == 1.0 or exact_kl(q, bound) >= budget
        if bound > q:
            assert exact_kl(q, math.nextafter(bound, 0.0)) < budget * (1 + exact.mpf(2) ** -43)


@examples(40)
@given(cases=cases)
def test_mcallester_is_outward_and_tight(exact, exact_budget, cases):
    bounds = mcallester_bound(*np.array(cases).T[:4])
    for (q, k, n, d, _), bound in zip(cases, bounds, strict=True):
        truth = exact.mpf(q) + exact.sqrt(exact_budget(k, n, d, "paper") / 2)
        assert min(truth, 1) <= exact.mpf(float(bound)) <= min(truth * (1 + exact.mpf(2) ** -46), 1)


@pytest.mark.parametrize("constant", [None, "paper"])
@examples(40)
@given(cases=cases)
def test_catoni_is_outward_and_tight(exact, exact_budget, constant, cases):
    bounds = catoni_bound(*np.array(cases).T, constant=constant)
    for (q, k, n, d, c), bound in zip(cases, bounds, strict=True):
        exponent = exact.mpf(c) * exact.mpf(q) + exact_budget(k, n, d, constant)
        truth = exact.expm1(-exponent) / exact.expm1(-exact.mpf(c))
        assert min(truth, 1) <= exact.mpf(float(bound)) <= min(truth * (1 + exact.mpf(2) ** -46), 1)


# ----- Theorem 3 ----------------------------------------------------------------------------------


@EVERY_CONSTANT
@examples(40)
@given(cases=cases)
def test_catoni_at_its_best_c_is_seeger(exact_kl, exact_budget, constant, cases):
    arguments = np.array(cases).T[:4]
    best = catoni_optimal(*arguments, constant=constant)
    np.testing.assert_allclose(best.bound, seeger_bound(*arguments, constant=constant), rtol=1e-12, atol=0.0)
    assert (best.c > 0.0).all()
    if constant == "paper":  # itself never below the truth
        for (q, k, n, d, _), bound in zip(cases, best.bound, strict=True):
            assert bound == 1.0 or exact_kl(q, float(bound)) >= exact_budget(k, n, d, constant)


@EVERY_CONSTANT
@examples(40)
@given(cases=cases)
def test_no_c_does_better(constant, cases):
    *arguments, c = np.array(cases).T
    at_c = catoni_bound(*arguments, c=c, constant=constant)
    assert (at_c >= seeger_bound(*arguments, constant=constant) * (1.0 - 1e-12)).all()


def test_the_best_c_is_a_minimum_and_has_the_right_sign():
    rng = np.random.default_rng(0)
    risk, divergence = rng.uniform(0.001, 0.4, 200), 10.0 ** rng.uniform(-1.0, 2.0, 200)
    best = catoni_optimal(risk, divergence, 1000, 0.05)
    assert isinstance(best, CatoniOptimum)
    for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0):
        assert (catoni_bound(risk, divergence, 1000, 0.05, best.c * factor, "paper") > best.bound).all()
    # Lemma 4 with its sign put right.
    expected = np.log(best.bound * (1.0 - risk) / (risk * (1.0 - best.bound)))
    np.testing.assert_allclose(best.c, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("risk", "divergence"), [(0.0, 10.0), (-0.0, 10.0), (0.0, math.inf), (0.5, math.inf), (1.0, 0.0)]
)
def test_where_no_finite_c_is_best(risk, divergence):
    best = catoni_optimal(risk, divergence, 1000, 0.05)
    assert best.c == math.inf
    assert best.bound == pytest.approx(seeger_bound(risk, divergence, 1000, 0.05), rel=1e-14)


def test_tiny_budgets_do_not_break_the_best_c():
    """For a huge sample C* sinks below the rounding of its formula; the bound must not."""
    for n in (1e12, 2.0**53, 1e20, 1e30, 1e40, 1e100):
        for risk in (1e-6, 0.3, 0.5, 0.999):
            seeger = seeger_bound(risk, 0.0, n, 0.05)
            best = catoni_optimal(risk, 0.0, n, 0.05)
            assert risk < seeger
            assert best.bound == pytest.approx(seeger, rel=1e-12, abs=0.0)


# ----- order --------------------------------------------------------------------------------------


@EVERY_CONSTANT
@examples(40)
@given(cases=cases)
def test_mcallester_is_never_smaller_than_seeger(constant, cases):
    arguments = np.array(cases).T[:4]
    seeger = seeger_bound(*arguments, constant=constant)
    assert (mcallester_bound(*arguments, constant=constant) >= seeger * (1.0 - 1e-13)).all()


@EVERY_KL_BOUND
def test_the_exact_constant_is_never_worse_than_the_paper_one(bound):
    n = np.array([1, 2, 3, 10, 100, 3000, 10**8])[:, None]
    risk = np.linspace(0.0, 1.0, 21)
    maurer, paper = bound(risk, 3.0, n, 0.05, constant="maurer"), bound(risk, 3.0, n, 0.05)
    assert (maurer <= paper * (1.0 + 1e-13)).all()  # n = 1 has the same constant
    assert (maurer < paper)[(n > 1) & (maurer < 1.0)].all()


@EVERY_BOUND
def test_monotone_in_every_argument(bound):
    base = {"risk": 0.1, "divergence": 20.0, "n": 500, "delta": 0.05}
    sweeps = {
        "risk": (np.linspace(0.0, 1.0, 101), 1.0),
        "divergence": (np.concatenate([[0.0], 10.0 ** np.linspace(-6.0, 6.0, 100)]), 1.0),
        "n": (np.unique(np.round(10.0 ** np.linspace(0.0, 9.0, 100))), -1.0),
        "delta": (np.concatenate([10.0 ** np.linspace(-300.0, -1.0, 100), [0.5, 0.99]]), -1.0),
    }
    for name, (values, direction) in sweeps.items():
        steps = direction * np.diff(bound(**{**base, name: values}))
        assert (steps >= -1e-14).all(), name
        assert steps.max() > 1e-3, name


# ----- corners ------------------------------------------------------------------------------------


@EVERY_BOUND
@pytest.mark.parametrize("divergence", [math.inf, 1.7e308, 1e300, 1e9])
@pytest.mark.parametrize("risk", [0.0, 0.3, 1.0])
def test_huge_divergence_says_nothing(bound, divergence, risk):
    assert bound(risk, divergence, 1000, 0.05) == 1.0


@EVERY_BOUND
def test_risk_one_says_nothing(bound):
    for n, delta in ((1, 0.5), (1000, 0.05), (10**9, BELOW_ONE)):
        assert bound(1.0, 0.0, n, delta) == 1.0


def test_risk_zero_has_a_closed_form():
    n, delta, divergence = 1000, 0.05, 12.0
    budget = (divergence + math.log(2.0 * math.sqrt(n) / delta)) / n
    for bound in (seeger_bound, optimal_value):
        for zero in (0.0, -0.0, 0):
            assert bound(zero, divergence, n, delta) == pytest.approx(-math.expm1(-budget), rel=1e-13)


@EVERY_BOUND
def test_one_example(bound):
    value = bound(0.0, 0.0, 1, 0.9)
    assert 0.0 < value <= 1.0
    # 1 - exp(-ln(2 / 0.9)) = 1 - 0.45 for the kl theorem with n = 1.
    if bound in (seeger_bound, optimal_value):
        assert value == pytest.approx(0.55, rel=1e-13)


@EVERY_BOUND
@pytest.mark.parametrize("delta", [SMALLEST, 1e-300, 1e-16, BELOW_ONE])
def test_extreme_confidence(bound, delta):
    value = bound(0.1, 5.0, 100_000, delta)
    assert 0.1 < value < 1.0
    assert bound(0.1, 5.0, 10, 1e-300) == 1.0


@EVERY_BOUND
def test_never_below_the_risk(bound):
    risk = np.concatenate([np.linspace(0.0, 1.0, 101), 1.0 - 10.0 ** np.linspace(-16, -1, 30)])
    for n in (1, 1000, 10**9, 2**53):
        value = bound(risk, 0.0, n, 0.5)
        assert (value >= risk).all()
        assert (value <= 1.0).all()


def test_sample_sizes_of_the_largest_doubles():
    assert seeger_bound(0.25, 1.0, 1e300, 0.05) == math.nextafter(0.25, 1.0)
    assert seeger_bound(0.25, 1.0, 1e300, 0.05, "maurer") == math.nextafter(0.25, 1.0)
    # ln(1/delta) / n underflows, but the bound does not: about 1e-324 / C.
    assert catoni_bound(0.0, 0.0, 1e308, BELOW_ONE, c=1e-10) > 1e-314


# ----- the paper's own table ----------------------------------------------------------------------

# Selected PBGNet models: number of examples, C, KL and bound as printed (Tables 1 and 3).
PAPER = {
    "ads": (2459, 0.47, 27.0, 0.205),
    "adult": (36631, 0.30, 226.0, 0.214),
    "mnist17": (11377, 1.33, 164.0, 0.040),
    "mnist49": (10336, 0.90, 305.0, 0.139),
    "mnist56": (9891, 0.92, 192.0, 0.090),
    "mnistLH": (52500, 0.81, 1544.0, 0.160),
}


@pytest.mark.parametrize(("n", "c", "divergence", "printed"), PAPER.values(), ids=PAPER.keys())
def test_the_numbers_of_the_paper_are_consistent(n, c, divergence, printed):
    """C at its optimum and the bound imply the risk, which must lead back to both."""
    risk = 1.0 / (1.0 + (1.0 - printed) / printed * math.exp(c))
    delta = 0.05 / 9
    assert seeger_bound(risk, divergence, n, delta) == pytest.approx(printed, abs=0.0015)
    best = catoni_optimal(risk, divergence, n, delta)
    assert best.bound == pytest.approx(printed, abs=0.0015)
    assert best.c == pytest.approx(c, abs=0.02)


# ----- arrays -------------------------------------------------------------------------------------


@EVERY_BOUND
def test_broadcasting_equals_elementwise(bound):
    risk = np.array([0.0, 0.1, 1.0])
    divergence = np.array([[0.0], [30.0]])
    n = np.array([10, 1000])[:, None, None]
    delta = np.array([0.5, 1e-9])[:, None, None, None]
    value = bound(risk, divergence, n, delta)
    assert value.shape == (2, 2, 2, 3)
    assert value.dtype == np.float64
    for d, i, k, j in np.ndindex(value.shape):
        one = bound(risk[j], divergence[k, 0], n[i, 0, 0], delta[d, 0, 0, 0])
        assert type(one) is np.float64
        assert value[d, i, k, j] == one


@EVERY_BOUND
@pytest.mark.parametrize("convert", [list, np.array, torch.tensor, lambda x: np.array(x, dtype=np.float32)])
def test_every_kind_of_array_is_taken(bound, convert):
    expected = bound(np.array([0.25, 0.5]), np.array([1.0, 2.0]), np.array([100, 200]), 0.25)
    value = bound(convert([0.25, 0.5]), convert([1.0, 2.0]), convert([100, 200]), 0.25)
    np.testing.assert_array_equal(value, expected)
    assert bound([], [], [], []).shape == (0,)


def test_c_broadcasts():
    value = catoni_bound([0.1, 0.2, 0.3], 1.0, 100, 0.05, [[0.5], [1.0]])
    assert value.shape == (2, 3)
    assert value[1, 2] == catoni_bound(0.3, 1.0, 100, 0.05, 1.0)


def test_the_best_c_has_the_shape_of_the_bound():
    best = catoni_optimal([0.0, 0.2, 0.3], [[1.0], [2.0]], 100, 0.05)
    assert best.bound.shape == best.c.shape == (2, 3)
    single = catoni_optimal(0.2, 1.0, 100, 0.05)
    assert type(single.bound) is type(single.c) is np.float64
    with pytest.raises(AttributeError):
        single.c = 1.0


def test_constant_by_name_and_by_member():
    for member in Constant:
        assert seeger_bound(0.1, 1.0, 50, 0.05, member) == seeger_bound(0.1, 1.0, 50, 0.05, member.value)
    # What the two constants stand for.
    budget = (1.0 + math.log(maurer_xi(50) / 0.05)) / 50
    assert seeger_bound(0.0, 1.0, 50, 0.05, "maurer") == pytest.approx(-math.expm1(-budget), rel=1e-13)


# ----- bad input ----------------------------------------------------------------------------------

VALID = {"risk": 0.1, "divergence": 10.0, "n": 1000, "delta": 0.05}
OUTSIDE = {
    "risk": (r"\[0, 1\]", [-SMALLEST, -0.1, 1.0 + 2.0**-52, 2.0, math.nan, math.inf, -math.inf]),
    "divergence": (r"\[0, inf\]", [-SMALLEST, -1.0, -math.inf, math.nan]),
    "n": (r"\[1, inf\)", [0, -1, 0.5, math.nan, math.inf, -math.inf]),
    "delta": (r"\(0, 1\)", [0.0, -0.0, 1.0, -0.1, 1.1, 5.0, math.nan, math.inf, -math.inf]),
}
NOT_REAL = [
    "0.1",
    None,
    True,
    [True],
    0.1j,
    np.array([0.5], dtype=object),
    torch.tensor(True),
    torch.tensor(0.5j),
]


@EVERY_BOUND
@pytest.mark.parametrize(
    ("name", "interval", "bad"),
    [(name, interval, bad) for name, (interval, values) in OUTSIDE.items() for bad in values],
)
def test_numbers_outside_their_range_are_refused(bound, name, interval, bad):
    for value in (bad, [VALID[name], bad]):
        with pytest.raises(DomainError, match=f"^{name} must lie in {interval}"):
            bound(**{**VALID, name: value})


@EVERY_BOUND
def test_fractional_sample_sizes_are_refused(bound):
    for n in (1.5, 999.999, [10, 10.5], torch.tensor(2.5)):
        with pytest.raises(DomainError, match="n must be a whole number"):
            bound(**{**VALID, "n": n})
    assert bound(**{**VALID, "n": 1000.0}) == bound(**VALID)


@EVERY_BOUND
@pytest.mark.parametrize("name", VALID)
@pytest.mark.parametrize("bad", NOT_REAL, ids=repr)
def test_what_is_no_real_number_is_refused(bound, name, bad):
    with pytest.raises(DtypeError, match=f"^{name} must hold real numbers"):
        bound(**{**VALID, name: bad})


@EVERY_BOUND
@pytest.mark.parametrize("name", VALID)
def test_gradients_are_sent_to_the_differentiable_twin(bound, name):
    bad = torch.tensor(0.5, requires_grad=True)
    with pytest.raises(DtypeError, match=f"^{name} requires a gradient.*differentiable"):
        bound(**{**VALID, name: bad})


@pytest.mark.parametrize("bad", [0.0, -0.0, -1.0, math.nan, math.inf, -math.inf])
def test_c_must_be_positive_and_finite(bad):
    for c in (bad, [1.0, bad]):
        with pytest.raises(DomainError, match=r"^c must lie in \(0, inf\)"):
            catoni_bound(**VALID, c=c)


@pytest.mark.parametrize("bad", [*NOT_REAL, torch.tensor(1.0, requires_grad=True)], ids=repr)
def test_c_must_be_real(bad):
    with pytest.raises(DtypeError, match=r"^c "):
        catoni_bound(**VALID, c=bad)


@pytest.mark.parametrize(
    "bound", [*WITH_CONSTANT.values(), partial(catoni_bound, c=1.0)], ids=[*WITH_CONSTANT, "catoni"]
)
@pytest.mark.parametrize("bad", ["", "exact", "Paper", 2, 0, True, ["paper"]], ids=repr)
def test_unknown_constants_are_refused_with_the_list_of_known_ones(bound, bad):
    with pytest.raises(UnknownNameError, match="choose one of maurer, paper"):
        bound(**VALID, constant=bad)


def test_a_misspelt_constant_is_corrected():
    with pytest.raises(UnknownNameError, match="Did you mean 'maurer'"):
        seeger_bound(**VALID, constant="maurers")
    with pytest.raises(UnknownNameError, match="Did you mean 'paper'"):
        seeger_bound(**VALID, constant="papper")


@EVERY_KL_BOUND
def test_the_kl_theorem_is_never_had_without_its_constant(bound):
    """None is Catoni's fixed C; here it would leave out ln(2 sqrt(n)) and fall below the truth."""
    with pytest.raises(UnknownNameError, match="constant None"):
        bound(**VALID, constant=None)


@EVERY_BOUND
@pytest.mark.parametrize(("first", "second"), [("risk", "divergence"), ("risk", "n"), ("n", "delta")])
def test_shapes_that_do_not_broadcast_are_refused(bound, first, second):
    bad = {first: np.full(2, VALID[first]), second: np.full(3, VALID[second])}
    with pytest.raises(ShapeError, match="broadcast"):
        bound(**{**VALID, **bad})


def test_a_c_that_does_not_broadcast_is_refused():
    with pytest.raises(ShapeError, match="broadcast"):
        catoni_bound([0.1, 0.2], 1.0, 100, 0.05, [1.0, 2.0, 3.0])
