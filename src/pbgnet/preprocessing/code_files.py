"""What tables larger than memory need of each row: kept in files without a name, and mapped from there.

Such a file is gone with the last array that looks into it, however its process ends.
"""

import errno
import math
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.exceptions import CacheError

HELD_BYTES = 64 * 2**20
"""Codes up to this size are held in memory."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOENT)
"""What a folder says that cannot take a file: full, its user's share or limit reached, not there."""

ZEROED_BYTES = 1 << 20
"""Zeros that are written to a file at a time."""

GATHERED_ROWS = 1 << 16
"""Rows that are gathered from a file at a time."""


def collect_codes(
    blocks: Iterable[NDArray[Any]],
    shape: tuple[int, int],
    dtype: Any,
    folder: Path | None = None,
    *,
    mapped: bool = True,
) -> NDArray[Any]:
    """Return blocks of rows, one after the other: in memory if they are small, otherwise mapped from a file.

    A mapped array can be written to like any other; changes stay in memory.

    Parameters
    ----------
    blocks : iterable of ndarray
        Taken one at a time.
    shape : tuple of int
        Of all of them together.
    dtype : dtype
    folder : path, optional
        Where to put the file; by default the system's folder for temporary files.
    mapped : bool
        Whether a file may be used; False for rows of a table that is in memory itself.

    Raises
    ------
    CacheError
        If the disk is too full; nothing of the file remains.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.preprocessing.code_files import collect_codes
    >>> collect_codes([np.ones((2, 1)), np.zeros((1, 1))], (3, 1), np.uint8).ravel()
    array([1, 1, 0], dtype=uint8)
    """
    n_bytes = shape[0] * shape[1] * np.dtype(dtype).itemsize
    if n_bytes <= HELD_BYTES or not mapped:
        held, start = np.empty(shape, dtype=dtype), 0
        for block in blocks:
            held[start : start + len(block)] = block
            start += len(block)
        return held
    place = Path(folder or tempfile.gettempdir())
    with room_for(place, n_bytes), tempfile.TemporaryFile(dir=place) as file:
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype=dtype).data)
        file.flush()
        return np.memmap(file, dtype=dtype, mode="c", shape=shape)


def gather_codes(codes: NDArray[Any], rows: Any, folder: Path | None = None) -> NDArray[Any]:
    """Return some rows of codes; many rows of mapped codes are mapped from a separate file."""
    if not isinstance(codes, np.memmap) or isinstance(rows, slice | int):
        some: NDArray[Any] = codes[rows]
        return some
    places = np.asarray(rows)
    places = np.flatnonzero(places) if places.dtype == np.bool_ else places
    blocks = (codes[places[k : k + GATHERED_ROWS]] for k in range(0, len(places), GATHERED_ROWS))
    return collect_codes(blocks, (len(places), codes.shape[1]), codes.dtype, folder)


def mapped_zeros(shape: tuple[int, ...], dtype: Any, folder: Path | None = None) -> NDArray[Any]:
    """Return zeros to write into: in memory if they are few, else mapped from a file of their own.

    Unlike `collect_codes`, what is written goes to the file.

    Raises
    ------
    CacheError
        If the disk is too full.

    Examples
    --------
    >>> from pbgnet.preprocessing.code_files import mapped_zeros
    >>> mapped_zeros((2,), "uint8")
    array([0, 0], dtype=uint8)
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    if n_bytes <= HELD_BYTES:
        return np.zeros(shape, dtype=dtype)
    place = Path(folder or tempfile.gettempdir())
    with room_for(place, n_bytes), tempfile.TemporaryFile(dir=place) as file:
        block = bytes(ZEROED_BYTES)
        # Written now: a page that the disk has no room for later would end the process.
        for start in range(0, n_bytes, ZEROED_BYTES):
            file.write(memoryview(block)[: n_bytes - start])
        file.flush()
        # Not a np.memmap, which joblib would hand to other processes by the name of its file.
        return np.frombuffer(mmap.mmap(file.fileno(), n_bytes), dtype=dtype).reshape(shape)


def mapped_copy(values: NDArray[Any], folder: Path | None = None) -> NDArray[Any]:
    """Return an array as it is if it is small, else a copy of it that is mapped from a file.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.preprocessing.code_files import mapped_copy
    >>> mapped_copy(np.arange(3))
    array([0, 1, 2])
    """
    if values.nbytes <= HELD_BYTES:
        return values
    copied = mapped_zeros(values.shape, values.dtype, folder)
    copied[:] = values
    return copied


@contextmanager
def room_for(folder: Path, n_bytes: int) -> Iterator[None]:
    """Raise `CacheError` if a folder cannot take this many bytes, before writing or as it fills."""
    told = f"The cache of the table needs {n_bytes / 1e6:.0f} MB in {folder}"
    advice = (
        "Free some space, or choose a folder on another disk: scan_table(..., "
        "cache_folder=...), or set TMPDIR=FOLDER before the command."
    )
    try:
        free = shutil.disk_usage(folder).free
        if free < n_bytes:
            raise CacheError(f"{told}, but the disk has only {free / 1e6:.0f} MB left. {advice}")
        yield
    except OSError as error:
        if isinstance(error, CacheError) or error.errno not in NO_ROOM:
            raise
        raise CacheError(f"{told}: {os.strerror(error.errno)}. {advice}") from error
