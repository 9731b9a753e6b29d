"""The compiled Fourier layer for CPUs against the plain one, in value, gradients, digits and memory."""

import math
import subprocess
import sys
import threading

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pbgnet.aggregation import Enumeration, choose_nodes
from pbgnet.kernels import FourierNodes, fourier_torch

fourier_numba = pytest.importorskip("pbgnet.kernels.fourier_numba", exc_type=ImportError)

DTYPES = [torch.float32, torch.float64]
TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-10}

# Distance to the reference in float64 per unit of a result: of a value, of a gradient's largest entry.
ACCURACY = {torch.float32: 3e-6, torch.float64: 1e-13}
ABSOLUTE = {torch.float32: 2e-6, torch.float64: 1e-10}

SHAPES = [
    (1, 1, 1, 1),
    (3, 1, 33, 2),
    (2, 2, 1, 3),
    (1, 2, 65, 129),
    (3, 63, 2, 63),
    (1, 64, 31, 64),
    (2, 65, 33, 65),
    (1, 65, 2, 64),
    (1, 130, 65, 2),
    (2, 130, 31, 63),
    (1, 1025, 2, 129),
    (2, 1025, 33, 3),
    (3, 1100, 1, 1),
    (1, 1100, 65, 65),
    (2, 2049, 1, 2),
]


def draw(shape, dtype, seed=0):
    """Means, weights whose scale grows from replica to replica, the nodes, and a gradient from above."""
    R, n, m, d = shape
    generator = torch.Generator().manual_seed(seed)
    mean = 2 * torch.rand(R, n, d, generator=generator, dtype=torch.float64) - 1
    scale = 10.0 ** torch.arange(R, dtype=torch.float64) / 2
    weight = torch.randn(R, m, d, generator=generator, dtype=torch.float64) * scale[:, None, None]
    grad = torch.randn(R, n, m, generator=generator, dtype=torch.float64)
    weight = weight.to(dtype)
    return mean.to(dtype), weight, choose_nodes(weight, TOLERANCE[dtype]), grad.to(dtype)


def run(kernel, mean, weight, nodes, grad):
    """Value, gradient in the means, gradient in the weights."""
    value, product = kernel.forward(mean, weight, nodes, keep_product=True)
    return value, *kernel.backward(grad, mean, weight, nodes, product)


def enumerated(mean, weight):
    """The same, exactly, for a gradient of ones."""
    g, w = mean.double().requires_grad_(), weight.double().requires_grad_()
    value = Enumeration()(g, w)
    return value.detach(), *torch.autograd.grad(value.sum(), [g, w])


def check(mean, weight, nodes, grad, factor=1.0):
    exact = run(fourier_torch, mean.double(), weight.double(), nodes, grad.double())
    for got, expected in zip(run(fourier_numba, mean, weight, nodes, grad), exact, strict=True):
        assert got.dtype == mean.dtype
        assert got.is_contiguous()
        size = max(1.0, float(expected.abs().max()))
        atol = factor * size * ACCURACY[mean.dtype]
        torch.testing.assert_close(got.double(), expected, rtol=0, atol=atol)


@pytest.fixture
def many_threads(monkeypatch):
    """Share all work, however little, and record which threads do it."""
    monkeypatch.setattr("pbgnet.kernels.threads.OPERATIONS_PER_THREAD", 1)
    before = torch.get_num_threads()
    names = set()

    def spy(function):
        def wrapped(*arguments):
            names.add(threading.current_thread().name)
            return function(*arguments)

        return wrapped

    for name in ("_forward", "_backward"):
        monkeypatch.setattr(fourier_numba, name, spy(getattr(fourier_numba, name)))
    yield names
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_value_and_gradients_are_those_of_the_reference(shape, dtype):
    mean, weight, nodes, grad = draw(shape, dtype)
    if shape[0] > 1:
        assert len(set(nodes.count.tolist())) > 1
    check(mean, weight, nodes, grad)


@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 70), st.integers(1, 4), st.integers(1, 70)),
    seed=st.integers(0, 2**31),
    step=st.floats(0.05, 3.0),
    counts=st.lists(st.integers(1, 40), min_size=3, max_size=3),
    dtype=st.sampled_from(DTYPES),
)
@settings(max_examples=150)
def test_any_step_and_any_number_of_nodes_give_what_the_reference_gives(shape, seed, step, counts, dtype):
    mean, weight, _, grad = draw(shape, dtype, seed)
    weight = weight / 4  # coarse steps and few nodes are far from the exact layer, and agree all the same
    steps = step * torch.arange(1, shape[0] + 1, dtype=torch.float64)
    check(mean, weight, FourierNodes(steps, torch.tensor(counts[: shape[0]])), grad, factor=20)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("corner", [-1.0, 1.0])
