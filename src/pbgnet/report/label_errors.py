"""Which of several labels are wrong: counts on the certified rows, and what is certified of each label."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates import Certificate, Classes, round_up
from pbgnet.pages import Bar, Bars, fill
from pbgnet.report.class_facts import short

MOST_LISTED = 40
"""Of more labels, so many are listed: those with most errors."""

MOST_DRAWN = 12
"""So many labels have bars."""

LONGEST_NAME = 34


@dataclass(frozen=True)
class Line:
    """One label on the certified rows.

    Attributes
    ----------
    name : str
    n_rows : int
        Certified rows.
    n_with : int
        Those that have the label.
    n_missed, n_false : int
        Those that have it and are answered without; that do not, and are answered with it.
    value : float or None
        Bound on its error rate; None where nothing is certified.
    """

    name: str
    n_rows: int
    n_with: int
    n_missed: int
    n_false: int
    value: float | None

    @property
    def n_errors(self) -> int:
        """Rows on which the label is wrong."""
        return self.n_missed + self.n_false

    @property
    def error_rate(self) -> float:
        """Their share."""
        return self.n_errors / self.n_rows

    @property
    def bound(self) -> str:
        """The bound, rounded up."""
        return "" if self.value is None else round_up(self.value)

    @property
    def texts(self) -> tuple[str, ...]:
        """What the table shows of it."""
        counts = (self.n_with, self.n_missed, self.n_false, self.n_errors)
        bound = (self.bound,) if self.bound else ()
        return (self.name, *map(str, counts), f"{self.error_rate:.4f}", *bound)


@dataclass(frozen=True)
class LabelErrors:
    """Errors of each label, and how many labels of a row are wrong; in a template it writes itself.

    Attributes
    ----------
    lines : tuple of Line
        One per label, in their order.
    n_wrong : tuple of int
        How many certified rows have 0, 1, 2 ... wrong labels.
    confidence : float
        With which all bounds hold together, and everything else that is certified.
    """

    lines: tuple[Line, ...]
    n_wrong: tuple[int, ...]
    confidence: float

    @property
    def bounded(self) -> bool:
        """Whether each label has a bound."""
        return any(line.bound for line in self.lines)

    @property
    def listed(self) -> tuple[Line, ...]:
        """The lines of the table; of many labels, those with most errors."""
        return worst_lines(self.lines, MOST_LISTED)

    @property
    def chart(self) -> Bars:
        """Bars of the observed error rate of each label, and of the bound on it."""
        return _chart(worst_lines(self.lines, MOST_DRAWN))

    @property
    def rows_by_wrong(self) -> list[tuple[str, ...]]:
        """Number of wrong labels, rows that have so many, and their share."""
        total = sum(self.n_wrong)
        return [
            (f"{k} of {len(self.lines)}", str(count), f"{count / total:.4f}")
            for k, count in enumerate(self.n_wrong)
            if count
        ]

    def __html__(self) -> str:
        return fill(__file__, errors=self, most_drawn=MOST_DRAWN)


def label_errors(
    certificate: Certificate, labels: Classes, truth: NDArray[np.int64], answered: NDArray[np.int64]
) -> LabelErrors:
    """Count which labels are wrong on the certified rows, and set the bounds of the certificate beside.

    Parameters
    ----------
    certificate : Certificate
    labels : Classes
        Their names.
    truth, answered : ndarray of 0 and 1, shape (n, L)
        Which labels the certified rows have, and are answered with.
    """
    bounds = {claim.label: claim.value for claim in certificate.per_label}
    lines = tuple(
        Line(
            str(name).strip() or written,
            len(truth),
            int(has.sum()),
            int((has & ~said).sum()),
            int((said & ~has).sum()),
            bounds.get(written),
        )
        for name, written, has, said in zip(
            labels.labels, labels.names, (truth == 1).T, (answered == 1).T, strict=True
        )
    )
    n_wrong = np.bincount((truth != answered).sum(axis=1), minlength=len(labels) + 1)
    return LabelErrors(lines, tuple(n_wrong.tolist()), certificate.confidence)


def worst_lines(lines: Sequence[Line], most: int) -> tuple[Line, ...]:
    """Return all lines where they are few; else those with most errors, these in the order of the labels."""
    if len(lines) <= most:
        return tuple(lines)
    worst = sorted(range(len(lines)), key=lambda k: -lines[k].n_errors)[:most]
    return tuple(lines[k] for k in sorted(worst))


def _chart(lines: Sequence[Line]) -> Bars:
    """Draw the bound of each label, where there is one, with a line at what was measured."""
    bars = []
    for line in lines:
        name, measured = short(line.name, LONGEST_NAME), f"{line.error_rate:.4f}"
        if line.value is None:
            bars.append(Bar(name, line.error_rate, measured, "measured"))
        else:
            text = f"{measured}, at most {line.bound}"
            bars.append(Bar(name, line.value, text, "certified", ticks=(line.error_rate,)))
    return Bars("chart-labels", "Error rate of each label", bars)
