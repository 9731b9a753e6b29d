"""Rows that occur twice: in one table, where independent draws rarely do, or in two that must be apart."""

import hashlib
import itertools
import math
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates.data.labels import label_values
from pbgnet.exceptions import PriorLeakageError, ShapeError
from pbgnet.preprocessing import (
    Column,
    as_numbers,
    column_names,
    count_rows,
    is_frame,
    read_columns,
    read_numbers,
)
from pbgnet.validation import check_name, check_readable

BLOCK = 4096

Read = Callable[[NDArray[Any], int | None], NDArray[Any]]
"""From numbers to what they count as: those of one column, or of all of them, None, side by side."""

DUPLICATES_ADVICE = (
    "The certificate assumes independent draws. These may be equal, where features take few values: keep "
    "such rows, for without them the others are no draws any more, and the bound would not hold. Only rows "
    "that are not draws of their own may go: one case entered twice, measured again, or copied to balance "
    "classes. Equal values do not tell; an identifier, a time, or how the table was made does. Keep one row "
    "of each case, whatever it holds."
)
"""What to do about rows that repeat another, which depends on how they came about."""


def row_fingerprints(
    X: Any,  # noqa: N803
    y: ArrayLike | None = None,
    columns: Sequence[str] | None = None,
    *,
    rounding: str | NDArray[np.bool_] = "exact",
) -> NDArray[np.uint64]:
    """Fingerprint each row of a table, whatever container it is in.

    Parameters
    ----------
    X : DataFrame, ndarray or scipy sparse matrix, shape (n, d)
        Columns are taken in their order, so that a frame and its values are alike. A text that writes out a
        number is that number.
    y : array_like, shape (n,), optional
        Labels, which then count as well.
    columns : sequence of str, optional
        Names of the columns of the table to compare with: a frame that has all of them is read in this
        order, and its other columns do not count.
    rounding : {"exact", "float32", "six digits"} or ndarray of bool, shape (d,), default="exact"
        What numbers count as; or which columns count as rounded to float32, the others being exact.
        Rounded to 20 bits, about six digits, rows that differ by less mostly have one fingerprint.

    Returns
    -------
    ndarray of uint64, shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.data import row_fingerprints
    >>> one, two, three = row_fingerprints(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]]))
    >>> bool(one == two), bool(one == three)
    (True, False)
    """
    check_readable("X", X)
    labels = None if y is None else [repr(label) for label in label_values(y).tolist()]
    n = count_rows(X)
    if labels is not None and len(labels) != n:
        raise ShapeError(f"The table has {n} rows, but there are {len(labels)} labels.")
    contents = _contents(X, columns, _reader(rounding))
    if labels is not None:
        written = {label: label.encode("utf-8", "surrogatepass") for label in set(labels)}
        contents = (content + written[label] for content, label in zip(contents, labels, strict=True))
    digests = b"".join([hashlib.blake2b(content, digest_size=8).digest() for content in contents])
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def single_columns(X: Any, columns: Sequence[str] | None = None) -> NDArray[np.bool_]:  # noqa: N803
    """Say for each column of a table whether it is all numbers, and such as float32 holds exactly.

    Parameters
    ----------
    X : DataFrame, ndarray or scipy sparse matrix, shape (n, d)
    columns : sequence of str, optional
        Those of a frame to look at, in this order.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.data import single_columns
    >>> single_columns(np.array([[0.1, 0.5], [0.2, 2.0]]))
    array([False,  True])
    """
    if hasattr(X, "tocsr"):
        matrix = X.tocsc()
        parts = [matrix.data[matrix.indptr[k] : matrix.indptr[k + 1]] for k in range(matrix.shape[1])]
    else:
        table = X if is_frame(X) or isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
        names = columns if is_frame(table) else None
        parts = [column.numbers for column in read_columns(table, names)]
    return np.array(
        [part is not None and bool((np.isnan(part) | (_to_single(part) == part)).all()) for part in parts]
    )


def count_duplicates(fingerprints: NDArray[np.uint64], others: NDArray[np.uint64] | None = None) -> int:
    """Return how many rows repeat another one.

    Parameters
    ----------
    fingerprints : ndarray of uint64
        Of the rows that are counted.
    others : ndarray of uint64, optional
        Of further rows, such as those of the prior: a row that repeats one of them counts as well, also
        where it is the only such row.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.data import count_duplicates
    >>> rows = np.array([7, 7, 7, 8, 9], dtype=np.uint64)
    >>> count_duplicates(rows), count_duplicates(rows, np.array([8, 7], dtype=np.uint64))
    (2, 4)
    """
    different = np.unique(fingerprints)
    if others is not None:
        different = different[~np.isin(different, others)]
    return int(fingerprints.size - different.size)


def check_apart(certified: NDArray[np.uint64], seen: NDArray[np.uint64], what: str) -> None:
    """Raise `PriorLeakageError` if a certified row is among those already seen.

    Parameters
    ----------
    certified, seen : ndarray of uint64
        Fingerprints of rows.
    what : str
        Who has seen them, for the message.
    """
    leaked = np.flatnonzero(np.isin(certified, seen))
    if leaked.size:
        raise PriorLeakageError(
            f"{leaked.size} of the {certified.size} rows to certify were seen by {what}, for example row "
            f"{int(leaked[0])}: the bound would not hold. Certify on rows that were set apart beforehand."
        )


