"""One pass over any kind of table: a bounded number of cells at a time, numbers separate from texts."""

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.kernels import first_bits
from pbgnet.preprocessing import (
    CellTexts,
    Column,
    ColumnTable,
    Words,
    as_numbers,
    column_names,
    column_parts,
    is_frame,
    is_source,
    word_numbers,
)
from pbgnet.validation import check_readable

# An array is walked through in parts of about this many numbers.
PART_CELLS = 1 << 20

TRUTH_VALUES = ("False", "True")


class WordCells:
    """The texts of a column in one part: its words, and the place of each row's word among them."""

    def __init__(self, texts: Words) -> None:
        self._words = texts.one_by_one() if isinstance(texts, CellTexts) else texts.compact()
        self.places = self._words.places

    def prepare(self) -> None:
        """Compute now what is computed when it is asked for."""
        _ = self.numbers, self.bits

    @functools.cached_property
    def bits(self) -> NDArray[np.uint64]:
        """The first 64 bits of the SHA-256 of each word that writes out no number; 0 for all others.

        One more, which is the last, stands for a missing text.
        """
        found = np.zeros(self._words.n_words + 1, dtype=np.uint64)
        are_words = np.isnan(self._written)
        found[:-1][are_words] = first_bits(*self._words.utf8, np.flatnonzero(are_words))
        return found

    @functools.cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The number that each word writes out, NaN where it writes none, and last for a missing text.

        True and false are 1 and 0: a column of them is one of texts in a frame, and of numbers in its values.
        """
        found = np.append(self._written, math.nan)
        truth = first_bits(*Words.of(TRUTH_VALUES).utf8, np.arange(2))
        for number, bits in enumerate(truth):
            found[self.bits == bits] = float(number)
        return found

    @functools.cached_property
    def _written(self) -> NDArray[np.float64]:
        return word_numbers(self._words)


@dataclass(frozen=True, eq=False)
class TablePart:
    """Some rows of a table, column by column.

    Attributes
    ----------
    n_rows : int
    numbers : ndarray of float64, shape (k, n_rows)
        The columns of numbers, with one kind of NaN, and those of texts that all write out numbers.
    places : ndarray of int64, shape (k,)
        Where they stand among all columns.
    texts : mapping of int to Words
        The columns of texts, by their places.
    words : mapping of int to WordCells
        Those among them that are not in `numbers`.
    """

    n_rows: int
    numbers: NDArray[np.float64]
    places: NDArray[np.int64]
    texts: Mapping[int, Words]
    words: Mapping[int, WordCells]


@dataclass(frozen=True, eq=False)
class SparsePart:
    """Some rows of a sparse matrix, in canonical form: no entry twice, no zeros, in order.

    Attributes
    ----------
    matrix : scipy.sparse.csr_array
    """

    matrix: Any

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])


def table_parts(X: Any, names: Sequence[str] | None = None) -> Iterator[TablePart | SparsePart]:  # noqa: N803
    """Walk through the rows of a table.

    An array of numbers and truth values alone is numbers, whatever its type. Any other table is read column
    by column, as preprocessing reads it.

    Parameters
    ----------
    X : DataFrame, ndarray, scipy sparse matrix, list of rows or source
    names : sequence of str, optional
        The columns of a frame that count, in this order, where it has all of them.
    """
    check_readable("X", X)
    if hasattr(X, "tocsr"):
        yield from _sparse_parts(X)
        return
    if is_frame(X) or is_source(X):
        yield from map(_of_columns, column_parts(X, chosen_columns(X, names)))
        return
    # A list is read cell by cell: one text in it must not turn the numbers of other rows into texts.
    array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    numbers = array if array.dtype.kind in "biuf" else as_numbers(array)
    if numbers is None:
        yield from map(_of_columns, column_parts(array))
    else:
        yield from _array_parts(numbers)


def chosen_columns(X: Any, names: Sequence[str] | None) -> Sequence[str] | None:  # noqa: N803
    """Return the names of the columns that count: those given, if a table has all of them; else None."""
    return names if names is not None and set(names) <= set(column_names(X) or ()) else None


def column_shape(X: Any, names: Sequence[str] | None = None) -> tuple[int, ...]:  # noqa: N803
    """Return the shape of the rows that `table_parts` walks through: of images, more than one number."""
    chosen = chosen_columns(X, names)
    if chosen is not None:
        return (len(chosen),)
    shape = X.shape if hasattr(X, "shape") else np.shape(np.asarray(X, dtype=object))
    return tuple(int(size) for size in shape[1:])


def _of_columns(table: ColumnTable) -> TablePart:
    columns = dict(enumerate(table.parts))
    texts = {k: Words.of(column.texts or ()) for k, column in columns.items() if column.numbers is None}
    numbers = {k: _numbers_of(column) for k, column in columns.items()}
    known = {k: values for k, values in numbers.items() if values is not None}
    n_rows = table.shape[0]
    stacked = np.empty((len(known), n_rows), dtype="<f8")
    for row, values in zip(stacked, known.values(), strict=True):
        row[:] = values
    words = {k: WordCells(some) for k, some in texts.items() if k not in known}
    return TablePart(n_rows, _one_nan(stacked), np.array(list(known), dtype=np.int64), texts, words)


def _numbers_of(column: Column) -> NDArray[np.float64] | None:
    """Return the numbers of a column that holds, or writes out, nothing else."""
    return column.texts.numbers if isinstance(column.texts, CellTexts) else column.numbers


def _array_parts(array: NDArray[Any]) -> Iterator[TablePart]:
    rows = array.reshape(len(array), math.prod(array.shape[1:]))
    places = np.arange(rows.shape[1])
    step = max(1, PART_CELLS // max(1, rows.shape[1]))
    for start in range(0, len(rows), step):
        turned = np.array(rows[start : start + step].T, dtype="<f8", order="C")
        yield TablePart(turned.shape[1], _one_nan(turned), places, {}, {})


def _sparse_parts(matrix: Any) -> Iterator[SparsePart]:
    csr = matrix.tocsr()
    n_rows = csr.shape[0]
    step = max(1, PART_CELLS * n_rows // max(csr.nnz, n_rows, 1))
    for start in range(0, n_rows, step):
        part = csr[start : start + step].astype("<f8", copy=True)
        part.sum_duplicates()
        part.eliminate_zeros()
        part.sort_indices()
        _one_nan(part.data)
        yield SparsePart(part)


def _one_nan(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give all NaN the same bits, in place."""
    values[np.isnan(values)] = np.nan
    return values
