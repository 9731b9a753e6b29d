"""The bounds inside autograd: equal to the certified ones, with the slopes of implicit functions."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from pbgnet import bounds
from pbgnet.bounds import differentiable
from pbgnet.exceptions import DomainError, DtypeError, PBGNetError, ShapeError, UnknownNameError

BELOW_ONE = 1.0 - 2.0**-53
SMALLEST = 5e-324
TINY = 2.0**-1022

SIDES = pytest.mark.parametrize("side", ["kl_inverse_upper", "kl_inverse_lower"])
EVERY_CONSTANT = pytest.mark.parametrize("constant", ["paper", "maurer"])

CORNER_RISKS = [
    0.0,
    -0.0,
    SMALLEST,
    TINY,
    1e-300,
    1e-100,
    1e-20,
    1e-16,
    1e-8,
    0.01,
    0.3,
    0.5,
    0.9,
    1.0 - 1e-8,
    1.0 - 1e-15,
    1.0 - 2.0**-52,
    BELOW_ONE,
    1.0,
]
CORNER_BUDGETS = [
    SMALLEST,
    TINY,
    1e-300,
    1e-100,
    1e-30,
    1e-16,
    1e-8,
    1e-3,
    0.1,
    1.0,
    10.0,
    36.0,
    37.0,
    745.0,
    1e3,
    1e10,
    1e160,
    1e300,
    1.7e308,
]


def double(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def twins(name: str):
    return getattr(differentiable, name), getattr(bounds, name)


def value_and_slopes(function, *arguments: Tensor) -> tuple[Tensor, ...]:
    """The function's values and its derivative by each argument (entries must not interact)."""
    variables = [a.detach().clone().requires_grad_() for a in arguments]
    value = function(*variables)
    value.sum().backward()
    return value.detach(), *(v.grad for v in variables)


# ----- inverses of kl: values ---------------------------------------------------------------------


@SIDES
def test_equals_the_certified_inverse_at_every_scale(probabilities, side):
    ours, certified = twins(side)
    rng = np.random.default_rng(0)
    size = 50_000
    q = probabilities(rng, size)
    wide, usual = 10.0 ** rng.uniform(-320.0, 300.0, size), 10.0 ** rng.uniform(-12.0, 1.5, size)
    c = np.maximum(np.where(rng.uniform(size=size) < 0.3, wide, usual), SMALLEST)
    value = ours(torch.tensor(q), torch.tensor(c))
    torch.testing.assert_close(value, torch.tensor(certified(q, c)), rtol=0.0, atol=1e-12)


def test_upper_inverse_keeps_its_digits_for_small_risks():
    """What training needs: a risk of 1e-6 with a budget of 1e-9 must not be lost in rounding."""
    rng = np.random.default_rng(1)
    q, c = 10.0 ** rng.uniform(-12.0, 0.0, 20_000), 10.0 ** rng.uniform(-12.0, 1.0, 20_000)
    value = differentiable.kl_inverse_upper(torch.tensor(q), torch.tensor(c))
    torch.testing.assert_close(value, torch.tensor(bounds.kl_inverse_upper(q, c)), rtol=1e-12, atol=0.0)


def test_lower_inverse_keeps_its_digits_for_small_risks():
    rng = np.random.default_rng(2)
    q = 10.0 ** rng.uniform(-12.0, 0.0, 20_000)
    c = q * 10.0 ** rng.uniform(-6.0, 2.0, 20_000)
    value = differentiable.kl_inverse_lower(torch.tensor(q), torch.tensor(c))
    torch.testing.assert_close(value, torch.tensor(bounds.kl_inverse_lower(q, c)), rtol=1e-10, atol=0.0)


@SIDES
@settings(deadline=None, derandomize=True, max_examples=100)
@given(
    cases=st.lists(
        st.tuples(
            st.one_of(st.floats(0.0, 1.0), st.sampled_from(CORNER_RISKS)),
            st.one_of(st.floats(SMALLEST, 100.0), st.sampled_from(CORNER_BUDGETS)),
        ),
        min_size=1,
        max_size=25,
    )
)
def test_equals_the_certified_inverse_in_cases_meant_to_hurt(side, cases):
    ours, certified = twins(side)
    q, c = np.array(cases).T
    value, slope_q, slope_c = value_and_slopes(ours, torch.tensor(q), torch.tensor(c))
    torch.testing.assert_close(value, torch.tensor(certified(q, c)), rtol=0.0, atol=1e-12)
    assert torch.isfinite(slope_q).all()
    assert torch.isfinite(slope_c).all()


