"""Texts of a column, each distinct one stored once: work on words instead of cells."""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

MISSING = -1


class Words(Sequence[str | None]):
    """The texts of a column, None if missing: its words, and the index of each row's word.

    It behaves like a list of texts. What only depends on a text is computed once for each word (`each`),
    which for most columns is thousands of times less work.

    Parameters
    ----------
    words : sequence of str
        The distinct texts; some may no longer occur.
    places : ndarray of whole numbers, shape (n,)
        -1 if a text is missing.

    Examples
    --------
    >>> from pbgnet.preprocessing.words import Words
    >>> texts = Words.of(["red", None, "blue", "red"])
    >>> texts.words, texts.places.tolist(), texts[2], list(texts[1:])
    (['red', 'blue'], [0, -1, 1, 0], 'blue', [None, 'blue', 'red'])
    >>> texts.each(len, 0)
    array([3, 0, 4, 3])
    """

    written: NDArray[np.float64] | None = None
    """The number that each word writes out as programs do, NaN for none; None if nobody has looked."""

    def __init__(self, words: Sequence[str], places: NDArray[Any]) -> None:
        self.words, self.places = list(words), places

    @classmethod
    def of(cls, texts: Sequence[str | None]) -> "Words":
        """Read texts in any form; `Words` are returned as they are."""
        if isinstance(texts, cls):
            return texts
        words = [str(text) for text in dict.fromkeys(texts) if text is not None]
        known: dict[str | None, int] = {word: place for place, word in enumerate(words)}
        known[None] = MISSING
        return cls(words, np.fromiter(map(known.__getitem__, texts), dtype=np.int64, count=len(texts)))

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, rows: int) -> str | None: ...

    @overload
    def __getitem__(self, rows: slice) -> "Words": ...

    def __getitem__(self, rows: int | slice) -> "str | Words | None":
        if isinstance(rows, slice):
            return self.take(rows)
        place = int(self.places[rows])
        return None if place == MISSING else self.words[place]

    def __iter__(self) -> Iterator[str | None]:
        return iter(self.each(str, None, object).tolist())

    @property
    def n_words(self) -> int:
        """Number of distinct words."""
        return len(self.words)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How often each word occurs, and last how many texts are missing."""
        found = np.bincount(self.places + 1, minlength=self.n_words + 1)
        return np.append(found[1:], found[0])

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which texts are not missing."""
        return np.asarray(self.places != MISSING)

    @property
    def n_present(self) -> int:
        """Number of texts that are not missing."""
        return int(np.count_nonzero(self.present))

    def encoded(self) -> tuple[NDArray[np.int64], Any]:
        """Return the length of each text as UTF-8, -1 where one is missing, and all texts together."""
        content, starts = self.utf8
        lengths = np.append(np.diff(starts), MISSING)[self.places]
        return lengths, _gathered(content, starts, self.places[self.present])

    @functools.cached_property
    def utf8(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The UTF-8 of the different words, where each of them begins, and where the last one ends."""
        joined = "".join(self.words)
        if joined.isascii():
            lengths, content = [*map(len, self.words)], joined.encode()
        else:
            written = [word.encode("utf-8", "surrogatepass") for word in self.words]
            lengths, content = [*map(len, written)], b"".join(written)
        return np.frombuffer(content, dtype=np.uint8), np.append(0, np.cumsum(lengths, dtype=np.int64))

    @classmethod
    def joined(cls, parts: "Sequence[Words]") -> "Words":
        """Return the texts of several parts, one after the other, with the words of all of them."""
        known: dict[str, int] = {}
        places = []
        for part in parts:
            new = [known.setdefault(word, len(known)) for word in part.words]
            places.append(np.append(np.array(new, dtype=np.int64), MISSING)[part.places])
        return cls(list(known), np.concatenate(places) if places else np.zeros(0, dtype=np.int64))

    def occurring(self, rows: NDArray[np.bool_]) -> list[str]:
        """Return the words of rows that a mask marks, each once."""
        marked = np.bincount(self.places[rows] + 1, minlength=self.n_words + 1)[1:]
        return [self.words[place] for place in np.flatnonzero(marked).tolist()]

    def take(self, rows: slice | NDArray[Any]) -> "Words":
        """Return the texts of some rows; if there are fewer rows than words, only theirs are kept."""
        places = self.places[rows]
        if isinstance(rows, slice) or places.size >= self.n_words:
            return Words(self.words, places)
        kept, places = occurring_places(places)
        return Words([self.words[place] for place in kept.tolist()], places)

    def compact(self) -> "Words":
        """Return the same texts without words that do not occur, if there are more words than texts."""
        if self.n_words <= len(self):
            return self
        found, places = np.unique(np.append(MISSING, self.places), return_inverse=True)
        return self._with(found[1:], places[1:] - 1)

    def only_occurring(self) -> "Words":
        """Return the same texts without words that occur nowhere."""
        return self if self.counts[:-1].all() else self._with(*occurring_places(self.places))

    def each_word(self) -> "Words":
        """Return the different words, each as one text, and a missing text last."""
        return self._with(np.arange(self.n_words), np.append(np.arange(self.n_words), MISSING))

    def _with(self, kept: NDArray[Any], places: NDArray[Any]) -> "Words":
        return Words([self.words[place] for place in kept.tolist()], places)

    def each(self, compute: Callable[[str], Any], missing: Any, dtype: Any = None) -> NDArray[Any]:
        """Return the result of a function for each row's text, called once per word."""
        found = np.empty(len(self.words) + 1, dtype=dtype or np.asarray(missing).dtype)
        found[:-1] = [compute(word) for word in self.words]
        found[-1] = missing
        return np.asarray(found[self.places])


def occurring_places(places: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices of the words that occur, and the places of rows among only these."""
    kept, new = np.unique(np.append(MISSING, places), return_inverse=True)
    return kept[1:].astype(np.int64), new[1:] - 1


def _gathered(content: NDArray[np.uint8], starts: NDArray[np.int64], places: NDArray[Any]) -> Any:
    """Return the UTF-8 of words at some places, one after the other."""
    try:
        import pyarrow as pa
    except ImportError:
        whole, cuts = content.tobytes(), starts.tolist()
        written = [whole[start:end] for start, end in itertools.pairwise(cuts)]
        return b"".join(map(written.__getitem__, places.tolist()))
    buffers = [None, pa.py_buffer(starts), pa.py_buffer(content)]
    words = pa.Array.from_buffers(pa.large_binary(), len(starts) - 1, buffers)
    # From a buffer as well: Arrow would look for pandas before it takes an array of NumPy.
    which = [None, pa.py_buffer(np.ascontiguousarray(places, dtype=np.int64))]
    _, ends, taken = words.take(pa.Array.from_buffers(pa.int64(), len(places), which)).buffers()
    if taken is None or not len(places):
        return b""
    return taken[: int(np.frombuffer(ends, dtype=np.int64)[len(places)])]
