"""What is learned about one column from the fitted rows, and what it becomes."""

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from pbgnet.exceptions import DomainError
from pbgnet.preprocessing.binned import NO_OUTPUT, ColumnBook
from pbgnet.preprocessing.cell_texts import CellTexts
from pbgnet.preprocessing.dates import LAYOUTS, MOST_DAYS, PARTS, part_of, read_dates
from pbgnet.preprocessing.moments import DAY
from pbgnet.preprocessing.numerals import STYLES, UNITS, read_numbers
from pbgnet.preprocessing.tables import Column
from pbgnet.preprocessing.thresholds import count_up_to
from pbgnet.preprocessing.words import MISSING, Words
from pbgnet.records import Limits, Record

NUMBERS = ("auto", "standard", "range", "steps", "both")
"""What a number becomes: its standardised value, its place between the smallest and the largest bin, steps at
thresholds, or value and steps; "auto" leaves the choice to training.
"""

MOST_BINS = 1 << 15
"""Most bins of a column."""


@dataclass(frozen=True)
class FittedColumn(Record):
    """What all kinds of columns share.

    Numeric and categorical columns turn values into codes (`encode`), and give the meaning of these codes
    (`book`). Others consist of such columns (`coded`): a date of several, a column that is left out of none.
    """

    name: str
    missing: bool  # whether the fitted rows had missing values, which then have their own output


@dataclass(frozen=True)
class EmptyColumn(FittedColumn):
    """A column without any value in the fitted rows: left out."""

    kind: ClassVar[str] = "empty"


@dataclass(frozen=True)
class IdColumn(FittedColumn):
    """A column with a different value in each fitted row, which identifies rows: left out."""

    kind: ClassVar[str] = "id"


