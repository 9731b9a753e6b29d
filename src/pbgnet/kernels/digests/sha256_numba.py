# mypy: disable-error-code="no-untyped-def"
# Compiled functions have no types.

"""SHA-256 (FIPS 180-4) of many short texts side by side, for CPUs; see `sha256_plain`."""

import math

import numpy as np
from numpy.typing import NDArray

from pbgnet.kernels.digests import sha256_plain
from pbgnet.kernels.numba_compiler import compiled

LONGEST = 55
"""Bytes of a text that fits into one block, with its length."""

# Texts that go side by side through each step, one in each lane of wide registers.
LANES = 16

ROUNDS = 64

_PRIMES = [n for n in range(2, 312) if all(n % k for k in range(2, math.isqrt(n) + 1))]

# Numba takes globals as constants: the first 32 bits behind the point of roots of primes.
FIRST = np.array([int(math.sqrt(n) % 1 * 2**32) for n in _PRIMES[:8]], dtype=np.uint32)
ADDED = np.array([int(n ** (1 / 3) % 1 * 2**32) for n in _PRIMES[:ROUNDS]], dtype=np.uint32)


def first_bits(
    content: NDArray[np.uint8], starts: NDArray[np.int64], which: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return the first 64 bits of the SHA-256 of some texts; see `sha256_plain.first_bits`."""
    short = starts[which + 1] - starts[which] <= LONGEST
    found = np.empty(len(which), dtype=np.uint64)
    if not short.all():
        found[~short] = sha256_plain.first_bits(content, starts, which[~short])
        which = which[short]
    digests = np.empty(len(which), dtype=np.uint64)
    _digest(np.ascontiguousarray(content), np.ascontiguousarray(starts), which, digests)
    found[short] = digests.byteswap()
    return found


@compiled
def _digest(content, starts, which, found):
    """Write the first two words of each digest as one number."""
    schedule, state = np.empty((ROUNDS, LANES), np.uint32), np.empty((8, LANES), np.uint32)
    a, b, c, d, e, f, g, h = state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7]
    for first in range(0, len(which), LANES):
        _fill(content, starts, which, first, schedule)
        for k in range(8):
            state[k] = FIRST[k]
        _mix(schedule, a, b, c, d, e, f, g, h)
        for lane in range(min(LANES, len(which) - first)):
            high, low = np.uint32(a[lane] + FIRST[0]), np.uint32(b[lane] + FIRST[1])
            found[first + lane] = np.uint64(high) << np.uint64(32) | np.uint64(low)


@compiled
def _fill(content, starts, which, first, schedule):
    """Put a text into each lane: its bytes, a bit behind them, its length, and what follows of these."""
    schedule[:16] = 0
    for lane in range(min(LANES, len(which) - first)):
        start = starts[which[first + lane]]
        length = starts[which[first + lane] + 1] - start
        for k in range(length):
            schedule[k >> 2, lane] |= np.uint32(content[start + k]) << np.uint32(24 - 8 * (k & 3))
        schedule[length >> 2, lane] |= np.uint32(0x80) << np.uint32(24 - 8 * (length & 3))
        schedule[15, lane] = np.uint32(8 * length)
    for turn in range(16, ROUNDS):
        for lane in range(LANES):
            x, y = schedule[turn - 15, lane], schedule[turn - 2, lane]
            older = _turned(x, 7) ^ _turned(x, 18) ^ (x >> np.uint32(3))
            newer = _turned(y, 17) ^ _turned(y, 19) ^ (y >> np.uint32(10))
            schedule[turn, lane] = schedule[turn - 16, lane] + older + schedule[turn - 7, lane] + newer


@compiled
def _mix(schedule, a, b, c, d, e, f, g, h):
    """Go through the rounds, all lanes at a time."""
    for turn in range(ROUNDS):
        added = ADDED[turn]
        for lane in range(LANES):
            x, y = e[lane], a[lane]
            choice = (x & f[lane]) ^ (~x & g[lane])
            majority = (y & b[lane]) ^ (y & c[lane]) ^ (b[lane] & c[lane])
            one = h[lane] + (_turned(x, 6) ^ _turned(x, 11) ^ _turned(x, 25)) + choice
            one += added + schedule[turn, lane]
            two = (_turned(y, 2) ^ _turned(y, 13) ^ _turned(y, 22)) + majority
            h[lane], g[lane], f[lane], e[lane] = g[lane], f[lane], x, d[lane] + one
            d[lane], c[lane], b[lane], a[lane] = c[lane], b[lane], y, one + two


@compiled
def _turned(x, by):
    """Turn the bits of a number of 32 bits to the right; what is beyond them means nothing."""
    return x >> np.uint32(by) | x << np.uint32(32 - by)
