"""Which of several labels are wrong: counts on the certified rows, and the bound for each label."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates import Certificate, Classes, round_up
from pbgnet.pages import Bar, Bars, fill
from pbgnet.report.class_facts import short

MOST_LISTED = 40
"""Most labels that are listed: those with the most errors."""

MOST_DRAWN = 12
"""Most labels with bars."""

LONGEST_NAME = 34


@dataclass(frozen=True)
class Line:
    """One label on the certified rows.

    Attributes
    ----------
    name : str
    n_rows : int
        Number of certified rows.
    n_with : int
        Rows that have the label.
    n_missed, n_false : int
        Rows that have it and are answered without it; rows that do not have it and are answered with it.
    value : float or None
        Bound on its error rate; None if nothing is certified.
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
        """What the table shows about it."""
        counts = (self.n_with, self.n_missed, self.n_false, self.n_errors)
        bound = (self.bound,) if self.bound else ()
        return (self.name, *map(str, counts), f"{self.error_rate:.4f}", *bound)


@dataclass(frozen=True)
class LabelErrors:
    """Errors of each label, and how many labels of a row are wrong; a template can print it directly.

    Attributes
    ----------
    lines : tuple of Line
        One per label, in order.
    n_wrong : tuple of int
        How many certified rows have 0, 1, 2 ... wrong labels.
    confidence : float
        Confidence of all bounds together, with everything else that is certified.
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
        """The lines of the table; with many labels, those with the most errors."""
        return worst_lines(self.lines, MOST_LISTED)

    @property
    def chart(self) -> Bars:
        """Bars of the observed error rate of each label, and of the bound on it."""
        return _chart(worst_lines(self.lines, MOST_DRAWN))

    @property
    def rows_by_wrong(self) -> list[tuple[str, ...]]:
        """Number of wrong labels, number of rows with as many, and their share."""
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
    """Count which labels are wrong on the certified rows, with the bounds of the certificate.

    Parameters
    ----------
    certificate : Certificate
    labels : Classes
        Their names.
    truth, answered : ndarray of 0 and 1, shape (n, L)
        Labels of the certified rows, and labels answered.
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
    """Return all lines if they are few; otherwise those with the most errors, in the order of the labels."""
    if len(lines) <= most:
        return tuple(lines)
    worst = sorted(range(len(lines)), key=lambda k: -lines[k].n_errors)[:most]
    return tuple(lines[k] for k in sorted(worst))


def _chart(lines: Sequence[Line]) -> Bars:
    """Draw the bound of each label, if there is one, with a line at the measured rate."""
    bars = []
    for line in lines:
        name, measured = short(line.name, LONGEST_NAME), f"{line.error_rate:.4f}"
        if line.value is None:
            bars.append(Bar(name, line.error_rate, measured, "measured"))
        else:
            text = f"{measured}, at most {line.bound}"
            bars.append(Bar(name, line.value, text, "certified", ticks=(line.error_rate,)))
    return Bars("chart-labels", "Error rate of each label", bars)
