"""Files that are written whole or not at all."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replace_file", "write_whole"]


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
    temporary = target.parent / f".{target.name}.new-{uuid.uuid4().hex[:12]}"
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)  # gone already if all went well


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write a file whole or not at all; texts as UTF-8, line ends as they are."""
    with replace_file(path) as temporary:
        temporary.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path
