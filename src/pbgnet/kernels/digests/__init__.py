"""Digests of many short texts."""

import numpy as np
import torch
from numpy.typing import NDArray

from pbgnet.kernels.digests import sha256_plain
from pbgnet.kernels.dispatch import find_kernel

# This many texts are worth compiling for.
MANY_TEXTS = 1 << 10


def first_bits(
    content: NDArray[np.uint8], starts: NDArray[np.int64], which: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return the first 64 bits of the SHA-256 of some texts; see `sha256_plain.first_bits`."""
    many = len(which) >= MANY_TEXTS
    kernel = find_kernel("digests", torch.device("cpu")) if many else sha256_plain
    found: NDArray[np.uint64] = kernel.first_bits(content, starts, which)
    return found
