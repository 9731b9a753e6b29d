"""Rows that occur twice: in one table, where independent draws rarely do, or in two that must be apart."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates.data.labels import label_values
from pbgnet.exceptions import PriorLeakageError, ShapeError
from pbgnet.preprocessing import as_numbers, column_names, count_rows, is_frame, read_columns
from pbgnet.validation import check_readable

BLOCK = 4096


def row_fingerprints(
    X: Any,  # noqa: N803
    y: ArrayLike | None = None,
    columns: Sequence[str] | None = None,
    single: bool = False,
) -> NDArray[np.uint64]:
    """Fingerprint each row of a table, whatever container it is in.

    Parameters
    ----------
    X : DataFrame, ndarray or scipy sparse matrix, shape (n, d)
        Columns are taken in their order, so that a frame and its values are alike.
    y : array_like, shape (n,), optional
        Labels, which then count as well.
    columns : sequence of str, optional
        Names of the columns of the table to compare with: a frame that has all of them is read in this
        order, and its other columns do not count.
    single : bool, default=False
        Whether numbers count as rounded to float32.

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
    found = np.empty(n, dtype=np.uint64)
    for k, content in enumerate(_contents(X, columns, single)):
        digest = hashlib.blake2b(content, digest_size=8)
        if labels is not None:
            digest.update(labels[k].encode("utf-8", "surrogatepass"))
        found[k] = int.from_bytes(digest.digest(), "little")
    return found


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


def _values(X: Any, names: Sequence[str] | None) -> list[NDArray[Any] | list[str | None]]:  # noqa: N803
    """Return the numbers of a dense table as one matrix, or where there are texts its columns one by one."""
    # A list is read cell by cell: one text in it must not turn the numbers of other rows into texts.
    array = None if is_frame(X) else X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    numbers = None if array is None else as_numbers(array)
    if numbers is not None:
        return [numbers.reshape(len(numbers), -1)]
    found = column_names(X)
    order = names if names is not None and found is not None and set(names) <= set(found) else None
    columns = read_columns(X if array is None else array, order)
    if all(column.numbers is not None for column in columns):
        return [np.stack([np.asarray(column.numbers) for column in columns], axis=1)]
    return [column.numbers if column.numbers is not None else column.texts or [] for column in columns]


def _contents(X: Any, names: Sequence[str] | None, single: bool) -> Iterator[bytes]:  # noqa: N803
    """Yield the content of each row: numbers as float64, texts behind their lengths."""
    if hasattr(X, "tocsr"):
        matrix = X.tocsr()
        for start in range(0, matrix.shape[0], BLOCK):
            yield from _numbers(matrix[start : start + BLOCK].toarray(), single)
        return
    values = _values(X, names)
    if len(values) == 1 and isinstance(values[0], np.ndarray) and values[0].ndim == 2:
        yield from _numbers(values[0], single)
        return
    cells = [
        [repr(number) for number in _rounded(column, single).tolist()]
        if isinstance(column, np.ndarray)
        else column
        for column in values
    ]
    for row in zip(*cells, strict=True):
        yield repr(row).encode("utf-8", "surrogatepass")


def _numbers(block: NDArray[Any], single: bool) -> Iterator[bytes]:
    values = _rounded(block, single) + 0.0  # -0.0 becomes 0.0
    values = np.where(np.isnan(values), np.nan, values)
    for row in values:
        yield row.tobytes()


def _rounded(values: NDArray[Any], single: bool) -> NDArray[np.float64]:
    if single:
        with np.errstate(over="ignore"):
            values = np.asarray(values, dtype=np.float64).astype(np.float32)
    return np.asarray(values, dtype=np.float64)
