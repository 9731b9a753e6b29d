"""The Fourier sum: its proved error, its choice of nodes, its memory."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pbgnet.aggregation import (
    Enumeration,
    Fourier,
    FourierNodes,
    choose_nodes,
    expected_sign,
    fourier_error_bound,
    fourier_rounding_bound,
)
from pbgnet.aggregation.fourier_function import fourier_sum
from pbgnet.exceptions import DomainError, DtypeError, SecondDerivativeError, ShapeError
from pbgnet.kernels import use_backend
from pbgnet.kernels.fourier_torch import _away_from_zero

BACKENDS = ["numba", "torch"]


def draw_layer(seed: int, width: int, scale: float, corner: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Random means, a share of them pushed to -1, 0 or 1, and weights of the given scale."""
    generator = torch.Generator().manual_seed(seed)
    mean = 2 * torch.rand(12, width, generator=generator, dtype=torch.float64) - 1
    pushed = torch.rand(mean.shape, generator=generator) < corner
    mean = torch.where(pushed, (1.5 * mean).round(), mean)
    return mean, scale * torch.randn(3, width, generator=generator, dtype=torch.float64)


layers = st.builds(
    draw_layer,
    seed=st.integers(0, 2**31),
    width=st.integers(1, 10),
    scale=st.floats(-3, 1.7).map(lambda exponent: 10**exponent),
    corner=st.sampled_from([0.0, 0.5, 1.0]),
)


@given(layer=layers, step=st.floats(0.02, 6.0), n_nodes=st.integers(1, 60), backend=st.sampled_from(BACKENDS))
@settings(max_examples=2000)
def test_error_is_never_above_its_bound_for_any_step_and_number_of_nodes(layer, step, n_nodes, backend):
    mean, weight = layer
    nodes = FourierNodes(torch.tensor(step, dtype=torch.float64), torch.tensor(n_nodes))
    with use_backend(backend):
        value = fourier_sum(mean, weight, nodes)
    error = (value - Enumeration()(mean, weight)).abs().amax(dim=0)
    rounding = fourier_rounding_bound(weight, nodes) + Enumeration().error_bound(weight)
    assert (error <= fourier_error_bound(weight, step, n_nodes) + rounding).all()
    assert (error <= fourier_error_bound(weight, step, n_nodes, mean) + rounding).all()


@given(layer=layers, exponent=st.floats(-12, 0), adaptive=st.booleans())
@settings(max_examples=500)
def test_chosen_nodes_keep_the_tolerance(layer, exponent, adaptive):
    mean, weight = layer
    tolerance = 10**exponent
    nodes = choose_nodes(weight, tolerance, mean if adaptive else None)
    bound = fourier_error_bound(weight, nodes.step, nodes.count, mean if adaptive else None)
    assert (bound <= tolerance).all()
    value = Fourier(tolerance, adaptive)(mean, weight)
    rounding = fourier_rounding_bound(weight, nodes) + Enumeration().error_bound(weight)
    assert ((value - Enumeration()(mean, weight)).abs() <= tolerance + rounding).all()


def test_bound_is_tight():
    # A single weightless neuron cannot err, so look for the worst case over layers: the bound must
    # not be loose by orders of magnitude, or nodes would be wasted.
    ratios = []
    for seed in range(200):
        mean, weight = draw_layer(seed, 1 + seed % 8, 10 ** (seed % 5 - 2.0), 1.0)
        spread = weight.abs().sum(dim=-1).amax() / math.sqrt(weight.shape[-1])
        nodes = FourierNodes(2 * math.pi / (spread + 4), torch.ceil(4 * (spread + 4) / (2 * math.pi)).long())
        value = fourier_sum(mean, weight, nodes)
        error = (value - Enumeration()(mean, weight)).abs().amax(dim=0)
        ratios.append(float((error / fourier_error_bound(weight, nodes.step, nodes.count)).amax()))
    assert 0.8 < max(ratios) <= 1


