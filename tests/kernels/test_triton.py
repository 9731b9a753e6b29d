"""The Triton kernels against plain float64 formulas: on a GPU, or interpreted on a CPU.

On a CPU run it with TRITON_INTERPRET=1.
"""

import math
import os

import pytest
import torch

triton = pytest.importorskip("triton")
INTERPRETED = os.environ.get("TRITON_INTERPRET", "0") == "1"
if not INTERPRETED and not torch.cuda.is_available():
    pytest.skip("needs a GPU or TRITON_INTERPRET=1", allow_module_level=True)

import triton.language as tl  # noqa: E402

from pbgnet.bounds import differentiable  # noqa: E402
from pbgnet.kernels import (  # noqa: E402
    fourier_torch,
    fourier_triton,
    layers_torch,
    layers_triton,
    step_torch,
    step_triton,
)

DEVICE = "cpu" if INTERPRETED else "cuda"
FLOATS = [torch.float32, torch.float64]
SHAPES = [(1, 1, 1, 1), (3, 7, 5, 2), (2, 70, 11, 3), (1, 64, 33, 4), (1, 5, 6, 19)]  # R, n, d, m
TOLERANCE = {torch.float32: 2e-6, torch.float64: 1e-13}


# --- Fourier ---------------------------------------------------------------------------------------


def _layer(shape, dtype, scale=2.0, seed=0):
    R, n, d, m = shape
    generator = torch.Generator().manual_seed(seed)
    mean = torch.rand(R, n, d, generator=generator, dtype=torch.float64) * 2 - 1
    mean[:, :, 0] = mean[:, :, 0].sign()  # corners
    weight = torch.randn(R, m, d, generator=generator, dtype=torch.float64) * scale
    grad = torch.randn(R, n, m, generator=generator, dtype=torch.float64)
    return [x.to(dtype).to(DEVICE) for x in (mean, weight, grad)]


def _nodes(R, dtype=torch.int64):
    step = torch.linspace(0.4, 0.7, R, dtype=torch.float64, device=DEVICE)
    return step, torch.tensor([(5, 12, 1)[r % 3] for r in range(R)], dtype=dtype, device=DEVICE)


def _exact_fourier(mean, weight, step, count):
    """Value before the cut, by autograd, in float64."""
    values = []
    for g, w, h, K in zip(mean, weight, step, count, strict=True):
        half = torch.arange(int(K), dtype=torch.float64, device=DEVICE) + 0.5
        t = half * h
        angle = (w / math.sqrt(w.shape[-1]))[None, :, :, None] * t
        factors = torch.complex(
            torch.cos(angle).expand(len(g), -1, -1, -1), g[:, None, :, None] * angle.sin()
        )
        c = 2 / math.pi * torch.exp(-t * t / 2) / half
        values.append((c * factors.prod(dim=2).imag).sum(dim=-1))
    return torch.stack(values)


def _check_fourier(mean, weight, grad, step, count):
    tolerance = TOLERANCE[mean.dtype]
    g, w = mean.double().requires_grad_(), weight.double().requires_grad_()
    expected = _exact_fourier(g, w, step, count)
    expected.backward(grad.double())
    value = fourier_triton.evaluate(mean, weight, step, count)
    assert value.dtype == mean.dtype
    assert value.shape == expected.shape
    torch.testing.assert_close(value.double(), expected.detach().clamp(-1, 1), rtol=0, atol=tolerance)
    grad_mean, grad_weight = fourier_triton.differentiate(grad, mean, weight, step, count)
    for found, wanted in ((grad_mean, g.grad), (grad_weight, w.grad)):
        assert found.dtype == mean.dtype
        assert found.is_contiguous()
        scale = 1 + float(wanted.abs().max())
        torch.testing.assert_close(found.double(), wanted, rtol=0, atol=4 * tolerance * scale)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_fourier_agrees_with_autograd(shape, dtype):
    mean, weight, grad = _layer(shape, dtype)
    _check_fourier(mean, weight, grad, *_nodes(shape[0]))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(3, 7, 5, 2), (1, 20, 4, 9)])
