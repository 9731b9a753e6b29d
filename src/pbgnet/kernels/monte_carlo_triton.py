# ruff: noqa: N803
# mypy: disable-error-code="import-not-found, import-untyped, no-untyped-def, untyped-decorator"
# Triton's convention: capitals for what is fixed at compile time, and no types inside kernels.

"""The sampled layer in Triton: signs are drawn where they are used and never stored.

Sign i of sample t of an example is a function of the seed and of (replica, example, t, i) alone
(the four counters of Philox), so the backward pass draws the same signs again, and neither the tiles
nor the order in which programs run change a result. All neurons of a layer see the same signs. Two
layers with the same seed would see the same random numbers: give each call its own seed.

For float32 means 32 random bits decide a sign, for float64 means 63: the probability of every sign
is right to 2^-33 and 2^-63. Certain signs (a mean of -1 or 1) are certain.
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["Tile", "backward", "differentiate", "evaluate", "forward"]


class Tile(NamedTuple):
    """How many samples, inputs and neurons a program takes at a time; powers of two, inputs >= 4."""

    samples: int
    inputs: int
    neurons: int
    n_warps: int = 4


# A matrix product needs at least 16 of everything; few neurons, and float64, are multiplied out.
PRODUCT_TILE = Tile(16, 32, 64)
SMALL_TILE = Tile(32, 16, 8)
SMALLEST_PRODUCT = 16

# Examples, and then samples, are shared out until there are about so many programs ...
PROGRAMS = 132 * 8
# ... but the copies of a gradient that this takes hold at most this many numbers.
PARTIAL_ELEMENTS = 1 << 27


def forward(
    mean: Tensor, weight: Tensor, n_samples: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Return the sampled layer (R, n, m), and the seed it drew from, for the backward pass."""
    ends = torch.iinfo(torch.int64)
    seed = torch.randint(ends.min, ends.max, (1,), generator=generator, device=mean.device)
    return evaluate(mean, weight, seed, n_samples), seed


