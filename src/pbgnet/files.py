"""Files and folders that are written whole or not at all, and JSON that is read with care.

A folder is written beside the old one and then put in its place by renaming. If the machine stops in
between, the old folder is still there, at worst under the name that `set_aside_path` tells, where
`standing_folder` finds it.
"""

import os
import shutil
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pbgnet.exceptions import DamagedFileError, OutputExistsError, PBGNetError
from pbgnet.records import parse_json

LARGEST_JSON = 64 * 2**20
"""No honest file is larger; a larger one is refused before it is read."""


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `path`; what was written there takes its place at the end.

    If the block raises, or the machine stops, the old file is untouched.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pbgnet.files import replace_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replace_file(pathlib.Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("done")
    ...     [file.name for file in pathlib.Path(folder).iterdir()]
    ['a.txt']
    """
    target = Path(path).resolve()
    temporary = _beside(target)
    try:
        yield temporary
        _fsync(temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)  # gone already if all went well


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write a file whole or not at all; texts as UTF-8, line ends as they are."""
    with replace_file(path) as temporary:
        temporary.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path


@contextmanager
def replace_folder(
    folder: str | os.PathLike[str], *, overwrite: bool, marker: str, ours: Collection[str]
) -> Iterator[Path]:
    """Give an empty folder to write into; at the end it takes the place of `folder`, all or nothing.

    Parameters
    ----------
    folder : path
        Made if need be, parents included.
    overwrite : bool
        Whether to replace what stands there, if it holds `marker` or nothing.
    marker : str
        Name of a file that only folders of this kind have.
    ours : collection of str
        Names of all files of this kind: old ones go, all other files of the old folder are kept.

    Raises
    ------
    OutputExistsError
        If something stands there already; it is looked at before the block, and again after it.
    """
    target = Path(folder).resolve() if Path(folder).is_symlink() else Path(folder).absolute()
    aside = set_aside_path(target)
    _recover(target, ours)
    _check_replaceable(target, overwrite, marker)
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = _beside(target)
    try:
        fresh.mkdir()
        yield fresh
        _check_replaceable(target, overwrite, marker)  # something may have come there meanwhile
        for path in (*fresh.iterdir(), fresh):
            _fsync(path)
        _swap(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)  # gone already if all went well
    _keep_other_files(aside, target, ours)


def standing_folder(folder: str | os.PathLike[str]) -> Path:
    """Return where a folder stands: beside its place if replacing it was interrupted."""
    path = Path(folder)
    return set_aside_path(path) if not path.exists() and set_aside_path(path).is_dir() else path


def set_aside_path(folder: str | os.PathLike[str]) -> Path:
    """Return where the old folder waits while a new one takes its place."""
    target = Path(folder).absolute()
    return target.parent / f".{target.name}.old"


def check_size(path: Path, largest: int) -> None:
    """Raise `DamagedFileError` if a file is missing or larger than it can be; nothing is read."""
    if not path.is_file():
        raise DamagedFileError(f"{path} is missing.")
    if path.stat().st_size > largest:
        size = f"{largest / 2**20:.4g} MiB" if largest >= 2**20 else f"{largest} bytes"
        raise DamagedFileError(f"{path} is damaged: it is larger than {size}, which no such file needs.")


def read_json(path: Path, read: Callable[[Any], Any]) -> Any:
    """Read a file of JSON by a function that raises for what it cannot use."""
    check_size(path, LARGEST_JSON)
    try:
        return read(parse_json(path.read_text(encoding="utf-8")))
    except UnicodeDecodeError as error:
        raise DamagedFileError(f"{path} is damaged: it is not UTF-8 text.") from error
    except PBGNetError as error:
        raise DamagedFileError(f"{path} is damaged: {error}") from error
    except OSError as error:
        raise DamagedFileError(f"{path} cannot be read: {error}") from error


def _beside(target: Path) -> Path:
    """Return a fresh name in the folder of a target, so that renaming is one step."""
    return target.parent / f".{target.name}.new-{uuid.uuid4().hex[:12]}"


def _check_replaceable(target: Path, overwrite: bool, marker: str) -> None:
    if not target.exists():
        return
    if not overwrite:
        raise OutputExistsError(f"{target} exists already; choose another place, or overwrite it on purpose.")
    if not target.is_dir() or (any(target.iterdir()) and not (target / marker).is_file()):
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


def _recover(target: Path, ours: Collection[str]) -> None:
    """Finish what an interrupted replacement left: bring the old folder back, or clear it away."""
    aside = set_aside_path(target)
    if aside.is_dir() and not target.exists():
        os.rename(aside, target)
    _keep_other_files(aside, target, ours)


def _keep_other_files(aside: Path, target: Path, ours: Collection[str]) -> None:
    """Move what is not ours from the old folder to the new one, then remove the old one."""
    if not aside.is_dir():
        return
    for path in aside.iterdir():
        if path.name not in ours and not (target / path.name).exists():
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
