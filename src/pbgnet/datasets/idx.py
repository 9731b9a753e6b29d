"""The idx format of the MNIST files: a magic number, the sizes, the bytes.

Two zero bytes, one byte for the type (8: unsigned bytes, the only one read here), one for the number of
axes, then the length of each axis as a big-endian 32-bit number, then the values in row order.
"""

import math

import numpy as np
from numpy.typing import NDArray

from pbgnet.exceptions import DamagedFileError

UNSIGNED_BYTES = 8


def read_idx(content: bytes, name: str, n_axes: int) -> NDArray[np.uint8]:
    """Return the array of an idx file, which must have that many axes, without copying it."""
    start = 4 + 4 * n_axes
    magic = bytes([0, 0, UNSIGNED_BYTES, n_axes])
    if content[:4] != magic or len(content) < start:
        raise DamagedFileError(
            f"{name} must begin with the bytes {magic.hex()} of an idx file of {n_axes} axes and its sizes, "
            f"got {content[:4].hex() or 'nothing'} in {len(content)} bytes."
        )
    shape = tuple(int.from_bytes(content[k : k + 4], "big") for k in range(4, start, 4))
    if len(content) - start != math.prod(shape):
        raise DamagedFileError(
            f"{name} says it holds {' x '.join(map(str, shape))} values, but {len(content) - start} follow."
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
