"""The beginning of the SHA-256 of each of many texts, by Python's own library: on any device."""

import hashlib

import numpy as np
from numpy.typing import NDArray


def first_bits(
    content: NDArray[np.uint8], starts: NDArray[np.int64], which: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return the first 64 bits of the SHA-256 of some texts, as little-endian numbers.

    Parameters
    ----------
    content : ndarray of uint8
        The texts, one after the other.
    starts : ndarray of int64, shape (k + 1,)
        Where each of them begins, and where the last one ends.
    which : ndarray of int64, shape (n,)
        The places of those that are asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.kernels.digests.sha256_plain import first_bits
    >>> content, starts = np.frombuffer(b"abc", dtype=np.uint8), np.array([0, 3])
    >>> [hex(bits) for bits in first_bits(content, starts, np.array([0])).byteswap()]  # as FIPS 180-4 has it
    ['0xba7816bf8f01cfea']
    """
    written, cuts = content.tobytes(), starts.tolist()
    words = (written[cuts[place] : cuts[place + 1]] for place in which.tolist())
    firsts = b"".join([hashlib.sha256(word).digest()[:8] for word in words])
    return np.frombuffer(firsts, dtype="<u8").astype(np.uint64)
