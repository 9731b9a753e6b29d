"""What is learned about one column from the fitted rows, and what it becomes."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pbgnet.exceptions import DomainError
from pbgnet.preprocessing.tables import Column, parse_number
from pbgnet.records import Positive, Record

# Only keeps the result finite when a value is absurdly far from the fitted ones.
LARGEST_SCALED = 1e100


@dataclass(frozen=True)
class FittedColumn(Record):
    """What all kinds of columns share.

    Each names the columns it becomes (`outputs`), and turns values into them (`encode`): it fills zeros of
    shape (n, outputs) and returns the unknown values met, in order.
    """

    name: str
    missing: bool  # whether the fitted rows had missing values, which then get an output of their own


@dataclass(frozen=True)
class EmptyColumn(FittedColumn):
    """A column with no value in the fitted rows: left out."""

    kind: ClassVar[str] = "empty"

    @property
    def outputs(self) -> list[str]:
        """None."""
        return []

    def encode(self, column: Column, out: NDArray[np.float64]) -> list[str]:
        """Ignore the column, whatever it holds now."""
        return []


@dataclass(frozen=True)
class NumericColumn(FittedColumn):
    """Median for missing values, then (value - mean) / scale, and 1 in a second output if it was missing.

    Later text is read as the number it writes out; what is no finite number counts as missing.
    """

    kind: ClassVar[str] = "numeric"

    median: float
    mean: float
    scale: Positive

    @property
    def outputs(self) -> list[str]:
        """The column itself and, where the fitted rows had missing values, whether it was missing."""
        return [self.name, f"{self.name}_missing"] if self.missing else [self.name]

    def encode(self, column: Column, out: NDArray[np.float64]) -> list[str]:
        """Impute and scale; returns what was no finite number."""
        numbers, unknown = finite_numbers(column)
        absent = np.isnan(numbers)
        with np.errstate(over="ignore"):
            scaled = (np.where(absent, self.median, numbers) - self.mean) / self.scale
        out[:, 0] = np.clip(scaled, -LARGEST_SCALED, LARGEST_SCALED)
        if self.missing:
            out[:, 1] = absent
        return unknown


@dataclass(frozen=True)
class CategoricalColumn(FittedColumn):
    """One output per category of the fitted rows, and one for missing where they had it."""

    kind: ClassVar[str] = "categorical"

    categories: tuple[str, ...]  # sorted; a value that is none of them becomes all zeros
    truncated: bool  # whether rarer categories of the fitted rows were left out

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.categories)) != len(self.categories) or not self.categories:
            raise DomainError(
                f"categories must be different texts, at least one, got {self.categories!r:.60}."
            )

    @property
    def outputs(self) -> list[str]:
        """The column and each category."""
        names = [f"{self.name}_{category}" for category in self.categories]
        return [*names, f"{self.name}_missing"] if self.missing else names

    def encode(self, column: Column, out: NDArray[np.float64]) -> list[str]:
        """Set one output of each row to 1."""
        codes: dict[str | None, int] = {category: k for k, category in enumerate(self.categories)}
        if self.missing:
            codes[None] = len(self.categories)
        texts = column.texts if column.texts is not None else _number_texts(column.numbers)
        found = np.array([codes.get(text, -1) for text in texts], dtype=np.int64)
        rows = np.flatnonzero(found >= 0)
        out[rows, found[rows]] = 1.0
        if self.truncated or rows.size == found.size:
            return []
        unknown = dict.fromkeys(texts[row] for row in np.flatnonzero(found < 0).tolist())
        return ["a missing value" if text is None else repr(text) for text in unknown]


SomeColumn = NumericColumn | CategoricalColumn | EmptyColumn


def fit_column(column: Column, max_categories: int, parse_numbers: bool) -> SomeColumn:
    """Learn a column from the fitted rows; text that is all numbers is numeric if `parse_numbers`."""
    if parse_numbers:
        column = _parsed(column)
    if column.numbers is not None:
        infinite = np.isinf(column.numbers)
        if infinite.any():
            raise DomainError(
                f"Column {column.name!r} holds infinity in row {int(np.argmax(infinite))}; replace it, or "
                "leave it missing."
            )
        absent = np.isnan(column.numbers)
        if absent.all():
            return EmptyColumn(column.name, True)
        return _fit_numbers(column.name, column.numbers, absent)
    counts = Counter(column.texts)
    missing = counts.pop(None, 0) > 0
    if not counts:
        return EmptyColumn(column.name, True)
    # The most frequent ones; between equals the alphabet decides, so that the result is reproducible.
    kept = sorted(counts, key=lambda text: (-counts[text], text))[:max_categories]
    return CategoricalColumn(column.name, missing, tuple(sorted(map(str, kept))), len(kept) < len(counts))


def finite_numbers(column: Column) -> tuple[NDArray[np.float64], list[str]]:
    """Return a column as numbers, NaN where it has none, and the values that are no finite numbers."""
    if column.numbers is not None:
        infinite = np.isinf(column.numbers)
        unknown = [repr(value) for value in dict.fromkeys(column.numbers[infinite].tolist())]
        return np.where(infinite, np.nan, column.numbers), unknown
    texts = column.texts or []
    parsed = {text: parse_number(text) for text in dict.fromkeys(texts) if text is not None}
    values = [math.nan if text is None or parsed[text] is None else parsed[text] for text in texts]
    return np.array(values, dtype=np.float64), [repr(text) for text in parsed if parsed[text] is None]


def _parsed(column: Column) -> Column:
    """Return a column of texts as numbers, if every text there is writes out a finite number."""
    if column.texts is None or column.categorical:
        return column
    values = [math.nan if text is None else parse_number(text) for text in column.texts]
    if any(value is None for value in values):
        return column
    return Column(column.name, np.array(values, dtype=np.float64), None)


def _fit_numbers(name: str, numbers: NDArray[np.float64], absent: NDArray[np.bool_]) -> NumericColumn:
    present = numbers[~absent]
    median = _median(present)
    filled = np.where(absent, median, numbers)
    low, high = float(filled.min()), float(filled.max())
    if low == high:  # by comparison: the computed deviation of a constant may be a rounding error
        return NumericColumn(name, bool(absent.any()), median, low, 1.0)
    # In units of the largest value, so that squares can neither overflow nor vanish.
    unit = max(abs(low), abs(high))
    scaled = filled / unit
    mean = float(scaled.mean())
    scale = float(np.sqrt(np.mean((scaled - mean) ** 2))) * unit
    return NumericColumn(name, bool(absent.any()), median, mean * unit, scale if scale > 0 else 1.0)


def _median(present: NDArray[np.float64]) -> float:
    ordered = np.sort(present)
    below, above = float(ordered[(ordered.size - 1) // 2]), float(ordered[ordered.size // 2])
    middle = below + (above - below) / 2
    return middle if math.isfinite(middle) else below / 2 + above / 2


def _number_texts(numbers: NDArray[np.float64] | None) -> list[str | None]:
    """Write numbers as the categories they would be, for a column that was categorical in the fitted rows."""
    return [
        None if math.isnan(value) else str(int(value)) if value.is_integer() else repr(value)
        for value in ([] if numbers is None else numbers.tolist())
    ]
