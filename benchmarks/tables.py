"""A table of results, in Markdown that reads well as plain text."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Cell", "Table"]

Cell = str | float | int | None


@dataclass
class Table:
    """Rows of results under a title.

    Attributes
    ----------
    title : str
    columns : tuple of str
    rows : list of tuple
        Numbers are rounded when printed; None is printed as a dash.
    notes : list of str
        What the reader has to know, one sentence or more each.
    printed_only : bool
        Whether to keep it out of the file of results.
    """

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    printed_only: bool = False

    def add(self, *cells: Cell) -> None:
        """Append a row."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{self.title}: {len(cells)} cells for {len(self.columns)} columns.")
        self.rows.append(cells)

    def column(self, name: str) -> list[Cell]:
        """Return the cells of a column."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def markdown(self) -> str:
        """Return the table with its title and notes."""
        lines = [f"### {self.title}", ""]
        if self.rows:
            lines += [*_aligned([self.columns, *([_text(cell) for cell in row] for row in self.rows)]), ""]
        lines += [f"- {note}" for note in self.notes]
        return "\n".join(lines).rstrip() + "\n"


def _text(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return _rounded(cell)
    return str(cell)


def _rounded(number: float) -> str:
    """Three significant digits, none of them cut off before the decimal point."""
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(number))))
    return f"{number:.{digits}f}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    lines.insert(1, " | ".join("-" * width for width in widths))
    return [f"| {line} |" for line in lines]
