"""CSV files, parsed once: the texts of each chunk are spooled, and read from there again and again."""

import json
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pbgnet.exceptions import ShapeError
from pbgnet.preprocessing import HELD_BYTES, Column, ColumnTable, Words, room_for
from pbgnet.sources.csv_files import CsvFile, text_series
from pbgnet.sources.file_damage import damage_named
from pbgnet.sources.row_source import RowSource
from pbgnet.table_files import check_file

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SpooledColumn:
    """Where the texts of a column of a chunk lie."""

    offset: int
    n_bytes: int
    dtype: str
    n_rows: int
    words_bytes: int


class Spool:
    """Chunks of texts in a file without a name, each column by itself; in memory while they are few.

    The file is gone with the last source that reads from it, however its process ends.
    """

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=HELD_BYTES, dir=str(folder))  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._chunks: list[dict[str, SpooledColumn]] = []
        self.n_rows = 0

    def append(self, chunk: ColumnTable) -> None:
        """Add a chunk."""
        self._chunks.append({column.name: self._write(column) for column in chunk.parts})
        self.n_rows += chunk.shape[0]

    def read(self, names: Sequence[str]) -> Iterator[ColumnTable]:
        """Walk through some columns of the chunks."""
        for chunk in self._chunks:
            yield ColumnTable(tuple(Column(name, None, self._read(chunk[name])) for name in names))

    def _write(self, column: Column) -> SpooledColumn:
        texts = Words.of(column.texts or [])
        places = texts.places.astype(np.min_scalar_type(-max(1, len(texts.words))))
        content, words = places.tobytes(), json.dumps(texts.words).encode()
        offset = self._file.seek(0, 2)
        self._file.write(content + words)
        return SpooledColumn(offset, len(content), places.dtype.str, len(places), len(words))

    def _read(self, column: SpooledColumn) -> Words:
        self._file.seek(column.offset)
        places = np.frombuffer(self._file.read(column.n_bytes), dtype=column.dtype)
        return Words(json.loads(self._file.read(column.words_bytes)), places)


class CsvSource(RowSource):
    """The rows of CSV files with the same columns, one file after the other.

    They are parsed when the source is made, so that files may change later.
    """

    def __init__(self, files: Sequence[CsvFile], cache_folder: Path | None = None) -> None:
        place = Path(cache_folder or tempfile.gettempdir())
        for file in files:
            check_file(file.path)
        self._states = [(file, file.path.stat()) for file in files]
        size = sum(state.st_size for _, state in self._states)
        with room_for(place, size if size > HELD_BYTES else 0):
            self._spool = _spooled(files, place)
        super().__init__(files[0].columns, self._spool.n_rows, cache_folder)
        if self.n_rows == 0:
            raise ShapeError(f"{files[0].path} has no rows, only a header.")

    def __getitem__(self, name: str) -> "pd.Series[Any]":
        self._check_name(name)
        return text_series(self._spool.read([name]), name)

    def frames(self) -> "Iterator[pd.DataFrame]":
        """Walk through the rows as frames of texts."""
        import pandas as pd

        for batch in self.batches():
            yield pd.DataFrame({name: text_series([batch], name) for name in self.columns})

    def identity(self) -> dict[str, Any]:
        """Return path, size, time of change and reading of each file, and the columns."""
        files = [
            [str(file.path), state.st_size, state.st_mtime_ns, list(file.missing), file.header]
            for file, state in self._states
        ]
        return {"files": files, "columns": list(self.columns)}

    def _walk(self, names: Sequence[str]) -> Iterator[ColumnTable]:
        return self._spool.read(names)


def _spooled(files: Sequence[CsvFile], place: Path) -> Spool:
    spool, names = Spool(place), None
    for file in files:
        with damage_named(file.path):
            names = names or file.columns
            if sorted(file.columns) != sorted(names):
                other = next(iter(set(file.columns) ^ set(names)))
                which = "has" if other in file.columns else "lacks"
                raise ShapeError(
                    f"{file.path} {which} the column {other!r}, which {files[0].path} "
                    f"{'has' if which == 'lacks' else 'has not'}."
                )
            for chunk in file.chunks():
                spool.append(chunk)
    return spool
