"""Tables in files, with one definition of missing values."""

import difflib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbgnet.cli.cells import first_infinity, parse_labels
from pbgnet.exceptions import (
    DomainError,
    LabelError,
    ShapeError,
    UnknownNameError,
)
from pbgnet.table_files import MISSING, check_file, is_csv, kind_of_file

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def read_table(
    path: Path,
    missing: Sequence[str] = MISSING,
    *,
    as_text: bool = True,
    header: bool = True,
    marked: Collection[str] = (),
) -> "pd.DataFrame":
    """Read a table by the extension of its file: a CSV, or Parquet.

    With `as_text` every cell of a CSV stays text, None if missing, and the index is the line of each row.
    Otherwise a column contains numbers if all its cells are numbers: one cell then decides how all the others
    are read. Without a `header` the columns of a CSV are column_1, column_2 and so on. In `marked` columns an
    empty cell is an empty text, not missing.
    """
    from pbgnet.sources import CsvFile, damage_named, read_parquet

    check_file(path)
    kind = kind_of_file(path)
    with damage_named(path):
        if kind == "parquet":
            frame = read_parquet(path)
        else:
            file = CsvFile(path, missing, header, marked)
            frame = file.text_frame() if as_text else file.typed_frame()
    if frame.shape[0] == 0:
        raise ShapeError(f"{path} has a header but no rows.")
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
    """Raise `LabelError` if rows have no label in a column; the message says where the first of them is."""
    rows = gaps.nonzero()[0]
    if rows.size:
        raise LabelError(
            f"{rows.size} of {len(frame)} rows have no label in column {target!r}, the first of them "
            f"{place_of(frame, path, int(rows[0]))}; {advice}."
        )


def label_column(frame: "pd.DataFrame", target: str, path: Path) -> Any:
    """Return a column as labels: in a CSV numbers and booleans if all cells are, otherwise as read."""
    column = frame[target]
    if not is_csv(path):
        return column
    texts = column.tolist()
    return parse_labels(texts) if all(isinstance(text, str) for text in texts) else column


def check_finite(frame: "pd.DataFrame", path: Path) -> None:
    """Raise `DomainError` if a column of numbers contains infinity; the message says where.

    For a table that is not in memory, only the rows that columns are learned from are checked; infinity in
    others counts as missing, with a warning.
    """
    for name in frame.columns if hasattr(frame, "index") else ():
        row = first_infinity(frame[name])
        if row is not None:
            raise DomainError(
                f"Column {name!r} contains infinity in {place_of(frame, path, row)} of {path}; "
                "replace it, or leave the cell empty."
            )


def place_of(frame: "pd.DataFrame", path: Path, row: int) -> str:
    """Say where a row is: its line in a CSV; otherwise its number, from 1."""
    index = getattr(frame, "index", None)  # a table that is not in memory has none
    if is_csv(path) and index is not None and index.name == "line":
        return f"line {index[row]}"
    return f"row {row + 1}"


def check_column(kind: str, name: str, columns: Collection[str]) -> None:
    """Raise `UnknownNameError` unless the column exists; suggests similar names, ignoring case."""
    if name in columns:
        return
    folded = {str(column).casefold(): str(column) for column in columns}
    near = [folded[key] for key in difflib.get_close_matches(name.casefold(), folded, n=3)]
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else _listing(list(columns))
    raise UnknownNameError(f"There is no {kind} column {name!r}.{hint}")


def _listing(columns: Sequence[object]) -> str:
    """List columns, including the last one, because it often contains the label."""
    last = f"; the last is {columns[-1]!r}" if len(columns) > 6 else ""
    return f" The table has {some(columns)}{last}."


def some(names: Sequence[object], most: int = 6) -> str:
    """List names or labels; of many, the first few."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more
