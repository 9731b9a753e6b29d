# ruff: noqa: N803
# mypy: disable-error-code="import-not-found, import-untyped, no-untyped-def, untyped-decorator"
# Triton's convention: capitals for what is fixed at compile time, and no types inside kernels.

"""Random signs with given means, drawn inside a Triton kernel: functions for other kernels to call."""

import triton
import triton.language as tl


@triton.jit
def means(row, first, d, BD: tl.constexpr):
    """What draw asks of inputs first, .., first + BD - 1, and their means (BD,)."""
    i = first + tl.arange(0, BD)
    g = tl.load(row + i, mask=i < d, other=0.0)
    per_call: tl.constexpr = 2 if g.dtype == tl.float64 else 4  # signs that a call of Philox gives
    b0, b1 = border_of(row, first, d, per_call, BD), border_of(row, first + 1, d, per_call, BD)
    b2, b3 = border_of(row, first + 2, d, per_call, BD), border_of(row, first + 3, d, per_call, BD)
    return (b0, b1, b2, b3, 1.0 + g.to(tl.float64) >= 2.0), g


@triton.jit
def border_of(row, first, d, STEP: tl.constexpr, BD: tl.constexpr):
    """Below which random number the signs first, first + STEP, .. are 1, unless they are certain."""
    i = first + STEP * tl.arange(0, BD // STEP)
    chance = (1.0 + tl.load(row + i, mask=i < d, other=0.0).to(tl.float64)) * 0.5
    chance = tl.where(chance >= 1.0, 0.0, chance)
    if STEP == 2:
        border = (chance * 9223372036854775808.0).to(tl.int64)
    else:
        border = (chance * 4294967296.0 + 0.5).to(tl.int64).to(tl.uint32)
    return border[None, :]


@triton.jit
def draw(borders, key, replica, example, t, first, BT: tl.constexpr, BD: tl.constexpr):
    """Which signs of samples t and inputs first, .., first + BD - 1 are 1, shape (BT, BD)."""
    b0, b1, b2, b3, certain = borders
    call = first * b0.shape[1] // BD + tl.arange(0, b0.shape[1])[None, :]
    zero = tl.zeros((1, 1), dtype=tl.int64)  # rows and columns are broadcast as late as Philox allows
    c2, c3 = (zero + example).to(tl.int32), (zero + replica).to(tl.int32)
    w0, w1, w2, w3 = tl.philox(key, call.to(tl.int32), t[:, None], c2, c3)
    # Compared first and put in order then: what moves between threads is bytes, not random words.
    if b0.dtype == tl.int64:  # two words a sign
        x = (w0.to(tl.int64) << 31) | (w1.to(tl.int64) >> 1)
        y = (w2.to(tl.int64) << 31) | (w3.to(tl.int64) >> 1)
        plus = tl.join((x < b0).to(tl.int8), (y < b1).to(tl.int8))
    else:
        even = tl.join((w0 < b0).to(tl.int8), (w2 < b2).to(tl.int8))
        plus = tl.join(even, tl.join((w1 < b1).to(tl.int8), (w3 < b3).to(tl.int8)))
    return (tl.reshape(plus, (BT, BD)) != 0) | certain[None, :]


@triton.jit
def signs(plus, dtype: tl.constexpr):
    """1 where plus, -1 elsewhere."""
    return tl.where(plus, tl.full((1, 1), 1.0, dtype), tl.full((1, 1), -1.0, dtype))
