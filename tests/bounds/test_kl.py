"""Accuracy of the binary relative entropy, and inverses that never land inside the truth."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pbgnet.bounds import binary_kl, kl_inverse_lower, kl_inverse_upper
from pbgnet.bounds.kl import SERIES_BORDER, SMALLEST_BUDGET
from pbgnet.exceptions import DomainError, DtypeError, PBGNetError, ShapeError

RELATIVE_ERROR = 2.0**-45  # what `binary_kl` promises
UNDERFLOW = 2.0**-1072  # where a result is subnormal it cannot have relative accuracy
BELOW_ONE = 1.0 - 2.0**-53
SMALLEST = 5e-324
TINY = 2.0**-1022

INVERSES = pytest.mark.parametrize("inverse", [kl_inverse_upper, kl_inverse_lower])
EVERY_FUNCTION = pytest.mark.parametrize("function", [binary_kl, kl_inverse_upper, kl_inverse_lower])


def examples(count: int) -> settings:
    return settings(deadline=None, derandomize=True, max_examples=count)


def trivial(inverse) -> float:
    """The answer that is always right and never useful."""
    return 1.0 if inverse is kl_inverse_upper else 0.0


# ----- strategies ---------------------------------------------------------------------------------

EDGES = [0.0, -0.0, 1.0, SMALLEST, TINY, 2.0**-960, 2.0**-54, 2.0**-53, 0.5, BELOW_ONE, 1.0 - 2.0**-52]
probability = st.one_of(
    st.floats(0.0, 1.0),
    st.floats(-1074.0, 0.0).map(lambda e: 2.0**e),
    st.floats(-53.0, 0.0).map(lambda e: 1.0 - 2.0**e),
    st.sampled_from(EDGES),
)


@st.composite
def probability_pairs(draw: st.DrawFn) -> tuple[float, float]:
    """Two probabilities: unrelated, a few doubles apart, or relatively close on either side."""
    q = draw(probability)
    relation = draw(st.sampled_from(["unrelated", "ulps", "ratio", "complement ratio"]))
    if relation == "unrelated":
        return q, draw(probability)
    if relation == "ulps":
        p = abs(q)
        toward = draw(st.sampled_from([0.0, 1.0]))
        for _ in range(draw(st.integers(0, 8))):
            p = math.nextafter(p, toward)
        return q, p
    # Half of the time next to the border of the two branches of the formula.
    size = draw(st.one_of(st.floats(-60.0, 1.0).map(lambda e: 2.0**e), st.floats(-1e-9, 1e-9)))
    x = size if abs(size) > 1e-9 else SERIES_BORDER + size
    x = draw(st.sampled_from([-1.0, 1.0])) * x
    p = q * (1.0 + x) if relation == "ratio" else 1.0 - (1.0 - q) * (1.0 + x)
    return q, min(max(p, 0.0), 1.0)


budget_value = st.one_of(
    st.floats(-1074.0, 10.0).map(lambda e: 2.0**e),
    st.floats(-60.0, 7.0).map(lambda e: 2.0**e),
    st.sampled_from([0.0, -0.0, SMALLEST, SMALLEST_BUDGET, 1e300, math.inf]),
)
inverse_cases = st.lists(st.tuples(probability, budget_value), min_size=1, max_size=24)


# ----- binary_kl ----------------------------------------------------------------------------------


def assert_accurate(exact, exact_kl, q: np.ndarray, p: np.ndarray) -> None:
    for q_, p_, value in zip(q, p, np.atleast_1d(binary_kl(q, p)), strict=True):
        truth = exact_kl(q_, p_)
        if exact.isinf(truth):
            assert value == math.inf, (q_, p_)
            continue
        error = abs(exact.mpf(float(value)) - truth)
        assert error <= RELATIVE_ERROR * truth + UNDERFLOW, (q_, p_, value, float(truth))


@examples(600)
@given(st.lists(probability_pairs(), min_size=1, max_size=12))
def test_kl_has_the_promised_relative_accuracy(exact, exact_kl, pairs):
    q, p = np.array(pairs).T
    assert_accurate(exact, exact_kl, q, p)


def test_kl_accuracy_in_bulk(exact, exact_kl, probabilities):
    rng = np.random.default_rng(0)
    size = 6000
    q = probabilities(rng, size)
    x = rng.choice([-1.0, 1.0], size) * 10.0 ** rng.uniform(-17.0, 0.3, size)
    related = np.stack([probabilities(rng, size), q * (1.0 + x), 1.0 - (1.0 - q) * (1.0 + x)])
    p = np.choose(rng.integers(0, 3, size), related).clip(0.0, 1.0)
    assert_accurate(exact, exact_kl, q, p)


@pytest.mark.parametrize(
    ("q", "p", "value"),
    [
        (0.0, 0.0, 0.0),
        (1.0, 1.0, 0.0),
        (0.0, 1.0, math.inf),
        (1.0, 0.0, math.inf),
        (0.5, 0.0, math.inf),
        (0.5, 1.0, math.inf),
        (SMALLEST, 0.0, math.inf),
        (BELOW_ONE, 1.0, math.inf),
        (-0.0, 0.0, 0.0),
        (0.0, -0.0, 0.0),
        (0.5, -0.0, math.inf),
        (0.25, 0.25, 0.0),
        (SMALLEST, SMALLEST, 0.0),
        (BELOW_ONE, BELOW_ONE, 0.0),
        (0.0, SMALLEST, SMALLEST),
    ],
)
def test_kl_conventions_at_the_ends(q, p, value):
    assert binary_kl(q, p) == value


@examples(300)
@given(st.integers(0, 2**53), st.integers(0, 2**53))
def test_kl_does_not_change_when_both_laws_are_mirrored(i, j):
    q, p = i / 2**53, j / 2**53  # 1 - q and 1 - p are exact
    assert binary_kl(q, p) == binary_kl(1.0 - q, 1.0 - p)


@examples(300)
@given(probability, probability)
def test_kl_is_at_least_pinsker(q, p):
    assert binary_kl(q, p) >= 2.0 * (p - q) ** 2 * (1.0 - 2.0**-44)


# ----- inverses: soundness and tightness ----------------------------------------------------------


def assert_outward_and_tight(exact, exact_kl, inverse, q: np.ndarray, c: np.ndarray) -> None:
    """The exact kl at the result reaches the budget; at its inner neighbour it does not (almost)."""
    end = trivial(inverse)
    result = inverse(q, c)
    inner = np.nextafter(result, q)
    for q_, c_, p, p_inner in zip(q, c, result, inner, strict=True):
        case = (inverse.__name__, float(q_), float(c_), float(p))
        assert min(q_, end) <= p <= max(q_, end), case
        if c_ == 0.0 or q_ == end:
            assert p == q_, case
            continue
        assert p == end or exact_kl(q_, p) >= c_, case
        if p != q_ and SMALLEST_BUDGET <= c_ < math.inf:
            assert exact_kl(q_, p_inner) < exact.mpf(c_) * (1 + 4 * RELATIVE_ERROR), case


@INVERSES
@examples(120)
@given(cases=inverse_cases)
def test_inverse_is_outward_and_tight(exact, exact_kl, inverse, cases):
    q, c = np.array(cases).T
    assert_outward_and_tight(exact, exact_kl, inverse, q, c)


@INVERSES
def test_inverse_is_outward_and_tight_in_bulk(exact, exact_kl, probabilities, inverse):
    rng = np.random.default_rng(1)
    size = 4000
    wide, usual = 10.0 ** rng.uniform(-310.0, 3.0, size), 10.0 ** rng.uniform(-18.0, 2.0, size)
    c = np.where(rng.uniform(size=size) < 0.4, wide, usual)
    assert_outward_and_tight(exact, exact_kl, inverse, probabilities(rng, size), c)


@INVERSES
def test_inverse_is_within_1e_12_of_the_root_in_ordinary_cases(exact, exact_kl, inverse):
    rng = np.random.default_rng(2)
    q, c = rng.uniform(0.001, 0.999, 1000), 10.0 ** rng.uniform(-8.0, 0.5, 1000)
    result = inverse(q, c)
    inside = result * (1.0 - 1e-12) if inverse is kl_inverse_upper else result * (1.0 + 1e-12)
    for q_, c_, p in zip(q, c, inside, strict=True):
        assert exact_kl(q_, p) < c_, (q_, c_)


@INVERSES
@pytest.mark.parametrize("q", [0.1, 0.5, 1e-12, 1.0 - 1e-12])
def test_a_root_next_to_q_is_not_rounded_onto_q(exact_kl, inverse, q):
    # The distance to the root, sqrt(2 q (1-q) c), is below one unit in the last place.
    for c in (1e-60, 1e-100, SMALLEST_BUDGET, 1e-300, SMALLEST):
        p = inverse(q, c)
        assert p == math.nextafter(q, trivial(inverse))
        assert exact_kl(q, p) >= c


# ----- inverses: values known in closed form ------------------------------------------------------


@pytest.mark.parametrize("c", [0.0, SMALLEST, 1e-10, 0.1, 1.0, 50.0, 1e300, math.inf])
def test_nothing_lies_beyond_the_ends(c):
    assert kl_inverse_upper(1.0, c) == 1.0
    assert kl_inverse_lower(0.0, c) == 0.0
    assert kl_inverse_lower(-0.0, c) == 0.0


@pytest.mark.parametrize("c", [1e-250, 1e-30, 1e-16, 1e-3, 0.1, math.log(2.0), 1.0, 5.0, 30.0, 36.0])
def test_inverses_from_the_ends_are_exponentials(exact, c):
    upper, lower = -exact.expm1(-exact.mpf(c)), exact.exp(-exact.mpf(c))
    for q in (0.0, -0.0):
        assert upper <= exact.mpf(float(kl_inverse_upper(q, c))) <= upper * (1 + exact.mpf(10) ** -13)
        assert float(kl_inverse_upper(q, c)) - float(upper) <= 1.2e-14
    assert lower * (1 - exact.mpf(10) ** -11) <= exact.mpf(float(kl_inverse_lower(1.0, c))) <= lower


@INVERSES
@pytest.mark.parametrize("q", [0.0, SMALLEST, 1e-300, 0.1, 0.5, 0.9, BELOW_ONE, 1.0])
def test_empty_and_infinite_budgets(inverse, q):
    assert inverse(q, 0.0) == q
    assert inverse(q, -0.0) == q
    assert inverse(q, math.inf) == (q if q in (0.0, 1.0) and q == trivial(inverse) else trivial(inverse))
    assert inverse(q, 1e300) == inverse(q, math.inf)


def test_budget_too_large_for_any_double_below_one():
    # The largest double below 1 is at a relative entropy of 53 ln 2 from 0.
    assert kl_inverse_upper(0.0, 53 * math.log(2.0) - 1e-9) < 1.0
    assert kl_inverse_upper(0.0, 53 * math.log(2.0) + 1e-9) == 1.0
    assert kl_inverse_lower(1.0, 740.0) > 0.0
    assert kl_inverse_lower(1.0, 750.0) == 0.0


# ----- inverses: structure ------------------------------------------------------------------------


def test_the_inverses_mirror_each_other():
    rng = np.random.default_rng(3)
    q = rng.integers(0, 2**53, 500) / 2.0**53
    c = 10.0 ** rng.uniform(-12.0, 1.0, 500)
    np.testing.assert_allclose(kl_inverse_lower(q, c), 1.0 - kl_inverse_upper(1.0 - q, c), rtol=0, atol=1e-13)


@INVERSES
def test_inverse_is_monotone(probabilities, inverse):
    rng = np.random.default_rng(4)
    q = np.sort(probabilities(rng, 60))[:, None]
    c = np.sort(10.0 ** rng.uniform(-20.0, 2.0, 60))
    p = inverse(q, c)
    outward = 1.0 if inverse is kl_inverse_upper else -1.0
    # Rounding may disturb the order by the accuracy of kl, never more.
    slack = 1e-10 * p
    assert (np.diff(p, axis=0) >= -slack[1:]).all()
    assert (outward * np.diff(p, axis=1) >= -slack[:, 1:]).all()


@INVERSES
def test_round_trip_through_kl(inverse):
    rng = np.random.default_rng(5)
    q, c = rng.uniform(0.1, 0.7, 500), 10.0 ** rng.uniform(-3.0, -0.3, 500)
    np.testing.assert_allclose(binary_kl(q, inverse(q, c)), c, rtol=1e-12)


# ----- arrays -------------------------------------------------------------------------------------


@EVERY_FUNCTION
@pytest.mark.parametrize(
    ("first", "second", "shape"),
    [
        ((), (), ()),
        ((1,), (), (1,)),
        ((), (5,), (5,)),
        ((17,), (17,), (17,)),
        ((3, 1), (1, 4), (3, 4)),
        ((2, 1, 3), (4, 1), (2, 4, 3)),
        ((0,), (), (0,)),
        ((3, 0), (1,), (3, 0)),
    ],
)
def test_vectorised_equals_elementwise(function, first, second, shape):
    rng = np.random.default_rng(6)
    a, b = rng.uniform(size=first), rng.uniform(size=second)
    result = function(a, b)
    assert np.shape(result) == shape
    assert result.dtype == np.float64
    a, b = np.broadcast_arrays(a, b)
    for index in np.ndindex(shape):
        assert result[index] == function(float(a[index]), float(b[index]))


@EVERY_FUNCTION
def test_scalars_in_scalar_out(function):
    assert type(function(0.25, 0.5)) is np.float64
    assert type(function(0, 1)) is np.float64


@EVERY_FUNCTION
@pytest.mark.parametrize(
    "convert",
    [
        list,
        tuple,
        torch.tensor,
        lambda x: torch.tensor(x, dtype=torch.float32),
        lambda x: torch.tensor(np.repeat(x, 2))[::2],
        lambda x: np.array(x, dtype=np.float32),
        lambda x: np.array(x, dtype=np.float16),
        lambda x: np.array(x, dtype=">f8"),
        lambda x: np.repeat(x, 2)[::2],
        lambda x: np.array(x[::-1])[::-1],
    ],
    ids=[
        "list",
        "tuple",
        "tensor",
        "float32 tensor",
        "strided tensor",
        "float32",
        "float16",
        "big endian",
        "strided",
        "reversed",
    ],
)
def test_every_kind_of_array_is_taken(function, convert):
    x = [0.125, 0.25, 0.5]  # exact in every precision
    np.testing.assert_array_equal(function(convert(x), 0.5), function(np.array(x), 0.5))
    np.testing.assert_array_equal(function(0.5, convert(x)), function(0.5, np.array(x)))


@EVERY_FUNCTION
def test_inputs_are_left_alone(function):
    a, b = np.array([0.0, -0.0, 0.3]), torch.tensor([0.2, 0.4, 0.6], dtype=torch.float64)
    a.flags.writeable = False
    copy = b.clone()
    result = function(a, b)
    result += 1.0  # the caller owns the result
    assert torch.equal(b, copy)


@EVERY_FUNCTION
def test_default_dtype_of_torch_does_not_matter(function):
    before = torch.get_default_dtype()
    value = function([0.1, 0.2], 0.3)
    try:
        torch.set_default_dtype(torch.float16)
        np.testing.assert_array_equal(function([0.1, 0.2], 0.3), value)
    finally:
        torch.set_default_dtype(before)


# ----- bad input ----------------------------------------------------------------------------------

NOT_REAL = [
    "0.1",
    ["0.1"],
    None,
    True,
    [True, False],
    0.1 + 0.0j,
    np.array([0.1], dtype=object),
    torch.tensor(True),
    torch.tensor(0.1 + 0.2j),
    np.datetime64("2020-01-01"),
]


@EVERY_FUNCTION
@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("bad", NOT_REAL, ids=repr)
def test_what_is_no_real_number_is_refused(function, position, bad):
    arguments = [0.1, 0.2]
    arguments[position] = bad
    with pytest.raises(DtypeError, match="must hold real numbers"):
        function(*arguments)


@EVERY_FUNCTION
@pytest.mark.parametrize("position", [0, 1])
def test_gradients_are_sent_to_the_differentiable_twin(function, position):
    arguments = [torch.tensor(0.1), torch.tensor(0.2)]
    arguments[position].requires_grad_()
    with pytest.raises(DtypeError, match="differentiable"):
        function(*arguments)


@EVERY_FUNCTION
@pytest.mark.parametrize("bad", [-SMALLEST, -1e-9, -1.0, 1.0 + 2.0**-52, 2.0, math.nan, math.inf, -math.inf])
def test_q_outside_the_unit_interval_is_refused(function, bad):
    for q in (bad, [0.5, bad], np.array([[bad, 0.5]])):
        with pytest.raises(DomainError, match=r"q must lie in \[0, 1\]"):
            function(q, 0.2)


@pytest.mark.parametrize("bad", [-SMALLEST, 1.0 + 2.0**-52, math.nan, math.inf])
def test_p_outside_the_unit_interval_is_refused(bad):
    with pytest.raises(DomainError, match=r"p must lie in \[0, 1\]"):
        binary_kl(0.2, [bad, 0.5])


@INVERSES
@pytest.mark.parametrize("bad", [-SMALLEST, -1.0, -math.inf, math.nan])
def test_negative_budget_is_refused(inverse, bad):
    with pytest.raises(DomainError, match=r"budget must lie in \[0, inf\]"):
        inverse(0.2, [0.5, bad])


@EVERY_FUNCTION
def test_shapes_that_do_not_broadcast_are_refused(function):
    with pytest.raises(ShapeError, match="broadcast"):
        function([0.1, 0.2], [0.1, 0.2, 0.3])


@EVERY_FUNCTION
def test_ragged_lists_are_refused(function):
    with pytest.raises(PBGNetError):
        function([[0.1], [0.2, 0.3]], 0.1)


@EVERY_FUNCTION
def test_the_message_names_the_offender(function):
    for bad, shown in ((math.nan, "nan"), (1.5, "1.5")):
        with pytest.raises(DomainError, match=shown):
            function([0.5, bad, 0.25], 0.2)
