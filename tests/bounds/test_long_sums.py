"""Exactly rounded sums of very many numbers."""

import math
import tracemalloc

import numpy as np

from pbgnet.bounds import exact_sum, maurer_xi
from pbgnet.bounds.confidence import _xi
from pbgnet.bounds.long_sums import BLOCK


def test_it_is_the_sum_of_python_in_any_order():
    values = np.random.default_rng(0).normal(size=2 * BLOCK + 3) * 10.0 ** np.arange(2 * BLOCK + 3) ** 0.2
    assert exact_sum(values) == math.fsum(values.tolist()) == exact_sum(values[::-1])
    assert exact_sum(values[:6].reshape(2, 3)) == math.fsum(values[:6].tolist())
    assert exact_sum(values[:0]) == 0.0


def test_no_list_of_all_numbers_is_made():
    n = 10 * BLOCK
    _xi.cache_clear()
    tracemalloc.start()
    try:
        exact_sum(np.ones(n))
        _, of_sum = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        maurer_xi(n)
        _, of_xi = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert of_sum < 8 * n + 80 * BLOCK
    assert of_xi < 8 * n + 80 * BLOCK, "as numbers of Python all terms take 32 bytes each"
