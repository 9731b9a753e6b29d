# ruff: noqa: N803
# mypy: disable-error-code="import-not-found, import-untyped, no-untyped-def, untyped-decorator"
# Triton's convention: capitals for what is fixed at compile time, and no types inside kernels.

"""The sampled layer in Triton for any number of inputs: signs are drawn where they are used, never stored.

Sign i of sample t of an example only depends on the seed and on (replica, example, t, i), the four counters
of Philox. So the backward pass draws the same signs again, and neither the tiles nor the order in which
programs run change a result. All neurons of a layer see the same signs.

For float32 means 32 random bits decide a sign, for float64 means 63: the probability of every sign
is right to 2^-33 and 2^-63. Certain signs (a mean of -1 or 1) are certain.

With enough neurons, sums over inputs and samples are matrix products on tensor cores: signs are exact
in bfloat16, and three bfloat16 numbers hold all digits of a float32. `narrow_triton` is faster if it fits.
"""

import os
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from pbgnet.kernels.sampled.counts import SampleCounts, counts_on, most_samples
from pbgnet.kernels.sampled.signs_triton import draw, means, signs


class Tile(NamedTuple):
    """How many samples, inputs and neurons a program takes at a time; powers of two, inputs >= 4."""

    samples: int
    inputs: int
    neurons: int
    n_warps: int = 4


# A matrix product needs at least 16 of everything; few neurons, and float64, are multiplied out.
FORWARD_TILE = Tile(64, 64, 128, 8)
BACKWARD_TILE = Tile(64, 32, 64)
SMALL_TILE = Tile(32, 16, 8, 1)
SMALL_ELEMENTS = 1 << 11  # samples x inputs x neurons: they are held in registers
SMALLEST_PRODUCT = 16

# Examples, and then samples, are divided until all programs together have about this many warps: as many as
# the multiprocessors of a large GPU can hold, so that some compute while others wait ...
WARPS = 132 * 64
# ... but the copies of a gradient that this takes hold at most this many numbers.
PARTIAL_ELEMENTS = 1 << 27


def evaluate(mean: Tensor, weight: Tensor, seed: Tensor, n_samples: SampleCounts) -> Tensor:
    """Mean over n_samples drawn sign vectors s of erf(w . s / sqrt(2 d)).

    Parameters
    ----------
    mean : Tensor, float32 or float64, contiguous, shape (R, n, d)
    weight : Tensor, same type, contiguous, shape (R, m, d)
    seed : Tensor, int64, one element
        Read on the device.
    n_samples : int or tuple of int
        One number, or one for each replica.

    Returns
    -------
    Tensor, shape (R, n, m)
    """
    (n_replicas, n, d), m = mean.shape, weight.shape[1]
    if n_replicas * n * m == 0:
        return mean.new_zeros(n_replicas, n, m)
    tile, options = _tile(mean, m, FORWARD_TILE)
    n_groups = triton.cdiv(m, tile.neurons)
    n_shares = _sample_shares(n_replicas * n * n_groups, n_replicas * n * m, tile, most_samples(n_samples))
    counts = counts_on(mean.device, n_samples)
    value = mean.new_empty(n_shares, n_replicas, n, m)
    _forward_kernel[(n_replicas * n * n_groups * n_shares,)](
        mean, weight, seed, value, counts, len(counts), n_replicas, n, m, d, n_groups, n_shares, **options,
    )  # fmt: skip
    return _total(value)


