"""Rules for the prior rows that anyone can repeat: a random draw, the hash of a column, or its order."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates.data.labelled_rows import LabelledRows
from pbgnet.certificates.data.row_hashes import row_fingerprints, stir
from pbgnet.exceptions import DomainError, ShapeError
from pbgnet.preprocessing import Column, ColumnTable, Words, column_names, read_columns, read_numbers
from pbgnet.records import Limits, OpenProbability, Record, Seed
from pbgnet.validation import positive_real

NEEDS = {
    "drawn": ("seed", "fraction"),
    "hashed": ("seed", "fraction", "column"),
    "earliest": ("fraction", "column"),
    "given": (),
    "none": (),
}
"""What is needed to repeat each kind of split."""


@dataclass(frozen=True)
class SplitRecord(Record):
    """How the prior rows were chosen.

    Attributes
    ----------
    how : {"drawn", "hashed", "earliest", "given", "none"}
        Drawn by `draw_prior_rows`; determined by `by_hash_of` or `earliest_by` from a column; named by the
        user, who vouches that the content of the rows was not used; or there are none.
    seed, fraction, column : int, float, str or None
        What is needed to choose them again; None if not applicable.

    Examples
    --------
    >>> from pbgnet.certificates import SplitRecord
    >>> SplitRecord("given", seed=3)
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DomainError: A 'given' split has no seed.
    """

    how: Annotated[str, Limits(choices=tuple(NEEDS))]
    seed: Seed | None = None
    fraction: OpenProbability | None = None
    column: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("seed", "fraction", "column"):
            needed, given = name in NEEDS[self.how], getattr(self, name) is not None
            if needed and not given:
                raise DomainError(f"A {self.how!r} split needs its {name}, so that it can be repeated.")
            if given and not needed:
                raise DomainError(f"A {self.how!r} split has no {name}.")


def by_hash_of(column: str, fraction: float = 0.5, seed: int = 0) -> SplitRecord:
    """Choose the prior rows by the hash of a column, for `fit(..., prior_rows=)`.

    Each value goes to one side on its own, with the given probability, so rows with the same value stay
    together, and adding rows does not move others. The column must identify cases, such as a customer number.
    With a column of few values, or one that is related to the other columns, the certified rows are not draws
    from the whole distribution.

    Examples
    --------
    >>> from pbgnet.certificates import by_hash_of
    >>> by_hash_of("customer_id")
    SplitRecord(how='hashed', seed=0, fraction=0.5, column='customer_id')
    """
    return SplitRecord("hashed", seed, fraction, column)


def earliest_by(column: str, fraction: float = 0.5) -> SplitRecord:
    """Choose the earliest rows by a column as prior rows, for `fit(..., prior_rows=)`.

    The column contains numbers, or texts that sort by time, such as 2024-05-31. Rows of the same time stay
    together. The certificate is then about rows drawn like the later ones: about future rows if they are
    drawn like these, and about the whole table only if time makes no difference.

    Examples
    --------
    >>> from pbgnet.certificates import earliest_by
    >>> earliest_by("day", 0.25)
    SplitRecord(how='earliest', seed=None, fraction=0.25, column='day')
    """
    return SplitRecord("earliest", None, fraction, column)


def rows_by_rule(record: SplitRecord, rows: LabelledRows) -> NDArray[np.int64]:
    """Return the prior rows of a table according to a repeatable record, in ascending order.

    Raises
    ------
    DomainError
        If a side would have no row, or a value of the column is missing.
    ShapeError
        If the table has no such column.
    """
    found = RULES[record.how](rows, record)
    if not 0 < found.size < rows.n_rows:
        raise DomainError(
            f"Of {rows.n_rows} rows, the {record.how!r} split makes {found.size} prior rows. At least one "
            "row is needed for the prior and one for the certificate."
        )
    return found


def _draw(rows: LabelledRows, record: SplitRecord) -> NDArray[np.int64]:
    """Draw from the canonical order, with random numbers from seed and set: the order has no say."""
    n = rows.n_rows
    count = min(max(1, round(_fraction(record) * n)), n - 1)
    words = np.frombuffer(rows.set_fingerprint, dtype="<u4").tolist()
    drawn = np.random.default_rng([int(record.seed or 0), *words]).permutation(n)[:count]
    found = rows.canonical_order[drawn]
    found.sort()
    return found


def _hashed(rows: LabelledRows, record: SplitRecord) -> NDArray[np.int64]:
    names = row_fingerprints(ColumnTable((_column(rows, record),)))
    return np.flatnonzero(_unit_hashes(names, int(record.seed or 0)) < _fraction(record))


def _earliest(rows: LabelledRows, record: SplitRecord) -> NDArray[np.int64]:
    column = _column(rows, record)
    times = _times(Words.of(column.texts or ())) if column.numbers is None else column.numbers
    count = min(round(_fraction(record) * rows.n_rows), rows.n_rows - 1)
    return np.flatnonzero(times < np.sort(times)[count])


def _times(texts: Words) -> NDArray[Any]:
    """Return the numbers that texts spell or, if some spell none, the rank of each in sorted order."""
    used, places = np.unique(texts.places, return_inverse=True)
    words = [texts.words[place] for place in used.tolist()]
    numbers = read_numbers(words)
    if not np.isnan(numbers).any():
        return np.asarray(numbers[places])
    ranks = np.empty(len(words), dtype=np.int64)
    ranks[sorted(range(len(words)), key=words.__getitem__)] = np.arange(len(words))
    return np.asarray(ranks[places])


def _column(rows: LabelledRows, record: SplitRecord) -> Column:
    """Return the column of a rule, with no value missing."""
    name = str(record.column)
    if name not in (column_names(rows.X) or ()):
        raise ShapeError(f"The table has no column {name!r:.60}, which selects the prior rows.")
    (column,) = read_columns(rows.X, [name])
    if column.numbers is not None:
        absent = np.isnan(column.numbers)
    else:
        words = Words.of(column.texts or ())
        column, absent = replace(column, texts=words), words.places < 0
    if absent.any():
        raise DomainError(f"Column {name!r:.60} selects the prior rows, but has missing values.")
    return column


def _fraction(record: SplitRecord) -> float:
    return positive_real("fraction", record.fraction)


def _unit_hashes(names: NDArray[np.uint64], seed: int) -> NDArray[np.float64]:
    """Return a number in [0, 1) for each name, determined by the seed."""
    digest = hashlib.sha256(f"split:{seed}".encode()).digest()
    key = np.frombuffer(digest[:8], dtype="<u8").astype(np.uint64)
    return np.asarray((stir(names ^ key) >> np.uint64(11)).astype(np.float64) * 2.0**-53)


RULES: dict[str, Callable[[LabelledRows, SplitRecord], NDArray[np.int64]]] = {
    "drawn": _draw,
    "hashed": _hashed,
    "earliest": _earliest,
}
