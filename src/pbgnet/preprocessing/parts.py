"""Tables in parts of consecutive rows, so that what is larger than memory and what is not are walked alike.

A source is a table that is not held: `pbgnet.sources` has them. It has ``columns``, ``shape``,
``select(names)`` and ``batches()``, which can be called again and again and returns its rows as
`ColumnTable`, a few thousand at a time. Nothing of it is imported here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pbgnet.preprocessing.tables import Column, read_columns
from pbgnet.stages import progress

PART_ROWS = 1 << 16
"""Most rows of a part."""


@dataclass(frozen=True, eq=False)
class ColumnTable:
    """Rows whose columns are read already.

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

    def take(self, rows: Any) -> "ColumnTable":
        """Return some rows: a slice, or indices."""
        return ColumnTable(tuple(column.take(rows) for column in self.parts))


def is_source(table: Any) -> bool:
    """Whether a table is not held but read in batches."""
    return hasattr(table, "batches") and hasattr(table, "columns")


def column_parts(table: Any, names: Sequence[str] | None = None) -> Iterator[ColumnTable]:
    """Walk through the rows of a table, at most `PART_ROWS` at a time; those of a table held are views.

    A column is of one kind, numbers or texts, in all parts.
    """
    if is_source(table):
        done = 0
        for part in (table if names is None else table.select(names)).batches():
            yield part
            done += part.shape[0]
            progress(done, table.shape[0])
        return
    whole = ColumnTable(tuple(read_columns(table, names)))
    for start in range(0, whole.shape[0], PART_ROWS):
        yield whole.take(slice(start, start + PART_ROWS))