def test_fourier_shared_out_differently(shape, dtype, monkeypatch):
    monkeypatch.setattr(fourier_triton, "WORTH_SHARING", 1)  # shares of nodes, some of them empty
    monkeypatch.setattr(fourier_triton, "BACKWARD_PROGRAMS", 1)  # all neurons in one chunk
    mean, weight, grad = _layer(shape, dtype, seed=1)
    _check_fourier(mean, weight, grad, *_nodes(shape[0], torch.int32))


@triton.jit
def _trigonometry_kernel(angles, cosines, sines, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cos, sin = fourier_triton._cosine_and_sine(tl.load(angles + i), False)
    tl.store(cosines + i, cos)
    tl.store(sines + i, sin)


@pytest.mark.parametrize("reach", [1.0, 8.0, 1e3, 4e5])
def test_cosine_and_sine_are_accurate(reach):
    if INTERPRETED and reach > 8:
        pytest.skip("the interpreter rounds the products that the device fuses with a sum")
    angles = torch.linspace(-reach, reach, 1 << 16, dtype=torch.float64).float().to(DEVICE)
    cos, sin = torch.empty_like(angles), torch.empty_like(angles)
    _trigonometry_kernel[(16,)](angles, cos, sin, BLOCK=1 << 12, enable_fp_fusion=True)
    for found, wanted in ((cos, angles.double().cos()), (sin, angles.double().sin())):
        assert float((found.double() - wanted).abs().max()) * 2**24 < 2


def test_fourier_with_the_accurate_sine(monkeypatch):
    monkeypatch.setattr(fourier_triton, "POLYNOMIAL", False)
    mean, weight, grad = _layer((2, 5, 4, 3), torch.float32, seed=2)
    _check_fourier(mean, weight, grad, *_nodes(2))


@pytest.mark.parametrize("dtype", FLOATS)
def test_fourier_is_cut_but_its_gradient_is_not(dtype):
    mean = torch.ones(1, 1, 1, dtype=dtype, device=DEVICE)
    weight = torch.full((1, 1, 1), 10.0, dtype=dtype, device=DEVICE)
    step = torch.tensor([0.3], dtype=torch.float64, device=DEVICE)
    count = torch.ones(1, dtype=torch.int64, device=DEVICE)
    assert float(_exact_fourier(mean.double(), weight.double(), step, count)) > 1.2
    _check_fourier(mean, weight, torch.ones_like(mean), step, count)


@pytest.mark.parametrize("dtype", FLOATS)
def test_fourier_where_the_cosine_vanishes(dtype):
    mean, weight, grad = _layer((1, 3, 2, 2), dtype, seed=3)
    mean[..., 1] = 0.0
    step = torch.ones(1, dtype=torch.float64, device=DEVICE)
    weight[..., 1] = math.pi * math.sqrt(2)  # a t_0 = pi / 2 as nearly as the type allows
    _check_fourier(mean, weight, grad, step, torch.tensor([2], device=DEVICE))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("angle", [5e6, 6e6, 1e9, 1e20])
def test_fourier_of_absurd_weights_stays_finite(angle, dtype):
    mean, weight, grad = _layer((1, 3, 2, 2), dtype, seed=3)
    mean[..., 1] = 0.0
    weight[..., 1] = angle
    step, count = _nodes(1)
    value = fourier_triton.evaluate(mean, weight, step, count)
    assert bool((value.abs() <= 1).all())
    assert all(x.isfinite().all() for x in fourier_triton.differentiate(grad, mean, weight, step, count))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the interpreter's, of NumPy
def test_fourier_passes_not_a_number_on():
    mean, weight, _ = _layer((1, 3, 2, 2), torch.float32)
    weight[0, 0, 1], weight[0, 1, 1] = math.nan, math.inf
    assert bool(fourier_triton.evaluate(mean, weight, *_nodes(1)).isnan().all())


def test_fourier_is_deterministic():
    mean, weight, grad = _layer((2, 70, 11, 3), torch.float32)
    step, count = _nodes(2)
    first = fourier_triton.differentiate(grad, mean, weight, step, count)
    second = fourier_triton.differentiate(grad, mean, weight, step, count)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("shape", [(0, 2, 3, 4), (2, 0, 3, 4), (2, 2, 3, 0)])
def test_empty_fourier_layers(shape):
    mean, weight, grad = _layer(shape, torch.float32)
    nodes = _nodes(shape[0])
    assert fourier_triton.evaluate(mean, weight, *nodes).shape == grad.shape
    grad_mean, grad_weight = fourier_triton.differentiate(grad, mean, weight, *nodes)
    assert torch.equal(grad_mean, torch.zeros_like(mean))
    assert torch.equal(grad_weight, torch.zeros_like(weight))


# --- Training step ---------------------------------------------------------------------------------


def _weights(R, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(R, 3, 7, generator=generator, dtype=torch.float64).to(dtype).to(DEVICE)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n_anchors", [1, 4])
@pytest.mark.parametrize("block", [1, 1024])
def test_penalty_of_one_layer(dtype, n_anchors, block, monkeypatch):
    monkeypatch.setattr(step_triton, "BLOCK", block)
    weight, anchor = _weights(4, dtype), _weights(n_anchors, dtype, seed=1)
    found = step_triton.penalty([weight], [anchor], [2.0])
    expected = (weight.double() - anchor.double()).square().sum(dim=(1, 2))
    torch.testing.assert_close(found, expected, rtol=1e-14, atol=0)
    assert step_triton.penalty([weight[:0]], [anchor[:0]], [2.0]).shape == (0,)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n_anchors", [1, 4])
@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.0, 0.5)])
def test_adam_step(dtype, n_anchors, betas, monkeypatch):
    monkeypatch.setattr(step_triton, "BLOCK", 8)
    weight, anchor = _weights(4, dtype), _weights(n_anchors, dtype, seed=1)
    start, first, second = weight.clone(), torch.zeros_like(weight), torch.zeros_like(weight)
    rate = torch.tensor([0.1, 0.0, 0.01, 1e-3], dtype=torch.float64, device=DEVICE)
    pull = torch.tensor([0.0, 1.0, 0.3, 2.0], dtype=torch.float64, device=DEVICE)
    scale = torch.tensor([1.0, 1.0, 0.5, 3.0], dtype=torch.float64, device=DEVICE)
    count = torch.zeros(1, dtype=torch.int64, device=DEVICE)
    twins = [w.double().clone().requires_grad_() for w in weight]
    optimizers = [
        torch.optim.Adam([twin], lr=float(lr), betas=betas, eps=1e-8)
        for twin, lr in zip(twins, rate, strict=True)
    ]
    for turn in range(3):
        gradient = _weights(4, dtype, seed=5 + turn)
        count += 1
        step_triton.adam_step(
            weight, first, second, gradient, anchor, rate, scale, pull, 1.7, count, betas, 1e-8
        )
        for r, (twin, optimizer) in enumerate(zip(twins, optimizers, strict=True)):
            u = anchor[r % n_anchors].double()
            twin.grad = scale[r] * gradient[r].double() + 1.7 * pull[r] * (twin.detach() - u)
            optimizer.step()
    expected = torch.stack([twin.detach() for twin in twins])
    tolerance = 1e-12 if dtype == torch.float64 else 2e-6
    torch.testing.assert_close(weight.double(), expected, rtol=0, atol=tolerance)
    assert torch.equal(weight[1], start[1])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_replica_at_rest_survives_an_infinite_gradient():
    weight, start = _weights(1, torch.float32), _weights(1, torch.float32)
    first, second, gradient = (torch.full_like(weight, x) for x in (0.0, 0.0, math.inf))
    nothing = torch.zeros(1, dtype=torch.float64, device=DEVICE)
    count = torch.ones(1, dtype=torch.int64, device=DEVICE)
    step_triton.adam_step(
        weight, first, second, gradient, start, nothing, nothing + 1, nothing, 1.0, count, (0.9, 0.999), 1e-8
    )
    assert torch.equal(weight, start)


