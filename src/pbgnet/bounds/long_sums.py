"""The exactly rounded sum of very many numbers, block by block, with Python's own exact summation."""

import math
from collections.abc import Iterable
from itertools import chain

import numpy as np
from numpy.typing import NDArray

# As Python numbers they take several times their memory, so there are never more than this many.
BLOCK = 1 << 16


def exact_sum(values: NDArray[np.float64]) -> float:
    """Return the sum of all numbers of an array, rounded once, so that their order makes no difference.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.bounds import exact_sum
    >>> exact_sum(np.array([1e100, 1.0, -1e100]))
    1.0
    """
    flat = values.ravel()
    return exact_sum_of_blocks(flat[start : start + BLOCK] for start in range(0, flat.size, BLOCK))


def exact_sum_of_blocks(blocks: Iterable[NDArray[np.float64]]) -> float:
    """Return the sum over several one-dimensional arrays, processed one after the other."""
    return math.fsum(chain.from_iterable(block.tolist() for block in blocks))
