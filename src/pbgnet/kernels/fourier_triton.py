# ruff: noqa: N803
# mypy: disable-error-code="import-not-found, import-untyped, no-untyped-def, untyped-decorator"
# Triton's convention: capitals for what is fixed at compile time, and no types inside kernels.

"""The Fourier layer in Triton: one pass over the inputs, nothing stored per node.

With means g and weights w the layer is `sum_k c_k Im prod_i f_i(t_k)`, where

    f_i(t) = cos(w_i t') + 1j g_i sin(w_i t'),  t' = t / sqrt(d),  t_k = (k + 1/2) h,
    c_k = (2/pi) exp(-t_k^2 / 2) / (k + 1/2).

Steps and numbers of nodes are read on the device, replica by replica, so a layer can be captured in a CUDA
graph. The backward pass computes the product again and divides it by one factor at a time. No two programs
write to the same cell, so results are the same in every run.

A program works on a tile (nodes, examples, neurons) of one warp. The lanes are spread over neurons first, so
that a lane has several examples of one neuron: cosines and sines only depend on the node and the neuron, and
are then evaluated once for all examples of the lane.
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from pbgnet.kernels.nodes import FourierNodes
from pbgnet.kernels.nodes_triton import nodes_for as nodes_for  # part of what `dispatch` expects here


class Tile(NamedTuple):
    """How many nodes, examples and neurons a program takes at a time; powers of two."""

    nodes: int
    examples: int
    neurons: int
    unroll: int = 1  # inputs whose instructions are interleaved: hides latency where programs are few
    n_warps: int = 1
    registers: int | None = None  # most registers per thread, where fewer than the compiler would take pay


# Tiles by direction, bytes per number, and the number of neurons they are meant for (the first row
# with at least so many, else the last); those of float32 were the fastest of a dozen on an H200.
TILES = {
    ("forward", 4): [Tile(4, 64, 1, 4), Tile(4, 64, 2, 2), Tile(4, 64, 4), Tile(2, 64, 8)],
    ("backward", 4): [Tile(4, 64, 1, 2), Tile(4, 64, 2, 2), Tile(4, 64, 4, 2), Tile(4, 32, 8)],
    ("forward", 8): [Tile(4, 32, 1), Tile(4, 32, 2), Tile(4, 32, 4)],
    ("backward", 8): [Tile(4, 32, 1), Tile(4, 32, 2), Tile(4, 32, 4)],
}

# The backward pass cuts the neurons into enough chunks for about this many programs: more fill the device
# better, but every chunk has its own copy of the gradient of the means ...
BACKWARD_PROGRAMS = 132 * 16
# ... and the copies together hold at most this many numbers.
PARTIAL_ELEMENTS = 1 << 27

# Grids with fewer programs than this also divide the nodes, block by block, between this many programs.
# Layers with fewer inputs would finish before the sum over the shares could start.
FEW_PROGRAMS = 132 * 8
NODE_SHARES = 4
WORTH_SHARING = 32

# float32: one shared reduction of the angle and two polynomials, about 25 instructions without a
# branch and an absolute error below 1.5 units of 2^-24; False takes Triton's own sine and cosine.
POLYNOMIAL = True


def forward(mean: Tensor, weight: Tensor, nodes: FourierNodes, keep_product: bool) -> tuple[Tensor, None]:
    """Return the layer, and nothing to keep: the backward pass computes the product again."""
    return evaluate(mean, weight, nodes.step, nodes.count), None


def backward(
    grad: Tensor, mean: Tensor, weight: Tensor, nodes: FourierNodes, product: None
) -> tuple[Tensor, Tensor]:
    """Return the gradients in `mean` and `weight`."""
    return differentiate(grad, mean, weight, nodes.step, nodes.count)


def evaluate(mean: Tensor, weight: Tensor, step: Tensor, count: Tensor) -> Tensor:
    """Evaluate the layer.

    Parameters
    ----------
    mean : Tensor, float32 or float64, contiguous, shape (R, n, d)
    weight : Tensor, same type, contiguous, shape (R, m, d)
    step : Tensor, float64, shape (R,)
        The distance between nodes.
    count : Tensor, int32 or int64, shape (R,)
        The number of nodes.

    Returns
    -------
    Tensor, shape (R, n, m)
    """
    (n_replicas, n, d), m = mean.shape, weight.shape[1]
    if n_replicas * n * m == 0:
        return mean.new_zeros(n_replicas, n, m)
    tile = _tile("forward", mean, m)
    n_blocks, n_groups = triton.cdiv(n, tile.examples), triton.cdiv(m, tile.neurons)
    n_shares = _node_shares(n_replicas * n_blocks * n_groups, d)
    value = mean.new_empty(n_shares, n_replicas, n, m)
    _forward_kernel[(n_replicas * n_groups * n_shares * n_blocks,)](
        mean.mT.contiguous(), weight, step, count, value, n_replicas, n, m, d, n_blocks, n_groups,
        n_shares, CUT=n_shares == 1, EXACT=not POLYNOMIAL, BK=tile.nodes, BN=tile.examples,
        BM=tile.neurons, UNROLL=tile.unroll, num_warps=tile.n_warps, maxnreg=tile.registers,
        num_stages=1, enable_fp_fusion=True,
    )  # fmt: skip
    return value[0] if n_shares == 1 else value.sum(dim=0).clamp_(-1, 1)


def differentiate(
    grad: Tensor, mean: Tensor, weight: Tensor, step: Tensor, count: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients in mean and weight, for the gradient `grad` (R, n, m) in the value; see `evaluate`."""
    (n_replicas, n, d), m = mean.shape, weight.shape[1]
    if n_replicas * n * m == 0:
        return torch.zeros_like(mean), torch.zeros_like(weight)
    tile = _tile("backward", mean, m)
    n_blocks, n_groups = triton.cdiv(n, tile.examples), triton.cdiv(m, tile.neurons)
    wanted = max(1, BACKWARD_PROGRAMS // (n_replicas * n_blocks))
    affordable = max(1, PARTIAL_ELEMENTS // (n_replicas * n * d))
    per_chunk = triton.cdiv(n_groups, min(n_groups, wanted, affordable))
    n_chunks = triton.cdiv(n_groups, per_chunk)
    n_shares = _node_shares(n_replicas * n_blocks * n_chunks, d)
    for_mean = mean.new_empty(n_chunks * n_shares, n_replicas, d, n)
    for_weight = mean.new_empty(n_blocks * n_shares, n_replicas, m, d)
    _backward_kernel[(n_replicas * n_chunks * n_shares * n_blocks,)](
        grad.contiguous(), mean.mT.contiguous(), weight, step, count, for_mean, for_weight, n_replicas,
        n, m, d, n_blocks, n_chunks, n_shares, per_chunk, EXACT=not POLYNOMIAL, FAST=_COMPILED,
        UNROLL=tile.unroll, BK=tile.nodes, BN=tile.examples, BM=tile.neurons, num_warps=tile.n_warps,
        maxnreg=tile.registers, num_stages=1, enable_fp_fusion=True,
    )  # fmt: skip
    grad_mean = torch.empty_like(mean)
    side_n, side_d = min(64, triton.next_power_of_2(n)), min(32, triton.next_power_of_2(d))
    tiles_n, tiles_d = triton.cdiv(n, side_n), triton.cdiv(d, side_d)
    _transposed_sum_kernel[(n_replicas * tiles_d * tiles_n,)](
        for_mean, grad_mean, n_chunks * n_shares, n_replicas, n, d, tiles_n, tiles_d,
        BD=side_d, BN=side_n, num_warps=4, num_stages=1, enable_fp_fusion=True,
    )  # fmt: skip
    return grad_mean, for_weight[0] if n_blocks * n_shares == 1 else for_weight.sum(dim=0)


def _tile(direction: str, mean: Tensor, m: int) -> Tile:
    rows = TILES[direction, mean.element_size()]
    tile = next((row for row in rows if row.neurons >= m), rows[-1])
    return tile._replace(examples=min(tile.examples, max(16, triton.next_power_of_2(mean.shape[1]))))


def _node_shares(n_programs: int, d: int) -> int:
    return NODE_SHARES if n_programs < FEW_PROGRAMS and d >= WORTH_SHARING else 1


# Sizes are not specialised: one compilation serves all layers, and the compiler, which then cannot assume any
# alignment, keeps the simple layout with neighbouring lanes at neighbouring numbers.
_SIZES = ["n_replicas", "n", "m", "d", "n_blocks", "n_groups", "n_chunks", "n_shares", "per_chunk"]


@triton.jit(do_not_specialize=_SIZES)
def _forward_kernel(
    mean, weight, step, count, value, n_replicas, n, m, d, n_blocks, n_groups, n_shares,
    CUT: tl.constexpr, EXACT: tl.constexpr, UNROLL: tl.constexpr,
    BK: tl.constexpr, BN: tl.constexpr, BM: tl.constexpr,
):  # fmt: skip
    """One block of examples and one group of neurons; mean is (R, d, n), value (shares, R, n, m)."""
    program = tl.program_id(0).to(tl.int64)
    block, rest = program % n_blocks, program // n_blocks
    share, rest = rest % n_shares, rest // n_shares
    group, replica = rest % n_groups, rest // n_groups
    h, n_nodes = tl.load(step + replica), tl.load(count + replica).to(tl.int32)
    x, j = block * BN + tl.arange(0, BN), group * BM + tl.arange(0, BM)
    mean += replica * d * n
    weight += replica * m * d
    total = tl.zeros((BN, BM), dtype=mean.dtype.element_ty)
    for start in range(share * BK, n_nodes, n_shares * BK):
        t, c = _nodes(h, n_nodes, start + tl.arange(0, BK), d, mean.dtype.element_ty)
        _, imaginary = _product(mean, weight, t, x, j, n, m, d, EXACT, UNROLL, BK, BN, BM)
        total += tl.sum(c[:, None, None] * imaginary, axis=0)
    if CUT:
        total = _cut(total)
    value += (share * n_replicas + replica) * n * m
    tl.store(value + x[:, None] * m + j[None, :], total, mask=(x < n)[:, None] & (j < m)[None, :])


@triton.jit(do_not_specialize=_SIZES)
def _backward_kernel(
    grad, mean, weight, step, count, for_mean, for_weight, n_replicas, n, m, d,
    n_blocks, n_chunks, n_shares, per_chunk,
    EXACT: tl.constexpr, FAST: tl.constexpr, UNROLL: tl.constexpr,
    BK: tl.constexpr, BN: tl.constexpr, BM: tl.constexpr,
):  # fmt: skip
    """One block of examples and a chunk of neurons, group by group.

    for_mean is (chunks x shares, R, d, n), for_weight (blocks x shares, R, m, d).
    """
    program = tl.program_id(0).to(tl.int64)
    block, rest = program % n_blocks, program // n_blocks
    share, rest = rest % n_shares, rest // n_shares
    chunk, replica = rest % n_chunks, rest // n_chunks
    h, n_nodes = tl.load(step + replica), tl.load(count + replica).to(tl.int32)
    x = block * BN + tl.arange(0, BN)
    mean += replica * d * n
    weight += replica * m * d
    grad += replica * n * m
    for_mean += ((chunk * n_shares + share) * n_replicas + replica) * d * n
    for_weight += ((block * n_shares + share) * n_replicas + replica) * m * d
    first = share * BK
    # At least one round, be it over nodes that do not count, so that every cell is written.
    end = tl.maximum(n_nodes, first + 1)
    seen_n = n * 0  # nothing has been added to for_mean yet
    for group in range(per_chunk):
        seen_m = m * 0
        j = (chunk * per_chunk + group) * BM + tl.arange(0, BM)
        inside = (x < n)[:, None] & (j < m)[None, :]
        slope = tl.load(grad + x[:, None] * m + j[None, :], mask=inside, other=0.0)
        for start in range(first, end, n_shares * BK):
            t, c = _nodes(h, n_nodes, start + tl.arange(0, BK), d, mean.dtype.element_ty)
            real, imaginary = _product(mean, weight, t, x, j, n, m, d, EXACT, UNROLL, BK, BN, BM)
            factor = c[:, None, None] * slope[None, :, :]
            _add_slopes(
                real * factor, imaginary * factor, mean, weight, for_mean, for_weight, t, x, j, n, m, d,
                seen_n, seen_m, EXACT, FAST, UNROLL,
            )  # fmt: skip
            seen_n, seen_m = n, m


@triton.jit
def _add_slopes(
    real, imaginary, mean, weight, for_mean, for_weight, t, x, j, n, m, d, seen_n, seen_m,
    EXACT: tl.constexpr, FAST: tl.constexpr, UNROLL: tl.constexpr,
):  # fmt: skip
    """Divide c grad P by every factor in turn and add to both gradients, which begin at 0.

    With W = c grad P and D = 1 / |f_i|^2 the derivatives are, in terms of X = D Re W, Y = D Im W,
    sin cos X + g sin^2 Y in the mean and t' (g X - (1 - g^2) sin cos Y) in the weight.
    """
    from_weight, to_weight = weight + j * d, for_weight + j * d
    from_mean, to_mean = mean + x, for_mean + x
    g = tl.load(from_mean, mask=x < n, other=0.0)
    w = tl.load(from_weight, mask=j < m, other=0.0)
    for i in tl.range(0, d, loop_unroll_factor=UNROLL):
        # Means and weights are loaded one input ahead: no load can overtake the stores below.
        from_mean += n
        from_weight += 1
        # (The zeros make blocks of the conditions: the interpreter takes no scalars.)
        next_g = tl.load(from_mean, mask=(x < n) & (0 * x + i + 1 < d), other=0.0)
        next_w = tl.load(from_weight, mask=(j < m) & (0 * j + i + 1 < d), other=0.0)
        in_mean = tl.load(to_mean, mask=x < seen_n, other=0.0)
        in_weight = tl.load(to_weight, mask=j < seen_m, other=0.0)
        cos, sin = _cosine_and_sine(t[:, None] * w[None, :], EXACT)
        both, square = (sin * cos)[:, None, :], (sin * sin)[:, None, :]
        squared_size = (cos * cos)[:, None, :] + square * (g * g)[None, :, None]
        inverse = _inverse(squared_size, FAST)
        along, across = real * inverse, imaginary * inverse
        t_both = both * t[:, None, None]
        by_along, by_across = tl.sum(both * along, axis=0), tl.sum(square * across, axis=0)
        in_mean += tl.sum(by_along + g[:, None] * by_across, axis=1)
        by_along, by_across = tl.sum(t[:, None, None] * along, axis=0), tl.sum(t_both * across, axis=0)
        in_weight += tl.sum(g[:, None] * by_along - (1.0 - g * g)[:, None] * by_across, axis=0)
        tl.store(to_mean, in_mean, mask=x < n)
        tl.store(to_weight, in_weight, mask=j < m)
        to_mean += n
        to_weight += 1
        g, w = next_g, next_w
    tl.debug_barrier()  # the next round reads what this one has written


@triton.jit
def _nodes(h, n_nodes, k, d, dtype: tl.constexpr):
    """t' and c of nodes k. Beyond the last one t' = 0, where all factors are 1, and c = 0."""
    half = k.to(tl.float64) + 0.5
    t = half * h
    c = 0.63661977236758134 * tl.exp(-0.5 * t * t) / half
    scaled = t / tl.sqrt(tl.zeros_like(t) + d)
    return tl.where(k < n_nodes, scaled, 0.0).to(dtype), tl.where(k < n_nodes, c, 0.0).to(dtype)


@triton.jit
def _product(
    mean, weight, t, x, j, n, m, d,
    EXACT: tl.constexpr, UNROLL: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr, BM: tl.constexpr,
):  # fmt: skip
    """The product of all d factors, shape (BK, BN, BM), as real and imaginary part."""
    real = tl.full((BK, BN, BM), 1.0, dtype=t.dtype)
    imaginary = tl.zeros((BK, BN, BM), dtype=t.dtype)
    from_weight, from_mean = weight + j * d, mean + x
    for _ in tl.range(0, d, loop_unroll_factor=UNROLL):
        g = tl.load(from_mean, mask=x < n, other=0.0)
        w = tl.load(from_weight, mask=j < m, other=0.0)
        cos, sin = _cosine_and_sine(t[:, None] * w[None, :], EXACT)
        a, b = cos[:, None, :], g[None, :, None] * sin[:, None, :]
        turned = real * b + imaginary * a
        real = real * a - imaginary * b
        imaginary = turned
        from_mean += n
        from_weight += 1
    return real, imaginary


@triton.jit
def _cosine_and_sine(angle, EXACT: tl.constexpr):
    """The cosine, never exactly 0 so that it can be divided by, and the sine."""
    if angle.dtype == tl.float64:
        cos, sin = tl.cos(angle), tl.sin(angle)
        tiny = tl.full((), 1.4916681462400413e-154, tl.float64)  # sqrt(smallest normal number)
    elif EXACT:
        cos, sin = tl.cos(angle), tl.sin(angle)
        tiny = tl.full((), 1.0842021724855044e-19, tl.float32)
    else:
        cos, sin = _polynomials(angle)
        tiny = tl.full((), 1.0842021724855044e-19, tl.float32)
    return tl.where(cos == 0.0, tiny, cos), sin


@triton.jit
def _polynomials(angle):
    """Cosine and sine of float32 angles: subtract multiples of pi/2 (in three parts, the first
    product of which is exact), then one minimax polynomial each on [-pi/4, pi/4].
    """  # noqa: D205
    # Adding 1.5 x 2^23 rounds to an integer, which then lies in the last bits.
    shifted = angle * 0.636619772 + 12582912.0
    turns = shifted - 12582912.0
    r = angle - turns * 1.57079601287841796875
    r = r - turns * 3.1391647326017846e-07
    r = r - turns * 5.390302529957765e-15
    # Such angles have no correct digit left; bounded, so that products stay finite (inf becomes NaN).
    r = tl.where(tl.abs(angle) > 4.0e6, angle * 0.0, r)
    quadrant = shifted.to(tl.int32, bitcast=True)
    s = r * r
    p = 2.86567956e-6 * s - 1.98559923e-4
    p = p * s + 8.33338592e-3
    p = p * s - 1.66666672e-1
    sine = p * (r * s) + r
    p = 2.44677067e-5 * s - 1.38877297e-3
    p = p * s + 4.16666567e-2
    p = p * s - 0.5
    cosine = p * s + 1.0
    swapped = (quadrant & 1) != 0
    cos, sin = tl.where(swapped, sine, cosine), tl.where(swapped, cosine, sine)
    cos = tl.where(((quadrant + 1) & 2) != 0, -cos, cos)
    return cos, tl.where((quadrant & 2) != 0, -sin, sin)


@triton.jit
def _inverse(size, FAST: tl.constexpr):
    """1 / size for normal sizes up to 1: one instruction for float32, to one unit in the last place."""
    if FAST and size.dtype == tl.float32:
        inverse = tl.inline_asm_elementwise(
            "rcp.approx.ftz.f32 $0, $1;", "=f,f", [size], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        inverse = 1.0 / size
    return inverse


@triton.jit
def _cut(value):
    """Cut to [-1, 1], where the exact value lies; not-a-number stays."""
    return tl.where(value > 1.0, 1.0, tl.where(value < -1.0, -1.0, value))


@triton.jit(do_not_specialize=["n_parts", "n_replicas", "n", "d", "tiles_n", "tiles_d"])
def _transposed_sum_kernel(
    parts, result, n_parts, n_replicas, n, d, tiles_n, tiles_d, BD: tl.constexpr, BN: tl.constexpr
):
    """Sum (parts, R, d, n) over the parts, always in the same order, into (R, n, d)."""
    program = tl.program_id(0).to(tl.int64)
    tile_n, rest = program % tiles_n, program // tiles_n
    tile_d, replica = rest % tiles_d, rest // tiles_d
    x, i = tile_n * BN + tl.arange(0, BN), tile_d * BD + tl.arange(0, BD)
    inside = (i < d)[:, None] & (x < n)[None, :]
    parts += replica * d * n + i[:, None] * n + x[None, :]
    total = tl.zeros((BD, BN), dtype=result.dtype.element_ty)
    for part in range(n_parts):
        total += tl.load(parts + part * (n_replicas.to(tl.int64) * d * n), mask=inside, other=0.0)
    result += replica * n * d
    turned = (x < n)[:, None] & (i < d)[None, :]
    tl.store(result + x[:, None] * d + i[None, :], tl.trans(total), mask=turned)


# The interpreter, in which the tests run on a CPU, knows no inline assembly.
_COMPILED = isinstance(_backward_kernel, triton.runtime.JITFunction)
