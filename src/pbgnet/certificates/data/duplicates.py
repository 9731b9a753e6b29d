"""Rows that occur twice: in one table, where independent draws rarely do, or in two that must be apart."""

import hashlib
import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates.data.indicators import target_values
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

# Rows of mixed types whose cells are written out at a time, which takes many times the memory of the table.
MIXED_BLOCK = 1 << 15

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
    y : array_like, shape (n,), or (n, L) for several labels, optional
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
    labels = None if y is None else [repr(label) for label in target_values(y).tolist()]
    n = count_rows(X)
    if labels is not None and len(labels) != n:
        raise ShapeError(f"The table has {n} rows, but there are {len(labels)} labels.")
    written = isinstance(rounding, str) and rounding == "exact"
    contents = _contents(X, columns, _reader(rounding), _written_rows if written else _packed_rows)
    if labels is not None:
        endings = {label: label.encode("utf-8", "surrogatepass") for label in set(labels)}
        contents = (content + endings[label] for content, label in zip(contents, labels, strict=True))
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
    ordered = np.sort(fingerprints)  # several times as fast as unique, which hashes
    different = ordered[np.append(True, ordered[1:] != ordered[:-1])] if ordered.size else ordered
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


def _contents(
    X: Any,  # noqa: N803
    names: Sequence[str] | None,
    read: Read,
    mixed: Callable[[list[Column], Read], Iterator[bytes]],
) -> Iterator[bytes]:
    """Yield the content of each row: numbers as float64, rounded perhaps, and as `mixed` says among words."""
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
    for start in range(0, columns[0].n_rows, MIXED_BLOCK):
        yield from mixed([_part(column, slice(start, start + MIXED_BLOCK)) for column in columns], read)


def _part(column: Column, rows: slice) -> Column:
    if column.texts is None:
        return replace(column, numbers=np.asarray(column.numbers)[rows])
    return replace(column, texts=column.texts[rows], typed=None)


def _written_rows(columns: list[Column], read: Read) -> Iterator[bytes]:
    """Yield rows with words as Python writes them, the others as `_numbers` does: what models keep."""
    cells: list[list[str]] = []
    with_words = np.zeros(columns[0].n_rows, dtype=bool)
    for k, column in enumerate(columns):
        numbers, words = _parsed(column)
        texts = column.texts or []
        if words.all():
            written = {text: repr(text) for text in set(texts)}
            cells.append([written[text] for text in texts])
        else:
            cells.append(_written(read(numbers, k)))
            for place in np.flatnonzero(words).tolist():
                cells[-1][place] = repr(texts[place])
        with_words |= words
    end = "," if len(cells) == 1 else ""
    for row, has_words in zip(zip(*cells, strict=True), with_words.tolist(), strict=True):
        if has_words:
            yield f"({', '.join(row)}{end})".encode("utf-8", "surrogatepass")
        else:
            yield struct.pack(f"={len(row)}d", *map(float, row))


def _packed_rows(columns: list[Column], read: Read) -> Iterator[bytes]:
    """Yield rows as `_numbers` does, with digests for words and then a bit for each: what is only compared.

    Writing out rounded numbers would take most of the time.
    """
    cells = np.empty((columns[0].n_rows, len(columns)), dtype="<u8")
    are_words = np.zeros(cells.shape, dtype=bool)
    for k, column in enumerate(columns):
        numbers, words = _parsed(column)
        cells[:, k] = _alike(read(numbers, k)).view("<u8")
        if words.any():
            texts = column.texts or []
            found = [str(texts[row]) for row in np.flatnonzero(words).tolist()]
            of_word = {word: _digest(word) for word in set(found)}
            cells[words, k], are_words[:, k] = [of_word[word] for word in found], words
    marks, with_words = np.packbits(are_words, axis=1), np.logical_or.reduce(are_words, axis=1)
    for row, mark, has_words in zip(cells, marks, with_words.tolist(), strict=True):
        yield row.tobytes() + mark.tobytes() if has_words else row.tobytes()


def _digest(word: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _parsed(column: Column) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return a column as numbers, also those written out, NaN for others, and which cells are words.

    Each cell by itself, so that a row is the same in a part of the table, and in a CSV read as texts.
    """
    if column.numbers is not None:
        return column.numbers, np.zeros(column.n_rows, dtype=bool)
    texts = column.texts or []
    numbers = read_numbers(texts)
    absent = np.isnan(numbers)
    present = [text is not None for text in texts] if absent.any() else False
    return numbers, absent & np.array(present)


def _written(numbers: NDArray[Any]) -> list[str]:
    """Return numbers as Python writes them; sorted first, for writing them costs most and many are equal."""
    values, places = np.unique(np.asarray(numbers, dtype=np.float64) + 0.0, return_inverse=True)
    written = np.array(list(map(repr, values.tolist())), dtype=object)  # without -0.0, thanks to the sum
    return list(written[places.reshape(-1)])


def _to_six_digits(numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Round to 20 bits: exact arithmetic, the same on every machine and over the whole range."""
    mantissa, exponent = np.frexp(np.asarray(numbers, dtype=np.float64))
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, 20)), exponent - 20))


def _numbers(block: NDArray[Any]) -> Iterator[bytes]:
    for row in _alike(block):
        yield row.tobytes()


def _alike(numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers with one kind of 0 and one of NaN."""
    values = np.asarray(numbers, dtype=np.float64) + 0.0  # -0.0 becomes 0.0
    values[np.isnan(values)] = np.nan
    return values


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
