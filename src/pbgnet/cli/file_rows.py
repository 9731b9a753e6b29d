"""Tables in several files as one: a source of rows, with one file in memory at a time."""

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pbgnet.exceptions import ShapeError

if TYPE_CHECKING:
    import pandas as pd


class FileRows:
    """The rows of files with the same columns, one file after the other.

    Parameters
    ----------
    paths : sequence of Path
    read : callable
        From a path to its table.

    Attributes
    ----------
    columns : tuple of str
        Those of the first file; others may have them in another order.
    """

    def __init__(self, paths: Sequence[Path], read: "Callable[[Path], pd.DataFrame]") -> None:
        self._paths, self._read = tuple(paths), functools.lru_cache(1)(read)
        self.columns = tuple(self._read(self._paths[0]).columns)

    def select(self, names: Sequence[str]) -> "FileRows":
        """Return some of the columns."""
        return FileRows(self._paths, lambda path: self._read(path)[list(names)])

    def frames(self) -> "Iterator[pd.DataFrame]":
        """Walk through the rows; call it again to walk once more.

        Raises
        ------
        ShapeError
            If a file has other columns than the first.
        """
        from pbgnet.preprocessing import PART_ROWS, check_columns

        for path in self._paths:
            frame = self._read(path)
            try:
                check_columns(tuple(frame.columns), self.columns)
            except ShapeError as error:
                raise ShapeError(f"{path} and {self._paths[0]} differ. {error}") from error
            for start in range(0, len(frame), PART_ROWS):
                yield frame.iloc[start : start + PART_ROWS][list(self.columns)]