@pytest.mark.parametrize(
    ("z", "published"), [(4, 7.6e-5), (5, 6.6e-7), (5.5, 4.3e-8), (6, 2.3e-9), (6.5, 9.1e-11), (7, 2.9e-12)]
)
def test_error_depends_on_the_deviation_alone(z, published):
    # The table of the theory page, 2 Q(z) + E1(z^2 / 2) / pi; K rounds up, so the error may be smaller.
    for spread in (0.1, 1.0, 10.0):
        weight = torch.tensor([[spread]], dtype=torch.float64)
        step = 2 * math.pi / (spread + z)
        bound = float(fourier_error_bound(weight, step, math.ceil(z / step)))
        assert published / 3 < bound < 1.01 * published


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rounding_bound_covers_both_precisions(dtype, backend):
    for seed in range(100):
        mean, weight = draw_layer(seed, 1 + seed % 12, 10 ** (seed % 4 - 1.5), 0.5)
        mean, weight = mean.to(dtype), weight.to(dtype)
        with use_backend(backend):
            value = Fourier()(mean, weight).double()
        error = (value - Enumeration()(mean.double(), weight.double())).abs()
        bound = Fourier().error_bound(weight) + Enumeration().error_bound(weight.double())
        assert (error <= bound).all()


def test_gradients_keep_the_bounds_of_the_theory_page():
    # In a mean the error is at most eps; in a scaled weight a at most 4 n(r) + sqrt(2/pi) erfc(K h / sqrt 2),
    # with r = 2 pi / h - A and n the normal density (1 % more covers the farther jumps of the wave).
    tolerance = 1e-3
    for seed in range(100):
        mean, weight = draw_layer(seed, 6, 10 ** (seed % 4 - 1.5), 0.5)
        nodes = choose_nodes(weight, tolerance)
        h, spread = float(nodes.step), float(weight.abs().sum(dim=-1).amax()) / math.sqrt(6)
        density = math.exp(-((2 * math.pi / h - spread) ** 2) / 2) / math.sqrt(2 * math.pi)
        limit = 4.04 * density + math.sqrt(2 / math.pi) * math.erfc(h * nodes.largest_count / math.sqrt(2))
        mean.requires_grad_()
        weight.requires_grad_()
        gap = Fourier(tolerance)(mean, weight)[0, 0] - Enumeration()(mean, weight)[0, 0]
        in_mean, in_weight = torch.autograd.grad(gap, [mean, weight])
        assert in_mean.abs().max() <= tolerance
        assert in_weight.abs().max() * math.sqrt(6) <= limit


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(), (2,)])
def test_gradcheck(shape, backend):
    generator = torch.Generator().manual_seed(0)
    mean = 1.8 * torch.rand(*shape, 3, 5, generator=generator, dtype=torch.float64) - 0.9
    weight = torch.randn(*shape, 2, 5, generator=generator, dtype=torch.float64)
    nodes = choose_nodes(weight, 1e-10)
    with use_backend(backend):
        assert torch.autograd.gradcheck(
            lambda g, w: fourier_sum(g, w, nodes), (mean.requires_grad_(), weight.requires_grad_())
        )


def test_gradient_is_the_same_whether_inputs_go_in_blocks_or_one_by_one(monkeypatch):
    mean, weight = draw_layer(3, 11, 2.0, 0.2)
    results = []
    for block in (1, 400, 1 << 17):
        monkeypatch.setattr("pbgnet.kernels.fourier_torch.BLOCK_ELEMENTS", block)
        g, w = mean.clone().requires_grad_(), weight.clone().requires_grad_()
        with use_backend("torch"):
            value = expected_sign(g, w)
        value.sum().backward()
        results.append((value.detach(), g.grad, w.grad))
    for result in results[1:]:
        for got, expected in zip(result, results[0], strict=True):
            torch.testing.assert_close(got, expected, rtol=0, atol=1e-13)


def test_an_exact_zero_factor_can_be_divided_by():
    for dtype in (torch.float32, torch.float64):
        x = torch.tensor([0.0, -0.0, 1e-5, -2.0], dtype=dtype)
        moved = _away_from_zero(x)
        assert (moved != 0).all()
        torch.testing.assert_close(moved, x, rtol=0, atol=1e-18)
        assert torch.isfinite(0.5 * moved / moved).all()


def test_nodes_serve_the_widest_neuron_of_each_replica():
    weight = torch.stack([torch.full((2, 4), s, dtype=torch.float64) for s in (0.1, 1.0, 30.0)])
    nodes = choose_nodes(weight, 1e-8)
    assert nodes.step.shape == (3,)
    assert (nodes.step.diff() < 0).all()
    assert nodes.largest_count == choose_nodes(weight[2], 1e-8).largest_count
    assert (fourier_error_bound(weight, nodes.step, nodes.count) <= 1e-8).all()


