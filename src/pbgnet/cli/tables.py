"""Tables in files: read with one idea of what is missing, written whole or not at all."""

import csv
import difflib
import functools
import gzip
import io
import warnings
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from pbgnet.cli.cells import clean, first_infinity, parse_labels
from pbgnet.cli.outcome import note
from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
    LabelError,
    OutputExistsError,
    ShapeError,
    UnknownNameError,
)

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL")
"""Texts that mean "missing" in a CSV. Among words, missing is a category of its own, so nothing is lost."""

DELIMITERS = ",;\t|"

# A look at the beginning of a file tells text from anything else.
SNIFFED_BYTES = 65536


def read_table(path: Path, missing: Sequence[str] = MISSING, *, as_text: bool = True) -> "pd.DataFrame":
    """Read a table by the extension of its file: a CSV in UTF-8 with a header, or Parquet.

    With `as_text` every cell of a CSV stays a text, None where it is missing. Otherwise a column holds
    numbers where all its cells are such: one cell then decides how all the others are read.
    """
    kind = _kind(path)
    if path.is_dir():
        raise DamagedFileError(f"{path} is a folder, not a table.")
    if not path.exists():
        raise DamagedFileError(f"There is no file {path}.")
    if path.stat().st_size == 0:
        raise DamagedFileError(f"{path} is empty.")
    with _damage_named(path):
        frame = _read_parquet(path) if kind == "parquet" else _read_csv(path, missing, as_text)
    if frame.shape[0] == 0:
        raise ShapeError(f"{path} has no rows, only a header.")
    return frame


def write_table(frame: "pd.DataFrame", path: Path, *, overwrite: bool = False) -> None:
    """Write a table in the format its extension names; an interrupted write leaves what was there."""
    from pbgnet.files import replace_file

    kind = _kind(path)
    if path.exists() and (path.is_dir() or not overwrite):
        raise OutputExistsError(f"{path} exists already; choose another place, or pass --overwrite.")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(2, "there is no such folder", str(path.parent))
    with replace_file(path) as temporary:
        if kind == "parquet":
            frame.to_parquet(temporary, index=False)
        else:
            compression = "gzip" if kind == "csv.gz" else None
            frame.to_csv(temporary, index=False, compression=compression, lineterminator="\n")


def labels(frame: "pd.DataFrame", target: str, path: Path) -> "NDArray[Any]":
    """Return the labels in a column of the table at `path`; none may be missing."""
    from pbgnet.certificates import label_values

    check_column("target", target, frame.columns)
    gaps = frame[target].isna().to_numpy().nonzero()[0]
    if gaps.size:
        raise LabelError(
            f"{gaps.size} of {len(frame)} rows have no label in column {target!r}, the first of them "
            f"{place(path, int(gaps[0]))}; remove those rows."
        )
    return label_values(label_column(frame, target, path))


def label_column(frame: "pd.DataFrame", target: str, path: Path) -> Any:
    """Return a column as labels: in a CSV numbers and truth values if all are such, otherwise as read."""
    column = frame[target]
    texts = column.tolist()
    if is_csv(path) and all(isinstance(text, str) for text in texts):
        return parse_labels(texts)
    return column


def check_finite(frame: "pd.DataFrame", path: Path) -> None:
    """Raise `DomainError` if a column of numbers holds infinity; says where."""
    for name in frame.columns:
        row = first_infinity(frame[name])
        if row is not None:
            raise DomainError(
                f"Column {name!r} holds infinity in {place(path, row)} of {path}; replace it, or leave it "
                "missing."
            )


def is_csv(path: Path) -> bool:
    """Whether the cells of a table are texts, by its extension."""
    return _kind(path) != "parquet"


def place(path: Path, row: int) -> str:
    """Say where a row stands: its line in a CSV, the header being line 1; its number, from 1, in others."""
    if not is_csv(path):
        return f"row {row + 1}"
    with _open(path) as file:
        delimiter = _delimiter(file.read(SNIFFED_BYTES))
        file.seek(0)
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        lines = csv.reader(text, delimiter=delimiter, skipinitialspace=True)
        start, found = 1, -1  # a row may go on over several lines; empty lines are no rows
        for cells in lines:
            found += cells not in ([], [""])
            if found == row + 1:
                return f"line {start}"
            start = lines.line_num + 1
    return f"row {row + 1}"