def backward(
    grad: Tensor, mean: Tensor, weight: Tensor, n_samples: int, seed: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the estimated gradients in `mean` and `weight`."""
    return differentiate(grad, mean, weight, seed, n_samples)


def evaluate(mean: Tensor, weight: Tensor, seed: Tensor, n_samples: int) -> Tensor:
    """Mean over n_samples drawn sign vectors s of erf(w . s / sqrt(2 d)).

    Parameters
    ----------
    mean : Tensor, float32 or float64, contiguous, shape (R, n, d)
    weight : Tensor, same type, contiguous, shape (R, m, d)
    seed : Tensor, int64, one element
        Read on the device.
    n_samples : int

    Returns
    -------
    Tensor, shape (R, n, m)
    """
    (n_replicas, n, d), m = mean.shape, weight.shape[1]
    if n_replicas * n * m == 0:
        return mean.new_zeros(n_replicas, n, m)
    tile, product = _tile(mean, m)
    n_groups = triton.cdiv(m, tile.neurons)
    n_shares = _sample_shares(n_replicas * n * n_groups, n_replicas * n * m, tile, n_samples)
    value = mean.new_empty(n_shares, n_replicas, n, m)
    _forward_kernel[(n_replicas * n * n_groups * n_shares,)](
        mean, weight, seed, value, n_samples, n_replicas, n, m, d, n_groups, n_shares, PRODUCT=product,
        BT=tile.samples, BD=tile.inputs, BM=tile.neurons, num_warps=tile.n_warps, num_stages=1,
        enable_fp_fusion=True,
    )  # fmt: skip
    return value[0] if n_shares == 1 else value.sum(dim=0)


def differentiate(
    grad: Tensor, mean: Tensor, weight: Tensor, seed: Tensor, n_samples: int
) -> tuple[Tensor, Tensor]:
    """Gradients in mean (the score-function estimate) and weight, for the gradient `grad` (R, n, m)."""
    (n_replicas, n, d), m = mean.shape, weight.shape[1]
    if n_replicas * n * m == 0:
        return torch.zeros_like(mean), torch.zeros_like(weight)
    tile, product = _tile(mean, m)
    affordable = max(1, PARTIAL_ELEMENTS // weight.numel())
    per_chunk = triton.cdiv(n, min(n, max(1, PROGRAMS // n_replicas), affordable))
    n_chunks = triton.cdiv(n, per_chunk)
    copied = max(mean.numel(), n_chunks * weight.numel())
    n_shares = _sample_shares(n_replicas * n_chunks, copied, tile, n_samples)
    for_mean = mean.new_zeros(n_shares, n_replicas, n, d)
    for_weight = mean.new_zeros(n_shares * n_chunks, n_replicas, m, d)
    _backward_kernel[(n_replicas * n_chunks * n_shares,)](
        grad.contiguous(), mean, weight, seed, for_mean, for_weight, n_samples, n_replicas, n, m, d,
        n_chunks, per_chunk, n_shares, PRODUCT=product, BT=tile.samples, BD=tile.inputs,
        BM=tile.neurons, num_warps=tile.n_warps, num_stages=1, enable_fp_fusion=True,
    )  # fmt: skip
    grad_mean = for_mean[0] if n_shares == 1 else for_mean.sum(dim=0)
    return grad_mean, for_weight[0] if n_shares * n_chunks == 1 else for_weight.sum(dim=0)


def _tile(mean: Tensor, m: int) -> tuple[Tile, bool]:
    """The tile, and whether a matrix product serves."""
    product = mean.dtype == torch.float32 and m >= SMALLEST_PRODUCT
    tile = PRODUCT_TILE if product else SMALL_TILE
    return tile._replace(neurons=min(tile.neurons, triton.next_power_of_2(m))), product


def _sample_shares(n_programs: int, n_copied: int, tile: Tile, n_samples: int) -> int:
    wanted, affordable = PROGRAMS // n_programs, PARTIAL_ELEMENTS // n_copied
    return max(1, min(wanted, affordable, -(-n_samples // tile.samples)))


_SIZES = ["n_samples", "n_replicas", "n", "m", "d", "n_groups", "n_shares", "n_chunks", "per_chunk"]


@triton.jit(do_not_specialize=_SIZES)
def _forward_kernel(
    mean, weight, seed, value, n_samples, n_replicas, n, m, d, n_groups, n_shares,
    PRODUCT: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr, BM: tl.constexpr,
):  # fmt: skip
    """One example, one group of neurons, a share of the samples; value is (shares, R, n, m)."""
    program = tl.program_id(0).to(tl.int64)
    group, rest = program % n_groups, program // n_groups
    share, rest = rest % n_shares, rest // n_shares
    example, replica = rest % n, rest // n
    key = tl.load(seed)
    mean += (replica * n + example) * d
    weight += replica * m * d
    j = group * BM + tl.arange(0, BM)
    total = tl.zeros((BM,), dtype=mean.dtype.element_ty)
    for start in range(share * BT, n_samples, n_shares * BT):
        t = (start + tl.arange(0, BT)).to(tl.int32)
        u = _pre_activation(mean, weight, key, replica, example, t, j, m, d, PRODUCT, BT, BD, BM)
        vote = tl.erf(u * 0.70710678118654752440)
        total += tl.sum(tl.where((t < n_samples)[:, None], vote, 0.0), axis=0)
    value += ((share * n_replicas + replica) * n + example) * m
    tl.store(value + j, total / n_samples, mask=j < m)


@triton.jit(do_not_specialize=_SIZES)
def _backward_kernel(
    grad, mean, weight, seed, for_mean, for_weight, n_samples, n_replicas, n, m, d,
    n_chunks, per_chunk, n_shares,
    PRODUCT: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr, BM: tl.constexpr,
):  # fmt: skip
    """A chunk of examples and a share of the samples, all neurons.

    for_mean is (shares, R, n, d), for_weight (shares x chunks, R, m, d), both 0 at first.
    """
    program = tl.program_id(0).to(tl.int64)
    share, rest = program % n_shares, program // n_shares
    chunk, replica = rest % n_chunks, rest // n_chunks
    key = tl.load(seed)
    weight += replica * m * d
    for_weight += ((share * n_chunks + chunk) * n_replicas + replica) * m * d
    end = tl.minimum(n, (chunk + 1) * per_chunk)
    for example in range(chunk * per_chunk, end):
        row = mean + (replica * n + example) * d
        to_mean = for_mean + ((share * n_replicas + replica) * n + example) * d
        slopes = grad + (replica * n + example) * m
        for start in range(share * BT, n_samples, n_shares * BT):
            t = (start + tl.arange(0, BT)).to(tl.int32)
            votes = tl.zeros((BT,), dtype=mean.dtype.element_ty)
            for first in range(0, m, BM):
                j = first + tl.arange(0, BM)
                u = _pre_activation(row, weight, key, replica, example, t, j, m, d, PRODUCT, BT, BD, BM)
                slope = tl.load(slopes + j, mask=j < m, other=0.0) / n_samples
                each = tl.where((t < n_samples)[:, None], slope[None, :], 0.0)
                votes += tl.sum(tl.erf(u * 0.70710678118654752440) * each, axis=1)
                each *= 0.79788456080286535588 * tl.exp(-0.5 * u * u)
                _add_weight_slopes(each, row, for_weight, key, replica, example, t, j, m, d, PRODUCT, BT, BD)
            _add_mean_slopes(votes, row, to_mean, key, replica, example, t, d, BT, BD)
            tl.debug_barrier()  # the next round reads what this one has written


@triton.jit
def _pre_activation(
    row, weight, key, replica, example, t, j, m, d,
    PRODUCT: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr, BM: tl.constexpr,
):  # fmt: skip
    """w . s / sqrt(d) for the samples t and the neurons j, shape (BT, BM)."""
    u = tl.zeros((BT, BM), dtype=row.dtype.element_ty)
    for first in range(0, d, BD):
        i = first + tl.arange(0, BD)
        s, _ = _draw(row, key, replica, example, t, first, d, BT, BD)
        inside = (i < d)[:, None] & (j < m)[None, :]
        w = tl.load(weight + j[None, :].to(tl.int64) * d + i[:, None], mask=inside, other=0.0)
        if PRODUCT:
            u = tl.dot(s, w, u, input_precision="ieee")
        else:
            u += tl.sum(s[:, :, None] * w[None, :, :], axis=1)
    return u / _root(d).to(row.dtype.element_ty)


@triton.jit
def _add_weight_slopes(
    each, row, for_weight, key, replica, example, t, j, m, d,
    PRODUCT: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    """Add sum_t each[t, j] s[t, i] / sqrt(d) to for_weight."""
    each = each / _root(d).to(each.dtype)
    for first in range(0, d, BD):
        i = first + tl.arange(0, BD)
        s, _ = _draw(row, key, replica, example, t, first, d, BT, BD)
        if PRODUCT:
            change = tl.dot(tl.trans(each), s, input_precision="ieee")
        else:
            change = tl.sum(each[:, :, None] * s[:, None, :], axis=0)
        cells = for_weight + j[:, None].to(tl.int64) * d + i[None, :]
        inside = (j < m)[:, None] & (i < d)[None, :]
        tl.store(cells, tl.load(cells, mask=inside, other=0.0) + change, mask=inside)
    tl.debug_barrier()


@triton.jit
def _add_mean_slopes(votes, row, to_mean, key, replica, example, t, d, BT: tl.constexpr, BD: tl.constexpr):
    """Add sum_t votes[t] s[t, i] / (1 + s[t, i] g[i]) to to_mean."""
    for first in range(0, d, BD):
        i = first + tl.arange(0, BD)
        s, g = _draw(row, key, replica, example, t, first, d, BT, BD)
        chance = 1.0 + s * g[None, :]  # a drawn sign has a positive one
        change = tl.sum(votes[:, None] * s / chance, axis=0)
        cells = to_mean + i
        tl.store(cells, tl.load(cells, mask=i < d, other=0.0) + change, mask=i < d)


@triton.jit
def _draw(row, key, replica, example, t, first, d, BT: tl.constexpr, BD: tl.constexpr):
    """Signs -1 and 1 of samples t and inputs first, .., first + BD - 1, shape (BT, BD), and the means."""
    g = tl.load(row + first + tl.arange(0, BD), mask=first + tl.arange(0, BD) < d, other=0.0)
    chance = (1.0 + g.to(tl.float64)) * 0.5
    certain = chance >= 1.0
    chance = tl.where(certain, 0.0, chance)
    if g.dtype == tl.float64:  # two words a sign, two signs a call
        a, b, c, e = _words(key, replica, example, t, first // 2 + tl.arange(0, BD // 2), BT, BD // 2)
        high = tl.reshape(tl.join(a, c), (BT, BD)).to(tl.int64)
        low = tl.reshape(tl.join(b, e), (BT, BD)).to(tl.int64)
        drawn = (high << 31) | (low >> 1)
        border = (chance * 9223372036854775808.0).to(tl.int64)
    else:  # one word a sign, four signs a call
        a, b, c, e = _words(key, replica, example, t, first // 4 + tl.arange(0, BD // 4), BT, BD // 4)
        drawn = tl.reshape(tl.join(tl.join(a, c), tl.join(b, e)), (BT, BD))
        border = (chance * 4294967296.0 + 0.5).to(tl.int64).to(tl.uint32)
    plus = (drawn < border[None, :]) | certain[None, :]
    return tl.where(plus, 1.0, -1.0).to(g.dtype), g


@triton.jit
def _words(key, replica, example, t, part, BT: tl.constexpr, BP: tl.constexpr):
    """Four blocks (BT, BP) of random 32-bit words."""
    zero = tl.zeros((BT, BP), dtype=tl.int64)
    c0, c1 = (zero + part[None, :]).to(tl.int32), (zero + t[:, None]).to(tl.int32)
    c2, c3 = (zero + example).to(tl.int32), (zero + replica).to(tl.int32)
    return tl.philox(key, c0, c1, c2, c3)


@triton.jit
def _root(d):
    """sqrt(d) in float64."""
    return tl.sqrt(tl.zeros((1,), dtype=tl.float64) + d)