@pytest.mark.parametrize(("spread", "at_most"), [(30.0, 1e-6), (60.0, 5e-4), (100.0, 0.02)])
def test_training_cuts_the_nodes_of_wide_spreads_and_says_what_it_loses(spread, at_most):
    mean, weight = draw_layer(8, 9, 1.0, 0.3)
    weight = weight * (spread * 3 / weight.abs().sum(dim=-1).max())  # a = w / sqrt(9)
    trained, _ = Fourier(tolerance=1e-6, most_nodes=32).with_pullback(mean[None], weight[None])
    nodes = choose_nodes(weight, 1e-6, limit=32)
    proved = float(fourier_error_bound(weight, nodes.step, nodes.count).max())
    error = float((trained[0] - expected_sign(mean, weight)).abs().max())
    assert error <= proved <= at_most
    assert (int(choose_nodes(weight, 1e-6).count) > 32) == (spread > 35)


def test_a_row_does_not_depend_on_the_rows_beside_it():
    mean, weight = draw_layer(5, 9, 1.0, 0.3)
    together = expected_sign(mean, weight)
    alone = torch.cat([expected_sign(mean[i : i + 1], weight) for i in range(len(mean))])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-15)


def test_adaptive_needs_fewer_nodes_for_wide_layers():
    generator = torch.Generator().manual_seed(0)
    mean = 2 * torch.rand(20, 1000, generator=generator, dtype=torch.float64) - 1
    weight = torch.randn(1, 1000, generator=generator, dtype=torch.float64)
    fixed, adaptive = Fourier(), Fourier(adaptive=True)
    assert adaptive.nodes(weight, mean).largest_count < fixed.nodes(weight).largest_count / 2
    torch.testing.assert_close(adaptive(mean, weight), fixed(mean, weight), rtol=0, atol=2e-10)


@pytest.mark.parametrize("backend", BACKENDS)
def test_wide_layer_needs_little_memory(backend):
    # Saved for backward: means, weights and the two parts of the product, n m K numbers each; nothing
    # with d K.
    n, m, d = 64, 3, 1000
    mean = torch.zeros(n, d).requires_grad_()
    weight = torch.randn(m, d, generator=torch.Generator().manual_seed(0)).requires_grad_()
    saved: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), use_backend(backend):
        value = expected_sign(mean, weight)
    K = Fourier().nodes(weight).largest_count
    assert len(saved) == 3
    assert sum(saved.values()) <= 4 * (n * d + m * d) + 8 * n * m * K
    value.sum().backward()
    assert torch.isfinite(weight.grad).all()


def test_adaptive_nodes_serve_the_farthest_example():
    # One example of 21 has all its means at 1: an average over the examples would hide it.
    mean = torch.zeros(21, 100, dtype=torch.float64)
    mean[0] = 1
    weight = torch.full((1, 100), 1.5, dtype=torch.float64)
    torch.testing.assert_close(
        Fourier(adaptive=True)(mean, weight), Fourier()(mean, weight), rtol=0, atol=2e-10
    )


def test_adaptive_claims_no_less_than_its_tolerance():
    weight = torch.tensor([[0.1, 0.1], [5.0, 5.0]], dtype=torch.float64)
    assert (Fourier(1e-3, adaptive=True).error_bound(weight) >= 1e-3).all()


