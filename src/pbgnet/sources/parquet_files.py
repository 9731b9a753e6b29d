"""Parquet files, one or many, on any file system that Arrow knows: read row group by row group."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbgnet.exceptions import ChangedSourceError, DamagedFileError, DtypeError, ShapeError
from pbgnet.preprocessing import PART_ROWS, ColumnTable
from pbgnet.sources.arrow_columns import kind_of, read_arrow, to_frame
from pbgnet.sources.csv_files import text_series
from pbgnet.sources.file_damage import check_header, damage_named, library
from pbgnet.sources.row_source import RowSource

if TYPE_CHECKING:
    import pandas as pd

# What a column without any value becomes in a frame, which has no type for it.
UNTYPED_WHERE_EMPTY = ("texts", "truth values", "times")

# Of each column so many bytes are read at a time. Arrow would keep all that it has read of a file to its end.
READ_BYTES = 1 << 18

# The last eight bytes of a file: the length of its footer, and a mark.
TAIL = 8


def read_parquet(path: Path) -> "pd.DataFrame":
    """Read a whole file as a frame; an index written by pandas becomes an ordinary column."""
    table = library("pyarrow.parquet", "Parquet files").read_table(path)
    return to_frame(table.rename_columns(check_header(path, table.column_names)))


@dataclass(frozen=True)
class FileState:
    """What shows whether a file is still the same: size, modification time, and footer."""

    size: int
    changed_at: int | None
    footer: str


@dataclass(frozen=True)
class ParquetFile:
    """A file of a table, as it was when it was first seen.

    Attributes
    ----------
    system : FileSystem of Arrow
    path : str
    state : FileState
    schema : Schema of Arrow
    n_rows : int
    without_values : frozenset of str
        Columns without any value in this file, if the file says so.
    """

    system: Any
    path: str
    state: FileState
    schema: Any
    n_rows: int
    without_values: frozenset[str]

    @classmethod
    def scan(cls, system: Any, path: str) -> "ParquetFile":
        """Read the footer of a file."""
        parquet = library("pyarrow.parquet", "Parquet files")
        with damage_named(path), system.open_input_file(path) as file:
            reader = parquet.ParquetFile(file)
            empty = _columns_without_values(reader.metadata)
            schema, n_rows = reader.schema_arrow, reader.metadata.num_rows
        return cls(system, path, _state(system, path), schema, n_rows, empty)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Iterate over the rows of some columns, as Arrow batches.

        Raises `ChangedSourceError` if the file has changed since it was scanned, also during the walk.
        """
        parquet = library("pyarrow.parquet", "Parquet files")
        self.check_unchanged()
        texts = [name for name in names if kind_of(self.schema.field(name).type) == "texts"]
        try:
            with damage_named(self.path), self.system.open_input_file(self.path) as file:
                reader = parquet.ParquetFile(
                    file, read_dictionary=texts, pre_buffer=False, buffer_size=READ_BYTES
                )
                yield from reader.iter_batches(PART_ROWS, columns=list(names))
            library("pyarrow", "Parquet files").default_memory_pool().release_unused()
            self.check_unchanged()  # also while it was read, for there may be no pass after this one
        except DamagedFileError:
            self.check_unchanged()  # then that is what is wrong
            raise

    def check_unchanged(self) -> None:
        """Raise `ChangedSourceError` if the file has changed."""
        try:
            now = _state(self.system, self.path)
        except (OSError, DamagedFileError) as error:
            raise ChangedSourceError(
                f"{self.path} existed when the table was scanned and cannot be read any more: "
                f"{str(error)[:100]}"
            ) from error
        if now != self.state:
            raise ChangedSourceError(
                f"{self.path} has changed since the table was scanned; scan it again and start over."
            )


