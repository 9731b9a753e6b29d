"""CSV files, parsed once: the texts of each chunk are spooled, and read from there again and again."""

import functools
import json
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.exceptions import ShapeError
from pbgnet.preprocessing import (
    HELD_BYTES,
    CellTexts,
    Column,
    ColumnTable,
    PackedWords,
    Words,
    arrow_texts,
    room_for,
    unpack_arrow,
)
from pbgnet.sources.csv_files import CsvFile, text_series
from pbgnet.sources.file_damage import damage_named
from pbgnet.sources.row_source import RowSource
from pbgnet.table_files import check_file

if TYPE_CHECKING:
    import pandas as pd


SPOOLED_BYTES = 2 * HELD_BYTES
"""Chunks that take no more than this are held in memory."""


# Arrays in a file begin at multiples of so many bytes.
ALIGNED = 8


@dataclass(frozen=True)
class Place:
    """Where an array lies in a file."""

    offset: int
    size: int
    dtype: str


@dataclass(frozen=True)
class SpooledColumn:
    """The texts of a column of a chunk: arrays, or where they lie in a file, and what makes texts of them."""

    make: Callable[..., Words]
    arrays: tuple[NDArray[Any] | Place | None, ...]


class Spool:
    """Chunks of texts, each column by itself: in memory while they are few, then in a file without a name.

    The file is gone with the last source that reads from it, however its process ends.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: Any = None
        self._chunks: list[dict[str, SpooledColumn]] = []
        self._n_held, self.n_rows = 0, 0

    def append(self, chunk: ColumnTable) -> None:
        """Add a chunk; to be called before `read`."""
        spooled = {column.name: _spooled_column(column) for column in chunk.parts}
        self.n_rows += chunk.shape[0]
        self._n_held += sum(
            array.nbytes
            for column in spooled.values()
            for array in column.arrays
            if isinstance(array, np.ndarray)
        )
        self._chunks.append(spooled)
        if self._file is not None:
            self._chunks[-1] = self._written(spooled)
        elif self._n_held > SPOOLED_BYTES:
            self._file = tempfile.TemporaryFile(dir=str(self._folder))  # noqa: SIM115
            weakref.finalize(self, self._file.close)
            self._chunks = [*map(self._written, self._chunks)]

    def read(self, names: Sequence[str]) -> Iterator[ColumnTable]:
        """Walk through some columns of the chunks."""
        for chunk in self._chunks:
            yield ColumnTable(tuple(Column(name, None, self._read(chunk[name])) for name in names))

    def _read(self, column: SpooledColumn) -> Words:
        return column.make(*map(self._array, column.arrays))

    def _array(self, array: NDArray[Any] | Place | None) -> NDArray[Any] | None:
        if not isinstance(array, Place):
            return array
        return np.frombuffer(self._mapped, array.dtype, array.size, array.offset)

    @functools.cached_property
    def _mapped(self) -> NDArray[np.uint8]:
        """The whole file; what is looked at is read, and may be dropped again."""
        self._file.flush()
        return np.memmap(self._file, dtype=np.uint8, mode="r")

    def _written(self, chunk: dict[str, SpooledColumn]) -> dict[str, SpooledColumn]:
        """Write the arrays of a chunk to the file."""
        return {
            name: SpooledColumn(column.make, tuple(map(self._write, column.arrays)))
            for name, column in chunk.items()
        }

    def _write(self, array: NDArray[Any] | Place | None) -> Place | None:
        if not isinstance(array, np.ndarray):
            return array
        end = self._file.seek(0, 2)
        gap = -end % ALIGNED
        self._file.write(bytes(gap))
        self._file.write(np.ascontiguousarray(array).data)
        return Place(end + gap, array.size, array.dtype.str)


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


def _spooled_column(column: Column) -> SpooledColumn:
    """Return the texts of a column as arrays."""
    texts = Words.of(column.texts or [])
    if isinstance(texts, CellTexts):
        content, starts = unpack_arrow(texts.array)
        return SpooledColumn(_cell_texts, (content, _lengths(starts), texts.present, texts.numbers))
    places = texts.places.astype(np.min_scalar_type(-2 - texts.n_words))  # one more must not overflow
    if isinstance(texts, PackedWords):
        return SpooledColumn(_packed_words, (texts.content, _lengths(texts.starts), places, texts.written))
    return SpooledColumn(_words, (np.frombuffer(json.dumps(texts.words).encode(), dtype=np.uint8), places))


def _words(written: NDArray[np.uint8], places: NDArray[Any]) -> Words:
    return Words(json.loads(written.tobytes()), places)


def _packed_words(
    content: NDArray[np.uint8],
    lengths: NDArray[np.uint32],
    places: NDArray[Any],
    written: NDArray[np.float64] | None,
) -> Words:
    return PackedWords(content, _starts(lengths), places, written)


def _cell_texts(
    content: NDArray[np.uint8],
    lengths: NDArray[np.uint32],
    present: NDArray[np.bool_],
    numbers: NDArray[np.float64] | None,
) -> Words:
    return CellTexts(len(lengths), lambda: arrow_texts(content, _starts(lengths), present), numbers)


def _lengths(starts: NDArray[np.int64]) -> NDArray[np.uint32]:
    return np.diff(starts).astype(np.uint32)


def _starts(lengths: NDArray[np.uint32]) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(lengths, dtype=np.int64))