def differentiate(
    grad: Tensor, mean: Tensor, weight: Tensor, seed: Tensor, n_samples: SampleCounts
) -> tuple[Tensor, Tensor]:
    """Gradients in mean (the score-function estimate) and weight, for the gradient `grad` (R, n, m)."""
    (n_replicas, n, d), m = mean.shape, weight.shape[1]
    if n_replicas * n * m == 0:
        return torch.zeros_like(mean), torch.zeros_like(weight)
    tile, options = _tile(mean, m, BACKWARD_TILE)
    # Both gradients are sums over neurons, examples or samples of what the programs compute.
    n_groups = _shares(triton.cdiv(m, tile.neurons), PARTIAL_ELEMENTS // mean.numel())
    n_chunks = _shares(
        n, min(WARPS // (tile.n_warps * n_replicas * n_groups), PARTIAL_ELEMENTS // weight.numel())
    )
    copied = max(n_groups * mean.numel(), n_chunks * weight.numel())
    n_shares = _sample_shares(n_replicas * n_groups * n_chunks, copied, tile, most_samples(n_samples))
    counts = counts_on(mean.device, n_samples)
    for_mean = mean.new_zeros(n_shares * n_groups, n_replicas, n, d)
    for_weight = mean.new_zeros(n_shares * n_chunks, n_replicas, m, d)
    _backward_kernel[(n_replicas * n_groups * n_chunks * n_shares,)](
        grad.contiguous(), mean, weight, seed, for_mean, for_weight, counts, len(counts), n_replicas, n, m, d,
        n_groups, n_chunks, triton.cdiv(n, n_chunks), n_shares, **options,
    )  # fmt: skip
    return _total(for_mean), _total(for_weight)


def _tile(mean: Tensor, m: int, tile: Tile) -> tuple[Tile, dict[str, int]]:
    """The tile, and the options for the compiler."""
    product = mean.dtype == torch.float32 and m >= SMALLEST_PRODUCT
    tile = tile if product else SMALL_TILE
    tile = tile._replace(neurons=min(tile.neurons, int(triton.next_power_of_2(m))))
    if not product:
        room = SMALL_ELEMENTS // (tile.inputs * tile.neurons * (mean.element_size() // 4))
        tile = tile._replace(samples=max(1, min(tile.samples, room)))
    sizes = {"BT": tile.samples, "BD": tile.inputs, "BM": tile.neurons, "num_warps": tile.n_warps}
    return tile, {"PRODUCT": product, **sizes, "num_stages": 1, "enable_fp_fusion": True}


def _total(copies: Tensor) -> Tensor:
    return copies[0] if len(copies) == 1 else copies.sum(dim=0)


def _shares(size: int, at_most: int) -> int:
    """Into how many shares of equal size, except for the last one, to divide; none of them is empty."""
    return -(-size // -(-size // max(1, min(size, at_most))))


def _sample_shares(n_programs: int, n_copied: int, tile: Tile, n_samples: int) -> int:
    wanted, affordable = WARPS // (tile.n_warps * n_programs), PARTIAL_ELEMENTS // n_copied
    return max(1, min(wanted, affordable, -(-n_samples // tile.samples)))


# What a matrix product takes; the interpreter, which is for tests, knows no bfloat16.
_FACTOR = tl.constexpr(tl.float32 if os.environ.get("TRITON_INTERPRET") == "1" else tl.bfloat16)
_SIZES = ["n_counts", "n_replicas", "n", "m", "d", "n_groups", "n_shares", "n_chunks", "per_chunk"]


@triton.jit(do_not_specialize=_SIZES)
def _forward_kernel(
    mean, weight, seed, value, counts, n_counts, n_replicas, n, m, d, n_groups, n_shares,
    PRODUCT: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr, BM: tl.constexpr,
):  # fmt: skip
    """One example, one group of neurons, a share of the samples; value is (shares, R, n, m)."""
    program = tl.program_id(0).to(tl.int64)
    group, rest = program % n_groups, program // n_groups
    share, rest = rest % n_shares, rest // n_shares
    example, replica = rest % n, rest // n
    key, n_samples = tl.load(seed), tl.load(counts + replica % n_counts)
    mean, weight = mean + (replica * n + example) * d, weight + replica * m * d
    j = group * BM + tl.arange(0, BM)
    votes = tl.zeros((BM, BT), dtype=mean.dtype.element_ty)
    for start in range(share * BT, n_samples, n_shares * BT):
        t = (start + tl.arange(0, BT)).to(tl.int32)
        u = _pre_activation(mean, weight, key, replica, example, t, j, m, d, PRODUCT, BT, BD, BM)
        votes += tl.where((t < n_samples)[None, :], tl.erf(u * 0.70710678118654752440), 0.0)
    value += ((share * n_replicas + replica) * n + example) * m
    tl.store(value + j, tl.sum(votes, axis=1) / n_samples, mask=j < m)


@triton.jit(do_not_specialize=_SIZES)
def _backward_kernel(
    grad, mean, weight, seed, for_mean, for_weight, counts, n_counts, n_replicas, n, m, d,
    n_groups, n_chunks, per_chunk, n_shares,
    PRODUCT: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr, BM: tl.constexpr,
):  # fmt: skip
    """Some groups of neurons, a chunk of examples and a share of the samples, one block of inputs at a time.

    for_mean is (shares x groups, R, n, d) and for_weight (shares x chunks, R, m, d), both 0 at first.
    """
    program = tl.program_id(0).to(tl.int64)
    share, rest = program % n_shares, program // n_shares
    group, rest = rest % n_groups, rest // n_groups
    chunk, replica = rest % n_chunks, rest // n_chunks
    key, n_samples = tl.load(seed), tl.load(counts + replica % n_counts)
    dtype = mean.dtype.element_ty
    weight += replica * m * d
    for_mean += ((share * n_groups + group) * n_replicas + replica) * n * d
    for_weight += ((share * n_chunks + chunk) * n_replicas + replica) * m * d
    for example in range(chunk * per_chunk, tl.minimum(n, (chunk + 1) * per_chunk)):
        row = mean + (replica * n + example) * d
        for first in range(group * BM, m, n_groups * BM):
            j = first + tl.arange(0, BM)
            slope = tl.load(grad + (replica * n + example) * m + j, mask=j < m, other=0.0) / n_samples
            for start in range(share * BT, n_samples, n_shares * BT):
                t = (start + tl.arange(0, BT)).to(tl.int32)
                u = _pre_activation(row, weight, key, replica, example, t, j, m, d, PRODUCT, BT, BD, BM)
                votes, each = _votes_and_densities(u, slope, t, n_samples)
                each *= _scale(d, dtype)
                for begin in range(0, d, BD):
                    i = begin + tl.arange(0, BD)
                    borders, g = means(row, begin, d, BD)
                    plus = draw(borders, key, replica, example, t, begin, BT, BD)
                    cells = for_mean + example * d + i
                    change = tl.sum(votes[:, None] / tl.where(plus, 1.0 + g[None, :], g[None, :] - 1.0), 0)
                    tl.store(cells, tl.load(cells, mask=i < d, other=0.0) + change, mask=i < d)
                    cells = for_weight + j[:, None].to(tl.int64) * d + i[None, :]
                    inside = (j < m)[:, None] & (i < d)[None, :]
                    sums = tl.load(cells, mask=inside, other=0.0)
                    if PRODUCT:
                        sums = _add_product(each, signs(plus, _FACTOR), sums)
                    else:
                        sums += tl.sum(each[:, :, None] * signs(plus, dtype)[None, :, :], axis=1)
                    tl.store(cells, sums, mask=inside)
                tl.debug_barrier()  # the next round reads what this one has written


@triton.jit
def _pre_activation(
    row, weight, key, replica, example, t, j, m, d,
    PRODUCT: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr, BM: tl.constexpr,
):  # fmt: skip
    """w . s / sqrt(d) for the samples t and the neurons j, shape (BM, BT)."""
    u = tl.zeros((BM, BT), dtype=row.dtype.element_ty)
    for first in range(0, d, BD):
        borders, _ = means(row, first, d, BD)
        high, middle, low = _weights(weight, j, first, m, d, PRODUCT, BD)
        s = signs(draw(borders, key, replica, example, t, first, BT, BD), high.dtype)
        u = _product(s, high, middle, low, u, PRODUCT)
    return u


@triton.jit
def _votes_and_densities(u, slope, t, n_samples):
    """sum_j slope_j erf(u_j / sqrt(2)), and slope_j times the derivative of that erf; 0 beyond the end."""
    each = tl.where((t < n_samples)[None, :], slope[:, None], 0.0)
    votes = tl.sum(tl.erf(u * 0.70710678118654752440) * each, axis=0)
    return votes, each * 0.79788456080286535588 * tl.exp(-0.5 * u * u)


@triton.jit
def _weights(weight, j, first, m, d, PRODUCT: tl.constexpr, BD: tl.constexpr):
    """w / sqrt(d) of inputs first, .., first + BD - 1 and neurons j, shape (BM, BD), ready for _product."""
    i = first + tl.arange(0, BD)
    inside = (j < m)[:, None] & (i < d)[None, :]
    w = tl.load(weight + j[:, None].to(tl.int64) * d + i[None, :], mask=inside, other=0.0)
    return _parts(w * _scale(d, w.dtype), _FACTOR if PRODUCT else w.dtype)


@triton.jit
def _parts(x, TYPE: tl.constexpr):
    """Three numbers of the type, of few digits, that add up to x."""
    high = x.to(TYPE)
    rest = x - high.to(x.dtype)
    middle = rest.to(TYPE)
    return high, middle, (rest - middle.to(x.dtype)).to(TYPE)


@triton.jit
def _product(s, high, middle, low, u, PRODUCT: tl.constexpr):
    """U + w s^T for weights (BM, BD) and signs s (BT, BD)."""
    if PRODUCT:
        u = tl.dot(low, tl.trans(s), u, input_precision="ieee")
        u = tl.dot(middle, tl.trans(s), u, input_precision="ieee")
        u = tl.dot(high, tl.trans(s), u, input_precision="ieee")
    else:
        u += tl.sum(high[:, None, :] * s[None, :, :], axis=2)
    return u


@triton.jit
def _add_product(each, s, sums):
    """Sums plus each[j, t] s[t, i] over t."""
    high, middle, low = _parts(each, _FACTOR)
    # A tensor core cuts digits off where it adds. Long sums are added up outside, which rounds.
    change = tl.dot(low, s, input_precision="ieee")
    change = tl.dot(middle, s, change, input_precision="ieee")
    return sums + tl.dot(high, s, change, input_precision="ieee")


@triton.jit
def _scale(d, dtype: tl.constexpr):
    """1 / sqrt(d), computed in float64."""
    return (1.0 / tl.sqrt(tl.zeros((1, 1), dtype=tl.float64) + d)).to(dtype)