@SIDES
@pytest.mark.parametrize(
    ("first", "second", "shape"),
    [((), (), ()), ((4,), (), (4,)), ((), (3,), (3,)), ((3, 1), (1, 4), (3, 4)), ((0,), (), (0,))],
)
def test_shapes_broadcast_and_gradients_come_back_in_theirs(side, first, second, shape):
    ours, certified = twins(side)
    generator = torch.Generator().manual_seed(0)
    q = torch.rand(first, dtype=torch.float64, generator=generator, requires_grad=True)
    c = torch.rand(second, dtype=torch.float64, generator=generator, requires_grad=True)
    value = ours(q, c)
    assert value.shape == shape
    expected = torch.as_tensor(certified(q.detach(), c.detach()))
    torch.testing.assert_close(value.detach(), expected, rtol=0.0, atol=1e-12)
    value.sum().backward()
    assert q.grad.shape == first
    assert c.grad.shape == second


@SIDES
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_low_precision_goes_in_and_double_comes_out(side, dtype):
    ours, certified = twins(side)
    q = torch.tensor([0.0, 0.125, 0.75, 1.0], dtype=dtype, requires_grad=True)
    c = torch.tensor(0.25, dtype=dtype, requires_grad=True)
    value = ours(q, c)
    assert value.dtype == torch.float64
    expected = torch.tensor(certified(q.detach().double(), 0.25))
    torch.testing.assert_close(value.detach(), expected, rtol=0.0, atol=1e-12)
    value.sum().backward()
    assert q.grad.dtype == c.grad.dtype == dtype
    assert torch.isfinite(q.grad).all()


@SIDES
def test_strided_and_expanded_tensors(side):
    ours, certified = twins(side)
    q = torch.linspace(0.1, 0.9, 12, dtype=torch.float64).reshape(3, 4).T[::2]
    c = double(0.1).expand(2, 3)
    torch.testing.assert_close(ours(q, c), torch.tensor(certified(q, c)), rtol=0.0, atol=1e-12)


@SIDES
def test_unchecked_equals_checked(side):
    ours, _ = twins(side)
    q, c = double(0.0, 0.2, 1.0), double(0.1, 0.2, 0.3)
    assert torch.equal(ours(q, c), ours(q, c, validate_args=False))


# ----- inverses of kl: slopes ---------------------------------------------------------------------


@SIDES
def test_gradient_against_finite_differences(side):
    ours, _ = twins(side)
    rng = np.random.default_rng(3)
    q = torch.tensor(rng.uniform(0.02, 0.98, 40), requires_grad=True)
    c = torch.tensor(10.0 ** rng.uniform(-3.0, 0.0, 40), requires_grad=True)
    assert gradcheck(ours, (q, c), eps=1e-7, atol=1e-5, rtol=1e-5)
    assert gradcheck(ours, (q[:5, None], c[None, :4]), eps=1e-7, atol=1e-5, rtol=1e-5)


@SIDES
def test_slopes_are_those_of_the_implicit_function(exact, side):
    """From kl(q, p) = c: dp/dc = p (1-p) / (p-q) and dp/dq = (logit p - logit q) dp/dc, at the exact root."""
    ours, certified = twins(side)
    rng = np.random.default_rng(4)
    q = np.concatenate([10.0 ** rng.uniform(-10.0, 0.0, 150), 1.0 - 10.0 ** rng.uniform(-10.0, 0.0, 150)])
    smaller = np.minimum(q, 1.0 - q)
    c = smaller * 10.0 ** rng.uniform(-3.0, 1.0, 300)
    _, slope_q, slope_c = value_and_slopes(ours, torch.tensor(q), torch.tensor(c))

    def logit(x):
        return exact.log(x / (1 - x))

    for q_, p_, by_q, by_c in zip(q, certified(q, c), slope_q.tolist(), slope_c.tolist(), strict=True):
        a, p = exact.mpf(q_), exact.mpf(p_)
        expected_c = p * (1 - p) / (p - a)
        expected_q = (logit(p) - logit(a)) * expected_c
        # Next to 1 a double has few digits of 1 - p left, and so has the slope.
        tolerance = 1e-9 + 1e-14 / min(1.0 - q_, 1.0 - p_)
        assert by_c == pytest.approx(float(expected_c), rel=tolerance)
        assert by_q == pytest.approx(float(expected_q), rel=tolerance)


