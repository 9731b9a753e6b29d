"""Which rows were already counted, recognised by their ids: 64 bits of each are kept."""

import base64
import binascii
import hashlib
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.exceptions import DamagedFileError, DomainError, ShapeError
from pbgnet.monitoring.gaps import gaps_of, values_of


def id_texts(ids: ArrayLike, n_rows: int | None = None) -> list[str]:
    """Return ids as texts: one for each row if the number is given, none missing, none twice.

    Examples
    --------
    >>> from pbgnet.monitoring.ids import id_texts
    >>> id_texts([17, "a"], 2)
    ['17', 'a']
    """
    values = values_of("ids", ids)
    if n_rows is not None and len(values) != n_rows:
        raise ShapeError(f"There are {len(values)} ids for {n_rows} rows.")
    if (gaps := gaps_of(values)).any():
        raise DomainError(f"Row {int(np.argmax(gaps))} has no id; either every row has one, or none does.")
    texts = list(map(str, values.tolist()))
    if len(set(texts)) < len(texts):
        twice = Counter(texts).most_common(1)[0][0]
        raise DomainError(f"The id {twice!r:.60} occurs twice in these rows; a row can only be counted once.")
    return texts


def id_fingerprints(texts: list[str]) -> NDArray[np.uint64]:
    """Return 64 bits of each id."""
    digests = [hashlib.blake2b(t.encode("utf-8", "surrogatepass"), digest_size=8).digest() for t in texts]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def joined(seen: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return all fingerprints of both arrays, each once, in increasing order."""
    both = np.sort(np.concatenate([seen, others]))
    return both[np.append(True, both[1:] != both[:-1])] if both.size else both


def write_fingerprints(seen: NDArray[np.uint64]) -> str:
    """Return fingerprints, in increasing order, as a text."""
    return base64.b64encode(seen.astype("<u8").tobytes()).decode("ascii")


def read_fingerprints(text: str) -> NDArray[np.uint64]:
    """Read what `write_fingerprints` returned; raise `DamagedFileError` for anything else."""
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise DamagedFileError(f"seen is not base64: {error}") from error
    if len(content) % 8:
        raise DamagedFileError("seen must hold 8 bytes for each row.")
    seen = np.frombuffer(content, dtype="<u8").astype(np.uint64)
    if np.any(seen[1:] <= seen[:-1]):
        raise DamagedFileError("seen must rise: each row once.")
    return seen


def are_among(wanted: NDArray[np.uint64], seen: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return which fingerprints are among others, which are sorted."""
    if not seen.size:
        return np.zeros(wanted.size, dtype=bool)
    places: NDArray[Any] = np.minimum(np.searchsorted(seen, wanted), seen.size - 1)
    return np.asarray(seen[places] == wanted)