def test_saturated_means(dtype, corner):
    mean, weight, nodes, grad = draw((2, 70, 3, 67), dtype)
    mean[:, :20] = corner
    mean[:, 20:40] = mean[:, 20:40].sign()
    mean[:, 40:, ::3] = 0
    check(mean, weight, nodes, grad)


def test_values_are_cut_to_where_the_exact_one_lies():
    # A square wave cut off at 200 nodes overshoots next to its jump.
    step, n_nodes, angle = 0.02, 200, math.pi / 3  # angle = a step
    raw = 0.0
    for k in range(n_nodes):
        t = (k + 0.5) * step
        raw += 2 / math.pi * math.exp(-(t**2) / 2) / (k + 0.5) * math.sin((k + 0.5) * angle)
    assert raw > 1
    mean = torch.tensor([[[1.0], [-1.0]]], dtype=torch.float64)
    weight = torch.full((1, 1, 1), angle / step, dtype=torch.float64)
    nodes = FourierNodes(torch.tensor([step], dtype=torch.float64), torch.tensor([n_nodes]))
    value, _ = fourier_numba.forward(mean, weight, nodes, keep_product=False)
    assert value.flatten().tolist() == [1.0, -1.0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_value_is_the_same_whether_the_product_is_kept_or_not(dtype):
    mean, weight, nodes, _ = draw((2, 70, 3, 67), dtype)
    kept, product = fourier_numba.forward(mean, weight, nodes, keep_product=True)
    bare, nothing = fourier_numba.forward(mean, weight, nodes, keep_product=False)
    assert torch.equal(kept, bare)
    assert nothing is None
    assert product.shape == (2, 2, 3, nodes.largest_count, 70)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_cosine_of_exactly_zero_can_be_divided_by(dtype, monkeypatch):
    # Where cos(a t_k) = 0 and the mean is 0 the factor is 0, and the gradient a quotient of two zeros. No
    # number is exactly pi / 2, so the cosine is rounded to 0 here; this takes the loops as Python runs them.
    compiled = fourier_numba._cos_sin

    def rounded(x):
        cos, sin = compiled(x)
        zeros.append(abs(cos) < 1e-15)
        return 0.0 if zeros[-1] else cos, sin

    zeros = []
    for name in ("_forward", "_backward", "_factors", "_rotate"):
        monkeypatch.setattr(fourier_numba, name, getattr(fourier_numba, name).py_func)
    monkeypatch.setattr(fourier_numba, "_cos_sin", rounded)
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(1, 1, 4, generator=generator, dtype=torch.float64).to(dtype)
    weight[0, 0, 0] = weight[0, 0, 1:].abs().sum() + 14  # so that the step is 2 pi / (A + 7)
    step = 2 * math.pi / float(weight[0, 0, 0])
    nodes = FourierNodes(torch.tensor([step], dtype=torch.float64), torch.tensor([math.ceil(7 / step)]))
    mean = (2 * torch.rand(1, 9, 4, generator=generator, dtype=torch.float64) - 1).to(dtype)
    mean[0, ::2, 0] = 0
    mean[0, 1, 0] = 1e-30
    results = run(fourier_numba, mean, weight, nodes, torch.ones(1, 9, 1, dtype=dtype))
    assert any(zeros)
    assert not all(zeros)
    for got, right in zip(results, enumerated(mean, weight), strict=True):
        torch.testing.assert_close(got.double(), right, rtol=0, atol=ABSOLUTE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("node", [0, 1, 4])
def test_angles_of_a_quarter_turn_are_right_for_means_of_zero(dtype, node):
    weight = torch.tensor([[[1.0, 0.3, -0.5]]], dtype=torch.float64)
    weight[0, 0, 0] = math.sqrt(3) * (0.8 / math.sqrt(3) + 7) / (4 * (node + 0.5) - 1)
    weight = weight.to(dtype)
    step = math.pi / 2 / ((node + 0.5) * float(weight[0, 0, 0]) / math.sqrt(3))
    nodes = FourierNodes(torch.tensor([step], dtype=torch.float64), torch.tensor([math.ceil(7 / step)]))
    mean = torch.tensor([[[0.0, 0.2, 0.9], [0.0, -1.0, 0.0]]], dtype=dtype)
    results = run(fourier_numba, mean, weight, nodes, torch.ones(1, 2, 1, dtype=dtype))
    for got, right in zip(results, enumerated(mean, weight), strict=True):
        torch.testing.assert_close(got.double(), right, rtol=0, atol=ABSOLUTE[dtype])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", DTYPES)
def test_weights_that_are_no_numbers_show_in_their_own_replica_only(dtype, bad):
    mean, weight, _, grad = draw((3, 66, 3, 5), dtype)
    alone = run(fourier_numba, mean, weight, choose_nodes(weight, 1e-6, validate_args=False), grad)
    weight[1, 2, 3] = bad
    nodes = choose_nodes(weight, 1e-6, validate_args=False)
    value, in_mean, in_weight = run(fourier_numba, mean, weight, nodes, grad)
    assert value[1, :, 2].isnan().all()
    assert in_mean[1].isnan().all()
    assert in_weight[1, 2].isnan().all()
    for got, expected in zip((value, in_mean, in_weight), alone, strict=True):
        assert torch.equal(got[::2], expected[::2])


def test_means_that_are_no_numbers_show_in_their_own_row_only():
    mean, weight, nodes, grad = draw((1, 66, 2, 5), torch.float64)
    mean[0, 65, 4] = math.nan
    value, in_mean, _ = run(fourier_numba, mean, weight, nodes, grad)
    assert value[0, 65].isnan().all()
    assert in_mean[0, 65].isnan().all()
    assert value[0, :65].isfinite().all()
    assert in_mean[0, :65].isfinite().all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 1100, 35, 67), (2, 70, 2, 1), (3, 10_240, 1, 1), (2, 3, 330, 1)])
