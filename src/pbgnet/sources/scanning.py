"""Any kind of table as a source."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pbgnet.exceptions import DamagedFileError, DtypeError
from pbgnet.preprocessing import is_source
from pbgnet.sources.csv_files import CsvFile
from pbgnet.sources.file_damage import damage_named, library
from pbgnet.sources.held import ArrowSource, FrameSource
from pbgnet.sources.parquet_files import ParquetFile, ParquetSource
from pbgnet.sources.row_source import RowSource
from pbgnet.sources.spooled import CsvSource
from pbgnet.table_files import ENDINGS, MISSING, is_csv


def scan_table(
    data: Any,
    *,
    missing: Sequence[str] = MISSING,
    header: bool = True,
    cache_folder: str | os.PathLike[str] | None = None,
) -> RowSource:
    """Open a table without loading it into memory: it is read a few thousand rows at a time.

    Parameters
    ----------
    data : path, list of paths, DataFrame, ndarray or pyarrow.Table
        A Parquet or CSV file, a folder of such files, a pattern like ``"data/*.parquet"``, or a list of
        these. Files of a folder or pattern are sorted by name. Parquet files can also be on another file
        system that Arrow supports, given by a URI such as ``"s3://bucket/folder"``.
    missing : sequence of str
        Texts that mean "missing" in a CSV.
    header : bool, default=True
        Whether the first row of a CSV contains the column names.
    cache_folder : path, optional
        Folder for temporary files: about one byte per cell, and the parsed content of a CSV. Default: the
        system's temporary folder. The files have no name and disappear when the process ends, however it
        ends.

    Returns
    -------
    RowSource

    Raises
    ------
    DamagedFileError
        For files that are missing or cannot be read, and for patterns without a match.
    ShapeError, DtypeError
        If the files differ in their columns or types, or there are no rows.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.sources import scan_table
    >>> source = scan_table(np.arange(6.0).reshape(3, 2))
    >>> source.columns, source.shape
    (('x0', 'x1'), (3, 2))
    >>> source.drop("x1").take([2, 0])["x0"].numbers.tolist()
    [4.0, 0.0]
    """
    folder = None if cache_folder is None else Path(cache_folder)
    if isinstance(data, RowSource):
        return data
    if hasattr(data, "to_batches") and hasattr(data, "column_names"):
        return ArrowSource(data, folder)
    if isinstance(data, str | os.PathLike) or _are_paths(data):
        return _scan_files(_found(data), missing, header, folder)
    if is_source(data) or not (hasattr(data, "columns") or hasattr(data, "shape")):
        raise DtypeError(f"Expected a path, a list of paths or a table, got {type(data).__name__}.")
    return FrameSource(data, folder)


def find_files(data: Any) -> list[str]:
    """Return the files of paths, folders and patterns, in the order in which `scan_table` reads them."""
    return [path for _, path in _found(data)]


def _scan_files(
    places: list[tuple[Any, str]], missing: Sequence[str], header: bool, folder: Path | None
) -> RowSource:
    kinds = {is_csv(path) for _, path in places}
    if len(kinds) > 1:
        raise DamagedFileError(
            f"{places[0][1]} and the other files are partly CSV and partly Parquet; use one format."
        )
    paths = [path for _, path in places]
    if twice := next((path for k, path in enumerate(paths) if path in paths[:k]), None):
        raise DamagedFileError(f"{twice} is listed twice; each row must count only once.")
    if kinds == {True}:
        return CsvSource([CsvFile(Path(path), tuple(missing), header) for path in paths], folder)
    return ParquetSource([ParquetFile.scan(system, path) for system, path in places], folder)


def _are_paths(data: Any) -> bool:
    return isinstance(data, list | tuple) and all(isinstance(one, str | os.PathLike) for one in data)


def _found(data: Any) -> list[tuple[Any, str]]:
    """Return the files of paths, folders and patterns, and their file systems."""
    if not isinstance(data, str | os.PathLike):
        if not data:
            raise DamagedFileError("The list of files is empty; pass at least one.")
        return [place for one in data for place in _found(one)]
    text = os.fspath(data)
    if "://" in text:
        return _remote(text)
    if os.path.isdir(text):
        return [(_local(), path) for path in _tables_in(text)]
    if os.path.exists(text):
        return [(_local(), text)]
    if not glob.has_magic(text):
        raise DamagedFileError(f"There is no file {text}.")
    matching = sorted(path for path in glob.glob(text, recursive=True) if os.path.isfile(path))
    if not matching:
        raise DamagedFileError(f"No file matches {text}.")
    return [(_local(), path) for path in matching]


def _tables_in(folder: str) -> list[str]:
    """Return the tables in a folder and its subfolders, sorted; hidden files and markers are ignored."""
    found = [
        os.path.join(place, name)
        for place, _, names in os.walk(folder)
        for name in names
        if not name.startswith((".", "_")) and name.lower().endswith(tuple(ENDINGS))
    ]
    if not found:
        raise DamagedFileError(f"There is no Parquet or CSV file in the folder {folder}.")
    return sorted(found)


def _remote(uri: str) -> list[tuple[Any, str]]:
    systems = library("pyarrow.fs", "remote files")
    with damage_named(uri):
        system, path = systems.FileSystem.from_uri(uri)
        info = system.get_file_info(path)
        if info.is_file:
            return [(system, path)]
        selector = systems.FileSelector(path, recursive=True, allow_not_found=True)
        found = sorted(
            one.path
            for one in system.get_file_info(selector)
            if one.path.lower().endswith((".parquet", ".pq"))
        )
    if not found:
        raise DamagedFileError(f"There is no Parquet file at {uri}.")
    return [(system, path) for path in found]


def _local() -> Any:
    """Return the file system of this machine; CSV files need none."""
    try:
        return library("pyarrow.fs", "Parquet files").LocalFileSystem()
    except ImportError:
        return None
