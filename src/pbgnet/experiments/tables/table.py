"""A table that can be written as Markdown, LaTeX and HTML."""

import itertools
from collections import Counter
from dataclasses import dataclass

from pbgnet.experiments.tables.cells import BOUND_MARGIN, ERROR_MARGIN, SIGNS, Cell
from pbgnet.experiments.tables.markup import latex_text
from pbgnet.pages import LIGHT, fill, plain_text

LEGEND = (
    "The paper's number and the difference from it are shown next to ours: "
    f"{SIGNS['same']} agrees (errors within {ERROR_MARGIN}, bounds within "
    f"{BOUND_MARGIN}), {SIGNS['better']} smaller and therefore better, {SIGNS['worse']} "
    "larger and therefore worse."
)

# For print; the signs also work without colour.
COLOURS = {**{verdict: LIGHT[verdict][1:].upper() for verdict in ("better", "worse")}, "same": "5A5A5A"}


@dataclass(frozen=True)
class StudyTable:
    """Columns and rows of cells."""

    name: str  # for files and anchors
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()  # sentences below the table
    n_labels: int = 1  # leading columns that say what a row is about

    def cell(self, *labels: str, column: str) -> Cell:
        """Return the cell of a row, given its labels without marks of incompleteness, and a column."""
        for row in self.rows:
            if tuple(cell.text.rstrip("*") for cell in row[: self.n_labels]) == labels:
                return row[self.columns.index(column)]
        raise KeyError(labels)

    def agreement(self) -> dict[str, Counter[str]]:
        """Count, for every column with numbers of the paper, how often each verdict is given."""
        counts: dict[str, Counter[str]] = {name: Counter() for name in self.columns}
        for row in self.rows:
            for name, cell in zip(self.columns, row, strict=True):
                if cell.verdict is not None:
                    counts[name][cell.verdict] += 1
        return {name: count for name, count in counts.items() if count}

    def markdown(self) -> str:
        """Return the table as Markdown, with its title and notes."""
        alignment = [":---"] * self.n_labels + ["---:"] * (len(self.columns) - self.n_labels)
        lines = [
            _markdown_row([plain_text(column) for column in self.columns]),
            _markdown_row(alignment),
            *(_markdown_row([_markdown_cell(cell) for cell in row]) for row in self.rows),
        ]
        notes = "".join(f"\n{note}\n" for note in map(_markdown_text, self.notes))
        return f"### {_markdown_text(self.title)}\n\n" + "\n".join(lines) + "\n" + notes

    def latex(self) -> str:
        """Return the table as a LaTeX float; needs the packages booktabs, xcolor and graphicx."""
        form = "l" * self.n_labels + "r" * (len(self.columns) - self.n_labels)
        rows: list[str] = []
        for group in self.groups():
            if rows and self.n_labels > 1:
                rows.append(r"\midrule")
            rows += [" & ".join(map(_latex_cell, row)) + r" \\" for row in group]
        colours = [
            rf"\providecolor{{pbgnet{verdict}}}{{HTML}}{{{code}}}" for verdict, code in COLOURS.items()
        ]
        notes = " ".join(latex_text(note) for note in self.notes)
        lines = [
            r"% Needs \usepackage{booktabs,graphicx,xcolor}.",
            *colours,
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex_text(self.title)}. {notes}}}",
            rf"\label{{tab:{self.name}}}",
            r"\resizebox{\linewidth}{!}{%",
            rf"\begin{{tabular}}{{{form}}}",
            r"\toprule",
            " & ".join(map(latex_text, self.columns)) + r" \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def __html__(self) -> str:
        """Return the table as HTML, without its title; classes give it colours."""
        return fill(__file__, table=self, signs=SIGNS)

    def groups(self) -> list[tuple[tuple[Cell, ...], ...]]:
        """Return the rows, grouped by consecutive equal first labels."""
        return [tuple(rows) for _, rows in itertools.groupby(self.rows, key=lambda row: row[0].text)]


def _markdown_row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _markdown_text(text: str) -> str:
    """Return a text on one line that cannot end a cell or begin a list."""
    return plain_text(text).replace("|", "\\|").replace("*", "\\*").replace("\n", " ")


def _markdown_cell(cell: Cell) -> str:
    text = _markdown_text(cell.text)
    return f"{text} ({_beside(cell)})" if cell.paper_text else text


def _beside(cell: Cell) -> str:
    """What is shown beside our number: the paper's, the verdict and the difference."""
    if cell.verdict is None:
        return f"{cell.paper_text}"
    return f"{cell.paper_text}, {SIGNS[cell.verdict]} {cell.difference_text}"


def _latex_cell(cell: Cell) -> str:
    text = latex_text(cell.text)
    if cell.paper_text is None:
        return text
    beside = latex_text(_beside(cell))
    colour = rf"\color{{pbgnet{cell.verdict}}}" if cell.verdict else ""
    return rf"{text} {{\scriptsize{colour} ({beside})}}"
