"""Tables in any form: frames with named columns, and arrays.

A frame is anything with ``.columns``, ``frame[name]`` and ``.to_numpy()`` on a column; no frame
library is imported.
"""

import difflib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.exceptions import DomainError, DtypeError, ShapeError
from pbgnet.preprocessing.dates import date_text
from pbgnet.preprocessing.moments import Moments
from pbgnet.preprocessing.words import Words
from pbgnet.validation import check_readable

MISSING_TYPES = frozenset({"NAType", "NaTType"})
"""Names of the types of missing values in frame libraries, which are not imported."""


@dataclass(frozen=True, eq=False)
class Column:
    """One column as read from a table.

    Attributes
    ----------
    name : str
    numbers : ndarray of float64 or None
        The values of a numeric column, with NaN for missing ones.
    texts : sequence of str or None
        The values of a categorical column, None for missing ones; a list, or `Words`.
    categorical : bool
        Whether the table itself says that these are categories, so that they are never read as numbers.
    dates : bool
        Whether the table itself says that these are dates, which are written out as texts.
    typed : ndarray of float64 or None
        If numbers occur among texts, where they are written out: these numbers, and NaN for all else. They do
        not depend on a style.
    """

    name: str
    numbers: NDArray[np.float64] | None
    texts: Sequence[str | None] | None
    categorical: bool = False
    dates: bool = False
    typed: NDArray[np.float64] | None = None

    @property
    def n_rows(self) -> int:
        """Number of values."""
        return len(self.numbers if self.numbers is not None else self.texts or ())

    def take(self, rows: slice | NDArray[np.int64]) -> "Column":
        """Return some of the values: a slice, or indices."""
        texts = self.texts
        if texts is not None and not isinstance(texts, Words):
            texts = texts[rows] if isinstance(rows, slice) else [texts[row] for row in rows.tolist()]
        elif texts is not None:
            texts = texts.take(rows)
        return replace(
            self,
            numbers=None if self.numbers is None else self.numbers[rows],
            texts=texts,
            typed=None if self.typed is None else self.typed[rows],
        )


def is_frame(table: Any) -> bool:
    """Whether a table has named columns."""
    return hasattr(table, "columns") and hasattr(table, "__getitem__")


def column_names(table: Any) -> tuple[str, ...] | None:
    """Return the column names of a frame as text, or None for an array.

    Raises
    ------
    ShapeError
        If two columns have the same name.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.preprocessing import column_names
    >>> column_names(np.zeros((2, 3))) is None
    True
    """
    if not is_frame(table):
        return None
    names = tuple(str(name) for name in table.columns)
    if len(set(names)) != len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise ShapeError(f"Two columns are named {twice!r}; give each column its own name.")
    return names


def as_table(X: Any) -> Any:  # noqa: N803
    """Return a frame, an array or a sparse matrix as it is, and anything else as an array of its cells.

    An array of one type for all cells would let a text in a certified row turn all columns into texts.

    Examples
    --------
    >>> from pbgnet.preprocessing.tables import as_table
    >>> as_table([[1.5, "red"], [2, "blue"]])
    array([[1.5, 'red'],
           [2, 'blue']], dtype=object)
    """
    check_readable("X", X)
    if hasattr(X, "columns") or hasattr(X, "tocsr") or isinstance(X, np.ndarray):
        return X
    return np.asarray(X, dtype=object)


