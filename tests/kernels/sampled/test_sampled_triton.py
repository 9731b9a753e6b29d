"""The sampled layers in Triton against what theory says of them: on a GPU, or interpreted on a CPU.

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

from pbgnet.kernels.sampled import (  # noqa: E402
    flips_triton,
    monte_carlo_torch,
    monte_carlo_triton,
    narrow_triton,
    wide_triton,
)

DEVICE = "cpu" if INTERPRETED else "cuda"
NARROW, WIDE, WIDE64 = "narrow", "wide", "wide, float64"
KINDS = [NARROW, WIDE, WIDE64]
# The gradients of a narrow layer are means of numbers with 11 digits, which tensor cores add up.
VALUE_ERROR = {NARROW: 1e-6, WIDE: 2e-6, WIDE64: 1e-13}
SLOPE_ERROR = {NARROW: 1e-3, WIDE: 2e-6, WIDE64: 1e-13}


def _layer(kind, shape, scale=2.0, seed=0):
    R, n, d, m = shape
    generator = torch.Generator().manual_seed(seed)
    mean = torch.rand(R, n, d, generator=generator, dtype=torch.float64) * 2 - 1
    mean[:, :, 0] = mean[:, :, 0].sign()  # corners
    weight = torch.randn(R, m, d, generator=generator, dtype=torch.float64) * scale
    grad = torch.randn(R, n, m, generator=generator, dtype=torch.float64)
    dtype = torch.float64 if kind == WIDE64 else torch.float32
    return [x.to(dtype).to(DEVICE) for x in (mean, weight, grad)]


def _seed(number):
    return torch.tensor([number], dtype=torch.int64, device=DEVICE)


def _value(kind, mean, weight, seed, T):
    return (narrow_triton if kind == NARROW else wide_triton).evaluate(mean, weight, _seed(seed), T)


def _all(kind, mean, weight, grad, seed, T):
    """Value and both gradients."""
    if kind == NARROW:
        value, slopes = narrow_triton.evaluate_with_slopes(mean, weight, _seed(seed), T)
        return value, *narrow_triton.pull_back(grad, mean, weight, slopes)
    value = wide_triton.evaluate(mean, weight, _seed(seed), T)
    return value, *wide_triton.differentiate(grad, mean, weight, _seed(seed), T)


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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [1, 18])
def test_samples_have_the_right_distribution(kind, m):
    T = 4000
    mean, weight, grad = _layer(kind, (1, 1, 6, m), scale=1.5)
    value, grad_mean, grad_weight = _all(kind, mean, weight, grad, 3, T)
    assert value.dtype == grad_mean.dtype == grad_weight.dtype == mean.dtype
    found = (value[0, 0], grad_mean[0, 0], grad_weight[0])
    slack = 1e-5 + SLOPE_ERROR[kind]
    for x, (centre, variance) in zip(found, _moments(mean, weight, grad), strict=True):
        assert bool(((x - centre).abs() <= 5 * (variance / T).sqrt() + slack).all())


def _signs(mean, T, seed):
    """The signs that a narrow layer draws, (R, n, T, d), read off layers with one weight."""
    R, n, d = mean.shape
    signs = torch.empty(R, n, T, d, dtype=torch.bool, device=DEVICE)
    weight = torch.zeros(R, d, d, device=DEVICE) + 50.0 * math.sqrt(d) * torch.eye(d, device=DEVICE)
    before = torch.zeros(R, n, d, device=DEVICE)
    for t in range(T):  # the first t samples are the same for every T
        total = narrow_triton.evaluate(mean, weight, _seed(seed), t + 1) * (t + 1)
        signs[:, :, t] = total - before > 0
        before = total
    return signs


@pytest.mark.parametrize("m", [1, 21])
def test_a_narrow_layer_computes_the_formulas_of_the_reference(m):
    """With the signs it drew, its value and gradients are those of the plain implementation."""
    T, seed = 21, 4
    mean, weight, grad = _layer(NARROW, (2, 3, 9, m))
    value, *gradients = _all(NARROW, mean, weight, grad, seed, T)
    signs = _signs(mean, T, seed)
    u = monte_carlo_torch._pre_activation(signs.double() * 2 - 1, weight.double() / 3)
    torch.testing.assert_close(value.double(), torch.erf(u / math.sqrt(2)).mean(dim=2), rtol=0, atol=1e-6)
    wanted = monte_carlo_torch.backward(grad.double(), mean.double(), weight.double(), T, (signs,))
    for found, expected in zip(gradients, wanted, strict=True):
        assert found.is_contiguous()
        torch.testing.assert_close(found.double(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", [WIDE, WIDE64])
@pytest.mark.parametrize("m", [2, 70])
def test_backward_draws_the_same_signs(kind, m, monkeypatch):
    monkeypatch.setattr(wide_triton, "WARPS", 6)  # several examples a program, shares of samples
    T, seed = 45, 11
    mean, weight, grad = _layer(kind, (2, 5, 37, m), scale=1.0)
    _, _, grad_weight = _all(kind, mean, weight, grad, seed, T)
    direction = _layer(kind, (2, 5, 37, m), seed=8)[1]
    length = 2e-2 if kind == WIDE else 1e-4
    up, down = (_value(kind, mean, weight + x * direction, seed, T) for x in (length, -length))
    slope = ((up - down).double() * grad).sum() / (2 * length)
    expected = (grad_weight.double() * direction).sum()
    torch.testing.assert_close(slope, expected, rtol=2e-3 if kind == WIDE else 1e-6, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [1, 2, 70])
def test_tiles_change_only_the_rounding(kind, m, monkeypatch):
    mean, weight, grad = _layer(kind, (1, 2, 37, m), scale=1.0)

    def compare():
        for x, wanted, error in zip(
            _all(kind, mean, weight, grad, 4, 45),
            expected,
            (VALUE_ERROR[kind], SLOPE_ERROR[kind], SLOPE_ERROR[kind]),
            strict=True,
        ):
            torch.testing.assert_close(x, wanted, rtol=0, atol=error * (1 + float(wanted.abs().max())))

    expected = _all(kind, mean, weight, grad, 4, 45)
    tile = wide_triton.Tile(16, 16, 16)
    for name in ("FORWARD_TILE", "BACKWARD_TILE", "SMALL_TILE"):
        monkeypatch.setattr(wide_triton, name, tile)
    for name in ("MOST_NEURONS", "MOST_SAMPLES"):
        monkeypatch.setattr(narrow_triton, name, 16)
    narrow_triton.most_neurons.cache_clear()
    for name, value in (("PARTIAL_ELEMENTS", 1), ("PARTIAL_ELEMENTS", 1 << 20)):
        monkeypatch.setattr(wide_triton, name, value)
        compare()
    for n_warps in (1, 1 << 20):  # no shares of samples, and a share for each tile
        monkeypatch.setattr(narrow_triton, "WARPS", n_warps)
        compare()
    narrow_triton.most_neurons.cache_clear()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [1, 20])
@pytest.mark.parametrize("n_warps", [1, 1 << 20])  # no shares of samples, and a share for each tile
def test_a_replica_with_its_own_number_of_samples_gives_what_it_gives_among_equals(
    kind, m, n_warps, monkeypatch
):
    """The first t samples are the same for every T, so only the rounding of sums differs.

    A narrow layer adds up a whole tile and takes away what is beyond the last sample.
    """
    for module in (narrow_triton, wide_triton):
        monkeypatch.setattr(module, "WARPS", n_warps)
    monkeypatch.setattr(narrow_triton, "FEWEST_TILES", 1)
    counts = (3, 70, 16)
    mean, weight, grad = _layer(kind, (3, 2, 9, m))
    together = _all(kind, mean, weight, grad, 4, counts)
    errors = (VALUE_ERROR[kind], SLOPE_ERROR[kind], SLOPE_ERROR[kind])
    for r, count in enumerate(counts):
        for found, equal, error in zip(
            together, _all(kind, mean, weight, grad, 4, count), errors, strict=True
        ):
            atol = error * (1 + float(equal[r].abs().max())) * (4 if count < 16 else 1)
            torch.testing.assert_close(found[r], equal[r], rtol=0, atol=atol)


@pytest.mark.parametrize("kind", KINDS)
def test_score_gradient_of_one_input(kind):
    """With one input the value tells how often +1 was drawn, and this the gradient."""
    T, w = 70, 0.8
    dtype = torch.float64 if kind == WIDE64 else torch.float32
    mean = torch.tensor([[[0.3], [-0.9], [0.999]]], dtype=dtype, device=DEVICE)
    weight = torch.full((1, 1, 1), w, dtype=dtype, device=DEVICE)
    grad = torch.tensor([[[1.0], [-2.0], [0.5]]], dtype=dtype, device=DEVICE)
    height = math.erf(w / math.sqrt(2))
    value, found, _ = _all(kind, mean, weight, grad, 5, T)
    plus = (1 + value.double() / height) / 2
    torch.testing.assert_close(plus * T, (plus * T).round(), rtol=0, atol=1e-3)
    expected = grad * height * (plus / (1 + mean.double()) + (1 - plus) / (1 - mean.double()))
    torch.testing.assert_close(found.double(), expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_certain_signs_are_certain(kind):
    mean, weight, grad = _layer(kind, (2, 3, 9, 4), scale=1.0)
    mean = torch.where(mean > 0, 1.0, -1.0).to(mean.dtype)
    value, *gradients = _all(kind, mean, weight, grad, 1, 50)
    expected = torch.erf(mean.double() @ weight.double().mT / math.sqrt(18))
    torch.testing.assert_close(value.double(), expected, rtol=0, atol=1e-6)
    assert all(x.isfinite().all() for x in gradients)


@pytest.mark.parametrize("kind", KINDS)
def test_rare_signs_are_rare(kind):
    """2^-9 of the signs are +1; small weights make the value count them."""
    d, T, w = 64, 500, 1e-3
    dtype = torch.float64 if kind == WIDE64 else torch.float32
    mean = torch.full((1, 1, d), -1 + 2.0**-8, dtype=dtype, device=DEVICE)
    weight = torch.full((1, 1, d), w, dtype=dtype, device=DEVICE)
    value = float(_value(kind, mean, weight, 2, T))
    total = value * math.sqrt(math.pi / 2) * math.sqrt(d) / w  # mean over samples of sum_i s_i
    n_plus = T * (total + d) / 2
    assert abs(n_plus - T * d / 512) < 5 * math.sqrt(T * d / 512)


@pytest.mark.parametrize("chance", [2.0**-18, 0.6 * 2.0**-16])
def test_flips_rarer_than_a_border_can_say_have_their_chance(chance):
    """The border is rounded to 2^-16 at random, so that over many examples the chance is right."""
    n, d, T = (16 if INTERPRETED else 2000), 128, 8192
    mean = torch.full((1, n, d), 1 - 2 * chance, device=DEVICE)
    weight = 50.0 * math.sqrt(d) * torch.eye(d, device=DEVICE)[None]  # every neuron reads one sign
    value = narrow_triton.evaluate(mean, weight, _seed(6), T).double()
    n_flips = float(((1 - value) / 2 * T).round().sum())
    expected = n * d * T * chance
    # Flips of an example and input share the rounding: their number varies by this factor more.
    assert abs(n_flips - expected) < 5 * math.sqrt(expected * (1 + T * 2.0**-16))


@pytest.mark.parametrize("kind", KINDS)
def test_examples_and_replicas_are_independent(kind):
    R, n, T = 2, 60, 40
    dtype = torch.float64 if kind == WIDE64 else torch.float32
    mean = torch.zeros(R, n, 1, dtype=dtype, device=DEVICE)
    weight = torch.full((R, 1, 1), 30.0, dtype=dtype, device=DEVICE)
    value = _value(kind, mean, weight, 9, T)[..., 0].double()
    scaled = value * math.sqrt(T)  # close to independent standard normal numbers
    assert abs(float(scaled.square().mean()) - 1) < 5 * math.sqrt(2 / (R * n))
    assert abs(float(scaled.mean())) < 5 / math.sqrt(R * n)
    assert abs(float((scaled[0] * scaled[1]).mean())) < 5 / math.sqrt(n)
    assert abs(float((scaled[:, 1:] * scaled[:, :-1]).mean())) < 5 / math.sqrt(R * (n - 1))


def test_samples_and_inputs_of_a_narrow_layer_are_independent():
    """Eight samples come from one call of the generator, two from each of its words."""
    n_calls, d = 6, 64
    s = _signs(torch.zeros(1, 1, d, device=DEVICE), 8 * n_calls, 12)[0, 0].double() * 2 - 1  # shape: (T, d)
    within = torch.einsum("cai,cbi->ab", *[s.reshape(n_calls, 8, d)] * 2) / (n_calls * d)
    assert float((within - torch.eye(8).to(within)).abs().max()) < 5 / math.sqrt(n_calls * d)
    assert abs(float((s[8:] * s[:-8]).mean())) < 5 / math.sqrt(8 * (n_calls - 1) * d)
    assert abs(float((s[:, 1:] * s[:, :-1]).mean())) < 5 / math.sqrt(8 * n_calls * (d - 1))


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides(kind):
    mean, weight, grad = _layer(kind, (2, 3, 5, 4))
    large = (1 << 40) + 7  # more than 32 bits of the seed count
    first = _value(kind, mean, weight, 7, 64)
    assert torch.equal(first, _value(kind, mean, weight, 7, 64))
    assert not torch.equal(first, _value(kind, mean, weight, 8, 64))
    assert not torch.equal(first, _value(kind, mean, weight, large, 64))
    once, again = (_all(kind, mean, weight, grad, 7, 64) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the interpreter's, of NumPy
@pytest.mark.parametrize("kind", [NARROW, WIDE])
@pytest.mark.parametrize("size", [0.0, 1e-30, 1e9, 3e37])
def test_weights_of_any_size(kind, size):
    """A constant weight of the given size decides the sign, or does not count."""
    mean, weight, grad = _layer(kind, (1, 4, 5, 3), scale=1.0)
    mean[..., 0] = 1.0
    weight[..., 0] = size
    value, *gradients = _all(kind, mean, weight, grad, 3, 40)
    assert all(x.isfinite().all() for x in (value, *gradients))
    if size > 1:
        assert bool((value == 1).all())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the interpreter's, of NumPy
@pytest.mark.parametrize("kind", [NARROW, WIDE])
def test_not_a_number_is_passed_on(kind):
    mean, weight, _ = _layer(kind, (1, 3, 2, 2))
    weight[0, 0, 1] = math.nan
    value = _value(kind, mean, weight, 0, 10)
    assert bool(value[..., 0].isnan().all())
    assert bool(value[..., 1].isfinite().all())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(0, 2, 3, 4), (2, 0, 3, 4), (2, 2, 3, 0)])
def test_empty_layers(kind, shape):
    mean, weight, grad = _layer(kind, shape)
    value, grad_mean, grad_weight = _all(kind, mean, weight, grad, 0, 10)
    assert value.shape == grad.shape
    assert torch.equal(grad_mean, torch.zeros_like(mean))
    assert torch.equal(grad_weight, torch.zeros_like(weight))


@pytest.mark.parametrize(
    ("dtype", "d", "room", "kept"),
    [(torch.float32, 128, 1 << 20, 2), (torch.float32, 129, 1 << 20, 1), (torch.float64, 5, 1 << 20, 1),
     (torch.float32, 5, 4, 1)],
)  # fmt: skip
def test_layers_that_do_not_fit_are_drawn_again(dtype, d, room, kept, monkeypatch):
    monkeypatch.setattr(narrow_triton, "MOST_SLOPES", room)
    mean = torch.zeros(1, 2, d, dtype=dtype, device=DEVICE)
    weight = torch.ones(1, 3, d, dtype=dtype, device=DEVICE)
    generator = torch.Generator(DEVICE).manual_seed(0)
    value, found = monte_carlo_triton.forward(mean, weight, 20, generator)
    assert len(found) == kept
    gradients = monte_carlo_triton.backward(torch.ones_like(value), mean, weight, 20, found)
    assert [x.shape for x in gradients] == [mean.shape, weight.shape]
    assert monte_carlo_triton.evaluate(mean, weight, 20, generator).shape == value.shape


def test_the_table_of_flips_has_the_bits_of_its_rows():
    table = flips_triton.ways_to_flip(torch.device(DEVICE), torch.float32)
    powers = 2.0 ** torch.arange(4, device=DEVICE)
    assert torch.equal(table @ powers, torch.cat([torch.arange(16), -torch.arange(16)]).to(table))
