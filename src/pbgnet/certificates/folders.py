"""Folders that are written whole or not at all, and the JSON files in them.

Writing goes to a new folder beside the old one, which is then put in its place by renaming. If
the machine stops in between, the old folder is still there, at worst under the name that
`set_aside_path` tells, where `standing_folder` finds it.
"""

import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pbgnet.certificates.records import parse_json
from pbgnet.exceptions import DamagedFileError, OutputExistsError, PBGNetError

__all__ = [
    "CERTIFICATE",
    "LARGEST_JSON",
    "OURS",
    "PREDICTIONS",
    "PREPROCESSING",
    "REPORT",
    "WEIGHTS",
    "read_json",
    "save_folder",
    "set_aside_path",
    "standing_folder",
]

CERTIFICATE = "certificate.json"
WEIGHTS = "model.safetensors"
PREPROCESSING = "preprocessing.json"
PREDICTIONS = "predictions.json"
REPORT = "report.html"
"""Written beside the model by the command line; stale, and so removed, when the model is replaced."""

OURS = (CERTIFICATE, WEIGHTS, PREPROCESSING, PREDICTIONS, REPORT)

LARGEST_JSON = 64 * 2**20
"""No honest file is larger; a larger one is refused before it is read."""


def save_folder(
    folder: str | os.PathLike[str], write: Callable[[Path], None], *, overwrite: bool = False
) -> Path:
    """Make a folder with what `write` puts into it, all or nothing, and return where it stands.

    Parameters
    ----------
    folder : path
        Made if need be, parents included.
    write : callable
        Writes the files into the folder it is given.
    overwrite : bool, default=False
        Replace what stands there, if it holds a certificate or nothing. Files that are not ours are kept.

    Raises
    ------
    OutputExistsError
        If something stands there already.
    """
    target = Path(folder).absolute()
    if target.is_symlink():
        target = target.resolve()
    _recover(target)
    _check_target(target, overwrite)
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.parent / f".{target.name}.new-{uuid.uuid4().hex[:12]}"
    try:
        fresh.mkdir()
        write(fresh)
        for path in (*fresh.iterdir(), fresh):
            _fsync(path)
        _swap(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)  # gone already if all went well
    _keep_other_files(set_aside_path(target), target)
    return target


def standing_folder(folder: str | os.PathLike[str]) -> Path:
    """Return where a saved folder stands, or raise `DamagedFileError`."""
    path = Path(folder)
    if not path.exists() and set_aside_path(path).is_dir():
        path = set_aside_path(path)  # a save was interrupted between its two renamings
    if not path.is_dir():
        raise DamagedFileError(f"There is no model folder {folder}.")
    return path


def set_aside_path(folder: str | os.PathLike[str]) -> Path:
    """Return where the old model waits while a new one takes its place."""
    target = Path(folder).absolute()
    return target.parent / f".{target.name}.old"


def read_json(path: Path, read: Callable[[Any], Any]) -> Any:
    """Read a file of JSON by a function that raises for what it cannot use."""
    if not path.is_file():
        raise DamagedFileError(f"{path} is missing.")
    if path.stat().st_size > LARGEST_JSON:
        raise DamagedFileError(f"{path} is larger than {LARGEST_JSON // 2**20} MiB, which no model needs.")
    try:
        return read(parse_json(path.read_text(encoding="utf-8")))
    except UnicodeDecodeError as error:
        raise DamagedFileError(f"{path} is damaged: it is not UTF-8 text.") from error
    except PBGNetError as error:
        raise DamagedFileError(f"{path} is damaged: {error}") from error
    except OSError as error:
        raise DamagedFileError(f"{path} cannot be read: {error}") from error


def _check_target(target: Path, overwrite: bool) -> None:
    if not target.exists():
        return
    if not overwrite:
        raise OutputExistsError(f"{target} exists already; choose another place, or overwrite it on purpose.")
    if not target.is_dir() or (any(target.iterdir()) and not (target / CERTIFICATE).is_file()):
        raise OutputExistsError(
            f"{target} exists and is not a pbgnet model, so it is not replaced; move it away."
        )


def _swap(fresh: Path, target: Path) -> None:
    """Put the finished folder in place; the old one is set aside until the new one stands."""
    aside = set_aside_path(target)
    replaced = target.exists()
    if replaced:
        os.rename(target, aside)
    try:
        os.rename(fresh, target)
    except BaseException:
        if replaced:
            os.rename(aside, target)
        raise
    _fsync(target.parent)


def _recover(target: Path) -> None:
    """Finish what an interrupted save left: bring the old model back, or clear it away."""
    aside = set_aside_path(target)
    if not aside.is_dir():
        return
    if target.exists():
        _keep_other_files(aside, target)
    else:
        os.rename(aside, target)


def _keep_other_files(aside: Path, target: Path) -> None:
    """Move what is not part of a model from the old folder to the new one, then remove the old one."""
    if not aside.is_dir():
        return
    for path in aside.iterdir():
        ours = path.name in OURS
        if not ours and not (target / path.name).exists():
            os.rename(path, target / path.name)
    shutil.rmtree(aside)


def _fsync(path: Path) -> None:
    if path.is_dir() and os.name == "nt":
        return  # Windows cannot open folders
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
