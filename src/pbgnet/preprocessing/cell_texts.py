"""Cells of a column as a file writes them, one after the other: words are found when they are needed."""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.preprocessing.packed_words import PackedWords, unpack_arrow
from pbgnet.preprocessing.words import MISSING, Words

if TYPE_CHECKING:
    import pyarrow as pa


class CellTexts(Words):
    """The texts of a column of which most differ, so that little is gained by keeping each word once.

    Parameters
    ----------
    n_rows : int
    read : callable
        Returns the texts as an array of Arrow, null where one is missing, which then takes no room; called
        when somebody asks for them.
    numbers : ndarray of float64, shape (n_rows,), optional
        The finite number that each cell writes out as programs do, NaN where a text is missing; None unless
        all cells write out one.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from pbgnet.preprocessing.cell_texts import CellTexts
    >>> cells = CellTexts(3, lambda: pa.array(["1.50", None, "7"]), np.array([1.5, np.nan, 7.0]))
    >>> list(cells.take(np.array([2, 1, 0]))), cells.take(slice(1, 3)).numbers
    (['7', None, '1.50'], array([nan,  7.]))
    """

    def __init__(
        self, n_rows: int, read: "Callable[[], pa.Array]", numbers: NDArray[np.float64] | None = None
    ) -> None:
        self._n_rows, self._read, self.numbers = n_rows, read, numbers

    def __len__(self) -> int:
        return self._n_rows

    @functools.cached_property
    def array(self) -> "pa.Array":
        """The texts as Arrow has them."""
        return self._read()

    @functools.cached_property
    def present(self) -> NDArray[np.bool_]:
        """Which texts are not missing."""
        if self.numbers is not None:
            return ~np.isnan(self.numbers)
        return np.asarray(self.array.is_valid().to_numpy(zero_copy_only=False))

    @functools.cached_property
    def coded(self) -> PackedWords:
        """The same texts, each different one kept once."""
        coded = self.array.dictionary_encode()
        places = np.asarray(coded.indices.fill_null(MISSING).to_numpy())
        content, starts = unpack_arrow(coded.dictionary)
        written = None
        if self.numbers is not None:
            written = np.empty(len(starts) - 1)
            written[places[self.present]] = self.numbers[self.present]
        return PackedWords(content, starts, places, written)

    def one_by_one(self) -> PackedWords:
        """Return the same texts with a word for each cell, even for equal ones."""
        content, starts = unpack_arrow(self.array)
        if not self.array.null_count:
            return PackedWords(content, starts, np.arange(len(self)))
        starts = np.append(starts[:-1][self.present], starts[-1])
        places = np.where(self.present, np.cumsum(self.present) - 1, MISSING)
        return PackedWords(content, starts, places)

    @property
    def words(self) -> list[str]:  # type: ignore[override]
        """The different words."""
        return self.coded.words

    @property
    def places(self) -> NDArray[Any]:  # type: ignore[override]
        """The place of each row's word."""
        return self.coded.places

    @property
    def written(self) -> NDArray[np.float64] | None:  # type: ignore[override]
        """The number that each word writes out."""
        return self.coded.written

    @property
    def n_words(self) -> int:
        """Number of different words."""
        return self.coded.n_words

    @property
    def n_present(self) -> int:
        """Number of texts that are not missing."""
        return int(np.count_nonzero(self.present))

    def encoded(self) -> tuple[NDArray[np.int64], Any]:
        """Return the length of each text as UTF-8, -1 where one is missing, and all texts together."""
        content, starts = unpack_arrow(self.array)
        lengths = np.diff(starts)
        if self.array.null_count:
            lengths[~self.present] = MISSING
        return lengths, content

    @classmethod
    def joined(cls, parts: Sequence[Words]) -> Words:
        """Return the texts of parts one after the other."""
        import pyarrow as pa

        cells = [part for part in parts if isinstance(part, cls)]
        numbers = [part.numbers for part in cells if part.numbers is not None]
        return cls(
            sum(map(len, cells)),
            lambda: pa.concat_arrays([part.array for part in cells]),
            np.concatenate(numbers) if len(numbers) == len(cells) else None,
        )

    def occurring(self, rows: NDArray[np.bool_]) -> list[str]:
        """Return the words of rows that a mask marks, each once."""
        return self.coded.occurring(rows) if (rows & self.present).any() else []

    def take(self, rows: slice | NDArray[Any]) -> "CellTexts":
        """Return the texts of some rows; they are read when somebody asks for them."""
        n_rows = len(range(len(self))[rows]) if isinstance(rows, slice) else len(rows)
        numbers = None if self.numbers is None else self.numbers[rows]
        return CellTexts(n_rows, lambda: _some(self.array, rows), numbers)

    def compact(self) -> Words:
        """Return the same texts without words that occur nowhere: there are none."""
        return self

    def only_occurring(self) -> Words:
        """Return the same texts without words that occur nowhere: there are none."""
        return self.coded


def _some(array: "pa.Array", rows: slice | NDArray[Any]) -> "pa.Array":
    """Return some rows of an array of Arrow."""
    return array[rows] if isinstance(rows, slice) else array.take(rows)
