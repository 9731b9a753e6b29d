# ruff: noqa: N803
# mypy: disable-error-code="import-not-found, import-untyped, no-untyped-def, untyped-decorator"
# Triton's convention: capitals for what is fixed at compile time, and no types inside kernels.

"""Which signs differ from the side of their mean, drawn inside a Triton kernel, eight samples at a time.

A flip is decided by 16 random bits of its own: it happens if they are below a border, the chance of a flip in
units of 2^-16. The border is rounded at random, once for an example and input, so that the chance of every
flip is right to 2^-33 all the same; certain signs never flip. Sharing that rounding makes two samples depend
on each other, with a covariance of at most 2^-34.

Flips only depend on the seed and on (replica, example, sample, input), the counters of Philox. Seven of its
rounds pass BigCrush (Salmon, Moraes, Dror and Shaw 2011). All neurons of a layer see the same flips.
"""

import functools

import torch
import triton
import triton.language as tl
from torch import Tensor

_ROUNDS = tl.constexpr(7)


@functools.cache
def ways_to_flip(device: torch.device, dtype: torch.dtype) -> Tensor:
    """What four samples of an input can be: 0 or 1 by the bits of the row, then 0 or -1; shape (32, 4).

    Kernels look four numbers up at once where putting them together would take a dozen instructions. The
    table has the size of two cache lines: with one for eight samples, threads would wait for each other.
    """
    bits = torch.arange(16)[:, None] >> torch.arange(4) & 1
    table = torch.cat([bits, -bits]).to(dtype).to(device)
    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()  # other threads use it in streams of their own
    return table


@triton.jit
def borders(g, key, replica, example, BD: tl.constexpr):
    """Below which random number the signs with means g (BD,) flip, times 2^16; 0 if they never do."""
    chance = ((0.5 - 0.5 * tl.abs(g).to(tl.float64)) * 4294967296.0 + 0.5).to(tl.int64)
    zero = tl.zeros((1,), dtype=tl.int64)
    # No call of `flips` has this second counter.
    at, _, _, _ = tl.philox(
        key, tl.arange(0, BD), (zero - 1).to(tl.int32), (zero + example).to(tl.int32),
        (zero + replica).to(tl.int32), _ROUNDS,
    )  # fmt: skip
    return (((chance + (at & 65535).to(tl.int64)) >> 16) << 16).to(tl.uint32)


@triton.jit
def flips(
    border, negative, ways, key, replica, example, first, n_samples, BD: tl.constexpr, BT: tl.constexpr
):
    """Flips of samples first, .., first + BT - 1, times the side of the mean: 0, 1 or -1.

    The shape is (BT / 8, BD, 8): eight samples of an input are side by side. `first` is a multiple of 8.
    There are no flips beyond the last sample.
    """
    border = border[None, :]
    call = (first // 8 + tl.arange(0, BT // 8))[:, None].to(tl.int32)
    zero = tl.zeros((1, 1), dtype=tl.int64)  # rows and columns are broadcast as late as Philox allows
    w0, w1, w2, w3 = tl.philox(
        key, tl.arange(0, BD)[None, :], call, (zero + example).to(tl.int32), (zero + replica).to(tl.int32),
        _ROUNDS,
    )  # fmt: skip
    # The upper half of a word is below the border if the word is.
    way = tl.where(w0 < border, 1, 0) | tl.where((w0 << 16) < border, 2, 0)
    way |= tl.where(w1 < border, 4, 0) | tl.where((w1 << 16) < border, 8, 0)
    way |= tl.where(w2 < border, 16, 0) | tl.where((w2 << 16) < border, 32, 0)
    way |= tl.where(w3 < border, 64, 0) | tl.where((w3 << 16) < border, 128, 0)
    left = tl.maximum(tl.minimum(n_samples - 8 * call, 8), 0)
    way &= (1 << left) - 1
    four = (way[:, :, None, None] >> (4 * tl.arange(0, 2))[None, None, :, None]) & 15
    four |= tl.where(negative, 16, 0)[None, :, None, None]
    found = tl.load(ways + four * 4 + tl.arange(0, 4)[None, None, None, :])
    return tl.reshape(found, (BT // 8, BD, 8))
