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
from pbgnet.kernels.sampled import monte_carlo_triton  # noqa: E402

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
@pytest.mark.parametrize("kernel", ["fourier", "monte carlo"])
def test_empty_layers(shape, kernel):
    mean, weight, grad = _layer(shape, torch.float32)
    module = fourier_triton if kernel == "fourier" else monte_carlo_triton
    rest = _nodes(shape[0]) if kernel == "fourier" else (_seed(0), 10)
    assert module.evaluate(mean, weight, *rest).shape == grad.shape
    grad_mean, grad_weight = module.differentiate(grad, mean, weight, *rest)
    assert torch.equal(grad_mean, torch.zeros_like(mean))
    assert torch.equal(grad_weight, torch.zeros_like(weight))


# --- Monte Carlo -----------------------------------------------------------------------------------


def _seed(number):
    return torch.tensor([number], dtype=torch.int64, device=DEVICE)


def _moments(mean, weight, grad):
    """Expectation and variance, over one sign vector, of the value and both gradients.

    The gradients are those of one example: mean (1, 1, d), weight (1, m, d), grad (1, 1, m).
    """
    g, w, slope = mean[0, 0].double(), weight[0].double(), grad[0, 0].double()
    d = len(g)
    s = torch.tensor([[1.0 if b >> i & 1 else -1.0 for i in range(d)] for b in range(2**d)]).to(g)
    chance = ((1 + s * g) / 2).prod(dim=1)
    u = s @ w.T / math.sqrt(d)
    value = torch.erf(u / math.sqrt(2))
    score = torch.where(chance[:, None] > 0, s / (1 + s * g), 0.0) * (value @ slope)[:, None]
    density = math.sqrt(2 / math.pi) * torch.exp(-u * u / 2) * slope
    by_weight = density[:, :, None] * s[:, None, :] / math.sqrt(d)
    moments = []
    for x in (value, score, by_weight):
        p = chance.reshape(-1, *[1] * (x.ndim - 1))
        centre = (p * x).sum(dim=0)
        moments.append((centre, (p * (x - centre).square()).sum(dim=0)))
    return moments


@pytest.mark.parametrize(("dtype", "m"), [(torch.float32, 1), (torch.float32, 18), (torch.float64, 3)])
def test_samples_have_the_right_distribution(dtype, m):
    T = 4000
    mean, weight, grad = _layer((1, 1, 6, m), dtype, scale=1.5)
    value = monte_carlo_triton.evaluate(mean, weight, _seed(3), T)
    grad_mean, grad_weight = monte_carlo_triton.differentiate(grad, mean, weight, _seed(3), T)
    assert value.dtype == grad_mean.dtype == grad_weight.dtype == dtype
    found = (value[0, 0], grad_mean[0, 0], grad_weight[0])
    for x, (centre, variance) in zip(found, _moments(mean, weight, grad), strict=True):
        assert bool(((x - centre).abs() <= 5 * (variance / T).sqrt() + 1e-5).all())


@pytest.mark.parametrize(("dtype", "m"), [(torch.float32, 2), (torch.float32, 70), (torch.float64, 9)])
def test_backward_draws_the_same_signs(dtype, m, monkeypatch):
    monkeypatch.setattr(monte_carlo_triton, "WARPS", 6)  # several examples a program, shares of samples
    T, seed = 45, _seed(11)
    mean, weight, grad = _layer((2, 5, 37, m), dtype, scale=1.0)
    _, grad_weight = monte_carlo_triton.differentiate(grad, mean, weight, seed, T)
    direction = _layer((2, 5, 37, m), dtype, seed=8)[1]
    length = 2e-2 if dtype == torch.float32 else 1e-4
    up, down = (monte_carlo_triton.evaluate(mean, weight + x * direction, seed, T) for x in (length, -length))
    slope = ((up - down).double() * grad).sum() / (2 * length)
    expected = (grad_weight.double() * direction).sum()
    torch.testing.assert_close(slope, expected, rtol=2e-3 if dtype == torch.float32 else 1e-6, atol=1e-4)


@pytest.mark.parametrize(("dtype", "m"), [(torch.float32, 2), (torch.float32, 70), (torch.float64, 9)])
def test_tiles_change_only_the_rounding(dtype, m, monkeypatch):
    mean, weight, grad = _layer((1, 2, 37, m), dtype, scale=1.0)

    def results():
        value = monte_carlo_triton.evaluate(mean, weight, _seed(4), 45)
        return value, *monte_carlo_triton.differentiate(grad, mean, weight, _seed(4), 45)

    expected = results()
    tile = monte_carlo_triton.Tile(16, 16, 16)
    for name in ("FORWARD_TILE", "BACKWARD_TILE", "WIDE_BACKWARD_TILE", "SMALL_TILE"):
        monkeypatch.setattr(monte_carlo_triton, name, tile)
    for limits in ({"PARTIAL_ELEMENTS": 1}, {"RESIDENT_INPUTS": 16, "PARTIAL_ELEMENTS": 1 << 20}):
        for name, limit in limits.items():
            monkeypatch.setattr(monte_carlo_triton, name, limit)
        for x, wanted in zip(results(), expected, strict=True):
            scale = 1 + float(wanted.abs().max())
            torch.testing.assert_close(x, wanted, rtol=0, atol=TOLERANCE[dtype] * scale)


