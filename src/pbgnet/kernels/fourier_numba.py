"""The Fourier layer on CPUs: fused loops, compiled by Numba for the processor they run on.

For blocks of `LANES` examples, which the compiler turns into vector instructions, the product over the inputs
is kept in the cache; no array ever holds a factor per example and input. All examples share cosines and
sines. For float32 they come from rotations in double precision, `cos(a t_{k+1})` from `cos(a t_k)` by the
angle `a h`; for float64, where errors of rotations would add up, each is computed separately.

With `W_k = c_k grad P_k`, c and s the cosine and sine of an input, and `D = 1 / (c^2 + g^2 s^2)`, the
division by a factor in the backward pass becomes

    d / dg_i = sum_k s c Re(W) D + g s^2 Im(W) D
    d / da_i = sum_k t_k (g Re(W) D - (1 - g^2) s c Im(W) D)

since `c^2 + s^2 = 1`. Sums over examples and neurons are formed in fixed chunks, so a replica's result does
not depend in any digit on the number of threads or on the other networks.
"""

import math
from functools import partial

import numpy as np
import torch
from torch import Tensor

from pbgnet.kernels.nodes import FourierNodes
from pbgnet.kernels.numba_compiler import compiled, compiled_in_order
from pbgnet.kernels.threads import share

LANES = 64  # examples that go through the inner loops together
INPUTS = 64  # inputs whose cosines and sines are held at a time
ROWS_PER_BLOCK = 1024  # examples whose gradients in the weights are summed in one go
NEURONS_PER_BLOCK = 16  # neurons whose gradients in the means are summed in one go

ONE = {torch.float32: np.float32(1), torch.float64: np.float64(1)}


def forward(
    mean: Tensor, weight: Tensor, nodes: FourierNodes, keep_product: bool
) -> tuple[Tensor, Tensor | None]:
    """Return the layer (R, n, m), and for the backward pass the product, shape (2, R, m, K, n).

    Parameters
    ----------
    mean : Tensor, shape (R, n, d)
    weight : Tensor, shape (R, m, d)
    nodes : FourierNodes, shape (R,)
    keep_product : bool
        Whether a backward pass will follow.
    """
    (n_replicas, n, d), m = mean.shape, weight.shape[1]
    K = nodes.largest_count
    value = torch.empty(n_replicas, n, m, dtype=mean.dtype)
    product = (
        torch.empty(2, n_replicas, m, K, n, dtype=mean.dtype)
        if keep_product
        else mean.new_empty(2, 0, 0, 0, 0)
    )
    run = partial(_forward, *_arrays(mean, weight, nodes.step, nodes.count, value, product))
    share(
        run,
        n_replicas * _blocks(n, ROWS_PER_BLOCK) * _blocks(m, NEURONS_PER_BLOCK),
        float(n_replicas * n * m * d * K),
    )
    return value, product if keep_product else None


