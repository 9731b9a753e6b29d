# ruff: noqa: N803
# mypy: disable-error-code="import-not-found, import-untyped, no-untyped-def, untyped-decorator"
# Triton's convention: capitals for what is fixed at compile time, and no types inside kernels.

"""The kernels of `narrow_triton`, in terms of flips.

A sign is the side of its mean, except where it is flipped: s_i = side_i (1 - 2 b_i) with b_i in {0, 1}. With
f_i = side_i b_i, and c = w . side / sqrt(d), a sample contributes

    u = c - 2 w . f / sqrt(d),      vote = erf(u / sqrt(2)),      bell = exp(-u^2 / 2),
    derivative in w_i      sqrt(2 / pi) bell (side_i - 2 f_i) / sqrt(d),
    derivative in mean_i   vote (side_i / (1 + |mean_i|) - 2 f_i / (1 - mean_i^2))     (Eq. 14).

So sums over samples of vote, bell, vote f_i and bell f_i give the value and both derivatives. Nothing cancels
where signs are nearly certain, because flips are rare there.
"""

import os

import triton
import triton.language as tl

from pbgnet.kernels.sampled.flips_triton import borders, flips

# The interpreter, which is for tests, knows neither products in float16 nor PTX.
INTERPRETED = tl.constexpr(os.environ.get("TRITON_INTERPRET") == "1")

# exp(-u^2 / 2) is 2^(-v^2) for v = UNIT u.
_UNIT = tl.constexpr(0.84932180028801904272)

_SIZES = ["n_counts", "n_replicas", "n", "m", "d", "n_groups", "n_shares", "n_chunks", "per_chunk", "n_rows"]


@triton.jit(do_not_specialize=_SIZES)
def halves_kernel(weight, halves, scale, n_rows, d, BD: tl.constexpr):
    """W / sqrt(d) over the largest of its row, as two numbers of few digits, (2, rows, BD); the largest."""
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BD)
    a = tl.load(weight + row * d + i, mask=i < d, other=0.0) * _root(d)
    largest = tl.max(tl.abs(a), axis=0)
    tl.store(scale + row, largest)
    a = a / tl.where(largest == 0.0, 1.0, largest)
    high = a.to(halves.dtype.element_ty)
    tl.store(halves + row * BD + i, high)
    tl.store(halves + (n_rows + row) * BD + i, (a - high.to(tl.float32)).to(halves.dtype.element_ty))


@triton.jit(do_not_specialize=_SIZES)
def layer_kernel(
    mean, halves, scale, ways, seed, value, by_mean, by_weight,
    counts, n_counts, n_replicas, n, m, d, n_groups, n_shares, n_chunks, per_chunk,
    SLOPES: tl.constexpr, BM: tl.constexpr, BD: tl.constexpr, BT: tl.constexpr,
):  # fmt: skip
    """A chunk of examples, a group of neurons, a share of the samples, with matrix products."""
    group, share, chunk, replica = _place(n_groups, n_shares, n_chunks)
    key, n_samples = tl.load(seed), tl.load(counts + replica % n_counts)
    i, j = tl.arange(0, BD), group * BM + tl.arange(0, BM)
    here = (j < m)[:, None] & (i < BD)[None, :]
    cells = (replica * m + j[:, None]) * BD + i[None, :]
    high = tl.load(halves + cells, mask=here, other=0.0)
    low = tl.load(halves + n_replicas.to(tl.int64) * m * BD + cells, mask=here, other=0.0)
    slope = tl.load(scale + replica * m + j, mask=j < m, other=0.0) * _UNIT
    extra = _beyond(n_samples, share, n_shares, BT)
    for example in range(chunk * per_chunk, tl.minimum(n, (chunk + 1) * per_chunk)):
        g = tl.load(mean + (replica * n + example) * d + i, mask=i < d, other=1.0)
        side = tl.where(g < 0.0, -1.0, 1.0)
        border = borders(g, key, replica, example, BD)
        # A matrix product has at least 16 columns.
        sides = tl.where(tl.arange(0, 16)[None, :] == 0, side[:, None], 0.0).to(high.dtype)
        c = tl.sum(_product(high, low, sides), axis=1) * slope
        votes, bells = tl.zeros((BM,), dtype=tl.float32), tl.zeros((BM,), dtype=tl.float32)
        if SLOPES:
            flipped_votes = tl.zeros((BM, BD), dtype=tl.float32)
            flipped_bells = tl.zeros((BM, BD), dtype=tl.float32)
        for start in range(share * BT, n_samples, n_shares * BT):
            f = flips(border, g < 0.0, ways, key, replica, example, start, n_samples, BD, BT)
            f = tl.reshape(tl.permute(f, (1, 0, 2)), (BD, BT))
            vote, bell = _vote_and_bell(_product(high, low, f) * (-2.0 * slope)[:, None] + c[:, None])
            votes += tl.sum(vote, axis=1)
            if SLOPES:
                bells += tl.sum(bell, axis=1)
                back = tl.trans(f)
                flipped_votes = tl.dot(vote.to(high.dtype), back, flipped_votes, input_precision="ieee")
                flipped_bells = tl.dot(bell.to(high.dtype), back, flipped_bells, input_precision="ieee")
        vote, bell = _vote_and_bell(c)
        votes -= extra * vote
        cell = ((share * n_replicas + replica) * n + example) * m + j
        tl.store(value + cell, _at_most_1(votes / n_samples), mask=j < m)
        if SLOPES:
            bells -= extra * bell
            cells = cell[:, None] * BD + i[None, :]
            slopes = _slopes_by_mean(votes[:, None], flipped_votes, g[None, :])
            tl.store(by_mean + cells, slopes / n_samples, mask=here)
            slopes = bells[:, None] * side[None, :] - 2.0 * flipped_bells
            tl.store(by_weight + cells, slopes * (_bell_slope(d) / n_samples), mask=here)