def test_a_replica_is_the_same_to_the_last_bit_alone_and_in_company(shape, dtype):
    mean, weight, nodes, grad = draw(shape, dtype)
    together = run(fourier_numba, mean, weight, nodes, grad)
    for r in range(shape[0]):
        own = slice(r, r + 1)
        alone = run(
            fourier_numba, mean[own], weight[own], FourierNodes(nodes.step[own], nodes.count[own]), grad[own]
        )
        for got, expected in zip(together, alone, strict=True):
            assert torch.equal(got[own], expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 1100, 35, 67), (1, 5000, 1, 3), (1, 3, 200, 5)])
def test_threads_change_no_bit(shape, dtype, many_threads):
    arguments = draw(shape, dtype)
    results = []
    for n_threads in (1, 2, 5):
        many_threads.clear()
        torch.set_num_threads(n_threads)
        results.append(run(fourier_numba, *arguments))
        in_pool = {name for name in many_threads if name.startswith("pbgnet-kernel")}
        assert bool(in_pool) == (n_threads > 1)
    for result in results[1:]:
        for got, expected in zip(result, results[0], strict=True):
            assert torch.equal(got, expected)


def test_small_layers_stay_on_the_calling_thread(many_threads, monkeypatch):
    monkeypatch.setattr("pbgnet.kernels.threads.OPERATIONS_PER_THREAD", 1 << 20)
    torch.set_num_threads(2)
    run(fourier_numba, *draw((2, 64, 3, 10), torch.float64))
    assert many_threads == {threading.current_thread().name}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 0, 3, 4), (2, 3, 0, 4), (0, 3, 2, 4), (0, 0, 0, 4)])
@pytest.mark.parametrize("kernel", [fourier_numba, fourier_torch])
def test_layers_without_examples_neurons_or_replicas_are_empty(shape, dtype, kernel):
    R, n, m, d = shape
    mean, weight = torch.zeros(R, n, d, dtype=dtype), torch.ones(R, m, d, dtype=dtype)
    nodes = FourierNodes(torch.full((R,), 0.5, dtype=torch.float64), torch.full((R,), 5))
    value, in_mean, in_weight = run(kernel, mean, weight, nodes, torch.ones(R, n, m, dtype=dtype))
    assert value.shape == (R, n, m)
    assert torch.equal(in_mean, torch.zeros(R, n, d, dtype=dtype))
    assert torch.equal(in_weight, torch.zeros(R, m, d, dtype=dtype))
    reach = 5.0 + (2.0 if m else 0.0)
    found = kernel.nodes_for(weight, 5.0, 100)
    torch.testing.assert_close(found.step, torch.full((R,), 2 * math.pi / reach, dtype=torch.float64))
    assert torch.equal(found.count, torch.full((R,), math.ceil(5 * reach / (2 * math.pi))))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 4, 7), (2, 1, 1000), (2, 65, 3)])
def test_nodes_are_those_of_the_widest_neuron(shape, dtype):
    weight = 3 * torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(dtype)
    for kernel in (fourier_numba, fourier_torch):
        nodes = kernel.nodes_for(weight, 6.0, 1000)
        assert nodes.step.dtype == torch.float64
        assert nodes.count.dtype == torch.int64
        for r, replica in enumerate(weight.double()):
            spread = max(math.fsum(neuron.abs().tolist()) for neuron in replica) / math.sqrt(shape[-1])
            assert nodes.step[r].item() == pytest.approx(2 * math.pi / (spread + 6), rel=1e-13)
            assert nodes.count[r].item() == math.ceil(6 * (spread + 6) / (2 * math.pi))