def backward(
    grad: Tensor, mean: Tensor, weight: Tensor, nodes: FourierNodes, product: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return the gradients in `mean` and `weight`."""
    assert product is not None
    (n_replicas, n, d), m = mean.shape, weight.shape[1]
    row_blocks, neuron_blocks = _blocks(n, ROWS_PER_BLOCK), _blocks(m, NEURONS_PER_BLOCK)
    in_mean = torch.empty(neuron_blocks, n_replicas, n, d, dtype=mean.dtype)
    in_weight = torch.empty(row_blocks, n_replicas, m, d, dtype=mean.dtype)
    one = ONE[mean.dtype]
    arrays = _arrays(grad, mean, weight, nodes.step, nodes.count, product, in_mean, in_weight)
    operations = 2.0 * n_replicas * n * m * d * product.shape[-2]
    share(partial(_backward, *arrays, one), n_replicas * row_blocks * neuron_blocks, operations)
    return _total(in_mean), _total(in_weight)


def nodes_for(weight: Tensor, deviation: float, limit: int) -> FourierNodes:
    """Return the nodes of a layer; see `fourier_torch.nodes_for`."""
    step = torch.empty(weight.shape[0], dtype=torch.float64)
    count = torch.empty(weight.shape[0], dtype=torch.int64)
    _nodes_for(*_arrays(weight, step, count), deviation, limit)
    return FourierNodes(step, count)


def _arrays(*tensors: Tensor) -> list[np.ndarray]:
    """The memory of contiguous tensors."""
    return [tensor.detach().numpy() for tensor in tensors]


def _blocks(size: int, per_block: int) -> int:
    return -(-size // per_block)


def _total(parts: Tensor) -> Tensor:
    """Add up the parts, always in the same order, without waking PyTorch's threads against ours."""
    if parts.shape[0] == 1:
        return parts[0]
    total = torch.empty(parts.shape[1:], dtype=parts.dtype)
    _add_up(parts.numpy().reshape(parts.shape[0], total.numel()), total.numpy().reshape(-1))
    return total


@compiled_in_order
def _add_up(parts, total):  # type: ignore[no-untyped-def]
    for i in range(len(total)):
        total[i] = 0
    for p in range(len(parts)):
        for i in range(len(total)):
            total[i] += parts[p, i]


@compiled
def _nodes_for(weight, step, count, deviation, limit):  # type: ignore[no-untyped-def]
    for r in range(len(weight)):
        widest = 0.0
        for j in range(weight.shape[1]):
            total = 0.0
            for i in range(weight.shape[2]):
                total += abs(weight[r, j, i])
            if not total <= widest and not math.isnan(widest):  # keeps NaN, also before other neurons
                widest = total
        reach = widest / math.sqrt(weight.shape[2]) + deviation
        step[r] = 2 * math.pi / reach
        needed = deviation * reach / (2 * math.pi)
        count[r] = 1 if math.isnan(needed) else math.ceil(max(1.0, min(needed, float(limit))))


@compiled
def _forward(mean, weight, step, count, value, product, first, last):  # type: ignore[no-untyped-def]
    """Compute the blocks first .. last - 1 of (replica, examples, neurons)."""
    n, d, m = mean.shape[1], mean.shape[2], weight.shape[1]
    row_blocks, neuron_blocks = -(-n // ROWS_PER_BLOCK), -(-m // NEURONS_PER_BLOCK)
    largest = count.max()
    g = np.empty((d, LANES), mean.dtype)
    real, imag = np.empty((largest, LANES), mean.dtype), np.empty((largest, LANES), mean.dtype)
    cos, sin = np.empty((largest, INPUTS), mean.dtype), np.empty((largest, INPUTS), mean.dtype)
    for block in range(first, last):
        r, rest = divmod(block, row_blocks * neuron_blocks)
        rows, neurons = divmod(rest, neuron_blocks)
        K, h = count[r], step[r]
        for low in range(rows * ROWS_PER_BLOCK, min(n, (rows + 1) * ROWS_PER_BLOCK), LANES):
            lanes = min(LANES, n - low)
            _transpose(mean[r], low, lanes, g)
            for j in range(neurons * NEURONS_PER_BLOCK, min(m, (neurons + 1) * NEURONS_PER_BLOCK)):
                _fill(real, K, lanes, 1)
                _fill(imag, K, lanes, 0)
                for start in range(0, d, INPUTS):
                    _factors(weight[r, j], start, h, K, cos, sin)
                    _multiply(g, start, lanes, cos, sin, K, real, imag)
                _sum_nodes(imag, K, h, lanes, value[r], low, j)
                if product.size:
                    _copy(real, K, lanes, product[0, r, j], low)
                    _copy(imag, K, lanes, product[1, r, j], low)


@compiled
def _backward(grad, mean, weight, step, count, product, in_mean, in_weight, one, first, last):  # type: ignore[no-untyped-def]
    """Add up the gradients of the blocks first .. last - 1; `one` is 1 in the precision of the layer."""
    n, d, m = mean.shape[1], mean.shape[2], weight.shape[1]
    row_blocks, neuron_blocks = -(-n // ROWS_PER_BLOCK), -(-m // NEURONS_PER_BLOCK)
    largest = count.max()
    g, in_g = np.empty((d, LANES), mean.dtype), np.empty((d, LANES), mean.dtype)
    real, imag = np.empty((largest, LANES), mean.dtype), np.empty((largest, LANES), mean.dtype)
    cos, sin = np.empty((largest, INPUTS), mean.dtype), np.empty((largest, INPUTS), mean.dtype)
    t, scratch = np.empty(largest, mean.dtype), np.empty((5, LANES), mean.dtype)
    for block in range(first, last):
        r, rest = divmod(block, row_blocks * neuron_blocks)
        rows, neurons = divmod(rest, neuron_blocks)
        K, h = count[r], step[r]
        _clear(in_weight[rows, r], neurons * NEURONS_PER_BLOCK)
        for k in range(K):
            t[k] = (k + 0.5) * h / math.sqrt(d)  # the gradient is asked in w = a sqrt(d)
        for low in range(rows * ROWS_PER_BLOCK, min(n, (rows + 1) * ROWS_PER_BLOCK), LANES):
            lanes = min(LANES, n - low)
            _transpose(mean[r], low, lanes, g)
            _fill(in_g, d, lanes, 0)
            for j in range(neurons * NEURONS_PER_BLOCK, min(m, (neurons + 1) * NEURONS_PER_BLOCK)):
                _weigh(product[0, r, j], grad[r], low, lanes, j, K, h, real)
                _weigh(product[1, r, j], grad[r], low, lanes, j, K, h, imag)
                for start in range(0, d, INPUTS):
                    _factors(weight[r, j], start, h, K, cos, sin)
                    _differentiate(
                        g, start, lanes, cos, sin, t, real, imag, K, one, scratch, in_g, in_weight[rows, r, j]
                    )
            _transpose_back(in_g, low, lanes, in_mean[neurons, r])


@compiled
def _clear(in_weight, low):  # type: ignore[no-untyped-def]
    """Begin the sums of a block of neurons at 0."""
    for j in range(low, min(len(in_weight), low + NEURONS_PER_BLOCK)):
        for i in range(in_weight.shape[1]):
            in_weight[j, i] = 0


@compiled
def _transpose(mean, low, lanes, g):  # type: ignore[no-untyped-def]
    """Write the means of some examples to g, shape (d, LANES)."""
    for x in range(lanes):
        for i in range(mean.shape[1]):
            g[i, x] = mean[low + x, i]


@compiled
def _transpose_back(in_g, low, lanes, in_mean):  # type: ignore[no-untyped-def]
    for x in range(lanes):
        for i in range(in_mean.shape[1]):
            in_mean[low + x, i] = in_g[i, x]


@compiled
def _fill(array, rows, lanes, number):  # type: ignore[no-untyped-def]
    for k in range(rows):
        for x in range(lanes):
            array[k, x] = number


@compiled
def _copy(array, K, lanes, to, low):  # type: ignore[no-untyped-def]
    for k in range(K):
        for x in range(lanes):
            to[k, low + x] = array[k, x]


@compiled
def _multiply(g, start, lanes, cos, sin, K, real, imag):  # type: ignore[no-untyped-def]
    """Multiply the products with the factors cos + 1j g sin of some inputs, two at a time."""
    size = min(INPUTS, len(g) - start)
    for i in range(0, size - 1, 2):
        g0, g1 = g[start + i], g[start + i + 1]
        for k in range(K):
            c0, s0, c1, s1 = cos[k, i], sin[k, i], cos[k, i + 1], sin[k, i + 1]
            p, q = real[k], imag[k]
            for x in range(lanes):
                u, v = g0[x] * s0, g1[x] * s1
                a, b = p[x] * c0 - q[x] * u, q[x] * c0 + p[x] * u
                p[x] = a * c1 - b * v
                q[x] = b * c1 + a * v
    if size % 2:
        g0 = g[start + size - 1]
        for k in range(K):
            c0, s0 = cos[k, size - 1], sin[k, size - 1]
            p, q = real[k], imag[k]
            for x in range(lanes):
                u = g0[x] * s0
                a, b = p[x] * c0 - q[x] * u, q[x] * c0 + p[x] * u
                p[x] = a
                q[x] = b


@compiled
def _coefficient(k, h):  # type: ignore[no-untyped-def]
    """c_k = (2 / pi) exp(-t_k^2 / 2) / (k + 1/2)."""
    t = (k + 0.5) * h
    return 2 / math.pi * math.exp(-t * t / 2) / (k + 0.5)


@compiled
def _sum_nodes(imag, K, h, lanes, value, low, j):  # type: ignore[no-untyped-def]
    """Write sum_k c_k Im P_k, cut to [-1, 1], where the exact value lies."""
    total = np.zeros(LANES)
    for k in range(K):
        c = _coefficient(k, h)
        for x in range(lanes):
            total[x] += c * imag[k, x]
    for x in range(lanes):
        value[low + x, j] = -1.0 if total[x] < -1.0 else 1.0 if total[x] > 1.0 else total[x]


@compiled
def _weigh(product, grad, low, lanes, j, K, h, weighed):  # type: ignore[no-untyped-def]
    """Write one part of W_k = c_k grad P_k for some examples."""
    for k in range(K):
        c = _coefficient(k, h)
        for x in range(lanes):
            weighed[k, x] = product[k, low + x] * grad[low + x, j] * c


@compiled
def _differentiate(g, start, lanes, cos, sin, t, real, imag, K, one, scratch, in_g, in_weight):  # type: ignore[no-untyped-def]
    """Add the gradients of one neuron in some inputs and in their weights."""
    square, by_u, by_v, by_t, by_tu = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    for i in range(min(INPUTS, len(g) - start)):
        gi, in_gi = g[start + i], in_g[start + i]
        _fill(scratch, 5, lanes, 0)
        for x in range(lanes):
            square[x] = gi[x] * gi[x]
        for k in range(K):
            c, s, tk = cos[k, i], sin[k, i], t[k]
            cc, v, u = c * c, s * s, s * c
            tu = tk * u
            p, q = real[k], imag[k]
            for x in range(lanes):
                inverse = one / (cc + v * square[x])
                a, b = p[x] * inverse, q[x] * inverse
                by_u[x] += u * a
                by_v[x] += v * b
                by_t[x] += tk * a
                by_tu[x] += tu * b
        slope = 0.0
        for x in range(lanes):
            in_gi[x] += by_u[x] + gi[x] * by_v[x]
            slope += gi[x] * by_t[x] - (one - square[x]) * by_tu[x]
        in_weight[start + i] += slope


@compiled
def _factors(weight, start, h, K, cos, sin):  # type: ignore[no-untyped-def]
    """Write cos(a t_k) and sin(a t_k) of some inputs, shapes (K, INPUTS).

    A cosine of nearly 0 is moved by a negligible amount, so that it can be divided by.
    """
    size = min(INPUTS, len(weight) - start)
    tiny = math.sqrt(np.finfo(cos.dtype).tiny)
    half_step = 0.5 * h / math.sqrt(len(weight))
    if cos.itemsize == 4:
        _rotate(weight, start, size, half_step, K, cos, sin)
    else:
        for k in range(K):
            angle = (2 * k + 1) * half_step
            for i in range(size):
                cos[k, i], sin[k, i] = _cos_sin(angle * weight[start + i])
    for k in range(K):
        for i in range(size):
            cos[k, i] = tiny if abs(cos[k, i]) < tiny else cos[k, i]


@compiled
def _rotate(weight, start, size, half_step, K, cos, sin):  # type: ignore[no-untyped-def]
    """Rotate by a h from node to node, in float64: the error of K steps is less than a unit of float32."""
    c, s, turn_c, turn_s = np.empty(INPUTS), np.empty(INPUTS), np.empty(INPUTS), np.empty(INPUTS)
    for i in range(size):
        c[i], s[i] = _cos_sin(half_step * weight[start + i])
        turn_c[i], turn_s[i] = 1.0 - 2.0 * s[i] * s[i], 2.0 * s[i] * c[i]
    for k in range(K):
        for i in range(size):
            ci, si = c[i], s[i]
            cos[k, i], sin[k, i] = ci, si
            c[i] = ci * turn_c[i] - si * turn_s[i]
            s[i] = si * turn_c[i] + ci * turn_s[i]


@compiled_in_order
def _cos_sin(x):  # type: ignore[no-untyped-def]
    """Cosine and sine in double precision without branches, so that loops over it are vectorised.

    `x` less the nearest multiple of pi / 2 (in two parts, the first of 33 bits), then Taylor polynomials
    on [-pi/4, pi/4], whose remainders are below 2^-54.
    """
    quarter = math.floor(x * 0.6366197723675814 + 0.5)
    r = (x - quarter * 1.5707963267341256) - quarter * 6.077100506506192e-11
    z = r * r
    p = 1 / 6227020800 - z / 1307674368000
    p = 1 / 362880 - z * (1 / 39916800 - z * p)
    p = 1 / 6 - z * (1 / 120 - z * (1 / 5040 - z * p))
    s0 = r - r * z * p
    p = 1 / 87178291200 - z / 20922789888000
    p = 1 / 40320 - z * (1 / 3628800 - z * (1 / 479001600 - z * p))
    p = 0.5 - z * (1 / 24 - z * (1 / 720 - z * p))
    c0 = 1.0 - z * p
    turn = quarter - 4.0 * math.floor(quarter * 0.25)  # 0, 1, 2 or 3 quarters
    odd = (turn == 1.0) | (turn == 3.0)
    c = s0 if odd else c0
    s = c0 if odd else s0
    c = -c if (turn == 1.0) | (turn == 2.0) else c
    s = -s if turn >= 2.0 else s
    return c, s