def take_rows(table: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows of a frame, array, sparse matrix or source, by position.

    Rows of a source are returned as columns that have been read, in one pass over it.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.preprocessing import take_rows
    >>> take_rows(np.array([[1.0], [2.0], [3.0]]), np.array([2, 0]))
    array([[3.],
           [1.]])
    """
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    if hasattr(table, "batches") or hasattr(table, "parts"):  # a source, or a `ColumnTable`
        return table.take(rows)
    if hasattr(table, "tocsr"):
        return table.tocsr()[rows]
    return table[rows] if hasattr(table, "shape") else np.asarray(table)[rows]


def count_rows(table: Any) -> int:
    """Return the number of rows of a frame, array, sparse matrix or list of rows.

    Examples
    --------
    >>> from pbgnet.preprocessing.tables import count_rows
    >>> count_rows([[1.0], [2.0]])
    2
    """
    shape = getattr(table, "shape", None)
    if not shape and (shape == () or not hasattr(table, "__len__")):
        raise ShapeError(f"Expected a table of rows and columns, got {type(table).__name__}.")
    return int(shape[0]) if shape else len(table)


def check_columns(found: Sequence[str], expected: Sequence[str]) -> None:
    """Raise `ShapeError` unless both name the same columns, in whatever order; suggests near names."""
    wanted, given = set(expected), set(found)
    extra = [name for name in found if name not in wanted]
    absent = [name for name in expected if name not in given]

    def with_near_name(name: str) -> str:
        near = difflib.get_close_matches(name[:100], [other[:100] for other in extra[:100]], n=1)
        return f"{name!r} (did you mean {near[0]!r}?)" if near else repr(name)

    if absent:
        listed = first_few(absent, with_near_name)
        raise ShapeError(f"The table has no column {listed}; it needs all columns of the fitted table.")
    if extra:
        raise ShapeError(
            f"The table has the column {first_few(extra)}, which the fitted table did not have; "
            "drop it, or fit again."
        )


def first_few(names: Sequence[str], show: Callable[[str], str] = repr) -> str:
    """List names; of many, the first three."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(map(show, names[:3])) + more


def read_columns(
    table: Any, names: Sequence[str] | None = None, *, number_type: type | None = np.float64
) -> list[Column]:
    """Read the columns of a frame, source or two-dimensional array, in the order of `names` if given.

    With a `number_type` of None, numbers are views of the table, of its own type: for `column_parts`, which
    turns them into float64 a part at a time.
    """
    if hasattr(table, "tocsr"):
        raise DtypeError("A sparse matrix has no missing values and does not need table preprocessing.")
    if hasattr(table, "batches"):  # a source: the requested columns are held in full
        table = (table if names is None else table.select(names)).read()
    if hasattr(table, "parts"):  # a `ColumnTable`
        return [table[name] for name in (table.columns if names is None else names)]
    if is_frame(table):
        found = column_names(table) or ()
        keys = dict(zip(found, table.columns, strict=True))
        order = found if names is None else names
        return [_read_column(name, table[keys[name]], number_type) for name in order]
    check_readable("The table", table)
    array = np.asarray(table)
    if array.ndim != 2:
        raise ShapeError(f"A table must have rows and columns, got an array of shape {array.shape}.")
    return [
        _read_column(name, array[:, k], number_type)
        for k, name in enumerate(names or [f"x{k}" for k in range(array.shape[1])])
    ]


def as_numbers(array: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return an array as float64 if it only contains numbers and booleans, possibly as objects.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.preprocessing.tables import as_numbers
    >>> as_numbers(np.array([[1, 2.5]], dtype=object)), as_numbers(np.array([["a"]])) is None
    (array([[1. , 2.5]]), True)
    """
    if array.dtype.kind in "biuf":
        return array.astype(np.float64, copy=False)
    if array.dtype.kind != "O":
        return None
    kinds = {type(item) for item in array.ravel().tolist()}
    if not all(issubclass(kind, Real | Decimal | np.bool_) for kind in kinds):
        return None
    try:
        return array.astype(np.float64)
    except OverflowError:  # a whole number of hundreds of digits
        return None


def _read_column(name: str, column: Any, number_type: type | None) -> Column:
    """Read a column as numbers, or as texts if it is anything else."""
    values = _values(column)
    if values.ndim != 1:
        raise ShapeError(f"Column {name!r} must hold one value per row, got shape {values.shape}.")
    if str(getattr(column, "dtype", "")) == "category":
        return Column(name, None, _texts(name, values.tolist()), categorical=True)
    if values.dtype.kind in "iuf":
        return Column(name, values if number_type is None else values.astype(number_type), None)
    if values.dtype.kind in "bU":
        return Column(name, None, [str(value) for value in values.tolist()])
    if values.dtype.kind in "OT":  # T: numpy's variable-width strings
        return _read_objects(name, values.tolist(), getattr(getattr(column, "dtype", None), "kind", "O"))
    if values.dtype.kind == "M":
        return Column(name, None, Moments.read(values), dates=True)
    if values.dtype.kind == "m":  # a duration in seconds, NaN if it is missing
        return Column(name, values / np.timedelta64(1, "s"), None)
    raise DtypeError(f"Column {name!r} holds {values.dtype}; convert it, or drop it.")


def _values(column: Any) -> NDArray[Any]:
    """Return the values of a column; dates with a time zone in local time of that zone."""
    if getattr(getattr(column, "dtype", None), "tz", None) is not None and hasattr(column, "dt"):
        column = column.dt.tz_localize(None)
    return np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)


def _read_objects(name: str, items: list[Any], kind: str) -> Column:
    """Read the objects of a column whose type is of this kind: "b" for booleans that may be missing."""
    kinds = set(map(type, items))
    if kinds <= {str, type(None)} and str in kinds:
        return Column(name, None, items)
    if kinds <= {str, float, type(None)} and str in kinds and _only_gaps(items):
        return Column(name, None, [item if type(item) is str else None for item in items])
    if _all_numbers(kinds) and kind != "b":
        return Column(name, np.array([_number(name, item) for item in items], dtype=np.float64), None)
    dates = {some for some in kinds if some is not type(None) and some.__name__ not in MISSING_TYPES}
    all_dates = bool(dates) and all(issubclass(some, date | time) for some in dates)
    typed = None
    if not all_dates and any(issubclass(some, Real | Decimal | timedelta) for some in dates - {bool}):
        found = np.array([_number(name, item) if _is_number(item) else math.nan for item in items])
        typed = None if np.isnan(found).all() else found
    return Column(name, None, _texts(name, items), dates=all_dates, typed=typed)


def _only_gaps(items: list[Any]) -> bool:
    """Whether texts contain no numbers other than NaN, with which frames mark missing values."""
    return all(math.isnan(item) for item in items if type(item) is float)


def _is_number(value: object) -> bool:
    return isinstance(value, Real | Decimal | timedelta) and not isinstance(value, bool | np.bool_)


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, or a frame library's missing value."""
    return (
        value is None
        or (isinstance(value, float | np.floating) and math.isnan(value))
        or type(value).__name__ in MISSING_TYPES
        or (isinstance(value, Decimal) and value.is_nan())
    )


def _all_numbers(kinds: set[type]) -> bool:
    """Whether every value is a number or missing. A column without any value counts as numeric."""
    if str in kinds or bool in kinds or np.bool_ in kinds:
        return False
    return all(
        issubclass(kind, Real | Decimal | timedelta) or kind.__name__ in MISSING_TYPES or kind is type(None)
        for kind in kinds
    )


def _number(name: str, value: Any) -> float:
    if is_missing(value):
        return math.nan
    try:
        return value.total_seconds() if isinstance(value, timedelta) else float(value)
    except OverflowError as error:
        raise DomainError(
            f"Column {name!r} contains {value!r:.20}..., which is too large for a float."
        ) from error


def _texts(name: str, items: list[Any]) -> list[str | None]:
    """Write each value as text; whole numbers are written the same, whether they are 1 or 1.0."""
    if set(map(type, items)) <= {str, type(None)}:
        return items
    return [None if is_missing(item) else _text(name, item) for item in items]


def _text(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, date | time):
        return date_text(value)
    if isinstance(value, Real | Decimal | timedelta):
        number = _number(name, value)
        return str(int(number)) if number.is_integer() else repr(number)
    raise DtypeError(
        f"Column {name!r} contains a value of type {type(value).__name__} ({value!r:.40}); "
        "use numbers, text, dates or true/false, or drop the column."
    )
