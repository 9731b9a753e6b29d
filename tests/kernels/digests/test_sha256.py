"""SHA-256 of many texts side by side: what Python's own library computes."""

import numpy as np
import pytest

from pbgnet.kernels.digests import sha256_numba, sha256_plain


@pytest.mark.parametrize("n_texts", [0, 1, 16, 150])
def test_digests_are_those_of_the_library(n_texts):
    rng = np.random.default_rng(n_texts)
    lengths = np.arange(n_texts) % 75  # one block and two, and the ends of both
    starts = np.append(0, np.cumsum(lengths))
    content = rng.integers(0, 256, starts[-1], dtype=np.uint8)
    which = rng.permutation(n_texts)[: n_texts - n_texts // 5]
    found = sha256_numba.first_bits(content, starts, which)
    np.testing.assert_array_equal(found, sha256_plain.first_bits(content, starts, which))
