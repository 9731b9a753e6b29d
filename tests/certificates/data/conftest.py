"""A table that is not held, for tests: the rows of a frame, cut at odd places."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pbgnet.preprocessing import ColumnTable, column_names, read_columns


class CutSource:
    """The rows of a frame, or of columns that were read already, in batches that end at `cuts`."""

    def __init__(self, table: Any, cuts: Sequence[int] = ()) -> None:
        self.whole = table if isinstance(table, ColumnTable) else ColumnTable(tuple(read_columns(table)))
        self.cuts = sorted(cuts)
        self.columns, self.shape = column_names(self.whole), self.whole.shape
        self.walks = 0

    def __getitem__(self, name: str) -> np.ndarray:
        column = self.whole[name]
        return column.numbers if column.numbers is not None else np.array(column.texts, dtype=object)

    def select(self, names: Sequence[str]) -> "CutSource":
        return CutSource(ColumnTable(tuple(self.whole[name] for name in names)), self.cuts)

    def batches(self) -> Iterator[ColumnTable]:
        self.walks += 1
        for start, end in zip([0, *self.cuts], [*self.cuts, self.shape[0]], strict=True):
            yield self.whole.take(slice(start, end))