def test_slopes_at_the_ends_in_closed_form():
    c = double(1e-6, 0.01, 0.5, 3.0, 20.0)
    value, slope_q, slope_c = value_and_slopes(differentiable.kl_inverse_upper, torch.zeros_like(c), c)
    torch.testing.assert_close(value, -torch.expm1(-c), rtol=1e-13, atol=0.0)
    torch.testing.assert_close(slope_c, torch.exp(-c), rtol=1e-6, atol=1e-14)
    assert (slope_q > 0.0).all()  # infinite in truth: held finite, in the right direction
    value, slope_q, slope_c = value_and_slopes(differentiable.kl_inverse_lower, torch.ones_like(c), c)
    torch.testing.assert_close(value, torch.exp(-c), rtol=1e-12, atol=0.0)
    torch.testing.assert_close(slope_c, -torch.exp(-c), rtol=1e-6, atol=1e-14)
    assert (slope_q > 0.0).all()


@SIDES
def test_where_the_root_has_met_q_it_moves_with_q(side):
    ours, _ = twins(side)
    end = 1.0 if side.endswith("upper") else 0.0
    q, c = double(0.25, 0.5, end, end), double(1e-100, 1e-40, 1e-3, 10.0)
    value, slope_q, slope_c = value_and_slopes(ours, q, c)
    assert torch.equal(value, q)
    assert slope_q.tolist() == [1.0] * 4
    assert slope_c.tolist() == [0.0] * 4


@SIDES
def test_value_and_slopes_are_finite_everywhere(side):
    ours, certified = twins(side)
    grid = itertools.product(CORNER_RISKS, CORNER_BUDGETS)
    q, c = (torch.tensor(column, dtype=torch.float64) for column in zip(*grid, strict=True))
    value, slope_q, slope_c = value_and_slopes(ours, q, c)
    torch.testing.assert_close(value, torch.tensor(certified(q, c)), rtol=0.0, atol=1e-12)
    for slope in (slope_q, slope_c):
        assert torch.isfinite(slope).all()
    assert (slope_q >= 0.0).all()
    assert (slope_c * (1.0 if side.endswith("upper") else -1.0) >= 0.0).all()


@SIDES
def test_an_infinite_budget_leads_to_the_end(side):
    """A divergence that overflowed must give the trivial bound, not NaN."""
    ours, certified = twins(side)
    q = torch.tensor(CORNER_RISKS, dtype=torch.float64)
    c = torch.full_like(q, math.inf)
    value, slope_q, slope_c = value_and_slopes(ours, q, c)
    assert torch.equal(value, torch.tensor(certified(q, c)))
    assert torch.isfinite(slope_q).all()
    assert torch.isfinite(slope_c).all()


def test_gradient_descends_to_the_root():
    """End to end: find the budget whose bound is 0.3 at a risk of 0.1."""
    c = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    for _ in range(30):
        gap = differentiable.kl_inverse_upper(double(0.1), c) - 0.3
        (slope,) = torch.autograd.grad(gap.sum(), c)
        c = (c - gap.sum().detach() / slope).detach().clamp_min(1e-3).requires_grad_()
    assert c.item() == pytest.approx(bounds.binary_kl(0.1, 0.3), rel=1e-12)


# ----- seeger_bound -------------------------------------------------------------------------------


@EVERY_CONSTANT
def test_seeger_equals_the_certified_bound(probabilities, constant):
    rng = np.random.default_rng(5)
    risk, divergence = probabilities(rng, 3000), 10.0 ** rng.uniform(-5.0, 9.0, 3000)
    for n, delta in ((1, 0.5), (37, 1e-300), (10_000, 0.05), (10**8, BELOW_ONE)):
        ours = differentiable.seeger_bound(torch.tensor(risk), torch.tensor(divergence), n, delta, constant)
        certified = torch.tensor(bounds.seeger_bound(risk, divergence, n, delta, constant))
        torch.testing.assert_close(ours, certified, rtol=0.0, atol=1e-12)


@EVERY_CONSTANT
def test_seeger_gradient(constant):
    risk = double(0.02, 0.1, 0.4, 0.8).requires_grad_()
    divergence = double(0.5, 5.0, 50.0, 20.0).requires_grad_()
    assert gradcheck(lambda r, k: differentiable.seeger_bound(r, k, 200, 0.05, constant), (risk, divergence))


