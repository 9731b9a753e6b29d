"""Arrays in one npz file with a checksum for each, written completely or not at all; never unpickled."""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.exceptions import DamagedFileError
from pbgnet.files import replace_file

HEADER = "header"

# What numpy and zipfile raise for a damaged archive. TypeError: a single array instead of an archive;
# RuntimeError and NotImplementedError: a bit that claims encryption, or another compression.
UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    RuntimeError,
    SyntaxError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)


def array_sha256(array: NDArray[Any]) -> str:
    """Fingerprint an array by its type, shape and bytes."""
    digest = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array).data if array.size else b"")
    return digest.hexdigest()


def write_arrays(
    path: Path, form: str, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write arrays and a header for JSON to `path`, completely or not at all; an existing file is replaced.

    `form` names the kind of file and its version; a reader must ask for the same.
    """
    sums = {name: array_sha256(array) for name, array in arrays.items()}
    content = json.dumps({"form": form, "sha256": sums, **header}, sort_keys=True).encode()
    named: dict[str, Any] = {HEADER: np.frombuffer(content, np.uint8), **arrays}
    target = path.absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(target) as temporary, temporary.open("xb") as file:
        np.savez_compressed(file, **named)


class StoredArrays:
    """A file of the expected form, written by `write_arrays`; each array is checked when it is read."""

    def __init__(self, path: Path, form: str, advice: str) -> None:
        self._path, self._advice = path, advice
        content = self._read(HEADER)
        try:
            self.header: dict[str, Any] = json.loads(content.tobytes())
            found, self._sums = self.header["form"], dict(self.header["sha256"])
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged("its header cannot be read") from error
        if found != form:
            raise self._damaged(f"it holds {found!r:.40}, not {form!r}")

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return an array, or raise `DamagedFileError` if it is missing or its checksum is wrong."""
        if name not in self._sums:
            raise self._damaged(f"it does not list the array {name!r}")
        array = self._read(name)
        if (found := array_sha256(array)) != self._sums[name]:
            raise self._damaged(f"{name!r} should have sha256 {self._sums[name]}, found {found}")
        return array

    def _read(self, name: str) -> NDArray[Any]:
        try:
            # opened here, because numpy leaves a file open that is no archive
            with self._path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                array: NDArray[Any] = file[name]
                return array
        except FileNotFoundError as error:
            raise DamagedFileError(f"There is no file {self._path}. {self._advice}") from error
        except UNREADABLE as error:
            raise self._damaged(f"{name!r} cannot be read ({error})") from error

    def _damaged(self, problem: str) -> DamagedFileError:
        return DamagedFileError(
            f"{self._path} is damaged or not a file of this kind: {problem}. {self._advice}"
        )
