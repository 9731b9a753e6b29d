"""SipHash-2-4 (Aumasson and Bernstein 2012) of 64-bit numbers, which cannot be inverted."""

import numpy as np
from numpy.typing import NDArray

State = tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]

_CONSTANTS = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)

# The last block of a message of 8 bytes contains its length.
_END = np.uint64(8 << 56)

# Number of values hashed at a time, so that they stay in the cache of a core.
BLOCK = 1 << 13


def siphash(values: NDArray[np.uint64], key: tuple[int, int] = (0, 0)) -> NDArray[np.uint64]:
    """Hash each number as a message of 8 bytes, little-endian.

    Parameters
    ----------
    values : ndarray of uint64, shape (n,)
    key : pair of int
        The two halves of the key.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.data.siphash import siphash
    >>> key = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
    >>> hex(siphash(np.array([0x0706050403020100], dtype=np.uint64), key)[0])  # in the authors' list
    '0x93f5f5799a932462'
    """
    hashed = np.empty_like(values)
    for start in range(0, len(values), BLOCK):
        hashed[start : start + BLOCK] = _block(values[start : start + BLOCK], key)
    return hashed


def _block(messages: NDArray[np.uint64], key: tuple[int, int]) -> NDArray[np.uint64]:
    first, second, third, fourth = (
        np.full(messages.shape, constant ^ half, dtype=np.uint64)
        for constant, half in zip(_CONSTANTS, (*key, *key), strict=True)
    )
    state: State = (first, second, third, fourth)
    for block in (messages, _END):
        state[3][:] ^= block
        state = _rounds(state, 2)
        state[0][:] ^= block
    state[2][:] ^= np.uint64(0xFF)
    state = _rounds(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _rounds(state: State, count: int) -> State:
    v0, v1, v2, v3 = state
    for _ in range(count):
        v0, v2 = v0 + v1, v2 + v3
        v1, v3 = _turned(v1, 13) ^ v0, _turned(v3, 16) ^ v2
        v0, v2 = _turned(v0, 32) + v3, v2 + v1
        v3, v1 = _turned(v3, 21) ^ v0, _turned(v1, 17) ^ v2
        v2 = _turned(v2, 32)
    return v0, v1, v2, v3


def _turned(values: NDArray[np.uint64], by: int) -> NDArray[np.uint64]:
    """Rotate the bits of each number to the left."""
    return (values << np.uint64(by)) | (values >> np.uint64(64 - by))