@dataclass(frozen=True)
class NumericColumn(FittedColumn):
    """A number becomes the bin it falls into, counted from 0; missing has a code of its own, the last.

    If the fitted rows had no missing values, a later one counts as the median. Text is read as a number in
    the style of the fitted rows; anything that is not a finite number counts as missing. Numbers beyond those
    of the fitted rows fall into the first or the last bin.
    """

    kind: ClassVar[str] = "numeric"

    median: float
    thresholds: Annotated[tuple[float, ...], Limits(longest=MOST_BINS - 1)]  # increasing; none if constant
    values: Annotated[tuple[float, ...], Limits(longest=MOST_BINS)]  # mean of each bin, standardised
    style: Annotated[str, Limits(choices=STYLES)] = "plain"  # how the fitted rows write numbers as text
    unit: Annotated[str, Limits(choices=UNITS)] = ""  # that may accompany them

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.values) != len(self.thresholds) + 1:
            raise DomainError(
                f"{len(self.thresholds)} thresholds make {len(self.thresholds) + 1} bins, but there are "
                f"{len(self.values)} values."
            )
        if not all(low < high for low, high in pairwise(self.thresholds)):
            raise DomainError("thresholds must increase.")

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.values)

    def book(self, numbers: str) -> ColumnBook:
        """The value, a step at each threshold, or both; and 1 if it was missing, if any was."""
        has_value, has_steps = numbers != "steps", numbers in ("steps", "both")
        values = np.array(self.values)
        if numbers == "range":
            values = (values - values.min()) / max(np.ptp(values), np.finfo(float).tiny)
        bins = np.arange(self.n_bins)
        others = np.full(self.n_bins, NO_OUTPUT)
        if self.missing:  # as the median, and with its own step
            bins, others = np.append(bins, self._bins(np.array([self.median]))), np.append(others, 0)
        names = [self.name] * has_value
        names += [f"{self.name}>={threshold!r}" for threshold in self.thresholds] if has_steps else []
        return ColumnBook(
            names=(*names, *([f"{self.name}_missing"] if self.missing else [])),
            values=values[bins] if has_value else None,
            n_steps=len(self.thresholds) if has_steps else 0,
            steps_on=bins if has_steps else np.zeros_like(bins),
            others=others,
        )

    def encode(self, column: Column) -> tuple[NDArray[np.int64], list[str]]:
        """Return the code of each row, and the values that are not finite numbers."""
        numbers, unknown = self.read(column)
        return self.codes(numbers), unknown

    def read(self, column: Column) -> tuple[NDArray[np.float64], list[str]]:
        """Return the number of each row, NaN if there is none, and the values that are not finite numbers."""
        return finite_numbers(column, self.style, self.unit)

    def codes(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the codes of finite numbers, and of NaN for missing ones."""
        absent = np.isnan(numbers)
        bins = self._bins(np.where(absent, self.median, numbers))
        return np.where(absent, self.n_bins, bins) if self.missing else bins

    def _bins(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        return count_up_to(np.array(self.thresholds), numbers)


@dataclass(frozen=True)
class CategoricalColumn(FittedColumn):
    """One output per category of the fitted rows, one for all rare ones, and one for missing.

    The codes are those of the categories, then "rare" and "missing" if the fitted rows had such values, and
    last that of an unknown value, which has no output.
    """

    kind: ClassVar[str] = "categorical"

    categories: tuple[str, ...]  # sorted
    rare: bool  # whether rare categories of the fitted rows were pooled; later unknown ones join them

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.categories)) != len(self.categories) or not self.categories:
            raise DomainError(
                f"categories must be at least one text, all different, got {self.categories!r:.60}."
            )

    def book(self, numbers: str) -> ColumnBook:
        """One output per category."""
        names = [f"{self.name}_{category}" for category in self.categories]
        names += [f"{self.name}_rare"] * self.rare + [f"{self.name}_missing"] * self.missing
        outputs = np.append(np.arange(len(names)), NO_OUTPUT)
        return ColumnBook(tuple(names), None, 0, np.zeros_like(outputs), outputs)

    def encode(self, column: Column) -> tuple[NDArray[np.int64], list[str]]:
        """Return the code of each row, and the values that have no output."""
        n_named = len(self.categories)
        nowhere = n_named + self.rare + self.missing
        codes = {category: k for k, category in enumerate(self.categories)}
        texts = Words.of(column.texts if column.texts is not None else number_texts(column.numbers))
        otherwise = n_named if self.rare else nowhere
        absent = n_named + self.rare if self.missing else nowhere
        each = [codes.get(word, otherwise) for word in texts.words]
        found: NDArray[np.int64] = np.array([*each, absent], dtype=np.int64)[texts.places]
        unknown = found == nowhere
        gaps = ["a missing value"] if absent == nowhere and (texts.places == MISSING).any() else []
        return found, [*map(repr, texts.occurring(unknown)), *gaps]


@dataclass(frozen=True)
class DateColumn(FittedColumn):
    """A date becomes several numbers: days since 1970, and year, month, weekday and hour if they vary.

    A time of day becomes one, in hours. Text that is not a date in the layout of the fitted rows is missing.
    """

    kind: ClassVar[str] = "date"

    layout: Annotated[str, Limits(choices=LAYOUTS)]
    shown: Annotated[tuple[Annotated[str, Limits(choices=tuple(PARTS))], ...], Limits(longest=len(PARTS))]
    parts: Annotated[tuple[NumericColumn, ...], Limits(longest=len(PARTS))]  # one for each of `shown`

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.shown)) != len(self.shown) or self.shown[:1] != ("days",):
            raise DomainError(
                f"A date must show its days and otherwise different parts, got {self.shown!r:.60}."
            )
        if len(self.parts) != len(self.shown):
            raise DomainError(
                f"shown must have one entry for each of the {len(self.parts)} parts, got {len(self.shown)}."
            )
        if any(abs(days) > MOST_DAYS for days in self.parts[0].thresholds):
            raise DomainError("The thresholds of a date must be days in the years 1 to 9999.")

    def encode(self, column: Column) -> tuple[list[NDArray[np.int64]], list[str]]:
        """Return the codes of each part, and what was no date."""
        texts = self.texts_of(column)
        if isinstance(texts, CellTexts) or texts.n_words >= len(texts):
            numbers, unknown = self.read(texts)
            return [part.codes(some) for part, some in zip(self.parts, numbers, strict=True)], unknown
        numbers, _ = self.read(texts.each_word())  # and each row has what its word has
        codes = [part.codes(some)[texts.places] for part, some in zip(self.parts, numbers, strict=True)]
        return codes, self._unknown(texts, np.isnan(numbers[0])[texts.places])

    @staticmethod
    def texts_of(column: Column) -> Words:
        """Return what a column says, to be read as dates."""
        return Words.of(column.texts if column.texts is not None else number_texts(column.numbers))

    def read(self, texts: Words) -> tuple[list[NDArray[np.float64]], list[str]]:
        """Return the numbers of each part, NaN where there is none, and what was no date."""
        seconds = read_dates(texts, self.layout)
        parts = [part_of(which, seconds) for which in self.shown]
        if self.layout == "time":
            parts[0] = seconds / 3600
        return parts, self._unknown(texts, np.isnan(seconds))

    @staticmethod
    def _unknown(texts: Words, unread: NDArray[np.bool_]) -> list[str]:
        return [*map(repr, texts.occurring(unread))] if unread.any() else []

    def books(self, numbers: str) -> list[ColumnBook]:
        """Those of the parts; thresholds between days are told as dates."""
        first, *others = [part.book(numbers) for part in self.parts]
        if self.layout != "time" and first.n_steps:
            start = int(first.values is not None)
            names = list(first.names)
            names[start : start + first.n_steps] = [
                f"{self.name}>={np.datetime64(round(days * DAY), 's')}" for days in self.parts[0].thresholds
            ]
            first = replace(first, names=tuple(names))
        return [first, *others]


SomeColumn = NumericColumn | CategoricalColumn | DateColumn | EmptyColumn | IdColumn

CodedColumn = NumericColumn | CategoricalColumn


def coded(fitted: SomeColumn) -> tuple[CodedColumn, ...]:
    """Return the columns of codes that a column becomes, in order: one, several for a date, or none."""
    if isinstance(fitted, DateColumn):
        return fitted.parts
    return (fitted,) if isinstance(fitted, NumericColumn | CategoricalColumn) else ()


def coded_numbers(fitted: SomeColumn, column: Column) -> list[NDArray[np.float64] | None]:
    """Return the numbers behind each column of `coded`, read as in the fitted rows; None for categories.

    NaN stands for what is missing, or is neither a finite number nor a date.
    """
    if isinstance(fitted, DateColumn):
        return [*fitted.read(fitted.texts_of(column))[0]]
    if isinstance(fitted, NumericColumn):
        return [fitted.read(column)[0]]
    return [None for _ in coded(fitted)]


def books_of(fitted: SomeColumn, numbers: str) -> list[ColumnBook]:
    """Return the meaning of the codes, one book for each of `coded`."""
    if isinstance(fitted, DateColumn):
        return fitted.books(numbers)
    return [column.book(numbers) for column in coded(fitted)]


def encode_column(fitted: SomeColumn, column: Column) -> tuple[list[NDArray[np.int64]], list[str]]:
    """Return the codes of each of `coded`, and the values that could not be read or have no output."""
    if isinstance(fitted, DateColumn):
        return fitted.encode(column)
    if isinstance(fitted, NumericColumn | CategoricalColumn):
        codes, unknown = fitted.encode(column)
        return [codes], unknown
    return [], []


def finite_numbers(
    column: Column, style: str = "plain", unit: str = ""
) -> tuple[NDArray[np.float64], list[str]]:
    """Return a column as numbers, NaN if there is none, and the values that are not finite numbers."""
    if column.numbers is not None:
        infinite = np.isinf(column.numbers)
        unknown = [repr(value) for value in dict.fromkeys(column.numbers[infinite].tolist())]
        return np.where(infinite, np.nan, column.numbers), unknown
    texts = column.texts or []
    numbers = read_numbers(texts, style, unit)
    if column.typed is not None:
        numbers = np.where(
            np.isnan(column.typed), numbers, np.where(np.isinf(column.typed), np.nan, column.typed)
        )
    odd = Words.of(texts).occurring(np.isnan(numbers)) if np.isnan(numbers).any() else []
    return numbers, [*map(repr, odd)]


def number_texts(numbers: NDArray[np.float64] | None) -> list[str | None]:
    """Write numbers as categories, for a column that was not numeric in the fitted rows."""
    return [
        None if math.isnan(value) else str(int(value)) if value.is_integer() else repr(value)
        for value in ([] if numbers is None else numbers.tolist())
    ]
