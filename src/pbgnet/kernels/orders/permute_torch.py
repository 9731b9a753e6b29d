"""A keyed bijection of the numbers below a count, in whole numbers, so all backends give the same result.

It is a Feistel network on pairs of numbers (Black and Rogaway, 2002): in turn, each half of a pair is rotated
by a hash of the other half. Pairs that are not numbers below the count go round again, until they are (cycle
walking).
"""

import math

import torch
from torch import Tensor

ROUNDS = 6
"""How often a half is moved, each half in turn."""

# The odd constants of SplitMix64 (Steele, Lea and Flood, 2014), as signed integers.
STRIDE = 0x9E3779B97F4A7C15 - (1 << 64)
FACTORS = (0xBF58476D1CE4E5B9 - (1 << 64), 0x94D049BB133111EB - (1 << 64))


def permuted(places: Tensor, keys: Tensor, counts: Tensor, most: int) -> Tensor:
    """Permute the numbers below a count.

    Parameters
    ----------
    places, keys, counts : Tensor of int64, of shapes that are broadcast
        The numbers; random bits that distinguish permutations; how many numbers are permuted.
    most : int
        The largest count, at most 2^40; if it differs, so does the permutation.
    """
    high, low = sides(most)
    found = _moved_pairs(places, keys, high, low)
    while bool((outside := found >= counts).any()):
        found = torch.where(outside, _moved_pairs(found, keys, high, low), found)
    return found


def sides(most: int) -> tuple[int, int]:
    """Return the size of each half of a pair, so that there are hardly more pairs than the count."""
    low = max(1, math.isqrt(max(most - 1, 0)) + 1)
    return -(-most // low), low


def _moved_pairs(places: Tensor, keys: Tensor, high: int, low: int) -> Tensor:
    left = torch.div(places, low, rounding_mode="floor")
    right = places - left * low
    for turn in range(ROUNDS):
        keys = keys + STRIDE
        if turn % 2:
            right = _moved(right, left, keys, low)
        else:
            left = _moved(left, right, keys, high)
    return left * low + right


def _moved(half: Tensor, by: Tensor, keys: Tensor, count: int) -> Tensor:
    mixed = (by + keys) * FACTORS[0]
    mixed = (mixed ^ _shift_right(mixed, 29)) * FACTORS[1]
    # The upper 31 bits as a share of the count, which needs no division.
    turned = half + ((_shift_right(mixed, 33) * count) >> 31)
    return torch.where(turned >= count, turned - count, turned)


def _shift_right(x: Tensor, bits: int) -> Tensor:
    """Shift the bits of signed integers like those of unsigned ones."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)