@pytest.mark.parametrize(
    ("n", "log_factor"), [(11377, 4.2), (100, 1e-20), (123456789, 9.123456789), (5, 1e7)]
)
def test_seeger_bound(n, log_factor):
    losses = [0, 1e-12, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9, 1.0, -0.1, 1.1, 0.0, 0.2, 0.999, 1e-5]
    penalties = [0.0, 1e-14, 1e-9, 3.0, 100.0, 1e4, 1e12]
    loss = torch.tensor(losses, dtype=torch.float64, device=DEVICE).repeat_interleave(len(penalties))
    penalty = torch.tensor(penalties, dtype=torch.float64, device=DEVICE).repeat(len(losses))
    q, k = loss.clone().requires_grad_(), penalty.clone().requires_grad_()
    budget = (k + log_factor) / n
    p = differentiable.kl_inverse_upper(q.clamp(0, 1), budget, validate_args=False)
    p.sum().backward()
    bound, by_loss, by_penalty = step_triton.seeger_bound(loss, penalty, log_factor, float(n))
    torch.testing.assert_close(bound, p.detach(), rtol=1e-12, atol=1e-300)
    # Where the budget is so small that p has only a few digits more than q, so has the slope.
    digits = 1e-9 + 1e-14 / (p.detach() - q.detach().clamp(0, 1)).clamp_min(1e-16)
    for found, wanted in ((by_loss, q.grad), (by_penalty, k.grad)):
        assert bool(((found - wanted).abs() <= digits * (wanted.abs() + 1e-300)).all())


