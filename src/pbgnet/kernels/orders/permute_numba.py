# mypy: disable-error-code="no-untyped-def"
# Compiled functions have no types.

"""A keyed bijection of the numbers below a count, for CPUs: see `permute_torch` for what is computed."""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from pbgnet.kernels.numba_compiler import compiled
from pbgnet.kernels.orders import permute_torch
from pbgnet.kernels.threads import share

# Numba takes globals as constants.
ROUNDS = permute_torch.ROUNDS
STRIDE, FIRST, SECOND = (np.uint64(x % (1 << 64)) for x in (permute_torch.STRIDE, *permute_torch.FACTORS))

OPERATIONS = 64
"""Elementary operations for a number, about."""


def permuted(places: Tensor, keys: Tensor, counts: Tensor, most: int) -> Tensor:
    """Map numbers below a count one to one to themselves; see `permute_torch.permuted`."""
    given = torch.broadcast_tensors(places, keys, counts)
    arrays = [tensor.contiguous().view(-1).numpy().view(np.uint64) for tensor in given]
    found = np.empty_like(arrays[0])
    high, low = permute_torch.sides(most)
    share(partial(_permute, *arrays, found, high, low), found.size, OPERATIONS * found.size)
    return torch.from_numpy(found.view(np.int64)).view(given[0].shape)


@compiled
def _permute(places, keys, counts, found, high, low, first, last):
    high, low = np.uint64(high), np.uint64(low)
    for i in range(first, last):
        place = places[i]
        while True:
            key = keys[i]
            left = place // low
            right = place - left * low
            for turn in range(ROUNDS):
                key += STRIDE
                if turn % 2:
                    right = _moved(right, left, key, low)
                else:
                    left = _moved(left, right, key, high)
            place = left * low + right
            if place < counts[i]:
                break
        found[i] = place


@compiled
def _moved(half, by, key, count):
    mixed = (by + key) * FIRST
    mixed = (mixed ^ (mixed >> np.uint64(29))) * SECOND
    turned = half + (((mixed >> np.uint64(33)) * count) >> np.uint64(31))
    return turned - count if turned >= count else turned
