"""Tables in files, read with one idea of what is missing."""

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
from typing import TYPE_CHECKING, Any

from pbgnet.cli.cells import clean, first_infinity, parse_labels
from pbgnet.cli.encodings import read_utf8
from pbgnet.cli.outcome import note
from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
    LabelError,
    ShapeError,
    UnknownNameError,
)

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL")
"""Texts that mean "missing" in a CSV. Among words, missing is a category of its own, so nothing is lost."""

DELIMITERS = ",;\t|"

# What separates cells is looked for in so many bytes.
SNIFFED = 65536


def read_table(
    path: Path,
    missing: Sequence[str] = MISSING,
    *,
    as_text: bool = True,
    header: bool = True,
    marked: Collection[str] = (),
) -> "pd.DataFrame":
    """Read a table by the extension of its file: a CSV, or Parquet.

    With `as_text` every cell of a CSV stays a text, None where it is missing, and the index tells the line of
    each row. Otherwise a column holds numbers where all its cells are such: one cell then decides how all
    the others are read. Without a `header` the columns of a CSV are column_1, column_2 and so on. In columns
    that are `marked` an empty cell is an empty text, and not missing.
    """
    kind = kind_of(path)
    if path.is_dir():
        raise DamagedFileError(f"{path} is a folder, not a table.")
    if not path.exists():
        raise DamagedFileError(f"There is no file {path}.")
    if path.stat().st_size == 0:
        raise DamagedFileError(f"{path} is empty.")
    with _damage_named(path):
        if kind == "parquet":
            frame = _read_parquet(path)
        else:
            frame = _read_csv(path, missing, as_text, header, marked)
    if frame.shape[0] == 0:
        raise ShapeError(f"{path} has no rows, only a header.")
    return frame


def labels(frame: "pd.DataFrame", target: str, path: Path) -> "NDArray[Any]":
    """Return the labels in a column of the table at `path`; none may be missing."""
    from pbgnet.certificates import label_values

    check_column("target", target, frame.columns)
    refuse_gaps(frame, target, path, frame[target].isna().to_numpy())
    return label_values(label_column(frame, target, path))


def refuse_gaps(
    frame: "pd.DataFrame", target: str, path: Path, gaps: "NDArray[Any]", advice: str = "remove those rows"
) -> None:
    """Raise `LabelError` if rows have no label in a column; says where the first of them stands."""
    rows = gaps.nonzero()[0]
    if rows.size:
        raise LabelError(
            f"{rows.size} of {len(frame)} rows have no label in column {target!r}, the first of them "
            f"{place_of(frame, path, int(rows[0]))}; {advice}."
        )


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
                f"Column {name!r} holds infinity in {place_of(frame, path, row)} of {path}; replace it, or "
                "leave it missing."
            )


def is_csv(path: Path) -> bool:
    """Whether the cells of a table are texts, by its extension."""
    return kind_of(path) != "parquet"


def place_of(frame: "pd.DataFrame", path: Path, row: int) -> str:
    """Say where a row stands: its line in a CSV; its number, from 1, in others."""
    return f"line {frame.index[row]}" if is_csv(path) and frame.index.name == "line" else f"row {row + 1}"


def check_column(kind: str, name: str, columns: Collection[str]) -> None:
    """Raise `UnknownNameError` unless there is such a column; suggests near names, whatever their case."""
    if name in columns:
        return
    folded = {str(column).casefold(): str(column) for column in columns}
    near = [folded[key] for key in difflib.get_close_matches(name.casefold(), folded, n=3)]
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else f" There are {some(list(columns))}."
    raise UnknownNameError(f"There is no {kind} column {name!r}.{hint}")


def some(names: Sequence[object], most: int = 6) -> str:
    """List names or labels, the first few of many."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


def kind_of(path: Path) -> str:
    """Return the format of a table by the extension of its file: csv, csv.gz or parquet."""
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
    frame: pd.DataFrame = table.rename_columns(names).to_pandas(ignore_metadata=True, date_as_object=False)
    return frame


def _read_csv(
    path: Path, missing: Sequence[str], as_text: bool, header: bool, marked: Collection[str]
) -> "pd.DataFrame":
    import pandas as pd

    content = read_utf8(path)
    start = content[:SNIFFED].decode(errors="ignore")
    separator = _delimiter(start) if header else _delimiter_of_rows(start)
    read = functools.partial(
        pd.read_csv, sep=separator, index_col=False, keep_default_na=False, skipinitialspace=True
    )
    with warnings.catch_warnings():
        # Rows longer than the header would lose their end, or shift.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        first = read(io.BytesIO(content), header=None, nrows=1, dtype=str).iloc[0]
        if header:
            names = _check_header(path, [str(name).strip() for name in first])
        else:
            names = [f"column_{place}" for place in range(1, len(first) + 1)]
        read = functools.partial(read, io.BytesIO(content), header=0 if header else None, names=names)
        if not as_text:
            gaps = {name: [text for text in missing if text or name not in marked] for name in names}
            return read(na_values=gaps, low_memory=False)
        frame = read(dtype=object, low_memory=False)
    markers = set(missing)
    lines = _lines(content, separator, len(frame), header)
    index = pd.RangeIndex(1, len(frame) + 1, name="row") if lines is None else pd.Index(lines, name="line")
    columns = {}
    for name in names:
        cells = clean(frame[name].tolist(), markers, blank="" if name in marked else None)
        columns[name] = pd.Series(cells, index, dtype=object)
    return pd.DataFrame(columns)


def _lines(content: bytes, separator: str, n_rows: int, header: bool) -> Sequence[int] | None:
    """Return the line at which each row begins, from 1; None where that cannot be told."""
    if content.count(b"\n") + (not content.endswith(b"\n")) == n_rows + header:
        return range(1 + header, 1 + header + n_rows)
    # A row may go on over several lines; empty lines are no rows.
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")
    reader = csv.reader(text, delimiter=separator, skipinitialspace=True)
    starts, start = [], 1
    try:
        for cells in reader:
            if cells not in ([], [""]):
                starts.append(start)
            start = reader.line_num + 1
    except csv.Error:  # a cell too long for this reader
        return None
    starts = starts[int(header) :]
    return starts if len(starts) == n_rows else None


def _delimiter(start: str) -> str:
    """Return what splits the first line into most columns; a comma if nothing does."""
    header = start.splitlines()[:1] or [""]
    counts = {mark: len(next(csv.reader(header, delimiter=mark), [])) for mark in DELIMITERS}
    return max(DELIMITERS, key=lambda mark: counts[mark])


def _delimiter_of_rows(start: str) -> str:
    """Return what splits the first lines into equally many cells; last a comma, which decimals have too."""
    lines = [line for line in start.splitlines()[:20] if line.strip()]
    if len(start) > SNIFFED // 4 and 1 < len(lines) < 20:
        lines.pop()  # it may be cut
    for mark in reversed(DELIMITERS):
        widths = {len(cells) for cells in csv.reader(lines, delimiter=mark)}
        if len(widths) == 1 and widths != {1}:
            return mark
    return ","


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
