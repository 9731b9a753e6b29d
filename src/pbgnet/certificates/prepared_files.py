"""A prepared table in a folder: for other processes on a machine, and for a fit that resumes.

What was read from a source is stored as codes and a few bytes per row, with checksums, so the source need not
be read again. It is only used for exactly the files it was made from.
"""

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates.data import (
    DataFingerprints,
    Groups,
    Inputs,
    LabelledRows,
    PreparedTable,
    Split,
    SplitRecord,
    TableFacts,
)
from pbgnet.exceptions import ChangedSourceError, DamagedFileError, OptionError, PBGNetError
from pbgnet.files import as_path, read_json, replace_folder
from pbgnet.preprocessing import BinnedTable, is_source, room_for
from pbgnet.records import read_keys

SCHEMA, VERSION = "pbgnet-prepared-table", 1
HEAD = "prepared.json"
ARRAYS = ("codes", "truth", "prior_rows", "certified_rows", "exact", "single", "near")
FILES = (HEAD, *(f"{name}.npy" for name in ARRAYS))
KEYS = ["schema", "version", "source", "inputs", "split", "data", "checksums"]
BLOCK_BYTES = 1 << 22


def save_prepared(table: PreparedTable, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a prepared table, completely or not at all.

    Parameters
    ----------
    table : PreparedTable
        A table of files (`pbgnet.sources.scan_table`), with a preprocessor.
    folder : path
    overwrite : bool, default=False
        Whether to replace an existing one.

    Raises
    ------
    CacheError
        If the disk is too full.
    OptionError
        If the table is not made of files, or has no preprocessor.
    """
    if not is_source(table.rows.X) or table.inputs.preprocessor is None:
        raise OptionError("Only tables read from files (scan_table) with a preprocessor can be cached.")
    facts = table.rows.facts
    arrays = {
        "codes": table.features.codes,
        "truth": _smallest(table.truth),
        "prior_rows": table.split.prior_rows,
        "certified_rows": table.split.certified_rows,
        "exact": facts.exact,
        "single": facts.single,
        "near": facts.near,
    }
    content = {
        "schema": SCHEMA,
        "version": VERSION,
        "source": table.rows.X.identity(),
        "inputs": table.inputs.to_dict(),
        "split": table.split.record.to_dict(),
        "data": asdict(table.fingerprints),
    }
    place = as_path(folder)
    with (
        room_for(_standing_parent(place), sum(array.nbytes for array in arrays.values())),
        replace_folder(place, overwrite=overwrite, marker=HEAD, ours=FILES) as fresh,
    ):
        for name, array in arrays.items():
            np.save(fresh / f"{name}.npy", array)
        content["checksums"] = {name: _checksum(fresh / f"{name}.npy") for name in ARRAYS}
        (fresh / HEAD).write_text(json.dumps(content), encoding="utf-8")
    return place


def load_prepared(
    folder: str | os.PathLike[str],
    source: Any,
    *,
    groups: Groups | None = None,
) -> PreparedTable:
    """Return the prepared table that `save_prepared` wrote, without reading the source.

    Parameters
    ----------
    folder : path
    source : RowSource
        The features, as they were when it was written: the same files and columns.
    groups : Groups, optional
        The group of each row, which is not stored.

    Raises
    ------
    ChangedSourceError
        If it was made from other files, or these have changed.
    DamagedFileError
        If a file of the folder is missing, or its checksum has changed.
    """
    place = as_path(folder)
    content = read_json(place / HEAD, _read_head)
    if content["source"] != json.loads(json.dumps(source.identity())):
        raise ChangedSourceError(
            f"{place} was prepared from other files or columns, or the files have changed since. Remove it "
            "and prepare the table again."
        )
    arrays = {name: _load(place / f"{name}.npy", content["checksums"][name]) for name in ARRAYS}
    try:
        return _table(content, arrays, source, groups, place)
    except (PBGNetError, TypeError, KeyError) as error:
        raise DamagedFileError(f"{place} does not contain a prepared table: {error}") from error


def _table(
    content: dict[str, Any], arrays: dict[str, NDArray[Any]], source: Any, groups: Groups | None, place: Path
) -> PreparedTable:
    inputs, data = Inputs.from_dict(content["inputs"]), DataFingerprints(**content["data"])
    truth = arrays["truth"].astype(np.int64)
    labels = truth if inputs.has_several_labels else inputs.classes.named(truth)
    facts = TableFacts(data.features, *(np.asarray(arrays[name]) for name in ("exact", "single", "near")))
    rows = LabelledRows(source, labels, facts)
    vars(rows)["data"] = data
    record = SplitRecord.from_dict(content["split"])
    split = Split(np.asarray(arrays["prior_rows"]), np.asarray(arrays["certified_rows"]), record)
    table = PreparedTable(rows, inputs, split, groups)
    assert inputs.preprocessor is not None
    vars(table)["features"] = BinnedTable(arrays["codes"], inputs.preprocessor.book_, source.cache_folder)
    vars(table)["truth"] = truth
    if len(table.features) != table.n_rows:
        raise DamagedFileError(f"it has codes for {len(table.features)} rows but {table.n_rows} labels.")
    return table


def _read_head(data: object) -> dict[str, Any]:
    content = read_keys(data, KEYS)
    if (content["schema"], content["version"]) != (SCHEMA, VERSION):
        raise DamagedFileError(f"it is not {SCHEMA!r} of version {VERSION}.")
    return {**content, "checksums": read_keys(content["checksums"], list(ARRAYS), "checksums")}


def _load(path: Path, checksum: object) -> NDArray[Any]:
    """Map an array from its file, after checking it."""
    if not path.is_file():
        raise DamagedFileError(f"{path} is missing.")
    if _checksum(path) != checksum:
        raise DamagedFileError(f"{path} is damaged: its checksum does not match.")
    found: NDArray[Any] = np.load(path, mmap_mode="c", allow_pickle=False)
    return found


def _checksum(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _smallest(truth: NDArray[np.int64]) -> NDArray[Any]:
    """Return class indices in as few bytes as they need."""
    return truth.astype(np.min_scalar_type(int(truth.max(initial=0))))


def _standing_parent(folder: Path) -> Path:
    """Return the nearest existing parent folder."""
    return next(parent for parent in folder.absolute().parents if parent.is_dir())
