"""A number of 64 bits for each row: equal for equal rows, whatever container they come in.

The hash of a row is SipHash of the sum over its cells of a function that stirs all 64 bits of the cell and
the place of its column: a number is its float64, with one 0 and one NaN; a text is the number that it writes
out, 1 for True and 0 for False, or the first 64 bits of its SHA-256; what is missing is NaN. Equal rows have
equal hashes, always. Others share one by chance, about once in 2**64 pairs; whoever means to can make such
rows, so that nothing but the search for equal rows may rest on them. A hash does not give its row away to
whoever cannot guess it.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates.data.indicators import target_values
from pbgnet.certificates.data.labels import distinct_labels
from pbgnet.certificates.data.siphash import siphash
from pbgnet.certificates.data.walk import SparsePart, TablePart, WordCells, table_parts
from pbgnet.exceptions import ShapeError
from pbgnet.preprocessing import count_rows
from pbgnet.validation import check_name

# So many cells are stirred at a time: they stay in the cache of a core.
BLOCK_CELLS = 1 << 14

# The sums of so many rows are hashed at a time.
HASHED_ROWS = 1 << 16

Rounding = Callable[[NDArray[np.float64], NDArray[np.int64]], NDArray[np.float64]]
"""From numbers, shape (k, n), and the places of their columns, shape (k,), to what they count as."""

# The finaliser of SplitMix64 (Steele, Lea and Flood 2014): every bit of the input moves half of the output.
_STEP = 0x9E3779B97F4A7C15
_ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))

_LABEL_PLACE = -2  # labels stand beside all columns

# 20 bits of 53 are kept, about six digits.
_DROPPED = 33


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
    X : DataFrame, ndarray, scipy sparse matrix or source, shape (n, d)
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
    how = _rounding(rounding)
    sums = np.zeros((1, count_rows(X)), dtype=np.uint64)
    hashes: NDArray[np.uint64] = hash_rows(table_parts(X, columns), [how], sums)[0]
    return hashes if y is None else hashes + label_hashes(y, len(hashes))


def hash_rows(
    parts: Iterable[TablePart | SparsePart], roundings: Sequence[Rounding], hashes: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Return the hashes of the rows of a table that is walked through, for each rounding: shape (r, n).

    They are written into the zeros given.

    Raises
    ------
    ShapeError
        If there are not so many rows.
    """
    n_rows, end = hashes.shape[1], 0
    for part in parts:
        start, end = end, end + part.n_rows
        if end <= n_rows:
            _add(part, roundings, hashes[:, start:end])
    if end != n_rows:
        raise ShapeError(f"The table should have {n_rows} rows, but {end} were read.")
    for sums in hashes:
        for start in range(0, n_rows, HASHED_ROWS):
            sums[start : start + HASHED_ROWS] = siphash(sums[start : start + HASHED_ROWS])
    return hashes


