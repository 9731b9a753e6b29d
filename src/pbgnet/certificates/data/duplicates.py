"""Rows that occur twice: in one table, where independent draws rarely do, or in two that must not overlap."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates.data.row_hashes import to_single
from pbgnet.exceptions import PriorLeakageError
from pbgnet.preprocessing import column_parts, is_frame

# So many rows are compared at a time.
BLOCK = 1 << 16

DUPLICATES_ADVICE = (
    "The certificate assumes that rows are independent draws. Independent draws can be equal when features "
    "take few values: keep those rows, because without them the bound would not hold. Remove a row only if "
    "it is not a separate draw: a case entered twice, measured again, or copied to balance the classes. "
    "Equal values cannot tell you which; an identifier, a time stamp, or the way the table was made can. "
    "Keep one row of each case, whatever its values."
)
"""What to do about rows that repeat another, which depends on how they came about."""


def single_columns(X: Any, columns: Sequence[str] | None = None) -> NDArray[np.bool_]:  # noqa: N803
    """Say for each column of a table whether it only has numbers that float32 represents exactly.

    Parameters
    ----------
    X : DataFrame, ndarray, scipy sparse matrix or source, shape (n, d)
    columns : sequence of str, optional
        Columns of a frame to check, in this order.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.data import single_columns
    >>> single_columns(np.array([[0.1, 0.5], [0.2, 2.0]]))
    array([False,  True])
    """
    if hasattr(X, "tocsr"):
        matrix = X.tocsc()
        entries = [matrix.data[matrix.indptr[k] : matrix.indptr[k + 1]] for k in range(matrix.shape[1])]
        return np.array([_is_single(values) for values in entries], dtype=bool)
    table = X if is_frame(X) or isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    parts = column_parts(table, columns if is_frame(table) else None)
    single = [[_is_single(column.numbers) for column in part.parts] for part in parts]
    return np.asarray(np.logical_and.reduce(single, axis=0))


def _is_single(values: NDArray[Any] | None) -> bool:
    """Whether values are missing, or numbers that float32 represents exactly."""
    if values is None:
        return False
    numbers = np.asarray(values, dtype=np.float64)
    return bool((np.isnan(numbers) | (to_single(numbers) == numbers)).all())


def count_duplicates(fingerprints: NDArray[np.uint64], others: NDArray[np.uint64] | None = None) -> int:
    """Return how many rows repeat another one.

    Parameters
    ----------
    fingerprints : ndarray of uint64
        Fingerprints of the rows that are counted.
    others : ndarray of uint64, optional
        Fingerprints of further rows, such as prior rows: a row that repeats one of them counts too, even if
        it occurs once.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.data import count_duplicates
    >>> rows = np.array([7, 7, 7, 8, 9], dtype=np.uint64)
    >>> count_duplicates(rows), count_duplicates(rows, np.array([8, 7], dtype=np.uint64))
    (2, 4)
    """
    ordered = np.sort(fingerprints)  # several times as fast as unique, which hashes
    known = None if others is None or not others.size else np.sort(others)
    n_alone = 0
    for start in range(0, ordered.size, BLOCK):
        block = ordered[start : start + BLOCK]
        begins = start == 0 or bool(ordered[start - 1] != block[0])
        different = block[np.append(begins, block[1:] != block[:-1])]
        if known is not None:  # both sorted: faster than isin, which sorts them together
            places = np.searchsorted(known, different)
            different = different[known[np.minimum(places, known.size - 1)] != different]
        n_alone += different.size
    return int(fingerprints.size - n_alone)


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
            f"{int(leaked[0])}: the bound would not hold. Certify on rows that were set aside beforehand."
        )


def note_on_near_copies(
    near: NDArray[np.uint64], n_exact: int, others: NDArray[np.uint64] | None = None
) -> str:
    """Say how many rows repeat another one only up to six digits; "" if none do.

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
    rows = "row equals" if count == 1 else "rows equal"
    return f"{count} more {rows} another to six digits; taken on trust: they are separate draws"
