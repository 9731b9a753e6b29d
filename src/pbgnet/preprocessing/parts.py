"""Tables in parts of consecutive rows, so that tables in memory and larger ones are processed alike.

A source is a table that is not held: `pbgnet.sources` has them. It has ``columns``, ``shape``,
``select(names)`` and ``batches()``, which can be called again and again and returns its rows as
`ColumnTable`, a few thousand at a time. Nothing of it is imported here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.preprocessing.cell_texts import CellTexts
from pbgnet.preprocessing.code_files import mapped_copy, mapped_zeros
from pbgnet.preprocessing.moments import Moments
from pbgnet.preprocessing.packed_words import PackedWords
from pbgnet.preprocessing.tables import Column, read_columns
from pbgnet.preprocessing.words import Words
from pbgnet.stages import progress

PART_ROWS = 1 << 16
"""Most rows of a part."""


@dataclass(frozen=True, eq=False)
class ColumnTable:
    """Rows whose columns have been read.

    Attributes
    ----------
    parts : tuple of Column
        All with as many rows.
    """

    parts: tuple[Column, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.parts)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (self.parts[0].n_rows if self.parts else 0), len(self.parts)

    def __getitem__(self, name: str) -> Column:
        return self.parts[self.columns.index(name)]

    @classmethod
    def joined(cls, tables: "Sequence[ColumnTable]") -> "ColumnTable":
        """Return the rows of tables with the same columns, one table after the other."""
        return cls(tuple(map(_joined, zip(*(table.parts for table in tables), strict=True))))

    def take(self, rows: Any) -> "ColumnTable":
        """Return some rows: a slice, or indices."""
        return ColumnTable(tuple(column.take(rows) for column in self.parts))


def _joined(parts: Sequence[Column]) -> Column:
    """Return a column from its parts, which are all of one kind."""
    first = parts[0]
    if first.numbers is not None:
        return replace(first, numbers=np.concatenate([np.asarray(part.numbers) for part in parts]))
    texts = [Words.of([] if part.texts is None else part.texts) for part in parts]
    kinds = {type(part) for part in texts}
    if kinds == {CellTexts, PackedWords}:
        texts = [part.coded if isinstance(part, CellTexts) else part for part in texts]
        kinds = {PackedWords}
    kind: type[Words] = next((one for one in (Moments, PackedWords, CellTexts) if kinds == {one}), Words)
    typed = [part.typed for part in parts]
    if any(one is not None for one in typed):
        absent = [np.full(part.n_rows, np.nan) for part in parts]
        typed = [gap if one is None else one for one, gap in zip(typed, absent, strict=True)]
    return replace(
        first,
        texts=kind.joined(texts),
        typed=None if typed[0] is None else np.concatenate([np.asarray(one) for one in typed]),
    )


def is_source(table: Any) -> bool:
    """Whether a table is read in batches, rather than in memory."""
    return hasattr(table, "batches") and hasattr(table, "columns")


def zeros_beside(table: Any, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return zeros for something that there is one of for each row of a table.

    Of a table that is not held they are not held either, if they are many: they are mapped from a file.
    """
    if not is_source(table):
        return np.zeros(shape, dtype=dtype)
    return mapped_zeros(shape, dtype, getattr(table, "cache_folder", None))


def kept_beside(table: Any, values: NDArray[Any]) -> NDArray[Any]:
    """Return what there is one of for each row of a table; see `zeros_beside` for where it is kept."""
    return mapped_copy(values, getattr(table, "cache_folder", None)) if is_source(table) else values


def column_parts(table: Any, names: Sequence[str] | None = None) -> Iterator[ColumnTable]:
    """Walk through the rows of a table, at most `PART_ROWS` at a time; a table held is not copied as a whole.

    A column is of one kind, numbers or texts, in all parts.
    """
    if is_source(table):
        done = 0
        for part in (table if names is None else table.select(names)).batches():
            yield part
            done += part.shape[0]
            progress(done, table.shape[0])
        return
    whole = ColumnTable(tuple(read_columns(table, names, number_type=None)))
    for start in range(0, whole.shape[0], PART_ROWS):
        part = whole.take(slice(start, start + PART_ROWS))
        yield ColumnTable(tuple(map(_as_float64, part.parts)))


def _as_float64(column: Column) -> Column:
    return column if column.numbers is None else replace(column, numbers=column.numbers.astype(np.float64))