def stir(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Stir 64-bit numbers: a bijection after which near ones have nothing in common.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.data.row_hashes import stir
    >>> stir(np.array([0, 1], dtype=np.uint64))
    array([                  0, 6238072747940578789], dtype=uint64)
    """
    stirred = values.copy()
    for shift, factor in _ROUNDS:
        stirred ^= stirred >> np.uint64(shift)
        stirred *= np.uint64(factor)
    return stirred


def _add(part: TablePart | SparsePart, roundings: Sequence[Rounding], hashes: NDArray[np.uint64]) -> None:
    """Add the cells of a part to the hashes of its rows."""
    if isinstance(part, SparsePart):
        _add_sparse(part.matrix, roundings, hashes)
        return
    if len(part.places):
        _add_numbers(part, roundings, hashes)
    for place, cells in part.words.items():
        _add_words(place, cells, roundings, hashes)


def _add_numbers(part: TablePart, roundings: Sequence[Rounding], hashes: NDArray[np.uint64]) -> None:
    salts = _salts(part.places)[:, None]
    step = max(1, BLOCK_CELLS // len(part.places))
    for start in range(0, part.n_rows, step):
        rows = slice(start, start + step)
        exact = part.numbers[:, rows] + 0.0  # -0.0 becomes 0.0
        known: list[tuple[NDArray[np.uint64], NDArray[np.uint64]]] = []
        for k, rounding in enumerate(roundings):
            bits = rounding(exact, part.places).view(np.uint64)
            same = (sums for other, sums in known if np.array_equal(other, bits))
            sums = next(same, None)  # whole numbers, say, are the same in float32
            if sums is None:
                sums = stir(bits + salts).sum(axis=0, dtype=np.uint64)
                known.append((bits, sums))
            hashes[k, rows] += sums


def _add_words(
    place: int, cells: WordCells, roundings: Sequence[Rounding], hashes: NDArray[np.uint64]
) -> None:
    places = np.array([place])
    exact = cells.numbers[None, :] + 0.0
    are_words = np.isnan(cells.numbers)
    are_words[-1] = False  # where a text is missing
    known: list[tuple[NDArray[np.uint64], NDArray[np.uint64]]] = []
    for k, rounding in enumerate(roundings):
        bits = np.where(are_words, cells.bits, rounding(exact, places).view(np.uint64)[0])
        sums = next((sums for other, sums in known if np.array_equal(other, bits)), None)
        if sums is None:  # mostly once: words are the same however numbers are rounded
            sums = stir(bits + _salts(places))[cells.places]
            known.append((bits, sums))
        hashes[k] += sums


def _add_sparse(matrix: Any, roundings: Sequence[Rounding], hashes: NDArray[np.uint64]) -> None:
    """Add what entries change about a row of zeros."""
    salts = _salts(np.arange(matrix.shape[1]))
    zeros = stir(salts)
    columns = matrix.indices
    for k, rounding in enumerate(roundings):
        bits = rounding(matrix.data[:, None] + 0.0, columns).view(np.uint64)[:, 0]
        changes = np.zeros(len(bits) + 1, dtype=np.uint64)
        np.cumsum(stir(bits + salts[columns]) - zeros[columns], out=changes[1:])
        hashes[k] += zeros.sum(dtype=np.uint64) + changes[matrix.indptr[1:]] - changes[matrix.indptr[:-1]]


def _salts(places: NDArray[np.int64]) -> NDArray[np.uint64]:
    """What tells the columns at these places apart."""
    return stir((places + 1).astype(np.uint64) * np.uint64(_STEP))


def label_hashes(y: ArrayLike, n_rows: int) -> NDArray[np.uint64]:
    """Return what the label of each row adds to its hash."""
    labels = target_values(y)
    if len(labels) != n_rows:
        raise ShapeError(f"The table has {n_rows} rows, but there are {len(labels)} labels.")
    different, places = distinct_labels(labels)
    written = (repr(label).encode("utf-8", "surrogatepass") for label in different)
    firsts = b"".join(hashlib.sha256(text).digest()[:8] for text in written)
    cells = np.frombuffer(firsts, dtype="<u8").astype(np.uint64)
    return stir(cells + _salts(np.array([_LABEL_PLACE])))[places]


def to_single(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round numbers to float32."""
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32).astype(np.float64)


def _to_six_digits(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to 20 bits, halves to even: whole-number arithmetic, the same on every machine.

    Numbers so small that they have fewer bits stay as they are.
    """
    bits = numbers.view(np.uint64)
    last, half = np.uint64(1), np.uint64(1 << (_DROPPED - 1))
    rounded = bits + (((bits >> np.uint64(_DROPPED)) & last) + half - last)
    rounded &= ~np.uint64((1 << _DROPPED) - 1)
    few_bits = np.abs(numbers) < np.finfo(np.float64).tiny
    return np.where(few_bits, bits, rounded).view(np.float64) if few_bits.any() else rounded.view(np.float64)


ROUNDINGS: dict[str, Rounding] = {
    "exact": lambda numbers, places: numbers,
    "float32": lambda numbers, places: to_single(numbers),
    "six digits": lambda numbers, places: _to_six_digits(numbers),
}


def _rounding(rounding: str | NDArray[np.bool_]) -> Rounding:
    if isinstance(rounding, str):
        return ROUNDINGS[check_name("rounding", rounding, ROUNDINGS)]
    return lambda numbers, places: np.where(rounding[places][:, None], to_single(numbers), numbers)
