"""The parts of a training step that go over all weights: compiled, plain, and as PyTorch has them."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pbgnet.bounds import differentiable
from pbgnet.bounds.confidence import log_constant
from pbgnet.kernels import step_torch

step_numba = pytest.importorskip("pbgnet.kernels.step_numba", exc_type=ImportError)

KERNELS = [step_numba, step_torch]
DTYPES = [torch.float32, torch.float64]
SHAPES = [(1, 1, 1), (3, 2, 5), (2, 33, 129), (5, 1, 64)]
BETAS, EPSILON, FACTOR = (0.9, 0.999), 1e-8, 30.0
RELATIVE = {torch.float32: 2e-6, torch.float64: 1e-13}


def normal(shape, dtype, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def double(values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.fixture
def two_threads(monkeypatch):
    """Share all work, however little, between two threads."""
    monkeypatch.setattr("pbgnet.kernels.threads.OPERATIONS_PER_THREAD", 1)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("shared", [False, True])
def test_squared_distance(shape, dtype, shared):
    weight, anchor = normal(shape, dtype, 0), normal((1 if shared else shape[0], *shape[1:]), dtype, 1)
    expected = [
        math.fsum(((w.double() - u.double()) ** 2).flatten().tolist())
        for w, u in zip(weight, anchor.expand(shape), strict=True)
    ]
    for kernel in KERNELS:
        distance = kernel.squared_distance(weight, anchor)
        assert distance.dtype == torch.float64
        torch.testing.assert_close(distance, double(expected), rtol=1e-13, atol=0)


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0, 3)])
@pytest.mark.parametrize("kernel", KERNELS)
def test_without_replicas_or_neurons_there_is_nothing_to_do(shape, kernel):
    assert torch.equal(
        kernel.squared_distance(torch.zeros(shape), torch.zeros(1, *shape[1:])),
        torch.zeros(shape[0], dtype=torch.float64),
    )
    assert Training(shape, torch.float32).run(kernel)[0].shape == shape


def test_squared_distance_keeps_the_digits_of_weights_next_to_their_anchor():
    anchor = normal((2, 3, 50), torch.float32, 0)
    weight = torch.nextafter(anchor, torch.tensor(math.inf))
    expected = (weight.double() - anchor.double()).square().sum(dim=(1, 2))
    for kernel in KERNELS:
        torch.testing.assert_close(kernel.squared_distance(weight, anchor), expected, rtol=1e-12, atol=0)


def test_squared_distance_of_nan_is_nan_for_its_replica_only():
    weight, anchor = normal((3, 2, 5), torch.float32, 0), torch.zeros(1, 2, 5)
    weight[1, 1, 4] = math.nan
    for kernel in KERNELS:
        assert kernel.squared_distance(weight, anchor).isnan().tolist() == [False, True, False]


@pytest.mark.parametrize("kernel", KERNELS)
def test_penalty_weighs_the_layers(kernel):
    shapes, factors = [(3, 2, 5), (3, 4, 2), (3, 1, 4)], [40.0, 4.0, 1.0]
    weights = [normal(shape, torch.float32, i) for i, shape in enumerate(shapes)]
    anchors = [torch.zeros(1, *shape[1:]) for shape in shapes]
    expected = sum(f / 2 * w.double().square().sum(dim=(1, 2)) for f, w in zip(factors, weights, strict=True))
    torch.testing.assert_close(kernel.penalty(weights, anchors, factors), expected, rtol=1e-13, atol=0)


class Training:
    """Weights with all that Adam keeps, and a gradient per step."""

    def __init__(self, shape, dtype, shared=False, seed=0):
        R = shape[0]
        self.weight = normal(shape, dtype, seed)
        self.first, self.second = torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype)
        self.anchor = normal((1 if shared else R, *shape[1:]), dtype, seed + 1)
        self.gradients = [normal(shape, dtype, seed + 2 + i) for i in range(6)]
        self.rate = 10.0 ** -torch.arange(1, R + 1, dtype=torch.float64)
        self.scale = torch.linspace(1, 3, R, dtype=torch.float64)
        self.pull = torch.linspace(0, 2, R, dtype=torch.float64)

    def only(self, r):
        """The same for one replica."""
        alone = object.__new__(Training)
        own = slice(r, r + 1)
        for name in ("weight", "first", "second", "rate", "scale", "pull"):
            setattr(alone, name, getattr(self, name)[own].clone())
        alone.anchor = self.anchor[own] if len(self.anchor) > 1 else self.anchor
        alone.gradients = [gradient[own].clone() for gradient in self.gradients]
        return alone

    def run(self, kernel, n_steps=6):
        for i, gradient in enumerate(self.gradients[:n_steps]):
            kernel.adam_step(
                self.weight,
                self.first,
                self.second,
                gradient,
                self.anchor,
                self.rate,
                self.scale,
                self.pull,
                FACTOR,
                torch.tensor([i + 1]),
                BETAS,
                EPSILON,
            )
        return self.weight, self.first, self.second


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("shared", [False, True])
def test_adam_of_both_kernels_is_the_same(shape, dtype, shared):
    compiled, plain = (Training(shape, dtype, shared).run(kernel) for kernel in KERNELS)
    rtol = RELATIVE[dtype]
    for got, expected, atol in zip(compiled, plain, (rtol, rtol, 0), strict=True):
        torch.testing.assert_close(got, expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_adam_is_that_of_pytorch_along_the_gradient_with_the_pull(kernel, dtype):
    training = Training((3, 4, 7), dtype)
    parameters = [w.clone().requires_grad_() for w in training.weight]
    optimizers = [
        torch.optim.Adam([w], lr=float(rate), betas=BETAS, eps=EPSILON)
        for w, rate in zip(parameters, training.rate, strict=True)
    ]
    start = training.weight.clone()
    training.run(kernel)
    for gradient in training.gradients:
        for r, (w, optimizer) in enumerate(zip(parameters, optimizers, strict=True)):
            w.grad = float(training.scale[r]) * gradient[r]
            w.grad += FACTOR * float(training.pull[r]) * (w.detach() - training.anchor[r])
            optimizer.step()
    expected = torch.stack([w.detach() for w in parameters])
    rtol = RELATIVE[dtype]
    for r in range(3):  # the way that was gone, relative to its length
        atol = rtol * float((expected[r] - start[r]).abs().max()) + torch.finfo(dtype).eps * 4
        torch.testing.assert_close(training.weight[r], expected[r], rtol=0, atol=atol)
    second = torch.stack([o.state[w]["exp_avg_sq"] for o, w in zip(optimizers, parameters, strict=True)])
    torch.testing.assert_close(training.second, second, rtol=rtol, atol=0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_epsilon_and_the_decay_rates_are_obeyed(kernel):
    weight, gradient = double([[[1.0]], [[1.0]]]), double([[[3.0]], [[1e-4]]])
    first, second = double([[[0.5]], [[0.0]]]), double([[[0.25]], [[0.0]]])
    anchor, rate = torch.zeros(1, 1, 1, dtype=torch.float64), double([0.1, 0.2])
    scale, pull, steps = double([1.0, 1.0]), double([0.0, 0.0]), torch.tensor([3])
    kernel.adam_step(
        weight, first, second, gradient, anchor, rate, scale, pull, FACTOR, steps, (0.6, 0.8), 0.5
    )
    m, v = [0.6 * 0.5 + 0.4 * 3, 0.4 * 1e-4], [0.8 * 0.25 + 0.2 * 9, 0.2 * 1e-8]
    expected = [
        1 - lr * (a / (1 - 0.6**3)) / (math.sqrt(b / (1 - 0.8**3)) + 0.5)
        for lr, a, b in zip((0.1, 0.2), m, v, strict=True)
    ]
    torch.testing.assert_close(first.flatten(), double(m))
    torch.testing.assert_close(second.flatten(), double(v))
    torch.testing.assert_close(weight.flatten(), double(expected), rtol=1e-14, atol=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_rate_of_zero_keeps_a_replica_exactly_where_it_is(kernel, dtype):
    training = Training((3, 4, 7), dtype)
    training.rate[1] = 0
    training.gradients[1][1, 0], training.gradients[2][1, 1] = math.inf, math.nan
    before = training.weight.clone()
    training.run(kernel)
    assert torch.equal(training.weight[1], before[1])
    assert (training.weight[::2] != before[::2]).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 4, 7), (2, 33, 129)])
@pytest.mark.parametrize("shared", [False, True])
def test_replicas_step_to_the_last_bit_as_they_do_alone(shape, dtype, shared, two_threads):
    together = Training(shape, dtype, shared)
    alone = [together.only(r).run(step_numba) for r in range(shape[0])]
    for r, results in enumerate(alone):
        distance = step_numba.squared_distance(results[0], together.only(r).anchor)
        together_weight = torch.cat([result[0] for result in alone])
        assert torch.equal(step_numba.squared_distance(together_weight, together.anchor)[r : r + 1], distance)
    for i, got in enumerate(together.run(step_numba)):
        assert torch.equal(got, torch.cat([result[i] for result in alone]))


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_replica_that_diverged_leaves_the_others_alone(kernel):
    healthy, sick = Training((3, 4, 7), torch.float32), Training((3, 4, 7), torch.float32)
    sick.gradients[2][1] = math.nan
    expected, got = healthy.run(kernel)[0], sick.run(kernel)[0]
    assert got[1].isnan().all()
    assert torch.equal(got[::2], expected[::2])


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradient_and_anchor_are_left_as_they_are(kernel):
    training, same = Training((2, 3, 4), torch.float64), Training((2, 3, 4), torch.float64)
    training.run(kernel)
    assert torch.equal(training.anchor, same.anchor)
    for got, expected in zip(training.gradients, same.gradients, strict=True):
        assert torch.equal(got, expected)


@given(
    risk=st.one_of(
        st.floats(0, 1),
        st.floats(-320, 0).map(lambda e: 10.0**e),
        st.floats(-15, 0).map(lambda e: 1 - 10.0**e),
        st.sampled_from([0.0, 1.0, 0.5]),
    ),
    divergence=st.one_of(st.just(0.0), st.floats(-3, 8).map(lambda e: 10.0**e)),
    n=st.integers(1, 10**6),
    delta=st.sampled_from([0.05, 0.5, 1e-6]),
)
@settings(max_examples=400)
def test_slopes_are_those_of_the_bound(risk, divergence, n, delta):
    q, k = double([risk]).requires_grad_(), double([divergence]).requires_grad_()
    bound = differentiable.seeger_bound(q, k, n, delta)
    expected = torch.autograd.grad(bound.sum(), [q, k])
    log_factor = log_constant(torch.tensor(n, dtype=torch.float64), "paper").item() - math.log(delta)
    for kernel in KERNELS:
        value, *slopes = kernel.seeger_bound(q.detach(), k.detach(), log_factor, n)
        torch.testing.assert_close(value, bound.detach(), rtol=1e-11, atol=0)
        for got, right in zip(slopes, expected, strict=True):
            torch.testing.assert_close(got, right, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("budget", [1e-9, 1e-6, 1e-3, 0.1, 1.0, 30.0, 700.0, 1e6, 1e300, math.inf])
def test_slopes_of_both_kernels_agree_over_all_budgets(budget):
    loss = double([0.0, 1e-300, 1e-17, 1e-8, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9, 1.0, -0.1, 1.1])
    penalty = torch.full_like(loss, 100 * budget)
    compiled, plain = (kernel.seeger_bound(loss, penalty, 0.0, 100) for kernel in KERNELS)
    for got, expected in zip(compiled, plain, strict=True):
        assert got.isfinite().all()
        # Next to a budget of 0, p - q has lost some of its digits.
        torch.testing.assert_close(got, expected, rtol=1e-5 if budget < 1e-6 else 1e-8, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_slopes_are_the_differences_of_the_bound(kernel):
    loss, penalty = double([0.02, 0.3, 0.6]), double([5.0, 20.0, 1.0])

    def bound(loss, penalty):
        return differentiable.kl_inverse_upper(loss, (penalty + 2.0) / 50)

    _, by_loss, by_penalty = kernel.seeger_bound(loss, penalty, 2.0, 50)
    h = 1e-6
    differences = (bound(loss + h, penalty) - bound(loss - h, penalty)) / (2 * h)
    torch.testing.assert_close(by_loss, differences, rtol=1e-6, atol=0)
    differences = (bound(loss, penalty + h) - bound(loss, penalty - h)) / (2 * h)
    torch.testing.assert_close(by_penalty, differences, rtol=1e-6, atol=0)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("outside", [-1e-12, -0.5, 1 + 1e-12, 3.0])
def test_a_loss_outside_of_its_range_has_no_slope(kernel, outside):
    _, by_loss, by_penalty = kernel.seeger_bound(double([outside]), double([5.0]), 1.0, 100)
    border = kernel.seeger_bound(double([min(max(outside, 0.0), 1.0)]), double([5.0]), 1.0, 100)
    assert by_loss.item() == 0
    torch.testing.assert_close(by_penalty, border[2])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("loss", "penalty"), [(math.nan, 5.0), (0.3, math.nan), (math.nan, math.nan)])
def test_slopes_of_nan_are_nan_for_their_replica_only(kernel, loss, penalty):
    healthy = kernel.seeger_bound(double([0.2, 0.3, 0.4]), double([4.0, 5.0, 6.0]), 1.0, 100)
    bound, by_loss, by_penalty = kernel.seeger_bound(
        double([0.2, loss, 0.4]), double([4.0, penalty, 6.0]), 1.0, 100
    )
    assert bound[1].isnan()
    assert by_loss[1].isnan()
    assert by_penalty[1].isnan()
    for got, expected in zip((bound, by_loss, by_penalty), healthy, strict=True):
        assert torch.equal(got[::2], expected[::2])


@pytest.mark.parametrize("kernel", KERNELS)
def test_slopes_of_catonis_bound_are_those_of_autograd(kernel):
    loss = double([0.0, 1e-9, 0.01, 0.3, 0.9, 1.0])
    penalty, log_c = double([0.0, 3.0, 100.0, 1e-3, 20.0, 5.0]), double([-9.0, 0.0, 1.0, -1.0, 3.0, 0.5])
    arguments = [t.clone().requires_grad_() for t in (loss, penalty, log_c)]
    q, k, b = arguments
    exponent = b.exp() * q + (k + 4.2) / 500
    expected = torch.autograd.grad((torch.expm1(-exponent) / torch.expm1(-b.exp())).sum(), arguments)
    for got, right in zip(kernel.catoni_slopes(loss, penalty, log_c, 4.2, 500), expected, strict=True):
        torch.testing.assert_close(got, right, rtol=1e-9, atol=1e-11)