def test_seeger_bound_at_the_ends():
    loss = torch.tensor([1.0, 0.0], dtype=torch.float64, device=DEVICE)
    bound, by_loss, by_penalty = step_triton.seeger_bound(loss, torch.zeros_like(loss), 1.0, 10.0)
    assert bound[0] == 1
    assert by_loss[0] == 1
    assert by_penalty[0] == 0
    assert float(by_penalty[1]) == pytest.approx(math.exp(-0.1) / 10, rel=1e-13)


def test_penalty_of_several_layers(monkeypatch):
    monkeypatch.setattr(step_triton, "BLOCK", 2)  # every layer is shared by several programs
    weights = [_weights(4, torch.float32), _weights(4, torch.float32, seed=1)[:, :2], torch.zeros(4, 0, 3)]
    weights = [w.contiguous().to(DEVICE) for w in weights]
    anchors = [torch.zeros_like(w[:1]) for w in weights]
    factors = [12345.6789, 100.0, 1.0]
    expected = step_torch.penalty(weights, anchors, factors)
    torch.testing.assert_close(step_triton.penalty(weights, anchors, factors), expected, rtol=1e-13, atol=0)


def test_the_penalty_of_an_infinite_weight_is_infinite():
    weight = _weights(2, torch.float32)
    weight[1, 0, 0] = math.inf
    found = step_triton.penalty([weight], [torch.zeros_like(weight)], [3.0])
    assert found.isinf().tolist() == [False, True]


@pytest.mark.parametrize("n", [1, 11377, 123456789])
def test_catoni_slopes(n):
    loss = torch.tensor([0.0, 1e-9, 0.01, 0.3, 1.0, math.nan], dtype=torch.float64, device=DEVICE)
    penalty = torch.tensor([0.0, 3.0, 164.0, 1e5, 20.0, 1.0], dtype=torch.float64, device=DEVICE)
    log_c = torch.tensor([-9.0, 0.0, 0.28, -1.0, 3.0, 0.0], dtype=torch.float64, device=DEVICE)
    found = step_triton.catoni_slopes(loss, penalty, log_c, 9.123456789, float(n))
    for got, right in zip(found, step_torch.catoni_slopes(loss, penalty, log_c, 9.123456789, n), strict=True):
        torch.testing.assert_close(got, right, rtol=1e-12, atol=1e-13, equal_nan=True)