@triton.jit(do_not_specialize=_SIZES)
def neuron_kernel(
    mean, weight, ways, seed, value, by_mean, by_weight,
    counts, n_counts, n_replicas, n, m, d, n_shares, n_chunks, per_chunk,
    SLOPES: tl.constexpr, BD: tl.constexpr, BT: tl.constexpr,
):  # fmt: skip
    """A chunk of examples, one neuron, a share of the samples: sums within threads."""
    j, share, chunk, replica = _place(m, n_shares, n_chunks)
    key, n_samples = tl.load(seed), tl.load(counts + replica % n_counts)
    i = tl.arange(0, BD)
    a = tl.load(weight + (replica * m + j) * d + i, mask=i < d, other=0.0) * (_root(d) * _UNIT)
    extra = _beyond(n_samples, share, n_shares, BT)
    for example in range(chunk * per_chunk, tl.minimum(n, (chunk + 1) * per_chunk)):
        g = tl.load(mean + (replica * n + example) * d + i, mask=i < d, other=1.0)
        side = tl.where(g < 0.0, -1.0, 1.0)
        border = borders(g, key, replica, example, BD)
        c = tl.sum(a * side, axis=0)
        votes, bells = tl.zeros((BT // 8, 8), dtype=tl.float32), tl.zeros((BT // 8, 8), dtype=tl.float32)
        if SLOPES:
            flipped_votes = tl.zeros((BT // 8, BD), dtype=tl.float32)
            flipped_bells = tl.zeros((BT // 8, BD), dtype=tl.float32)
        for start in range(share * BT, n_samples, n_shares * BT):
            f = flips(border, g < 0.0, ways, key, replica, example, start, n_samples, BD, BT).to(tl.float32)
            vote, bell = _vote_and_bell(c - 2.0 * tl.sum(f * a[None, :, None], axis=1))
            votes += vote
            if SLOPES:
                bells += bell
                flipped_votes += tl.sum(f * vote[:, None, :], axis=2)
                flipped_bells += tl.sum(f * bell[:, None, :], axis=2)
        vote, bell = _vote_and_bell(c)
        all_votes = tl.sum(votes) - extra * vote
        cell = ((share * n_replicas + replica) * n + example) * m + j
        tl.store(value + cell, _at_most_1(all_votes / n_samples))
        if SLOPES:
            cells = cell * BD + i
            slopes = _slopes_by_mean(all_votes, tl.sum(flipped_votes, axis=0), g)
            tl.store(by_mean + cells, slopes / n_samples)
            slopes = (tl.sum(bells) - extra * bell) * side - 2.0 * tl.sum(flipped_bells, axis=0)
            tl.store(by_weight + cells, slopes * (_bell_slope(d) / n_samples))


@triton.jit(do_not_specialize=_SIZES)
def pull_back_kernel(
    grad, by_mean, by_weight, for_mean, for_weight, n_replicas, n, m, d, n_shares,
    BR: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    """One example, whose slopes are summed over neurons, or one neuron, summed over examples."""
    program = tl.program_id(0).to(tl.int64)
    replica, place = program // (n + m), program % (n + m)
    i = tl.arange(0, BD)
    if place < n:
        first = (replica * n + place) * m
        sums = _weighted_rows(grad, by_mean, first, 1, m, n_replicas * n * m, n_shares, BR, BD)
        tl.store(for_mean + (replica * n + place) * d + i, sums, mask=i < d)
    else:
        first = replica * n * m + place - n
        sums = _weighted_rows(grad, by_weight, first, m, n, n_replicas * n * m, n_shares, BR, BD)
        tl.store(for_weight + (replica * m + place - n) * d + i, sums, mask=i < d)


@triton.jit
def _weighted_rows(grad, slopes, first, step, count, n_pairs, n_shares, BR: tl.constexpr, BD: tl.constexpr):
    """Sum over shares and `count` pairs of example and neuron, `step` apart, of gradient times slopes."""
    sums = tl.zeros((BR, BD), dtype=tl.float32)
    for share in range(n_shares):
        for begin in range(0, count, BR):
            row = begin + tl.arange(0, BR)
            pair = first + row.to(tl.int64) * step
            factor = tl.load(grad + pair, mask=row < count, other=0.0)
            cells = (share * n_pairs + pair)[:, None] * BD + tl.arange(0, BD)[None, :]
            sums += factor[:, None] * tl.load(slopes + cells, mask=(row < count)[:, None], other=0.0)
    return tl.sum(sums, axis=0)


@triton.jit
def _place(n_groups, n_shares, n_chunks):
    """Group of neurons, share of samples, chunk of examples and replica of a program."""
    program = tl.program_id(0).to(tl.int64)
    group, rest = program % n_groups, program // n_groups
    share, rest = rest % n_shares, rest // n_shares
    return group, share, rest % n_chunks, rest // n_chunks


@triton.jit
def _beyond(n_samples, share, n_shares, BT: tl.constexpr):
    """How many samples the tiles of a share have beyond the last one. Nothing flips there: u is c."""
    last = tl.cdiv(n_samples, BT) - 1
    return tl.where(last % n_shares == share, (last + 1) * BT - n_samples, 0).to(tl.float32)


@triton.jit
def _product(high, low, f):
    """Weights, over the largest of their neuron, times flips."""
    return tl.dot(high, f, tl.dot(low, f, input_precision="ieee"), input_precision="ieee")


@triton.jit
def _slopes_by_mean(votes, flipped_votes, g):
    """Sums of vote times score; a sign that is never drawn needs no number."""
    size = tl.abs(g)
    rarity = tl.where(size == 1.0, 1.0, (1.0 - size) * (1.0 + size))
    return votes * (tl.where(g < 0.0, -1.0, 1.0) / (1.0 + size)) - flipped_votes * (2.0 / rarity)


@triton.jit
def _vote_and_bell(v):
    """erf(u / sqrt(2)), right to 2e-7 (Abramowitz and Stegun 7.1.26), and exp(-u^2 / 2), for v = UNIT u."""
    t = _reciprocal(1.0 + 0.27273748087922245 * tl.abs(v))
    bell = _power_of_2(-(v * v))
    p = (((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592
    return _with_sign(1.0 - (p * t) * bell, v), bell


@triton.jit
def _root(d):
    """1 / sqrt(d), computed in float64."""
    return (1.0 / tl.sqrt(d.to(tl.float64))).to(tl.float32)


@triton.jit
def _bell_slope(d):
    """Derivative of the vote in w_i, over bell s_i."""
    return 0.79788456080286535588 * _root(d)


@triton.jit
def _at_most_1(x):
    """Cut off what rounding adds; not a number stays."""
    return tl.where(x > 1.0, 1.0, tl.where(x < -1.0, -1.0, x))


# Triton's own also serve numbers so small that float32 has few digits for them, which takes longer.


@triton.jit
def _reciprocal(x):
    if not INTERPRETED:
        y = tl.inline_asm_elementwise("rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)
    else:
        y = 1.0 / x
    return y


@triton.jit
def _power_of_2(x):
    if not INTERPRETED:
        y = tl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)
    else:
        y = tl.exp2(x)
    return y


@triton.jit
def _with_sign(size, x):
    if not INTERPRETED:
        y = tl.inline_asm_elementwise("copysign.f32 $0, $1, $2;", "=f,f,f", [x, size], tl.float32, True, 1)
    else:
        y = tl.where(x < 0.0, -size, size)
    return y
