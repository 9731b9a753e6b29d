"""From the bytes of a file to UTF-8, each by itself: those that are not are read as Windows-1252."""

import codecs
import gzip
from pathlib import Path

from pbgnet.cli.outcome import note
from pbgnet.exceptions import DamagedFileError

# A look at the beginning of a file tells text from anything else.
SNIFFED_BYTES = 65536

_BYTEWISE = "pbgnet-bytewise"


def read_utf8(path: Path) -> bytes:
    """Return the text of a file, gzipped or not, as UTF-8; notes bytes that are not.

    Those are read one by one as Windows-1252, the rest as UTF-8. A code for the whole file would let a byte
    in one row change how all the others are read.
    """
    content = path.read_bytes()
    if path.name.lower().endswith(".gz"):
        content = gzip.decompress(content)
    start = content[:SNIFFED_BYTES]
    if b"\0" in start or start.startswith(b"PAR1"):
        raise DamagedFileError(f"{path} is not text, whatever its extension says.")
    content = content.removeprefix(codecs.BOM_UTF8)
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        note(
            f"{path} is not UTF-8 text in line {line}; what is not is read as Windows-1252 (Latin-1). If "
            "words look wrong, export it again as UTF-8."
        )
        return content.decode(errors=_BYTEWISE).encode()
    return content


def _bytewise(error: UnicodeError) -> tuple[str, int]:
    """Read bytes that are not UTF-8 by Windows-1252, and the five that this has not by Latin-1."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    found = error.object[error.start : error.end]
    try:
        return found.decode("cp1252"), error.end
    except UnicodeDecodeError:
        return found.decode("latin-1"), error.end


codecs.register_error(_BYTEWISE, _bytewise)