@pytest.mark.parametrize("kernel", [fourier_numba, fourier_torch])
def test_the_number_of_nodes_is_cut_at_its_limit_and_never_below_one(kernel):
    weight = torch.tensor([0.0, 1.0, 200.0, 1e30, math.inf]).reshape(5, 1, 1)
    assert kernel.nodes_for(weight, 6.0, 100).count.tolist() == [6, 7, 100, 100, 100]
    assert kernel.nodes_for(weight, 1e-3, 100).count.tolist() == [1, 1, 1, 100, 100]


@pytest.mark.parametrize("position", [(0, 0), (1, 2), (2, 6)])
@pytest.mark.parametrize("kernel", [fourier_numba, fourier_torch])
def test_nan_passes_through_the_step_whichever_neuron_it_is_in(kernel, position):
    weight = torch.ones(2, 3, 7)
    weight[(0, *position)] = math.nan
    nodes = kernel.nodes_for(weight, 6.0, 100)
    assert nodes.step.isnan().tolist() == [True, False]
    assert nodes.count[0] == 1


def test_cosine_and_sine_are_within_two_units():
    rng = np.random.default_rng(0)
    turns = np.arange(-6366, 6367) * (math.pi / 2)
    points = [
        rng.uniform(-4, 4, 3000),
        rng.uniform(-1e4, 1e4, 3000),
        turns[::2],
        np.nextafter(turns[1::2], 0),
        turns[::5] + math.pi / 4,
        10.0 ** rng.uniform(-300, 0, 300),
        [0.0, 1e4, -1e4],
    ]
    with mpmath.workprec(120):
        for x in np.concatenate(points).tolist():
            cos, sin = fourier_numba._cos_sin(x)
            assert abs(cos - mpmath.cos(x)) <= 2 * 2**-53
            assert abs(sin - mpmath.sin(x)) <= 2 * 2**-53


def test_the_sine_of_a_small_angle_keeps_its_digits():
    for x in 10.0 ** np.arange(-300.0, -1.0):
        assert fourier_numba._cos_sin(x)[1] == pytest.approx(math.sin(x), rel=4e-16, abs=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("start", [0, fourier_numba.INPUTS])
def test_cosines_and_sines_at_all_nodes_stay_within_the_units_the_bound_grants(start, dtype):
    # 6 |a| t + 5 for a factor with its angle; the node 3000 is far away from where rotations begin.
    generator = torch.Generator().manual_seed(0)
    K, h, unit = 3000, 0.004, torch.finfo(dtype).eps / 2
    weight = (30 * torch.randn(67, generator=generator, dtype=torch.float64)).to(dtype)
    cos, sin = (np.empty((K, fourier_numba.INPUTS), weight.numpy().dtype) for _ in range(2))
    fourier_numba._factors(weight.numpy(), start, h, K, cos, sin)
    for i, w in enumerate(weight.tolist()[start : start + fourier_numba.INPUTS]):
        t = (np.arange(K) + 0.5) * h
        angle = w / math.sqrt(67) * t
        limit = (6 * np.abs(angle) + 5) * unit
        assert (np.abs(cos[:, i] - np.cos(angle)) <= limit).all()
        assert (np.abs(sin[:, i] - np.sin(angle)) <= limit).all()
        if dtype == torch.float32:  # the rotations happen in double precision
            assert (np.abs(cos[:, i] - np.cos(angle)) <= 1.01 * unit).all()
            assert (np.abs(sin[:, i] - np.sin(angle)) <= 1.01 * unit).all()


MEMORY_SCRIPT = """
import resource, sys
import torch
from pbgnet.aggregation import expected_sign
from pbgnet.kernels import backend_for

def train(n, d, m, dtype):
    mean = torch.zeros(n, d, dtype=dtype).requires_grad_()
    weight = torch.ones(m, d, dtype=dtype).requires_grad_()
    expected_sign(mean, weight, tolerance=1e-6).sum().backward()

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

assert backend_for(torch.device("cpu")) == "numba"
for dtype in (torch.float32, torch.float64):
    train(2, 3, 2, dtype)  # loads the machine code
    for d, m in ((4000, 1), (1000, 100)):
        before = peak()
        train(64, d, m, dtype)
        print(peak() - before)
"""


def test_wide_layers_need_no_memory_for_factors():
    # A complex number per example, input and node would be 100 to 200 MB for 4000 inputs, more for 1000.
    pytest.importorskip("resource")
    done = subprocess.run(
        [sys.executable, "-c", MEMORY_SCRIPT], capture_output=True, text=True, timeout=300, check=True
    )
    growth = [int(line) for line in done.stdout.split()]
    assert len(growth) == 4
    assert max(growth) < 24e6