# --- around the layers -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
def test_first_means_and_their_pullback(dtype, intercept, transposed, monkeypatch):
    monkeypatch.setattr(layers_triton, "BLOCK", 16)
    generator = torch.Generator().manual_seed(0)
    shape = (3, 5, 7) if transposed else (3, 7, 5)
    product = 3 * torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).to(DEVICE)
    product = product.mT if transposed else product
    found = layers_triton.first_means(product, intercept)
    assert found.is_contiguous()
    tolerance = 1e-14 if dtype == torch.float64 else 3e-7
    wanted = layers_torch.first_means(product, intercept)
    torch.testing.assert_close(found, wanted, rtol=0, atol=tolerance)
    grad = torch.randn(found.shape, generator=generator, dtype=torch.float64).to(dtype).to(DEVICE)
    pulled = layers_triton.pull_back_first_means(grad, product, intercept)
    wanted = layers_torch.pull_back_first_means(grad, product, intercept)
    torch.testing.assert_close(pulled, wanted, rtol=2 * tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 7, 1500])
@pytest.mark.parametrize("shared", [False, True])
def test_linear_loss(dtype, n, shared):
    generator = torch.Generator().manual_seed(0)
    output = (2 * torch.rand(3, n, 1, generator=generator, dtype=torch.float64) - 1).to(dtype).to(DEVICE)
    y = torch.where(torch.rand((n,) if shared else (3, n), generator=generator) < 0.5, 1.0, -1.0)
    y = y.to(dtype).to(DEVICE)
    loss, slope = layers_triton.linear_loss(output[..., 0], y)
    wanted_loss, wanted_slope = layers_torch.linear_loss(output[..., 0], y)
    torch.testing.assert_close(loss, wanted_loss, rtol=1e-7 if dtype == torch.float32 else 1e-14, atol=0)
    torch.testing.assert_close(slope, wanted_slope, rtol=2e-7 if dtype == torch.float32 else 1e-15, atol=0)


@pytest.mark.parametrize("shared", [False, True])
def test_linear_loss_of_several_outputs(shared):
    generator = torch.Generator().manual_seed(0)
    output = (2 * torch.rand(3, 300, 7, generator=generator) - 1).to(DEVICE)
    y = torch.where(torch.rand((300, 7) if shared else (3, 300, 7), generator=generator) < 0.5, 1.0, -1.0)
    for found, wanted in zip(
        layers_triton.linear_loss(output, y.to(DEVICE)),
        layers_torch.linear_loss(output, y.to(DEVICE)),
        strict=True,
    ):
        torch.testing.assert_close(found, wanted, rtol=2e-7, atol=0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(2, 1, 1), (3, 10, 11), (2, 5, 300), (1, 33, 129)])
def test_nodes_are_those_of_the_reference(shape, dtype):
    generator = torch.Generator().manual_seed(0)
    weight = 3 * torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).to(DEVICE)
    found, wanted = (kernel.nodes_for(weight, 5.123456789, 64) for kernel in (fourier_triton, fourier_torch))
    torch.testing.assert_close(found.step, wanted.step, rtol=1e-14, atol=0)
    assert found.count.tolist() == wanted.count.tolist()
    assert found.count.dtype == wanted.count.dtype


def test_nodes_of_weights_that_are_no_numbers():
    weight = torch.ones(4, 2, 3, device=DEVICE)
    weight[1, 1, 2], weight[2, 0, 0], weight[3] = math.nan, math.inf, 1e30
    found, wanted = (kernel.nodes_for(weight, 6.0, 100) for kernel in (fourier_triton, fourier_torch))
    torch.testing.assert_close(found.step, wanted.step, rtol=1e-14, atol=0, equal_nan=True)
    assert found.count.tolist() == wanted.count.tolist()