def test_seeger_takes_delta_as_a_tensor_of_replicas():
    risk, divergence = torch.tensor([[0.1], [0.2]]), torch.tensor([5.0, 6.0, 7.0])
    delta = torch.tensor([0.1, 0.05, 0.01], dtype=torch.float64)
    expected = torch.tensor(bounds.seeger_bound(risk, divergence, 100, delta))
    for validate_args in (True, False):
        value = differentiable.seeger_bound(risk, divergence, 100, delta, validate_args=validate_args)
        assert value.dtype == torch.float64
        torch.testing.assert_close(value, expected, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("risk", [0.0, 0.3, BELOW_ONE, 1.0])
@pytest.mark.parametrize("divergence", [0.0, 1e9, 1e300, math.inf])
def test_seeger_corners_have_no_nan(risk, divergence):
    value, by_risk, by_divergence = value_and_slopes(
        lambda r, k: differentiable.seeger_bound(r, k, 100, 0.05), double(risk), double(divergence)
    )
    certified = bounds.seeger_bound(risk, divergence, 100, 0.05)
    assert value.item() == pytest.approx(certified, abs=1e-12)
    assert torch.isfinite(by_risk).all()
    assert torch.isfinite(by_divergence).all()


# ----- catoni_bound -------------------------------------------------------------------------------


@pytest.mark.parametrize("constant", [None, "paper", "maurer"])
def test_catoni_equals_the_certified_bound_below_one(constant):
    rng = np.random.default_rng(6)
    risk, divergence = rng.uniform(0.0, 0.5, 1000), 10.0 ** rng.uniform(-3.0, 2.5, 1000)
    c = 10.0 ** rng.uniform(-1.0, 1.0, 1000)
    arguments = torch.tensor(risk), torch.tensor(divergence), 1000, 0.05, torch.tensor(c), constant
    ours = differentiable.catoni_bound(*arguments)
    certified = torch.tensor(bounds.catoni_bound(*arguments))
    below = ours < 1.0
    assert 200 < below.sum() < 1000
    torch.testing.assert_close(ours[below], certified[below], rtol=1e-12, atol=0.0)
    assert (certified[~below] == 1.0).all()  # ours goes on, to keep its slope


def test_catoni_keeps_its_slope_above_one():
    value, by_risk, by_divergence, by_c = value_and_slopes(
        lambda r, k, c: differentiable.catoni_bound(r, k, 100, 0.05, c),
        double(0.6),
        double(500.0),
        double(0.2),
    )
    assert value.item() > 1.0
    assert by_risk.item() > 0.0
    assert by_divergence.item() > 0.0
    assert by_c.item() < 0.0


@pytest.mark.parametrize("constant", [None, "paper", "maurer"])
def test_catoni_gradient(constant):
    variables = (
        double(0.0, 0.1, 0.4).requires_grad_(),
        double(0.5, 5.0, 50.0).requires_grad_(),
        double(0.3, 1.0, 5.0).requires_grad_(),
    )

    def unchecked(risk, divergence, c):  # finite differences at a risk of 0 step outside [0, 1]
        return differentiable.catoni_bound(risk, divergence, 200, 0.05, c, constant, validate_args=False)

    assert gradcheck(unchecked, variables, atol=1e-6)


def test_learning_c_reaches_seeger():
    """Theorem 3, the way the paper trains: descend in C and arrive at the inverse of kl."""
    risk, divergence = double(0.05, 0.2, 0.4), double(10.0, 30.0, 100.0)
    log_c = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([log_c], max_iter=200, tolerance_grad=1e-12, line_search_fn="strong_wolfe")

    def closure():
        optimiser.zero_grad()
        loss = differentiable.catoni_bound(risk, divergence, 1000, 0.05, log_c.exp(), "paper").sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    best = bounds.catoni_optimal(risk, divergence, 1000, 0.05)
    reached = differentiable.catoni_bound(risk, divergence, 1000, 0.05, log_c.exp().detach(), "paper")
    torch.testing.assert_close(reached, torch.tensor(best.bound), rtol=1e-9, atol=0.0)
    torch.testing.assert_close(log_c.exp().detach(), torch.tensor(best.c), rtol=1e-3, atol=0.0)


def test_catoni_takes_single_precision():
    risk, divergence = torch.tensor([0.25, 0.5]), torch.tensor(3.0)
    c = torch.tensor(1.5, requires_grad=True)
    value = differentiable.catoni_bound(risk, divergence, 100, 0.05, c)
    assert value.dtype == torch.float64
    value.sum().backward()
    assert c.grad.dtype == torch.float32


def test_catoni_corners_have_no_nan():
    for risk, divergence, c in itertools.product((0.0, 0.5, 1.0), (0.0, 1e300, math.inf), (1e-9, 1.0, 1e3)):
        results = value_and_slopes(
            lambda r, k, c_: differentiable.catoni_bound(r, k, 100, 0.05, c_),
            double(risk),
            double(divergence),
            double(c),
        )
        assert all(torch.isfinite(r).all() for r in results), (risk, divergence, c)


# ----- bad input ----------------------------------------------------------------------------------

VALID = {
    differentiable.kl_inverse_upper: {"q": torch.tensor(0.1), "budget": torch.tensor(0.2)},
    differentiable.kl_inverse_lower: {"q": torch.tensor(0.1), "budget": torch.tensor(0.2)},
    differentiable.seeger_bound: {
        "risk": torch.tensor(0.1),
        "divergence": torch.tensor(1.0),
        "n": 10,
        "delta": 0.05,
    },
    differentiable.catoni_bound: {
        "risk": torch.tensor(0.1),
        "divergence": torch.tensor(1.0),
        "n": 10,
        "delta": 0.05,
        "c": torch.tensor(1.0),
    },
}
OUTSIDE = {
    "q": [-1e-9, 1.5, math.nan, math.inf, -math.inf],
    "risk": [-1e-9, 1.5, math.nan, math.inf, -math.inf],
    "budget": [0.0, -0.0, -1.0, math.nan, -math.inf],
    "divergence": [-1e-9, math.nan, -math.inf],
    "n": [0, -1, 0.5, math.nan, math.inf],
    "delta": [0.0, 1.0, -0.1, 1.5, math.nan, math.inf],
    "c": [0.0, -1.0, math.nan, math.inf],
}
EVERY_ARGUMENT = [(function, name) for function, valid in VALID.items() for name in valid]
TENSOR_ARGUMENTS = [(function, name) for function, name in EVERY_ARGUMENT if name not in ("n", "delta")]


@pytest.mark.parametrize(
    ("function", "name", "bad"), [(f, name, bad) for f, name in EVERY_ARGUMENT for bad in OUTSIDE[name]]
)
def test_numbers_outside_their_range_are_refused(function, name, bad):
    value = double(0.5, bad) if name not in ("n", "delta") else bad
    with pytest.raises(DomainError, match=f"^{name} must lie in"):
        function(**{**VALID[function], name: value})


def test_delta_in_a_tensor_is_checked_too():
    with pytest.raises(DomainError, match=r"^delta must lie in"):
        differentiable.seeger_bound(torch.tensor(0.1), torch.tensor(1.0), 10, double(0.05, 1.5))


@pytest.mark.parametrize(("function", "name"), TENSOR_ARGUMENTS)
@pytest.mark.parametrize(
    "bad",
    ["0.1", None, torch.tensor(True), torch.tensor(0.1 + 0.2j)],
    ids=["string", "none", "bool tensor", "complex tensor"],
)
def test_what_holds_no_real_numbers_is_refused(function, name, bad):
    with pytest.raises(DtypeError):
        function(**{**VALID[function], name: bad})


@pytest.mark.parametrize("function", [differentiable.seeger_bound, differentiable.catoni_bound])
@pytest.mark.parametrize("name", ["n", "delta"])
@pytest.mark.parametrize("bad", ["10", None, True, 1j], ids=repr)
def test_n_and_delta_must_be_real(function, name, bad):
    with pytest.raises(DtypeError, match=f"^{name} must hold real numbers"):
        function(**{**VALID[function], name: bad})


@pytest.mark.parametrize("function", [differentiable.seeger_bound, differentiable.catoni_bound])
def test_n_is_one_whole_number(function):
    with pytest.raises(DomainError, match="n must be a whole number"):
        function(**{**VALID[function], "n": 10.5})
    with pytest.raises(PBGNetError, match=r"\bn\b"):
        function(**{**VALID[function], "n": [10, 20]})


@pytest.mark.parametrize("function", [differentiable.seeger_bound, differentiable.catoni_bound])
@pytest.mark.parametrize("bad", ["exact", "Paper", 2], ids=repr)
def test_unknown_constants_are_refused_with_the_list_of_known_ones(function, bad):
    with pytest.raises(UnknownNameError, match="choose one of maurer, paper"):
        function(**VALID[function], constant=bad)


def test_seeger_is_never_had_without_its_constant():
    with pytest.raises(UnknownNameError, match="constant None"):
        differentiable.seeger_bound(**VALID[differentiable.seeger_bound], constant=None)


@pytest.mark.parametrize(
    ("function", "first", "second"),
    [
        (differentiable.kl_inverse_upper, "q", "budget"),
        (differentiable.kl_inverse_lower, "q", "budget"),
        (differentiable.seeger_bound, "risk", "divergence"),
        (differentiable.seeger_bound, "divergence", "delta"),
        (differentiable.catoni_bound, "risk", "divergence"),
        (differentiable.catoni_bound, "risk", "c"),
    ],
)
def test_shapes_that_do_not_broadcast_are_refused(function, first, second):
    bad = {first: torch.full((2,), 0.1), second: torch.full((3,), 0.1)}
    with pytest.raises(ShapeError, match="broadcast"):
        function(**{**VALID[function], **bad})
