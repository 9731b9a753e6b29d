"""What is wrong with a file that does not contain a table."""

import csv
import gzip
import importlib
import re
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pbgnet.exceptions import DamagedFileError, FileReadingWarning, MissingLibraryError, ShapeError

# How pandas says that a file ends inside a quoted cell. It counts from 0, cells with line breaks as one line.
UNCLOSED = re.compile(r"EOF inside string starting at row (\d+)")


@contextmanager
def damage_named(path: object) -> Iterator[None]:
    """Turn the many ways in which a file can be unreadable into one error that names it."""
    import pandas as pd

    try:
        yield
    except (pd.errors.ParserError, pd.errors.ParserWarning, pd.errors.EmptyDataError, csv.Error) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")[:200]
        if unclosed := UNCLOSED.fullmatch(reason):
            reason = f"a quotation mark that opens near line {int(unclosed[1]) + 1} is never closed"
        raise DamagedFileError(f"{path} is not a CSV table: {reason}") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DamagedFileError(f"{path} is not a complete gzip file: {str(error)[:200]}") from error
    except OSError as error:
        if error.filename is None and error.errno is None:  # how pyarrow reports a damaged file
            raise DamagedFileError(f"{path} cannot be read: {str(error)[:200]}") from error
        raise
    except ValueError as error:
        if type(error).__module__.partition(".")[0] != "pyarrow":
            raise
        raise DamagedFileError(
            f"{path} is not a Parquet table: {str(error).splitlines()[0][:200]}"
        ) from error


def check_header(path: object, names: Sequence[str]) -> list[str]:
    """Return the names of the columns; those without one are named by their position."""
    named = [name or f"unnamed_{place}" for place, name in enumerate(names, start=1)]
    if twice := sorted({name for name in named if named.count(name) > 1}):
        told = ", ".join(map(repr, twice[:6])) + (f" and {len(twice) - 6} more" if len(twice) > 6 else "")
        raise ShapeError(f"{path} has several columns named {told}; give each column its own name.")
    if made := [new for new, old in zip(named, names, strict=True) if not old]:
        warnings.warn(
            f"{path} has a column without a name, read as {', '.join(map(repr, made[:6]))}. If it "
            f"only numbers the rows, drop it: --drop {made[0]}",
            FileReadingWarning,
            stacklevel=2,
        )
    return named


def library(name: str, what: str) -> Any:
    """Import a library that reads some kind of table; raise a clear error if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise MissingLibraryError(
            f"Reading {what} requires {package}, which is not installed: pip install {package}."
        ) from error
