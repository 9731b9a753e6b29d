"""The original files in a folder: found, checked, and read.

The checksum is that of the content, so a file may be compressed with gzip or not. A source may also bring
known variants of its content to one form before it is hashed and read.
"""

import gzip
import hashlib
import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pbgnet.datasets.dataset import FileRecord
from pbgnet.exceptions import DamagedFileError, MissingDataError
from pbgnet.files import as_path

DATA_VARIABLE = "PBGNET_DATA"


@dataclass(frozen=True)
class SourceFile:
    """An original file: name without ``.gz``, checksum of the content, and how variants are normalised."""

    name: str
    sha256: str
    normalise: Callable[[bytes], bytes] = bytes  # by default unchanged


def given_path(data_dir: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder or packed file from the argument or PBGNET_DATA; None if neither is given."""
    origin = "data_dir" if data_dir is not None else DATA_VARIABLE
    value = data_dir if data_dir is not None else os.environ.get(DATA_VARIABLE)
    if value is None or (isinstance(value, str) and not value):
        return None
    path = as_path(value).expanduser()
    if not path.exists():
        raise MissingDataError(
            f"{origin} is {path}, which does not exist; pass the folder with the data sets, or "
            "leave it out to download them from OpenML."
        )
    return path


def find_files(folder: Path, subfolder: str, files: Sequence[SourceFile]) -> list[Path] | None:
    """Return the path of each file, in `folder` or its `subfolder`; None if none of them exists.

    Raises `DamagedFileError` if only some of them exist.
    """
    for place in (folder / subfolder, folder):
        found = [_find(place, file.name) for file in files]
        if not any(found):
            continue
        if missing := [file.name for file, path in zip(files, found, strict=True) if path is None]:
            raise DamagedFileError(
                f"The folder {place} has other files of {subfolder} but not {', '.join(missing)} "
                "(with or without .gz); put the missing files next to them."
            )
        return [path for path in found if path is not None]
    return None


def read_checked(path: Path, file: SourceFile, url: str) -> tuple[bytes, FileRecord]:
    """Return the content of a file and its record, or raise `DamagedFileError` if its checksum is wrong."""
    raw = path.read_bytes()
    try:
        content = file.normalise(gzip.decompress(raw) if path.suffix == ".gz" else raw)
        found = hashlib.sha256(content).hexdigest()
        problem = f"found {found}"
    except (OSError, EOFError, zlib.error) as error:
        found = None
        problem = f"the file cannot be decompressed ({error})"
    if found != file.sha256:
        raise DamagedFileError(
            f"{path} is damaged or another version: expected content with sha256 {file.sha256}, "
            f"{problem}. Download the file again from {url}, or remove the files of this data set "
            "from the folder to download it from OpenML."
        )
    return content, FileRecord(file.name, found)


def _find(place: Path, name: str) -> Path | None:
    return next((path for path in (place / name, place / f"{name}.gz") if path.is_file()), None)
