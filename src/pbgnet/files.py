"""Files and folders that are written completely or not at all, and JSON that is read strictly.

A folder M is written beside the old one, as
``.M.new-TOKEN``, and takes its place by two renamings: the old one becomes ``.M.old-TOKEN``, and the new one
M. If the machine stops between the two, both exist but M does not; `standing_folder` then finds the old one.
Any other folder with such a name was left by a killed process, and the next save removes it. Processes lock
the folder they write, and its parent during the renamings.
"""

import contextlib
import errno
import importlib
import json
import os
import re
import shutil
import time
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pbgnet.exceptions import DamagedFileError, DomainError, DtypeError, OutputExistsError, PBGNetError
from pbgnet.records import Record, parse_json

fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None  # not available on Windows

TOKEN = re.compile("[0-9a-f]{12}")
ABANDONED_AFTER = 24 * 3600.0
"""Seconds after which an unfinished folder counts as abandoned, if there are no locks."""

LARGEST_JSON = 64 * 2**20
"""Larger than any valid file; a larger one raises an error before it is read."""

RECORD_VERSION = 1
Kept = TypeVar("Kept", bound=Record)


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `path`; in the end, what was written there replaces `path`.

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
        temporary.unlink(missing_ok=True)  # already gone if all went well


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write a file completely or not at all; texts as UTF-8, with unchanged line ends."""
    with replace_file(path) as temporary:
        temporary.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path


def write_new(path: str | os.PathLike[str], content: str, *, overwrite: bool) -> Path:
    """Write a text into a file, completely or not at all; an existing file is replaced only with `overwrite`.

    Raises
    ------
    OutputExistsError
        If something already exists there, or it is a folder.
    """
    if not isinstance(overwrite, bool):
        raise DtypeError(f"overwrite must be True or False, got {type(overwrite).__name__}.")
    target = as_path(path)
    if target.is_dir():
        raise OutputExistsError(f"{target} is a folder; pass the name of a file.")
    if target.exists() and not overwrite:
        raise OutputExistsError(f"{target} exists already; choose another name, or pass overwrite=True.")
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    return write_whole(target, content)


@contextmanager
def replace_folder(
    folder: str | os.PathLike[str], *, overwrite: bool, marker: str, ours: Collection[str]
) -> Iterator[Path]:
    """Give an empty folder to write into; in the end it takes the place of `folder`, all or nothing.

    Parameters
    ----------
    folder : path
        Created if necessary, parents included.
    overwrite : bool
        Whether to replace an existing folder, if it contains `marker` or nothing.
    marker : str
        Name of a file that only folders of this kind have.
    ours : collection of str
        Names of all files of this kind: old ones are removed, all other files of the old folder are kept.

    Raises
    ------
    OutputExistsError
        If something already exists there; checked before the block, and again after it.
    """
    if not isinstance(overwrite, bool):
        raise DtypeError(f"overwrite must be True or False, got {type(overwrite).__name__}.")
    target = final_place(folder)
    if target.parent.is_dir():
        with locked(target.parent):
            _recover(target, ours)
            _check_replaceable(target, overwrite, marker)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _fresh_folder(target) as fresh:
        yield fresh
        for path in (*fresh.iterdir(), fresh):
            _fsync(path)
        with locked(target.parent):
            _check_replaceable(target, overwrite, marker)  # something may have appeared there in the meantime
            aside = _swap(fresh, target)
            _keep_other_files(aside, target, ours)


def final_place(folder: str | os.PathLike[str]) -> Path:
    """Return where a folder is written; a link is followed."""
    path = as_path(folder)
    return path.resolve() if path.is_symlink() else path.absolute()


def as_path(place: object) -> Path:
    """Return a place as a path; raise a typed error if no file system can have it."""
    if not isinstance(place, str | os.PathLike):
        raise DtypeError(f"Expected a path, got {type(place).__name__}.")
    path = Path(place)
    try:
        named = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        named = False
    if not named:
        raise DomainError(f"{str(path)!r:.80} is not a valid file name.")
    return path


def standing_folder(folder: str | os.PathLike[str]) -> Path:
    """Return where a folder is: next to its place, if replacing it was interrupted."""
    path = as_path(folder)
    if path.exists():
        return path
    interrupted = [aside for aside in _leftovers(path.absolute(), "old") if _interrupted(aside)]
    return max(interrupted, key=_modified, default=path)


def folder_stands(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder is there; one that seems not to be may be about to be replaced."""
    if standing_folder(folder).is_dir():
        return True
    with locked(final_place(folder).parent):
        return standing_folder(folder).is_dir()


def set_aside_path(fresh: Path) -> Path:
    """Return where the old folder is kept while a new one, written at `fresh`, takes its place."""
    name, _, token = fresh.name.rpartition(".new-")
    return fresh.parent / f"{name}.old-{token}"


def check_size(path: Path, largest: int) -> None:
    """Raise `DamagedFileError` if a file is missing or too large; nothing is read."""
    if not path.is_file():
        raise DamagedFileError(f"{path} is missing.")
    if path.stat().st_size > largest:
        size = f"{largest / 2**20:.4g} MiB" if largest >= 2**20 else f"{largest} bytes"
        raise DamagedFileError(f"{path} is damaged: it is larger than {size}, more than any such file needs.")


def read_json(path: Path, read: Callable[[Any], Any]) -> Any:
    """Read a JSON file with a function that raises an error for content it cannot use."""
    check_size(path, LARGEST_JSON)
    try:
        return read(parse_json(path.read_text(encoding="utf-8")))
    except UnicodeDecodeError as error:
        raise DamagedFileError(f"{path} is damaged: it is not UTF-8 text.") from error
    except PBGNetError as error:
        raise DamagedFileError(f"{path} is damaged: {error}") from error
    except OSError as error:
        raise DamagedFileError(f"{path} cannot be read: {error}") from error


