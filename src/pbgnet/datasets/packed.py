"""Several data sets in one file, for a machine with neither the original files nor a network.

Bits are stored as bits, pixels as bytes, everything else as float32; reading returns the same numbers.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.datasets.dataset import Dataset, SourceRecord
from pbgnet.datasets.store import StoredArrays, write_arrays
from pbgnet.exceptions import DamagedFileError, DomainError, PBGNetError
from pbgnet.files import as_path
from pbgnet.validation import check_kind, check_name

FORM = "pbgnet-datasets-1"
BLOCK = 4096  # rows handled together, so that a large table is not copied as floats
ADVICE = "Pack the data sets again, or copy the file again."


@dataclass(frozen=True)
class PackedFile:
    """A file of data sets; the same data sets always give the same checksum of the whole file."""

    path: Path
    n_bytes: int
    sha256: str


def pack(datasets: Iterable[Dataset], path: str | os.PathLike[str]) -> PackedFile:
    """Write data sets into one file, completely or not at all; an existing file is replaced.

    Parameters
    ----------
    datasets : iterable of Dataset
    path : path

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pbgnet.datasets import load_dataset, load_packed, pack
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     packed = pack([load_dataset("moons"), load_dataset("breast")], pathlib.Path(folder) / "sets.npz")
    ...     load_packed(packed.path)
    {'moons': Dataset('moons', n=500, d=2, -1: upper, +1: lower),
     'breast': Dataset('breast', n=569, d=30, -1: malignant, +1: benign)}
    """
    header: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {}
    check_kind("datasets", datasets, list, tuple, Iterator)
    for dataset in datasets:
        check_kind("Each of the datasets", dataset, Dataset)
        if dataset.name in header:
            raise DomainError(f"Two data sets are named {dataset.name!r}; give each its own name.")
        parts = _encode(dataset.X)
        header[dataset.name] = {"encoding": "+".join(parts), **_describe(dataset)}
        for part, array in {**parts, "y": np.packbits(dataset.y > 0)}.items():
            arrays[f"{dataset.name}/{part}"] = array
    if not header:
        raise DomainError("There are no data sets to pack.")
    target = as_path(path)
    write_arrays(target, FORM, {"datasets": header, "order": list(header)}, arrays)
    with target.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return PackedFile(target, target.stat().st_size, sha256)


def load_packed(path: str | os.PathLike[str], names: Iterable[str] | None = None) -> dict[str, Dataset]:
    """Read data sets from a file written by `pack`.

    Parameters
    ----------
    path : path
    names : iterable of str, optional
        Data sets to read; by default all.

    Raises
    ------
    DamagedFileError
        If the file is missing, damaged or of another kind.
    UnknownNameError
        If a name is not in it; the message lists the names.

    Examples
    --------
    >>> from pbgnet.datasets import load_packed
    >>> load_packed("no/such/file.npz")
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DamagedFileError: There is no file no/such/file.npz. Pack the data sets again, or copy
    the file again.
    """
    stored = StoredArrays(as_path(path), FORM, ADVICE)
    try:
        headers, order = dict(stored.header["datasets"]), list(stored.header["order"])
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedFileError(f"{path} has no list of its data sets. {ADVICE}") from error
    chosen = order if names is None else [check_name("packed data set", name, headers) for name in names]
    return {name: _unpack(stored, name, headers[name]) for name in chosen}


def _describe(dataset: Dataset) -> dict[str, Any]:
    return {
        "n": dataset.n_rows,
        "d": dataset.n_features,
        "label_names": list(dataset.label_names),
        "feature_names": list(dataset.feature_names),
        "numeric": list(dataset.numeric),
        "standardised_in_paper": dataset.standardised_in_paper,
        "source": dataset.source.to_dict(),
    }


def _unpack(stored: StoredArrays, name: str, header: Mapping[str, Any]) -> Dataset:
    try:
        n, d = int(header["n"]), int(header["d"])
        parts = {part: stored[f"{name}/{part}"] for part in (*header["encoding"].split("+"), "y") if part}
        signs = np.unpackbits(parts["y"], count=n).astype(np.int64)
        negative, positive = header["label_names"]
        return Dataset(
            name=name,
            X=_decode(parts, n, d),
            y=2 * signs - 1,
            label_names=(str(negative), str(positive)),
            feature_names=tuple(header["feature_names"]),
            source=SourceRecord.from_dict(header["source"]),
            numeric=tuple(int(column) for column in header["numeric"]),
            standardised_in_paper=bool(header["standardised_in_paper"]),
        )
    except PBGNetError as error:
        if isinstance(error, DamagedFileError):
            raise
        raise DamagedFileError(f"{name!r} in the packed file cannot be used: {error} {ADVICE}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedFileError(f"{name!r} in the packed file cannot be read: {error!r}. {ADVICE}") from error


def _encode(X: NDArray[np.float32]) -> dict[str, NDArray[Any]]:  # noqa: N803
    """Return the parts that make up the table, by name."""
    is_bit = np.ones(X.shape[1], dtype=bool)
    is_pixel = True
    for start in range(0, len(X), BLOCK):
        block = X[start : start + BLOCK]
        is_bit &= ((block == 0) | (block == 1)).all(axis=0)
        is_pixel = is_pixel and bool(np.array_equal(_from_pixels(_to_pixels(block)), block))
    if is_pixel and not is_bit.all():
        return {"pixels": np.concatenate([_to_pixels(X[k : k + BLOCK]) for k in range(0, len(X), BLOCK)])}
    bits = np.packbits(X[:, is_bit].astype(bool), axis=1)
    return {"is_bit": is_bit, "bits": bits, "floats": X[:, ~is_bit]}


def _decode(parts: Mapping[str, NDArray[Any]], n: int, d: int) -> NDArray[np.float32]:
    if "pixels" in parts:
        return _from_pixels(parts["pixels"].reshape(n, d))
    is_bit = parts["is_bit"].reshape(d)
    table = np.empty((n, d), dtype=np.float32)
    table[:, is_bit] = np.unpackbits(parts["bits"], axis=1, count=int(is_bit.sum()))
    table[:, ~is_bit] = parts["floats"]
    return table


def _to_pixels(block: NDArray[np.float32]) -> NDArray[np.uint8]:
    return np.rint(np.clip(block, 0, 1) * 255).astype(np.uint8)


def _from_pixels(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.divide(pixels, np.float32(255), dtype=np.float32)
