"""Tables in memory as sources: frames, arrays and Arrow tables."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pbgnet.exceptions import OptionError, ShapeError
from pbgnet.preprocessing import PART_ROWS, ColumnTable, column_names, column_parts, count_rows
from pbgnet.sources.arrow_columns import kind_of, read_arrow, to_frame
from pbgnet.sources.row_source import RowSource

if TYPE_CHECKING:
    import pandas as pd


class FrameSource(RowSource):
    """The rows of a frame, or of an array, whose columns are named x0, x1 and so on."""

    def __init__(self, table: Any, cache_folder: Path | None = None) -> None:
        if column_names(table) is None:
            import pandas as pd

            array = np.asarray(table)
            if array.ndim != 2:
                raise ShapeError(f"A table must have rows and columns, got an array of shape {array.shape}.")
            table = pd.DataFrame(array, columns=[f"x{k}" for k in range(array.shape[1])])
        names = column_names(table) or ()
        super().__init__(names, count_rows(table), cache_folder)
        _check_rows(self.n_rows)
        self._table, self._keys = table, dict(zip(names, table.columns, strict=True))

    def __getitem__(self, name: str) -> Any:
        self._check_name(name)
        return self._table[self._keys[name]]

    def frames(self) -> "Iterator[pd.DataFrame]":
        """Iterate over the rows as frames."""
        keys = [self._keys[name] for name in self.columns]
        for start in range(0, self.n_rows, PART_ROWS):
            yield self._table.iloc[start : start + PART_ROWS][keys]  # a copy of these rows alone

    def identity(self) -> dict[str, Any]:
        """Raise an error: a table in memory cannot be identified without its rows."""
        raise OptionError(
            "A table in memory cannot be cached; write it to a Parquet file and scan that file."
        )

    def _walk(self, names: Sequence[str]) -> Iterator[ColumnTable]:
        return column_parts(self._table, names)


class ArrowSource(RowSource):
    """The rows of an Arrow table."""

    def __init__(self, table: Any, cache_folder: Path | None = None) -> None:
        super().__init__(table.column_names, table.num_rows, cache_folder)
        _check_rows(self.n_rows)
        self._table = table
        self._kinds = {field.name: kind_of(field.type) for field in table.schema}

    def __getitem__(self, name: str) -> "pd.Series[Any]":
        self._check_name(name)
        return to_frame(self._table.select([name]))[name]

    def frames(self) -> "Iterator[pd.DataFrame]":
        """Iterate over the rows as frames."""
        return map(to_frame, self._table.select(self.columns).to_batches(PART_ROWS))

    def identity(self) -> dict[str, Any]:
        """Raise an error: a table in memory cannot be identified without its rows."""
        raise OptionError(
            "A table in memory cannot be cached; write it to a Parquet file and scan that file."
        )

    def _walk(self, names: Sequence[str]) -> Iterator[ColumnTable]:
        for batch in self._table.select(names).to_batches(PART_ROWS):
            columns = (read_arrow(name, batch.column(name), self._kinds[name]) for name in names)
            yield ColumnTable(tuple(columns))


def _check_rows(n_rows: int) -> None:
    if n_rows == 0:
        raise ShapeError("The table has no rows.")