def test_default_tolerances():
    weight = torch.randn(3, 20, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert Fourier().nodes(weight).largest_count == choose_nodes(weight, 1e-10).largest_count
    assert Fourier().nodes(weight.float()).largest_count == choose_nodes(weight, 1e-6).largest_count


@given(layer=layers, exponent=st.floats(-10, -2))
@settings(max_examples=100)
def test_no_nodes_are_wasted(layer, exponent):
    _, weight = layer
    nodes = choose_nodes(weight, 10**exponent)
    if nodes.largest_count > 1:
        fewer = fourier_error_bound(weight, nodes.step, nodes.count - 1).amax()
        assert fewer > 0.3 * 10**exponent


@pytest.mark.parametrize(("dtype", "unit"), [(torch.float32, 2**-24), (torch.float64, 2**-53)])
def test_rounding_bound_is_its_formula(dtype, unit):
    # u sum_k c_k (6 A t_k + 10 d + 4 t_k^2 + K + 8), term by term, with the nodes of each replica.
    weight = torch.tensor([[[1.0, -2.0, 3.0]], [[0.5, 0.5, -0.5]]], dtype=dtype)
    nodes = FourierNodes(torch.tensor([0.7, 0.9], dtype=torch.float64), torch.tensor([5, 3]))
    for r, (h, K, spread) in enumerate([(0.7, 5, 6 / math.sqrt(3)), (0.9, 3, 1.5 / math.sqrt(3))]):
        total = 0.0
        for k in range(K):
            t = (k + 0.5) * h
            c = 2 / math.pi * math.exp(-(t**2) / 2) / (k + 0.5)
            total += c * (6 * spread * t + 10 * 3 + 4 * t**2 + K + 8)
        assert fourier_rounding_bound(weight, nodes)[r].item() == pytest.approx(unit * total, rel=1e-7)


def test_very_many_nodes_are_still_allowed():
    weight = torch.full((1, 1), 4e4, dtype=torch.float64)
    mean = torch.tensor([[0.25]], dtype=torch.float64)
    assert expected_sign(mean, weight, tolerance=1e-6).item() == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda w: fourier_error_bound(w, 1.0, 5),
        lambda w: fourier_rounding_bound(
            w, FourierNodes(torch.tensor(1.0, dtype=torch.float64), torch.tensor(5))
        ),
        lambda w: Fourier().error_bound(w),
        lambda w: Enumeration().error_bound(w),
    ],
)
def test_error_bounds_refuse_what_they_cannot_bound(call):
    for weight, error in [
        (torch.full((1, 2), torch.nan), DomainError),
        (torch.zeros(1, 2, dtype=torch.float16), DtypeError),
        (torch.zeros(1, 0), ShapeError),
        (torch.zeros(2), ShapeError),
        ("weights", DtypeError),
    ]:
        with pytest.raises(error, match="weight"):
            call(weight)


def test_means_of_an_error_bound_are_checked():
    with pytest.raises(ShapeError, match="mean must have shape"):
        fourier_error_bound(torch.zeros(1, 3), 1.0, 5, torch.zeros(4, 2))
    with pytest.raises(DomainError, match="mean must lie in"):
        fourier_error_bound(torch.zeros(1, 2), 1.0, 5, torch.full((4, 2), torch.nan))


def test_adaptive_must_be_a_truth_value():
    with pytest.raises(DtypeError, match="adaptive must be True or False"):
        Fourier(adaptive="no")


def test_nodes_are_chosen_for_tolerances_that_can_be_told_from_zero():
    for tolerance in (0.0, 1e-320):
        with pytest.raises(DomainError, match="tolerance must be"):
            choose_nodes(torch.ones(1, 2), tolerance)


def test_second_derivative_is_refused():
    mean = torch.zeros(1, 3, dtype=torch.float64)
    weight = torch.ones(1, 3, dtype=torch.float64)
    with pytest.raises(SecondDerivativeError, match="enumeration"):
        torch.autograd.functional.hessian(lambda g: expected_sign(g, weight).sum(), mean)


@pytest.mark.parametrize("tolerance", [0.0, -1e-6, math.nan, math.inf])
def test_tolerance_must_be_positive(tolerance):
    with pytest.raises(DomainError, match="tolerance must be positive"):
        expected_sign(torch.zeros(1, 2), torch.zeros(1, 2), tolerance=tolerance)


def test_tolerance_must_be_a_number():
    with pytest.raises(DtypeError, match="tolerance must be a number"):
        Fourier(tolerance="small")


@pytest.mark.parametrize("step", [0.0, -1.0, math.nan, math.inf])
def test_step_must_be_positive(step):
    with pytest.raises(DomainError, match="step must lie in"):
        fourier_error_bound(torch.zeros(1, 2), step, 5)


@pytest.mark.parametrize("n_nodes", [0, -3])
def test_number_of_nodes_must_be_positive(n_nodes):
    with pytest.raises(DomainError, match="n_nodes must be at least 1"):
        fourier_error_bound(torch.zeros(1, 2), 1.0, n_nodes)


def test_weights_beyond_reason_are_refused_instead_of_exhausting_the_memory():
    with pytest.raises(DomainError, match="Fourier nodes"):
        expected_sign(torch.zeros(1, 2), torch.full((1, 2), 1e8))
