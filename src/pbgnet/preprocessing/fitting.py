"""What a column is, decided on the fitted rows: numbers, dates, categories, or an ID of the rows."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from pbgnet.exceptions import DomainError
from pbgnet.preprocessing.cell_texts import CellTexts
from pbgnet.preprocessing.columns import (
    CategoricalColumn,
    DateColumn,
    EmptyColumn,
    IdColumn,
    NumericColumn,
    SomeColumn,
    finite_numbers,
)
from pbgnet.preprocessing.dates import PARTS, choose_layout, part_of, read_dates
from pbgnet.preprocessing.moments import Moments
from pbgnet.preprocessing.numerals import DECIMALS, choose_style
from pbgnet.preprocessing.tables import Column
from pbgnet.preprocessing.thresholds import choose_thresholds, count_up_to
from pbgnet.preprocessing.words import Words

MOSTLY = 0.98
"""Share of a text column's values that must be numbers, or dates, for the column to be one of these."""

# With fewer rows, texts of few categories, or whole numbers of a wide range, may differ by chance.
FEWEST_NAMED, FEWEST_NUMBERED = 30, 100

# Row numbers of a table of which the fitted rows are an eighth.
WIDEST = 8


@dataclass(frozen=True)
class Rules:
    """The settings of `TablePreprocessor` about columns."""

    max_categories: int
    max_bins: int
    parse_numbers: bool
    decimal: str
    drop_ids: bool


@dataclass(frozen=True)
class Fitted:
    """What was learned about a column, and the fitted rows that did not match, with their texts."""

    column: SomeColumn
    odd: dict[int, str] = field(default_factory=dict)


def fit_column(column: Column, rules: Rules) -> Fitted:
    """Learn a column from the fitted rows.

    Texts are numbers or dates if nearly all of them are, and if `parse_numbers` or the table itself allows
    it; the others count as missing.
    """
    if column.texts is None:
        return Fitted(_fit_numeric(column, rules))
    if isinstance(column.texts, Moments) and (read := _fit_moments(column, column.texts, rules.max_bins)):
        return read
    words = Words.of(column.texts)
    if _are_plain_numbers(column, words, rules):
        return _fit_read(column, "plain", "", rules)
    if not words.present.any():
        return Fitted(EmptyColumn(column.name, True))
    told = words.one_by_one() if isinstance(words, CellTexts) else words.only_occurring()
    parsed = rules.parse_numbers and not column.categorical
    if parsed and not column.dates and (read := _fit_numerals(column, told, rules)):
        return read
    may_be_dates = column.dates or parsed
    if may_be_dates and (read := _fit_dates(column, told, rules.max_bins)):
        return read
    words = words.coded if isinstance(words, CellTexts) else told
    if rules.drop_ids and words.n_words == column.n_rows >= FEWEST_NAMED:
        return Fitted(IdColumn(column.name, False))
    *counts, n_missing = words.counts.tolist()
    texts = dict(zip(words.words, counts, strict=True))
    # The most frequent ones; ties are broken alphabetically, so that the result is reproducible.
    kept = tuple(sorted(sorted(texts, key=lambda text: (-texts[text], text))[: rules.max_categories]))
    return Fitted(CategoricalColumn(column.name, n_missing > 0, kept, len(kept) < len(texts)))


def _fit_numeric(column: Column, rules: Rules) -> SomeColumn:
    """Learn a column that the table stores as numbers."""
    numbers = np.asarray(column.numbers)
    infinite = np.isinf(numbers)
    if infinite.any():
        raise DomainError(
            f"Column {column.name!r} contains infinity in row {int(np.argmax(infinite))}; replace "
            "it, or mark it as missing."
        )
    if np.isnan(numbers).all():
        return EmptyColumn(column.name, True)
    if rules.drop_ids and _number_the_rows(numbers):
        return IdColumn(column.name, False)
    return _fit_bins(column.name, numbers, rules.max_bins)


def _fit_numerals(column: Column, words: Words, rules: Rules) -> Fitted | None:
    """Learn a column of texts that spell numbers; None if too few of them do."""
    cells, total, n_typed = column.texts or [], words.n_present, 0
    if column.typed is not None:  # typed numbers do not depend on a style
        typed = np.isfinite(column.typed)
        n_typed = int(typed.sum())
        words = Words.of([*itertools.compress(cells, (~typed & _present(cells)).tolist())])
    style, unit, n_read = choose_style(words, rules.decimal)
    if not n_read + n_typed or n_read + n_typed < MOSTLY * total:
        return None
    return _fit_read(column, style, unit, rules)


def _are_plain_numbers(column: Column, words: Words, rules: Rules) -> bool:
    """Whether it is known already that all texts write out numbers as programs do: that is their style."""
    if column.typed is not None or column.dates or column.categorical:
        return False
    if not rules.parse_numbers or "plain" not in DECIMALS[rules.decimal]:
        return False
    if isinstance(words, CellTexts):
        return words.numbers is not None and bool(words.present.any())
    if words.written is None:
        return False
    used = words.counts[:-1] > 0
    return bool(used.any() and not np.isnan(words.written[used]).any())