def save_record(path: Path, schema: str, record: Record) -> None:
    """Write a record into a JSON file that names its schema and version."""
    content = {"schema": schema, "version": RECORD_VERSION, **record.to_dict()}
    write_whole(path, json.dumps(content, indent=2) + "\n")


def load_record(kind: type[Kept], path: Path, schema: str, advice: str = "Remove it.") -> Kept | None:
    """Read what `save_record` wrote; None if there is no such file."""
    if not path.is_file():
        return None
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
        head = [content.pop(key, None) for key in ("schema", "version")] if isinstance(content, dict) else []
        if head != [schema, RECORD_VERSION]:
            raise DamagedFileError(f"it is not {schema!r} of version {RECORD_VERSION}.")
        return kind.from_dict(content)
    except (PBGNetError, UnicodeDecodeError) as error:
        raise DamagedFileError(f"{path} is damaged: {error} {advice}") from error


def _beside(target: Path) -> Path:
    """Return a new name in the folder of a target, so that renaming is a single step."""
    return target.parent / f".{target.name}.new-{uuid.uuid4().hex[:12]}"


def _check_replaceable(target: Path, overwrite: bool, marker: str) -> None:
    if not target.exists():
        return
    if not overwrite:
        raise OutputExistsError(f"{target} exists already; choose another folder, or pass overwrite=True.")
    if not target.is_dir() or (any(target.iterdir()) and not (target / marker).is_file()):
        raise OutputExistsError(
            f"{target} exists and is not a pbgnet model, so pbgnet does not replace it; move it away."
        )


def _swap(fresh: Path, target: Path) -> Path:
    """Put the finished folder in place, and keep the old one until the new one is there; return the place.

    Raises
    ------
    OutputExistsError
        If another process that does not use locks changed the place at the same moment.
    """
    aside = set_aside_path(fresh)
    replaced = target.exists()
    try:
        if replaced:
            os.rename(target, aside)
        try:
            os.rename(fresh, target)
        except BaseException:
            if replaced:
                os.rename(aside, target)
            raise
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
            raise
        raise OutputExistsError(
            f"{target} was changed by another process at the same time; it was left as it is, and "
            "nothing was written. Try again, or choose another folder."
        ) from error
    _fsync(target.parent)
    return aside


def _recover(target: Path, ours: Collection[str]) -> None:
    """Finish what killed processes left: bring an old folder back, or remove what is useless."""
    standing = standing_folder(target)
    if standing != target and standing.is_dir():
        os.rename(standing, target)
    for aside in _leftovers(target, "old"):
        _keep_other_files(aside, target, ours)
    for fresh in _leftovers(target, "new"):
        with _claimed(fresh) as abandoned:
            if abandoned:
                shutil.rmtree(fresh, ignore_errors=True)


def _leftovers(target: Path, kind: str) -> list[Path]:
    """Return the folders of a kind, "new" or "old", next to a place."""
    start = f".{target.name}.{kind}-"
    try:
        found = [path for path in target.parent.iterdir() if path.name.startswith(start) and path.is_dir()]
    except OSError:  # no such parent, or not readable
        return []
    return [path for path in found if TOKEN.fullmatch(path.name.removeprefix(start))]


def _interrupted(aside: Path) -> bool:
    """Whether an old folder was set aside and the new one never took its place."""
    name, _, token = aside.name.rpartition(".old-")
    return (aside.parent / f"{name}.new-{token}").is_dir()


def _modified(folder: Path) -> int:
    """Return when a folder was modified, or 0 if another process has removed it."""
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


@contextmanager
def _fresh_folder(target: Path) -> Iterator[Path]:
    """Create a folder next to a target, locked so that it does not count as abandoned; removed in the end."""
    while True:
        fresh = _beside(target)
        try:
            fresh.mkdir()
            with _claimed(fresh) as claimed:
                if not fresh.is_dir() or not (claimed or fcntl is None):
                    continue  # another process considered it abandoned before it was locked
                yield fresh
                return
        finally:
            shutil.rmtree(fresh, ignore_errors=True)  # already gone if all went well


@contextmanager
def _claimed(folder: Path) -> Iterator[bool]:
    """Lock a folder without waiting, and return whether no living process holds it."""
    if fcntl is None:  # Windows: nothing is known about other processes
        yield _is_old(folder)
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            claimed = True
        except BlockingIOError:
            claimed = False
        except OSError:  # a file system without locks
            claimed = _is_old(folder)
        yield claimed
    finally:
        os.close(descriptor)


@contextmanager
def locked(parent: Path) -> Iterator[None]:
    """Wait until no other process puts a folder in its place here, and prevent others from doing so.

    Without locks, there is no waiting.
    """
    with contextlib.ExitStack() as stack:
        if fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks, or an unreadable folder
                descriptor = os.open(parent, os.O_RDONLY)
                stack.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def _is_old(folder: Path) -> bool:
    return time.time() - folder.stat().st_mtime > ABANDONED_AFTER


def _keep_other_files(aside: Path, target: Path, ours: Collection[str]) -> None:
    """Move files that are not ours from the old folder to the new one, then remove the old one.

    If there is no new folder, it was deleted on purpose: then only our own files are removed.
    """
    if not aside.is_dir():
        return
    others = [path for path in aside.iterdir() if path.name not in ours]
    if others and not target.is_dir():
        for name in ours:
            (aside / name).unlink(missing_ok=True)
        return
    for path in others:
        if not (target / path.name).exists():
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
