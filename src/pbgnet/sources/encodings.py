"""From the bytes of a file to UTF-8: bytes that are not UTF-8 are read one by one as Windows-1252."""

import codecs
import gzip
import io
import warnings
from pathlib import Path
from typing import IO, Any

from pbgnet.exceptions import DamagedFileError, FileReadingWarning

# The beginning of a file is enough to distinguish text from anything else.
SNIFFED_BYTES = 65536
BLOCK_BYTES = 1 << 20

_BYTEWISE = "pbgnet-bytewise"


def open_utf8(path: Path, *, warn: bool = True) -> IO[bytes]:
    """Open a text file, gzipped or not, as UTF-8, a block at a time; warn about bytes that are not UTF-8.

    Those are read one by one as Windows-1252, the rest as UTF-8. An encoding for the whole file would let a
    byte in one row change how all the others are read.
    """
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    return io.BufferedReader(_Utf8Stream(path, opened(path, "rb"), warn), BLOCK_BYTES)


def read_start(path: Path) -> str:
    """Return the beginning of a text file; raise an error if it is not text."""
    with open_utf8(path, warn=False) as file:
        return file.read(SNIFFED_BYTES).decode(errors="ignore")


class _Utf8Stream(io.RawIOBase):
    """The bytes of a file as UTF-8."""

    def __init__(self, path: Path, file: Any, warn: bool) -> None:
        self._path, self._file, self._warn = path, file, warn
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._strict, self._n_lines, self._ready = True, 0, b""
        try:
            start = file.read(BLOCK_BYTES)
            if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise DamagedFileError(
                    f"{path} is UTF-16 text, which spreadsheets call Unicode; save it again as CSV in UTF-8."
                )
            if b"\0" in start[:SNIFFED_BYTES] or start.startswith(b"PAR1"):
                raise DamagedFileError(f"{path} is not a text file, whatever its extension says.")
        except BaseException:
            file.close()
            raise
        self._next = start.removeprefix(codecs.BOM_UTF8)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and self._next is not None:
            block, self._next = self._next, self._file.read(BLOCK_BYTES) or None
            self._ready = self._decoded(block, self._next is None)
        n = min(len(buffer), len(self._ready))
        buffer[:n], self._ready = self._ready[:n], self._ready[n:]
        return n

    def close(self) -> None:
        self._file.close()
        super().close()

    def _decoded(self, block: bytes, last: bool) -> bytes:
        state = self._decoder.getstate()
        try:
            text = self._decoder.decode(block, last)
        except UnicodeDecodeError as error:
            self._tell(self._n_lines + error.object.count(b"\n", 0, error.start) + 1)
            self._decoder = codecs.getincrementaldecoder("utf-8")(_BYTEWISE)
            self._decoder.setstate(state)
            text = self._decoder.decode(block, last)
        self._n_lines += block.count(b"\n")
        return text.encode()

    def _tell(self, line: int) -> None:
        if self._warn:
            warnings.warn(
                f"{self._path} is not UTF-8 text in line {line}, so it is read as Windows-1252 "
                "(Latin-1). If words look wrong, export it again as UTF-8.",
                FileReadingWarning,
                stacklevel=2,
            )


def _bytewise(error: UnicodeError) -> tuple[str, int]:
    """Read bytes that are not UTF-8 as Windows-1252, and the five that it lacks as Latin-1."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    found = error.object[error.start : error.end]
    try:
        return found.decode("cp1252"), error.end
    except UnicodeDecodeError:
        return found.decode("latin-1"), error.end


codecs.register_error(_BYTEWISE, _bytewise)
