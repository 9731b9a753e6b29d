"""A table that can be written as Markdown, LaTeX and HTML."""

import itertools
from collections import Counter
from dataclasses import dataclass

from pbgnet.experiments.markup import latex_text, plain_text, rich_text, tag
from pbgnet.experiments.tables.cells import BOUND_MARGIN, ERROR_MARGIN, GAP, SIGNS, Cell

__all__ = ["LEGEND", "StudyTable"]

LEGEND = (
    f"The paper's number and the difference to it stand beside ours: {SIGNS['same']} agrees (errors within "
    f"{ERROR_MARGIN}, bounds within {BOUND_MARGIN}), {SIGNS['better']} smaller and so better, "
    f"{SIGNS['worse']} larger and so worse."
)

# Blue and vermilion: told apart by every kind of colour vision; the signs say the same without colour.
COLOURS = {"better": "005A8C", "worse": "A83F00", "same": "5A5A5A"}


@dataclass(frozen=True)
class StudyTable:
    """Columns and rows of cells.

    Attributes
    ----------
    name : str
        For files and anchors.
    title : str
    columns : tuple of str
    rows : tuple of tuple of Cell
    notes : tuple of str
        Sentences below the table.
    n_labels : int
        Leading columns that say what a row is about.

    Examples
    --------
    >>> from pbgnet.experiments.tables import ERROR, Cell, StudyTable
    >>> row = (Cell("ads"), Cell(0.031, paper=0.035, form=ERROR))
    >>> print(StudyTable("t", "Errors", ("Data set", "Test error"), (row,)).markdown())
    ### Errors
    <BLANKLINE>
    | Data set | Test error |
    | :--- | ---: |
    | ads | 0.031 (0.035, ≈ −0.004) |
    <BLANKLINE>
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    n_labels: int = 1

    def column(self, name: str) -> list[Cell]:
        """Return the cells of a column."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def cell(self, *labels: str, column: str) -> Cell:
        """Return the cell of a row, named by its labels without marks of incompleteness, and a column."""
        for row in self.rows:
            if tuple(cell.text.rstrip("*") for cell in row[: self.n_labels]) == labels:
                return row[self.columns.index(column)]
        raise KeyError(labels)

    def agreement(self) -> dict[str, Counter[str]]:
        """Count, for every column with numbers of the paper, how often each verdict is given."""
        counts = {
            name: Counter(cell.verdict for cell in self.column(name) if cell.verdict is not None)
            for name in self.columns
        }
        return {name: count for name, count in counts.items() if count}

    @property
    def has_gaps(self) -> bool:
        """Whether some value is still to come."""
        return any(cell.text == GAP for row in self.rows for cell in row)

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
        rows = []
        for before, row in itertools.zip_longest((None, *self.rows[:-1]), self.rows):
            if before is not None and self.n_labels > 1 and before[0].text != row[0].text:
                rows.append(r"\midrule")
            rows.append(" & ".join(map(_latex_cell, row)) + r" \\")
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

    def html(self) -> str:
        """Return the table as HTML, without its title; classes give it colours."""
        head = "".join(
            tag("th", rich_text(name), scope="col", **({} if k < self.n_labels else {"class_": "number"}))
            for k, name in enumerate(self.columns)
        )
        body = "".join(self._html_row(k) for k in range(len(self.rows)))
        table = tag("table", tag("thead", tag("tr", head)) + tag("tbody", body), id=f"table-{self.name}")
        notes = "".join(tag("p", rich_text(note), class_="note") for note in self.notes)
        # A region that scrolls must be reachable by keyboard.
        scrolling = tag(
            "div", table, class_="scroll", tabindex=0, role="region", aria_label=plain_text(self.title)
        )
        return scrolling + notes

    def _html_row(self, k: int) -> str:
        row = self.rows[k]
        groups = self.n_labels > 1
        starts = not groups or k == 0 or self.rows[k - 1][0].text != row[0].text
        cells = []
        for place, cell in enumerate(row):
            if place >= self.n_labels:
                cells.append(_html_cell(cell))
            elif place == 0 and groups:
                if starts:
                    same = itertools.takewhile(lambda other: other[0].text == row[0].text, self.rows[k:])
                    span = sum(1 for _ in same)
                    cells.append(tag("th", rich_text(cell.text), scope="rowgroup", rowspan=span))
            else:
                cells.append(tag("th", rich_text(cell.text), scope="row"))
        return tag("tr", "".join(cells), **({"class_": "first"} if groups and starts else {}))


def _markdown_row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _markdown_text(text: str) -> str:
    """Return a text on one line that ends no cell and begins no list."""
    return plain_text(text).replace("|", "\\|").replace("*", "\\*").replace("\n", " ")


def _markdown_cell(cell: Cell) -> str:
    text = _markdown_text(cell.text)
    return f"{text} ({_beside(cell)})" if cell.paper_text else text


def _beside(cell: Cell) -> str:
    """What stands beside our number: the paper's, the verdict and the difference."""
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


def _html_cell(cell: Cell) -> str:
    content = tag("span", rich_text(cell.text), class_="ours")
    if cell.paper_text is not None:
        content += " " + tag("span", rich_text(f"paper {cell.paper_text}"), class_="paper")
    if cell.verdict is not None:
        words = {"better": "better than the paper", "worse": "worse than the paper", "same": "agrees"}
        content += " " + tag(
            "span",
            rich_text(f"{SIGNS[cell.verdict]} {cell.difference_text}"),
            class_=f"difference {cell.verdict}",
            title=words[cell.verdict],
        )
    return tag("td", content, class_="number")
