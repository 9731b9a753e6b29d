"""The values that a column is set to in turn, and how often they occur."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.preprocessing import CategoricalColumn, DateColumn, NumericColumn, coded

MOST_VALUES = 256
"""Bins of a column beyond this number are merged."""

PLAIN_VALUES = 33
"""Number of quantiles to which a column of plain numbers is set."""


def number_text(value: float) -> str:
    """Write a threshold in a readable form.

    Examples
    --------
    >>> from pbgnet.report.columns.effect_grids import number_text
    >>> number_text(43.5), number_text(0.0875500001), number_text(189778.5)
    ('43.5', '0.08755', '189778')
    """
    return f"{value:.0f}" if abs(value) >= 1e4 and abs(value) < 1e15 else f"{value:.4g}"


def day_text(value: float) -> str:
    """Write days since 1970 as a date."""
    return str(np.datetime64(round(value), "D"))


@dataclass(frozen=True, eq=False)
class Grid:
    """The values of one column: numbers in increasing order, then named values.

    Attributes
    ----------
    name : str
        Name of the column.
    cells : ndarray, shape (g,)
        The values as they occur in rows.
    shares : ndarray of float64, shape (g,)
        The share of the certified rows that has each value, or one of its bin.
    thresholds : ndarray of float64
        Between the numeric values, increasing.
    names : tuple of str
        Names of the last values: categories, or that a number is missing.
    write : callable
        Writes a threshold.
    """

    name: str
    cells: NDArray[Any]
    shares: NDArray[np.float64]
    thresholds: NDArray[np.float64]
    names: tuple[str, ...]
    write: Callable[[float], str] = number_text

    @property
    def n_numbers(self) -> int:
        """Number of values that are numbers."""
        return len(self.cells) - len(self.names)


def coded_grids(
    columns: Sequence[Any],
    codes: NDArray[Any],
) -> Callable[[int], Grid]:
    """Return the grid of each column of codes, given the fitted columns they come from."""
    parts = [
        (
            part,
            day_text
            if isinstance(column, DateColumn) and column.layout != "time" and k == 0
            else number_text,
        )
        for column in columns
        for k, part in enumerate(coded(column))
    ]

    def grid(j: int) -> Grid:
        part, write = parts[j]
        if isinstance(part, CategoricalColumn):
            return _categories(part, codes[:, j])
        return _bins(part, codes[:, j], write)

    return grid


def plain_grids(names: Sequence[str] | None, numbers: NDArray[np.float64]) -> Callable[[int], Grid]:
    """Return the grid of each column of plain numbers: its quantiles over these rows."""

    def grid(j: int) -> Grid:
        column = np.sort(numbers[:, j])
        places = np.linspace(0, column.size - 1, PLAIN_VALUES).round().astype(np.int64)
        values = np.unique(column[places])
        thresholds = values[:-1] / 2 + values[1:] / 2
        counts = np.bincount(np.searchsorted(thresholds, column, side="right"), minlength=values.size)
        return Grid(names[j] if names else f"x{j}", values, counts / column.size, thresholds, ())

    return grid


def _bins(column: NumericColumn, codes: NDArray[Any], write: Callable[[float], str]) -> Grid:
    n_bins, missing = column.n_bins, column.missing
    counts = np.bincount(codes, minlength=n_bins + missing)
    firsts = np.unique(np.linspace(0, n_bins, min(n_bins, MOST_VALUES) + 1).round().astype(np.int64)[:-1])
    lasts = np.append(firsts[1:], n_bins) - 1
    shares = np.append(np.add.reduceat(counts[:n_bins], firsts), counts[n_bins:]) / codes.size
    cells = np.append((firsts + lasts) // 2, np.arange(n_bins, n_bins + missing)).astype(codes.dtype)
    thresholds = np.array(column.thresholds)[firsts[1:] - 1]
    return Grid(column.name, cells, shares, thresholds, ("missing",) * missing, write)


def _categories(column: CategoricalColumn, codes: NDArray[Any]) -> Grid:
    """All codes with an output: a value that does not occur in the fitted rows has no effect."""
    names = (*column.categories, *["rare ones"] * column.rare, *["missing"] * column.missing)
    counts = np.bincount(codes, minlength=len(names) + 1)[: len(names)]
    cells = np.arange(len(names)).astype(codes.dtype)
    return Grid(column.name, cells, counts / codes.size, np.zeros(0), names)
