"""The shape of a text, in which all digits are the same: thousands of dates share one shape.

A pattern whose only digits are classes ``[0-9]`` matches a text if and only if it matches its shape, at the
same places. So it is tried once for each shape.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.preprocessing.packed_words import PackedWords
from pbgnet.preprocessing.words import Words

_DIGITS = b"0123456789"
_TO_SHAPE = bytes.maketrans(_DIGITS, b"1" * len(_DIGITS))


@dataclass(frozen=True, eq=False)
class Shapes:
    """The distinct shapes of texts.

    Attributes
    ----------
    shapes : list of str
        With 1 for every digit from 0 to 9.
    places : ndarray of int64, shape (n,)
        The place of each text's shape among them.
    """

    shapes: list[str]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str] | Words) -> "Shapes":
        """Find the shapes of texts, or of the distinct words of a column.

        Examples
        --------
        >>> from pbgnet.preprocessing.shapes import Shapes
        >>> found = Shapes.of(["12:30", "09:45", "noon"])
        >>> found.shapes, found.places.tolist()
        (['11:11', 'noon'], [0, 0, 1])
        """
        if isinstance(texts, Words):
            if (alike := _shape_of_all(texts)) is not None:
                return cls([alike], np.zeros(texts.n_words, dtype=np.int64))
            texts = texts.words
        joined = "\n".join(texts).encode("utf-8", "surrogatepass").translate(_TO_SHAPE)
        shaped = joined.decode("utf-8", "surrogatepass").split("\n") if texts else []
        if len(shaped) != len(texts):  # a text has several lines
            table = str.maketrans("0123456789", "1" * 10)
            shaped = [text.translate(table) for text in texts]
        known = {shape: place for place, shape in enumerate(dict.fromkeys(shaped))}
        places = np.fromiter(map(known.__getitem__, shaped), dtype=np.int64, count=len(shaped))
        return cls(list(known), places)

    def members(self) -> list[NDArray[np.int64]]:
        """Return the places of the texts of each shape, in order."""
        order = np.argsort(self.places, kind="stable")
        ends = np.cumsum(np.bincount(self.places, minlength=len(self.shapes)))
        return np.split(order, ends[:-1]) if self.shapes else []


def character_codes(read: Words, members: NDArray[np.int64], width: int) -> NDArray[Any]:
    """Return the characters of words of one width, shape (width, n): whole numbers, those of Unicode.

    Blanks around words do not count.
    """
    if _shape_of_all(read) is not None:
        codes = _packed_matrix(read)
        whole = len(members) == len(codes)  # all words have the one shape
        return np.ascontiguousarray((codes if whole else codes[members]).T)
    texts = [read.words[place].strip() for place in members.tolist()]
    return np.array(texts, dtype=f"<U{width}").view("<u4").reshape(len(texts), width).T


def _shape_of_all(read: Words) -> str | None:
    """Return the one shape that all of packed words have, in ASCII and without blanks around; else None."""
    if not isinstance(read, PackedWords) or not read.n_words:
        return None
    width = int(read.starts[1])
    if not width or read.content.size != width * read.n_words or (np.diff(read.starts) != width).any():
        return None
    shaped = np.frombuffer(read.content.tobytes().translate(_TO_SHAPE), dtype=np.uint8).reshape(-1, width)
    first: bytes = shaped[0].tobytes()
    if not first.isascii() or first.strip() != first or (shaped != shaped[0]).any():
        return None
    return first.decode()


def _packed_matrix(read: Words) -> NDArray[np.uint8]:
    assert isinstance(read, PackedWords)
    return read.content.reshape(read.n_words, -1)
