"""A keyed bijection of the numbers below a count, in whole numbers: every backend gives the same.

It is a Feistel network on pairs of numbers (Black and Rogaway, 2002): in turn each half of a pair is moved,
as the hand of a clock, by a hash of the other half. Pairs that are no numbers below the count go round once
more, until they are (cycle walking).
"""

import math

import torch
from torch import Tensor

ROUNDS = 6
"""How often a half is moved, each of them in turn."""

# The odd constants of SplitMix64 (Steele, Lea and Flood, 2014), as signed integers.
STRIDE = 0x9E3779B97F4A7C15 - (1 << 64)
FACTORS = (0xBF58476D1CE4E5B9 - (1 << 64), 0x94D049BB133111EB - (1 << 64))


def permuted(places: Tensor, keys: Tensor, counts: Tensor, most: int) -> Tensor:
    """Map numbers below a count one to one to themselves.

    Parameters
    ----------
    places, keys, counts : Tensor of int64, of shapes that are broadcast
        The numbers; random bits that tell one permutation from another; how many numbers are permuted.
    most : int
        The largest count, at most 2^40: the same numbers are permuted otherwise where it differs.
    """
    high, low = sides(most)
    found = _moved_pairs(places, keys, high, low)
    while bool((outside := found >= counts).any()):
        found = torch.where(outside, _moved_pairs(found, keys, high, low), found)
    return found


def sides(most: int) -> tuple[int, int]:
    """Return how many numbers each half of a pair has, so that pairs are hardly more than the count."""
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
    """Shift the bits of signed integers as those of unsigned ones."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)
