"""From a source's files, or OpenML, to a table of small whole numbers.

In order of preference: a folder given by argument or PBGNET_DATA, if it has the files; earlier downloads;
OpenML. The record says which one was used.
"""

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.datasets.dataset import SourceRecord
from pbgnet.datasets.files import DATA_VARIABLE, SourceFile, find_files, given_path, read_checked
from pbgnet.datasets.openml import cache_folder, fetch_table
from pbgnet.datasets.store import StoredArrays, write_arrays
from pbgnet.exceptions import MissingDataError

CACHE_FORM = "pbgnet-openml-1"


@dataclass(frozen=True, eq=False)
class RawTable:
    """The content of a source before it becomes a data set: whole numbers, row by row."""

    features: NDArray[Any]  # uint8 or int32: pixels, bits, or numbers and codes of categories
    labels: NDArray[np.uint8]


@dataclass(frozen=True)
class Source:
    """A source of data sets: its files, and the same rows at OpenML.

    `parse` reads the content of the files, by name. `convert` reads the features and labels from OpenML, and
    raises ValueError, TypeError or KeyError for anything unexpected.
    """

    name: str  # also the name of the subfolder for its files
    url: str
    files: tuple[SourceFile, ...]
    openml_id: int
    rows_sha256: str  # of the rows of the original files, in any order
    parse: Callable[[Mapping[str, bytes]], RawTable]
    convert: Callable[[Any, Any], RawTable]


def rows_sha256(table: RawTable) -> str:
    """Compute a fingerprint of the rows and labels of a table that does not depend on their order."""
    rows = np.ascontiguousarray(table.features).astype(table.features.dtype.newbyteorder("<"), copy=False)
    digests = [
        hashlib.sha256(bytes([label]) + row.tobytes()).digest()
        for row, label in zip(rows, table.labels.tolist(), strict=True)
    ]
    return hashlib.sha256(b"".join(sorted(digests))).hexdigest()


def load_raw(
    source: Source, data_dir: str | os.PathLike[str] | None, download: bool
) -> tuple[RawTable, SourceRecord]:
    """Return the table of a source, and where it came from."""
    folder = given_path(data_dir)
    paths = find_files(folder, source.name, source.files) if folder is not None else None
    if paths is not None:
        read = [read_checked(p, file, source.url) for p, file in zip(paths, source.files, strict=True)]
        contents = {record.name: content for content, record in read}
        record = SourceRecord("files", files=tuple(record for _, record in read), same_rows=True)
        return source.parse(contents), record
    cached = cache_folder() / f"{source.name}-{source.openml_id}.npz"
    if cached.exists():
        return _read_cache(source, cached)
    where = "no folder was given" if folder is None else f"{folder} does not have the files"
    names = ", ".join(file.name for file in source.files)
    ways = (
        f"Either pass a folder with {names} ({source.url}) as data_dir or in {DATA_VARIABLE}, "
        "or load the data set once with internet access; it is then cached in "
        f"{cached.parent}."
    )
    if not download:
        raise MissingDataError(f"{source.name} is not available: {where}, and download=False. {ways}")
    table = fetch_table(
        source.openml_id, source.convert, f"{source.name} is not available: {where}, and", ways
    )
    arrays = {"features": table.features, "labels": table.labels}
    write_arrays(cached, CACHE_FORM, {"rows_sha256": rows_sha256(table)}, arrays)
    return _read_cache(source, cached)


def _read_cache(source: Source, path: Path) -> tuple[RawTable, SourceRecord]:
    stored = StoredArrays(path, CACHE_FORM, f"Delete {path} to download it again.")
    same = stored.header.get("rows_sha256") == source.rows_sha256
    note = "fetched from OpenML: the order of the rows may differ from that of the original files"
    if not same:
        note += ", and so do some of the rows themselves"
    record = SourceRecord(
        "openml", openml_id=source.openml_id, original_order=False, same_rows=same, note=note
    )
    return RawTable(stored["features"], stored["labels"]), record