class ParquetSource(RowSource):
    """The rows of Parquet files with the same columns, one file after the other.

    Parameters
    ----------
    files : sequence of ParquetFile
        At least one.
    cache_folder : path, optional
    """

    def __init__(self, files: Sequence[ParquetFile], cache_folder: Path | None = None) -> None:
        first = files[0]
        names = check_header(first.path, first.schema.names)
        super().__init__(names, sum(file.n_rows for file in files), cache_folder)
        if self.n_rows == 0:
            raise ShapeError(f"{first.path} has no rows{', nor have the other files' * (len(files) > 1)}.")
        self._files = tuple(files)
        self._stored = dict(zip(names, first.schema.names, strict=True))
        self._kinds = {name: _common_kind(files, stored) for name, stored in self._stored.items()}

    def __getitem__(self, name: str) -> "pd.Series[Any]":
        self._check_name(name)
        if self._kinds[name] == "texts":
            return text_series(self.select([name]).batches(), name)
        arrow = library("pyarrow", "Parquet files")
        stored = self._stored[name]
        chunks = [batch.column(stored) for file in self._files for batch in file.batches([stored])]
        kept = self._files[0].schema.field(stored).type
        plain = [chunk.cast(kept) if chunk.type != kept else chunk for chunk in chunks]
        return to_frame(arrow.table({name: arrow.chunked_array(plain, kept)}))[name]

    def frames(self) -> "Iterator[pd.DataFrame]":
        """Iterate over the rows as frames."""
        arrow = library("pyarrow", "Parquet files")
        for batch in self._arrow_batches(self.columns):
            types = self._files[0].schema
            plain = [
                batch.column(self._stored[name]).cast(types.field(self._stored[name]).type)
                for name in self.columns
            ]
            yield to_frame(arrow.table(dict(zip(self.columns, plain, strict=True))))

    def identity(self) -> dict[str, Any]:
        """Return path, size, time of change and footer of each file, and the columns."""
        files = [
            [file.path, file.state.size, file.state.changed_at, file.state.footer] for file in self._files
        ]
        return {"files": files, "columns": list(self.columns)}

    def _walk(self, names: Sequence[str]) -> Iterator[ColumnTable]:
        for batch in self._arrow_batches(names):
            yield ColumnTable(
                tuple(read_arrow(name, batch.column(self._stored[name]), self._kinds[name]) for name in names)
            )

    def _arrow_batches(self, names: Sequence[str]) -> Iterator[Any]:
        stored = [self._stored[name] for name in names]
        for file in self._files:
            yield from (batch for batch in file.batches(stored) if batch.num_rows)


def _common_kind(files: Sequence[ParquetFile], name: str) -> str:
    """Return the kind of a column in all files; raise an error if they do not agree."""
    kinds: dict[str, ParquetFile] = {}
    for file in files:
        if name not in file.schema.names:
            raise ShapeError(f"{file.path} has no column {name!r}, but {files[0].path} does.")
        if extra := [other for other in file.schema.names if other not in files[0].schema.names]:
            raise ShapeError(f"{file.path} has a column {extra[0]!r}, but {files[0].path} does not.")
        kinds.setdefault(kind_of(file.schema.field(name).type), file)
    told = [kind for kind in kinds if kind != "none"]
    if len(told) > 1:
        one, other = (kinds[kind] for kind in told[:2])
        raise DtypeError(
            f"Column {name!r} is {other.schema.field(name).type} in {other.path}, but "
            f"{one.schema.field(name).type} in {one.path}; write it as the same type in all files."
        )
    kind = told[0] if told else "none"
    empty = all(name in file.without_values for file in files)
    return "none" if empty and kind in UNTYPED_WHERE_EMPTY else kind


def _columns_without_values(metadata: Any) -> frozenset[str]:
    """Return the columns for which the footer says that all values are missing."""
    found = None
    for group in range(metadata.num_row_groups):
        chunks = [metadata.row_group(group).column(k) for k in range(metadata.num_columns)]
        empty = {
            chunk.path_in_schema
            for chunk in chunks
            if chunk.statistics is not None and chunk.statistics.null_count == chunk.num_values
        }
        found = empty if found is None else found & empty
    return frozenset(found or ())


def _state(system: Any, path: str) -> FileState:
    """Return the present state of a file."""
    info = system.get_file_info(path)
    if not info.is_file:
        raise DamagedFileError(f"There is no file {path}.")
    with damage_named(path), system.open_input_file(path) as file:
        file.seek(max(0, info.size - TAIL))
        tail = file.read(TAIL)
        length = min(int.from_bytes(tail[:4], "little"), info.size - TAIL)
        file.seek(max(0, info.size - TAIL - length))
        footer = hashlib.sha256(file.read(length + TAIL)).hexdigest()
    return FileState(info.size, info.mtime_ns, footer)