def note_on_near_copies(
    near: NDArray[np.uint64], n_exact: int, others: NDArray[np.uint64] | None = None
) -> str:
    """Say how many rows repeat another one to six digits only; "" if none do.

    Parameters
    ----------
    near : ndarray of uint64
        Rounded fingerprints of the rows that are counted.
    n_exact : int
        How many of them repeat another one exactly.
    others : ndarray of uint64, optional
        Rounded fingerprints of further rows; see `count_duplicates`.
    """
    count = count_duplicates(near, others) - n_exact
    if count <= 0:
        return ""
    return f"{count} more equal another to six digits: that they are draws of their own is taken on trust"


def _contents(X: Any, names: Sequence[str] | None, read: Read) -> Iterator[bytes]:  # noqa: N803
    """Yield the content of each row: numbers as float64, rounded perhaps, texts behind their lengths."""
    if hasattr(X, "tocsr"):
        matrix = X.tocsr()
        for start in range(0, matrix.shape[0], BLOCK):
            yield from _numbers(read(matrix[start : start + BLOCK].toarray(), None))
        return
    # A list is read cell by cell: one text in it must not turn the numbers of other rows into texts.
    check_readable("X", X)
    array = None if is_frame(X) else X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    numbers = None if array is None else as_numbers(array)
    if numbers is not None:
        yield from _numbers(read(numbers.reshape(len(numbers), math.prod(numbers.shape[1:])), None))
        return
    found = column_names(X)
    order = names if names is not None and found is not None and set(names) <= set(found) else None
    columns = read_columns(X if array is None else array, order)
    if all(column.numbers is not None for column in columns):
        numbers = np.stack([np.asarray(column.numbers) for column in columns], axis=1)
        yield from _numbers(read(numbers, None))
        return
    cells, words = zip(*(_cells(column, k, read) for k, column in enumerate(columns)), strict=True)
    with_words = np.logical_or.reduce(words)
    end = "," if len(cells) == 1 else ""
    for row, has_words in zip(zip(*cells, strict=True), with_words.tolist(), strict=True):
        if has_words:  # as Python writes the row
            yield f"({', '.join(row)}{end})".encode("utf-8", "surrogatepass")
        else:  # as `_numbers` writes it
            yield struct.pack(f"={len(row)}d", *map(float, row))


def _cells(column: Column, place: int, read: Read) -> tuple[list[str], NDArray[np.bool_]]:
    """Return the values of a column as Python writes them, and which are words.

    The others are numbers, also those written out, NaN for missing ones. Each cell by itself, so that a row
    is the same in a part of the table, and in a CSV read as texts.
    """
    if column.numbers is not None:
        numbers = (read(column.numbers, place) + 0.0).tolist()  # -0.0 becomes 0.0
        return list(map(repr, numbers)), np.zeros(len(numbers), dtype=bool)
    texts = column.texts or []
    distinct = [text for text in dict.fromkeys(texts) if text is not None]
    parsed = read_numbers(distinct)
    words = np.isnan(parsed)
    written = map(repr, (read(parsed, place) + 0.0).tolist())
    found: dict[str | None, str] = {
        text: repr(text) if is_word else number
        for text, is_word, number in zip(distinct, words.tolist(), written, strict=True)
    }
    found[None] = "nan"
    cells = [found[text] for text in texts]
    if not words.any() or (words.all() and None not in texts):
        return cells, np.full(len(cells), bool(words.any()))
    are_words = set(itertools.compress(distinct, words.tolist()))
    return cells, np.array([text in are_words for text in texts], dtype=bool)


def _to_six_digits(numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Round to 20 bits: exact arithmetic, the same on every machine and over the whole range."""
    mantissa, exponent = np.frexp(np.asarray(numbers, dtype=np.float64))
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, 20)), exponent - 20))


def _numbers(block: NDArray[Any]) -> Iterator[bytes]:
    values = np.asarray(block, dtype=np.float64) + 0.0  # -0.0 becomes 0.0
    values = np.where(np.isnan(values), np.nan, values)
    for row in values:
        yield row.tobytes()


def _to_single(numbers: NDArray[Any]) -> NDArray[Any]:
    with np.errstate(over="ignore"):
        return np.asarray(numbers, dtype=np.float64).astype(np.float32).astype(np.float64)


ROUNDINGS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "exact": np.asarray,
    "float32": _to_single,
    "six digits": _to_six_digits,
}


def _reader(rounding: str | NDArray[np.bool_]) -> Read:
    if isinstance(rounding, str):
        how = ROUNDINGS[check_name("rounding", rounding, ROUNDINGS)]
        return lambda numbers, place: how(numbers)
    return lambda numbers, place: np.where(
        rounding if place is None else rounding[place], _to_single(numbers), numbers
    )
