"""Which class is confused with which: counts on the certified rows, and the bound for each cell."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates import Certificate, Claim, Classes, percent_up
from pbgnet.pages import fill
from pbgnet.report.class_facts import short

MOST_CLASSES = 30
"""With more classes the matrix is not shown, only the largest confusions and the worst classes."""

MOST_LISTED = 20
LONGEST_NAME = 18

# Strengths of the colours behind numbers: faint enough that any text on them is readable.
STRONGEST, FAINTEST = 0.55, 0.12


@dataclass(frozen=True)
class Cell:
    """Rows of one class that are answered with a certain class.

    Attributes
    ----------
    count : int
    bound : str
        Bound on this share of the rows of the class, rounded up; "" if nothing is certified.
    strength : float
        Strength of the colour behind it, from 0 to 1.
    right : bool
        Whether the answer is right.
    """

    count: int
    bound: str
    strength: float
    right: bool


@dataclass(frozen=True)
class Line:
    """One class: its number of rows, their answers, and how many of the answers are wrong."""

    name: str
    n_rows: int
    n_errors: int
    bound: str
    cells: tuple[Cell, ...]

    @property
    def head(self) -> str:
        """The name, cut if it is long."""
        return short(self.name, LONGEST_NAME)

    @property
    def error_rate(self) -> str:
        """Share of its rows that are answered wrongly."""
        return f"{100 * self.n_errors / self.n_rows:.1f} %" if self.n_rows else ""


@dataclass(frozen=True)
class Confusion:
    """The confusion matrix; a template can print the object directly.

    Attributes
    ----------
    lines : tuple of Line
        One per class, in order.
    confidence : float
        Confidence of all bounds together, with everything else that is certified.
    """

    lines: tuple[Line, ...]
    confidence: float

    @property
    def whole(self) -> bool:
        """Whether there are few enough classes for the whole matrix."""
        return len(self.lines) <= MOST_CLASSES

    @property
    def bounded(self) -> bool:
        """Whether cells have bounds."""
        return any(cell.bound for line in self.lines for cell in line.cells)

    @property
    def by_class(self) -> bool:
        """Whether the error rate of each class has a bound."""
        return any(line.bound for line in self.lines)

    @property
    def largest(self) -> list[tuple[str, ...]]:
        """The most frequent confusions: class, answer, rows out of those of the class, bound if any."""
        found = [
            (cell.count, line, self.lines[k].name, cell.bound)
            for line in self.lines
            for k, cell in enumerate(line.cells)
            if cell.count and not cell.right
        ]
        found.sort(key=lambda each: -each[0])
        return [
            (line.name, answer, f"{count} of {line.n_rows}", *([bound] if self.bounded else []))
            for count, line, answer, bound in found[:MOST_LISTED]
        ]

    @property
    def worst(self) -> list[tuple[str, ...]]:
        """The classes with the largest error rates: class, errors out of its rows, rate, bound if any."""
        lines = sorted(self.lines, key=lambda line: -line.n_errors / max(1, line.n_rows))
        return [
            (
                line.name,
                f"{line.n_errors} of {line.n_rows}",
                line.error_rate,
                *([line.bound] if self.by_class else []),
            )
            for line in lines[:MOST_LISTED]
        ]

    def __html__(self) -> str:
        return fill(__file__, confusion=self)


def confusion_matrix(
    certificate: Certificate,
    classes: Classes,
    truth: NDArray[np.int64],
    answered: NDArray[np.int64],
) -> Confusion:
    """Count which class is answered with which, with the bounds of the certificate.

    Parameters
    ----------
    certificate : Certificate
    classes : Classes
    truth, answered : ndarray of int, shape (n,)
        Class indices of the labels of the certified rows, and of the answers.
    """
    count, names = len(classes), classes.names
    counts = np.bincount(truth * count + answered, minlength=count * count).reshape(count, count)
    bounds = _bounds(certificate, names)
    strengths = _strengths(counts)
    lines = []
    for k, (name, label) in enumerate(zip(names, classes.labels, strict=True)):
        cells = tuple(
            Cell(int(counts[k, j]), _told(bounds.get((name, other))), float(strengths[k, j]), k == j)
            for j, other in enumerate(names)
        )
        n_rows, bound = int(counts[k].sum()), _told(bounds.get((name, None)))
        lines.append(Line(str(label).strip() or name, n_rows, n_rows - int(counts[k, k]), bound, cells))
    return Confusion(tuple(lines), certificate.confidence)


def _bounds(certificate: Certificate, names: Sequence[str]) -> dict[tuple[str | None, str | None], Claim]:
    """Return the claims by class and answer; for two classes, the only wrong answer is the error."""
    found = {(c.given_class, c.answered): c for c in (*certificate.class_conditional, *certificate.confusion)}
    if len(names) == 2:
        for name, other in (tuple(names), tuple(names[::-1])):
            if (name, None) in found:
                found[name, other] = found[name, None]
    return found


def _told(claim: Claim | None) -> str:
    return "" if claim is None else f"{percent_up(claim.value)} %"


def _strengths(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the colour strength of each cell: by its share of the class; errors relative to the largest.

    Right answers and errors have different colours, so that even a few errors can be seen.
    """
    shares = counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
    wrong = np.where(np.eye(len(counts), dtype=bool), 0.0, shares)
    largest = max(float(wrong.max()), 1e-12)
    seen = np.where(wrong > 0, FAINTEST + (STRONGEST - FAINTEST) * wrong / largest, 0.0)
    return np.where(np.eye(len(counts), dtype=bool), STRONGEST * shares, seen)