def _fit_read(column: Column, style: str, unit: str, rules: Rules) -> Fitted:
    """Learn a column of texts that spell numbers in a style."""
    cells = column.texts or []
    numbers, _ = finite_numbers(column, style, unit)
    if rules.drop_ids and (_number_the_rows(numbers) or _too_long(numbers, cells)):
        return Fitted(IdColumn(column.name, False))
    return Fitted(_fit_bins(column.name, numbers, rules.max_bins, style, unit), _odd(cells, numbers))


def _fit_dates(column: Column, words: Words, max_bins: int) -> Fitted | None:
    """Learn a column of texts that write out dates or times; None if too few of them do."""
    layout, seconds = choose_layout(words)
    n_read = np.count_nonzero(~np.isnan(seconds))
    if not n_read or n_read < MOSTLY * words.n_present:
        return None
    if isinstance(column.texts, Moments):  # never read back from texts
        seconds = read_dates(column.texts, layout)
    return _fit_parts(column, layout, seconds, max_bins)


def _fit_moments(column: Column, moments: Moments, max_bins: int) -> Fitted | None:
    """Learn a column that the table stores as dates; None if most of them do not exist in the calendar."""
    seconds, n_present = read_dates(moments, "year first"), len(moments) - int(moments.counts[-1])
    n_read = len(seconds) - int(np.isnan(seconds).sum())
    if not n_read or n_read < MOSTLY * n_present:
        return None
    return _fit_parts(column, "year first", seconds, max_bins)


def _fit_parts(column: Column, layout: str, seconds: NDArray[np.float64], max_bins: int) -> Fitted:
    """Learn the parts of dates that vary."""
    if layout == "time":
        parts = {"days": seconds / 3600}
    else:
        parts = {which: part_of(which, seconds) for which in PARTS}
    fitted = {}
    for which, numbers in parts.items():
        part = _fit_bins(column.name if which == "days" else f"{column.name}_{which}", numbers, max_bins)
        if which == "days":
            fitted[which] = part
        elif part.thresholds:  # one step for missing dates is enough
            fitted[which] = replace(part, missing=False)
    date = DateColumn(column.name, fitted["days"].missing, layout, tuple(fitted), tuple(fitted.values()))
    return Fitted(date, _odd(column.texts or [], seconds))


def _present(cells: Sequence[str | None]) -> NDArray[np.bool_]:
    if isinstance(cells, Words):
        return cells.present
    return np.array([cell is not None for cell in cells], dtype=bool)


def _odd(cells: Sequence[str | None], read: NDArray[np.float64]) -> dict[int, str]:
    """The rows whose text could not be read, and these texts."""
    unread = np.isnan(read)
    rows = np.flatnonzero(unread & _present(cells)).tolist() if unread.any() else []
    return {row: str(cells[row]) for row in rows}


def _number_the_rows(numbers: NDArray[np.float64]) -> bool:
    """Whether whole numbers differ in all rows within a small range, like a counter."""
    if numbers.size < FEWEST_NUMBERED or np.isnan(numbers).any():
        return False
    low, high = float(numbers.min()), float(numbers.max())
    if not high - low < WIDEST * numbers.size or not np.equal(np.floor(numbers), numbers).all():
        return False
    return np.unique(numbers).size == numbers.size


def _too_long(numbers: NDArray[np.float64], cells: Sequence[str | None]) -> bool:
    """Whether texts differ in all rows and spell whole numbers that floats cannot distinguish."""
    if numbers.size < FEWEST_NAMED or not (np.abs(numbers) >= 2.0**53).all():
        return False
    return len(set(cells)) == numbers.size


def _fit_bins(
    name: str, numbers: NDArray[np.float64], max_bins: int, style: str = "plain", unit: str = ""
) -> NumericColumn:
    """Divide numbers into bins; NaN is a missing one."""
    absent = np.isnan(numbers)
    present = numbers[~absent]
    median, thresholds = _median(present), choose_thresholds(present, max_bins)
    values = _standardised_means(present, thresholds) if thresholds.size else np.zeros(1)
    return NumericColumn(
        name, bool(absent.any()), median, tuple(thresholds.tolist()), tuple(values.tolist()), style, unit
    )


def _standardised_means(present: NDArray[np.float64], thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of each bin, in deviations from the mean of all numbers, which are not all the same."""
    bins = count_up_to(thresholds, present)
    # In units of the largest value, so that squares can neither overflow nor vanish.
    scaled = present / (float(np.abs(present).max()) or 1.0)
    mean = float(scaled.mean())
    deviation = float(np.sqrt(np.mean((scaled - mean) ** 2)))
    if deviation == 0.0:
        return np.zeros(thresholds.size + 1)
    return np.asarray(np.bincount(bins, (scaled - mean) / deviation) / np.bincount(bins))


def _median(present: NDArray[np.float64]) -> float:
    ordered = np.sort(present)
    below, above = float(ordered[(ordered.size - 1) // 2]), float(ordered[ordered.size // 2])
    middle = below + (above - below) / 2
    return middle if math.isfinite(middle) else below / 2 + above / 2