def check_column(kind: str, name: str, columns: Collection[str]) -> None:
    """Raise `UnknownNameError` unless there is such a column; suggests near names, whatever their case."""
    if name in columns:
        return
    folded = {str(column).casefold(): str(column) for column in columns}
    near = [folded[key] for key in difflib.get_close_matches(name.casefold(), folded, n=3)]
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else f" There are {some(list(columns))}."
    raise UnknownNameError(f"There is no {kind} column {name!r}.{hint}")


def some(names: Sequence[str], most: int = 6) -> str:
    """List names, the first few of many."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(str(name)) for name in names[:most]) + more


def _kind(path: Path) -> str:
    name = path.name.lower()
    for ending, kind in ((".csv", "csv"), (".csv.gz", "csv.gz"), (".parquet", "parquet"), (".pq", "parquet")):
        if name.endswith(ending):
            return kind
    raise DamagedFileError(
        f"{path} is not a kind of table known by its extension: use .csv, .csv.gz or .parquet (export "
        "spreadsheets as CSV, with UTF-8 text)."
    )


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Turn the many ways in which a file can be unreadable into one error that names it."""
    import pandas as pd

    try:
        yield
    except UnicodeDecodeError as error:
        raise DamagedFileError(f"{path} is not UTF-8 text; export it again as UTF-8.") from error
    except (pd.errors.ParserError, pd.errors.ParserWarning, pd.errors.EmptyDataError, csv.Error) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")[:200]
        raise DamagedFileError(f"{path} is not a CSV table: {reason}") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DamagedFileError(f"{path} is not a whole gzip file: {str(error)[:200]}") from error
    except OSError as error:
        if error.filename is None and error.errno is None:  # pyarrow's way to say that a file is damaged
            raise DamagedFileError(f"{path} cannot be read: {str(error)[:200]}") from error
        raise
    except ValueError as error:
        if type(error).__module__.partition(".")[0] != "pyarrow":
            raise
        raise DamagedFileError(
            f"{path} is not a Parquet table: {str(error).splitlines()[0][:200]}"
        ) from error


def _read_parquet(path: Path) -> "pd.DataFrame":
    import pandas as pd
    import pyarrow.parquet  # a clear error where it is not installed

    table = pyarrow.parquet.read_table(path)
    names = _check_header(path, table.column_names)
    # Without the metadata of pandas an index is a column like the others, whoever wrote the file.
    frame: pd.DataFrame = table.rename_columns(names).to_pandas(ignore_metadata=True)
    return frame


def _open(path: Path) -> IO[bytes]:
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    return cast("IO[bytes]", opener(path, "rb"))


def _read_csv(path: Path, missing: Sequence[str], as_text: bool) -> "pd.DataFrame":
    import pandas as pd

    with _open(path) as file:
        start = file.read(SNIFFED_BYTES)
    if b"\0" in start or start.startswith(b"PAR1"):
        raise DamagedFileError(f"{path} is not text, whatever its extension says.")
    read = functools.partial(
        pd.read_csv,
        path,
        sep=_delimiter(start),
        index_col=False,
        keep_default_na=False,
        skipinitialspace=True,
        encoding="utf-8-sig",
    )
    with warnings.catch_warnings():
        # Rows longer than the header would lose their end, or shift.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        header = read(header=None, nrows=1, dtype=str).iloc[0]
        names = _check_header(path, [str(name).strip() for name in header])
        if not as_text:
            return read(header=0, names=names, na_values=list(missing), low_memory=False)
        frame = read(header=0, names=names, dtype=object, low_memory=False)
    markers = set(missing)
    return pd.DataFrame(
        {name: pd.Series(clean(frame[name].tolist(), markers), dtype=object) for name in names}
    )


def _delimiter(start: bytes) -> str:
    """Return what splits the header into most columns; a comma if nothing does."""
    header = start.decode("utf-8-sig", errors="ignore").splitlines()[:1] or [""]
    counts = {mark: len(next(csv.reader(header, delimiter=mark), [])) for mark in DELIMITERS}
    return max(DELIMITERS, key=lambda mark: counts[mark])


def _check_header(path: Path, names: Sequence[str]) -> list[str]:
    """Return the names of the columns; those without one are named by their place."""
    named = [name or f"unnamed_{place}" for place, name in enumerate(names, start=1)]
    if twice := sorted({name for name in named if named.count(name) > 1}):
        raise ShapeError(f"{path} has several columns named {some(twice)}; give each a name of its own.")
    if made := [new for new, old in zip(named, names, strict=True) if not old]:
        note(
            f"{path} has a column without a name, read as {some(made)}. If it merely numbers the rows, "
            f"drop it: --drop {made[0]}"
        )
    return named
