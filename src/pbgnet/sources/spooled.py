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
from pbgnet.preprocessing import HELD_BYTES, Column, ColumnTable, PackedWords, Words, room_for
from pbgnet.sources.csv_files import CsvFile, text_series
from pbgnet.sources.file_damage import damage_named
from pbgnet.sources.row_source import RowSource
from pbgnet.table_files import check_file

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SpooledColumn:
    """Where the texts of a column of a chunk lie: places, lengths of words, their numbers, and the words."""

    offset: int
    n_bytes: tuple[int, ...]
    dtype: str
    packed: bool


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
        places = texts.places.astype(np.min_scalar_type(-2 - texts.n_words))  # one more must not overflow
        lengths, written = b"", b""
        if isinstance(texts, PackedWords):
            lengths, words = np.diff(texts.starts).astype(np.uint32).tobytes(), texts.content.tobytes()
            written = b"" if texts.written is None else texts.written.tobytes()
        else:
            words = json.dumps(texts.words).encode()
        content = (places.tobytes(), lengths, written, words)
        offset = self._file.seek(0, 2)
        self._file.write(b"".join(content))
        n_bytes = tuple(map(len, content))
        return SpooledColumn(offset, n_bytes, places.dtype.str, isinstance(texts, PackedWords))

    def _read(self, column: SpooledColumn) -> Words:
        self._file.seek(column.offset)
        places, lengths, written, words = map(self._file.read, column.n_bytes)
        rows = np.frombuffer(places, dtype=column.dtype)
        if not column.packed:
            return Words(json.loads(words), rows)
        starts = np.append(0, np.cumsum(np.frombuffer(lengths, dtype=np.uint32), dtype=np.int64))
        numbers = np.frombuffer(written, dtype=np.float64) if written or not lengths else None
        return PackedWords(np.frombuffer(words, dtype=np.uint8), starts, rows, numbers)


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
            raise ShapeError(f"{files[0].path} has a header but no rows.")

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
