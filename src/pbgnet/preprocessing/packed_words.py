"""Words stored one after the other in memory; Python texts are made from them when needed."""

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.preprocessing.words import MISSING, Words, occurring_places


class PackedWords(Words):
    """The texts of a column, with all words stored together as UTF-8.

    Parameters
    ----------
    content : ndarray of uint8
        The UTF-8 of the distinct words.
    starts : ndarray of int64, shape (k + 1,)
        Where each word begins, and where the last one ends.
    places : ndarray of whole numbers, shape (n,)
        -1 if a text is missing.
    written : ndarray of float64, shape (k,), optional
        The number that each word writes out as programs do, NaN where it is none; None if nobody has looked.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.preprocessing.packed_words import PackedWords
    >>> content = np.frombuffer("redblue".encode(), dtype=np.uint8)
    >>> list(PackedWords(content, np.array([0, 3, 7]), np.array([1, -1, 0])))
    ['blue', None, 'red']
    """

    def __init__(
        self,
        content: NDArray[np.uint8],
        starts: NDArray[np.int64],
        places: NDArray[Any],
        written: NDArray[np.float64] | None = None,
    ) -> None:
        self.content, self.starts, self.places, self.written = content, starts, places, written

    @functools.cached_property
    def words(self) -> list[str]:  # type: ignore[override]
        """The words as texts."""
        whole, cuts = self.content.tobytes(), self.starts.tolist()
        if whole.isascii():
            text = whole.decode("ascii")
            return [text[start:end] for start, end in itertools.pairwise(cuts)]
        return [whole[start:end].decode() for start, end in itertools.pairwise(cuts)]

    @property
    def n_words(self) -> int:
        """Number of distinct words."""
        return len(self.starts) - 1

    @classmethod
    def joined(cls, parts: Sequence[Words]) -> Words:
        """Return the texts of several parts, one after the other, with the words of all of them."""
        import pyarrow as pa

        packed = [part for part in parts if isinstance(part, cls)]
        words = pa.concat_arrays([part._arrow() for part in packed]).dictionary_encode()
        new = words.indices.to_numpy()
        written = None
        if all(part.written is not None for part in packed):
            written = np.empty(len(words.dictionary))
            written[new] = np.concatenate([np.asarray(part.written) for part in packed])
        ends = np.cumsum([part.n_words for part in packed])
        places = [
            np.append(some, MISSING)[part.places]
            for part, some in zip(packed, np.split(new, ends[:-1]), strict=True)
        ]
        content, starts = unpack_arrow(words.dictionary)
        return cls(content, starts, np.concatenate(places), written)

    @property
    def utf8(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The UTF-8 of the different words, and where each begins."""
        return self.content, self.starts

    def take(self, rows: slice | NDArray[Any]) -> "PackedWords":
        """Return the texts of some rows; those of fewer rows than there are words keep theirs alone."""
        places = self.places[rows]
        if isinstance(rows, slice) or places.size >= self.n_words:
            return PackedWords(self.content, self.starts, places, self.written)
        return self._with(*occurring_places(places))

    def _with(self, kept: NDArray[Any], places: NDArray[Any]) -> "PackedWords":
        content, starts = unpack_arrow(self._arrow().take(kept))
        return PackedWords(content, starts, places, None if self.written is None else self.written[kept])

    def _arrow(self) -> Any:
        import pyarrow as pa

        buffers = [None, pa.py_buffer(self.starts), pa.py_buffer(self.content)]
        return pa.Array.from_buffers(pa.large_string(), self.n_words, buffers)


def unpack_arrow(array: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the UTF-8 of an array of texts of Arrow, and where each begins; those missing take no room."""
    import pyarrow as pa

    if array.type != pa.large_string():
        array = array.cast(pa.large_string())
    if not len(array):
        return np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    _, offsets, content = array.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    held = np.frombuffer(content or b"", dtype=np.uint8)[starts[0] : starts[-1]]
    return held, starts - starts[0]


def arrow_texts(content: NDArray[np.uint8], starts: NDArray[np.int64], present: NDArray[np.bool_]) -> Any:
    """Return texts as an array of Arrow, null where one is not present: what `unpack_arrow` takes apart."""
    import pyarrow as pa

    mask = np.packbits(present, bitorder="little")
    buffers = [pa.py_buffer(mask), pa.py_buffer(starts), pa.py_buffer(content)]
    return pa.Array.from_buffers(pa.large_string(), len(present), buffers)