@pytest.mark.parametrize("dtype", FLOATS)
def test_score_gradient_of_one_input(dtype):
    """With one input the value tells how often +1 was drawn, and this the gradient."""
    T, w = 70, 0.8
    mean = torch.tensor([[[0.3], [-0.9], [0.999]]], dtype=dtype, device=DEVICE)
    weight = torch.full((1, 1, 1), w, dtype=dtype, device=DEVICE)
    grad = torch.tensor([[[1.0], [-2.0], [0.5]]], dtype=dtype, device=DEVICE)
    height = math.erf(w / math.sqrt(2))
    value = monte_carlo_triton.evaluate(mean, weight, _seed(5), T).double()
    plus = (1 + value / height) / 2
    torch.testing.assert_close(plus * T, (plus * T).round(), rtol=0, atol=1e-3)
    expected = grad * height * (plus / (1 + mean.double()) + (1 - plus) / (1 - mean.double()))
    found, _ = monte_carlo_triton.differentiate(grad, mean, weight, _seed(5), T)
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", FLOATS)
def test_certain_signs_are_certain(dtype):
    mean, weight, grad = _layer((2, 3, 9, 4), dtype, scale=1.0)
    mean = torch.where(mean > 0, 1.0, -1.0).to(dtype)
    value = monte_carlo_triton.evaluate(mean, weight, _seed(1), 50)
    expected = torch.erf(mean.double() @ weight.double().mT / math.sqrt(18))
    torch.testing.assert_close(value.double(), expected, rtol=0, atol=1e-6)
    assert all(x.isfinite().all() for x in monte_carlo_triton.differentiate(grad, mean, weight, _seed(1), 50))


@pytest.mark.parametrize("dtype", FLOATS)
def test_rare_signs_are_rare(dtype):
    """2^-9 of the signs are +1; small weights make the value count them."""
    d, T, w = 64, 500, 1e-3
    mean = torch.full((1, 1, d), -1 + 2.0**-8, dtype=dtype, device=DEVICE)
    weight = torch.full((1, 1, d), w, dtype=dtype, device=DEVICE)
    value = float(monte_carlo_triton.evaluate(mean, weight, _seed(2), T))
    total = value * math.sqrt(math.pi / 2) * math.sqrt(d) / w  # mean over samples of sum_i s_i
    n_plus = T * (total + d) / 2
    assert abs(n_plus - T * d / 512) < 5 * math.sqrt(T * d / 512)


@pytest.mark.parametrize("dtype", FLOATS)
def test_examples_and_replicas_are_independent(dtype):
    R, n, T = 2, 60, 40
    mean = torch.zeros(R, n, 1, dtype=dtype, device=DEVICE)
    weight = torch.full((R, 1, 1), 30.0, dtype=dtype, device=DEVICE)
    value = monte_carlo_triton.evaluate(mean, weight, _seed(9), T)[..., 0].double()
    scaled = value * math.sqrt(T)  # close to independent standard normal numbers
    assert abs(float(scaled.square().mean()) - 1) < 5 * math.sqrt(2 / (R * n))
    assert abs(float(scaled.mean())) < 5 / math.sqrt(R * n)
    assert abs(float((scaled[0] * scaled[1]).mean())) < 5 / math.sqrt(n)
    assert abs(float((scaled[:, 1:] * scaled[:, :-1]).mean())) < 5 / math.sqrt(R * (n - 1))


def test_the_seed_decides():
    mean, weight, grad = _layer((2, 3, 5, 4), torch.float32)
    large = (1 << 40) + 7  # more than 32 bits of the seed count
    first = monte_carlo_triton.evaluate(mean, weight, _seed(7), 64)
    assert torch.equal(first, monte_carlo_triton.evaluate(mean, weight, _seed(7), 64))
    assert not torch.equal(first, monte_carlo_triton.evaluate(mean, weight, _seed(8), 64))
    assert not torch.equal(first, monte_carlo_triton.evaluate(mean, weight, _seed(large), 64))
    once, again = (monte_carlo_triton.differentiate(grad, mean, weight, _seed(7), 64) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))


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
