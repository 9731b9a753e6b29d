"""A table that is not in memory, but read repeatedly, a few thousand rows at a time."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.exceptions import DomainError, ShapeError, UnknownNameError
from pbgnet.preprocessing import ColumnTable

if TYPE_CHECKING:
    import pandas as pd


class RowSource(ABC):
    """A table of which only a few thousand rows are in memory at any time; `scan_table` makes one.

    It can be used like any table: in `CertifiedPipeline.fit`, `predict` and `verify`.

    Parameters
    ----------
    columns : sequence of str
    n_rows : int
    cache_folder : path, optional
        Folder for temporary files while the table is processed.

    Attributes
    ----------
    columns : tuple of str
    shape : tuple of int
        Rows and columns.
    """

    ndim = 2

    def __init__(self, columns: Sequence[str], n_rows: int, cache_folder: Path | None = None) -> None:
        self.columns, self.n_rows, self.cache_folder = tuple(columns), n_rows, cache_folder
        if twice := sorted({name for name in self.columns if self.columns.count(name) > 1}):
            raise ShapeError(f"Several columns are named {twice[0]!r}; give each column its own name.")

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, len(self.columns)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {self.n_rows} rows and {len(self.columns)} columns"

    def select(self, names: Sequence[str]) -> Self:
        """Return some of the columns, in the given order; the others are not read."""
        for name in names:
            self._check_name(name)
        other = copy.copy(self)
        other.columns = tuple(names)
        return other

    def drop(self, *names: str) -> Self:
        """Return all columns but these."""
        for name in names:
            self._check_name(name)
        return self.select([name for name in self.columns if name not in names])

    def batches(self) -> Iterator[ColumnTable]:
        """Iterate over the rows, in their order; call it again to iterate once more.

        A column has the same kind in all batches: the table decides it, not the content of a batch.
        """
        return self._walk(self.columns)

    def read(self) -> ColumnTable:
        """Read all rows of the columns into memory."""
        return ColumnTable.joined([*self.batches()] or [self._empty()])

    def take(self, rows: ArrayLike) -> ColumnTable:
        """Return some rows by position, in the given order, in one pass."""
        wanted = np.asarray(rows, dtype=np.int64)
        if wanted.size and not 0 <= int(wanted.min()) <= int(wanted.max()) < self.n_rows:
            raise DomainError(f"Rows must lie between 0 and {self.n_rows - 1}.")
        order = np.argsort(wanted, kind="stable")
        found, start = [self._empty()], 0
        for batch in self.batches():
            stop = start + batch.shape[0]
            first, last = np.searchsorted(wanted[order], [start, stop])
            if first < last:
                found.append(batch.take(wanted[order[first:last]] - start))
            start = stop
        back: NDArray[np.int64] = np.empty_like(order)
        back[order] = np.arange(order.size)
        return ColumnTable.joined(found).take(back)

    @abstractmethod
    def __getitem__(self, name: str) -> Any:
        """Return one column, all rows of it, as a frame of the same table would."""

    @abstractmethod
    def frames(self) -> "Iterator[pd.DataFrame]":
        """Iterate over the rows as frames, for classifiers that accept no other tables."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Return plain values for JSON that identify this table, and change if its files do."""

    @abstractmethod
    def _walk(self, names: Sequence[str]) -> Iterator[ColumnTable]:
        """Walk through the rows of some columns."""

    def _empty(self) -> ColumnTable:
        """Return no rows of the columns, each of its kind."""
        return next(self.batches()).take(slice(0, 0))

    def _check_name(self, name: str) -> None:
        if name not in self.columns:
            raise UnknownNameError(f"There is no column {name!r:.60}; the columns are {_some(self.columns)}.")


def _some(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more
