"""Margins on the certified rows, and whether the share of an answer says how often it is right."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pbgnet.pages import Axis, Chart, Mark, label, level_lines, mark, tick_text

WIDTH, HEIGHT = 340, 300
LEFT, RIGHT, TOP, BOTTOM = 44, 334, 26, 256

# With fewer rows, groups are coarser.
MANY_ROWS, N_BINS, FEW_BINS = 1000, 10, 5
N_MARGIN_BINS = 20

# Where the reliability diagram ends and the counts below it begin.
DIAGRAM_BOTTOM, COUNT_TOP = 186, 220


@dataclass(frozen=True)
class Bin:
    """Rows whose answers have about the same share; for two classes that is `(1 + |G|) / 2`."""

    low: float
    high: float  # included only in the last bin
    count: int
    right: int  # rows that are answered right
    share: float  # mean of the bin
    interval: tuple[float, float]  # Clopper-Pearson limits of the accuracy, each at 2.5 %

    @property
    def accuracy(self) -> float:
        """Observed share of right answers."""
        return self.right / self.count


def reliability_bins(
    shares: NDArray[np.float64], right: NDArray[np.bool_], n_bins: int | None = None
) -> list[Bin]:
    """Group rows by the share of their answer; empty groups are left out.

    Parameters
    ----------
    shares : ndarray of float64, shape (n, c)
        For each class; the largest is that of the answer, at least 1/2 for two classes.
    right : ndarray of bool, shape (n,)
        Whether the answer is right.
    n_bins : int, optional
        By default as many as there are rows for.
    """
    n_bins = n_bins or (N_BINS if right.size >= MANY_ROWS else FEW_BINS)
    share, start = shares.max(axis=1), lowest_share(shares.shape[1])
    edges = np.linspace(start, 1.0, n_bins + 1)
    index = np.clip(((share - start) / (1.0 - start) * n_bins).astype(np.int64), 0, n_bins - 1)
    bins = []
    for k in range(n_bins):
        inside = index == k
        count, hits = int(inside.sum()), int(right[inside].sum())
        if count:
            low, high = float(edges[k]), float(edges[k + 1])
            bins.append(Bin(low, high, count, hits, float(share[inside].mean()), _limits(hits, count)))
    return bins


def lowest_share(n_classes: int) -> float:
    """Return where the axis of shares begins."""
    return 0.5 if n_classes == 2 else 0.0


def reliability_chart(bins: list[Bin], n_classes: int = 2, name: str = "reliability") -> Chart:
    """Draw observed accuracy against the share of the answer, with counts below."""
    start = lowest_share(n_classes)
    across = Axis(start, 1.0, LEFT, RIGHT - 6)
    lowest = min([bin.interval[0] for bin in bins], default=0.0)
    up = Axis(start if lowest >= start else 0.0, 1.0, DIAGRAM_BOTTOM, TOP)
    what = "vote" if n_classes == 2 else "answer"
    counts = Axis(0.0, float(max([bin.count for bin in bins], default=1)), BOTTOM, COUNT_TOP)
    marks = [
        *(
            mark("line", x1=across(tick), x2=across(tick), y1=TOP, y2=DIAGRAM_BOTTOM, class_="grid")
            for tick in across.ticks(5)
        ),
        *level_lines(up, LEFT, RIGHT),
        label(LEFT - 6, BOTTOM - 2, "rows", "tick", "end"),
        mark("line", x1=across(start), y1=up(start), x2=across(1.0), y2=up(1.0), class_="diagonal"),
    ]
    for bin in bins:
        x, y = across(bin.share), up(bin.accuracy)
        marks.append(
            mark("line", x1=x, x2=x, y1=up(bin.interval[0]), y2=up(bin.interval[1]), class_="whisker")
        )
        marks.append(mark("circle", cx=x, cy=y, r=4.5, class_="end"))
        left, right = across(bin.low) + 1.5, across(bin.high) - 1.5
        top = min(counts(bin.count), BOTTOM - 2.0)
        marks.append(
            mark("rect", x=left, y=top, width=right - left, height=BOTTOM - top, class_="bar measured")
        )
        marks.append(label((left + right) / 2, top - 4, str(bin.count), "count", "middle"))
    marks += [label(across(tick), BOTTOM + 16, tick_text(tick), "tick", "middle") for tick in across.ticks(5)]
    marks.append(label((LEFT + RIGHT) / 2, HEIGHT - 8, f"share of the {what}", "tick", "middle"))
    marks.append(label(LEFT, TOP - 12, f"how often the {what} is right", "tick"))
    words = "; ".join(f"share {bin.share:.2f}: {bin.right} of {bin.count} right" for bin in bins)
    title = f"Share of the {what} against observed accuracy"
    return Chart(name, title, words + ".", WIDTH, HEIGHT, marks)


def margin_chart(
    margins: NDArray[np.float64],
    right: NDArray[np.bool_],
    n_classes: int = 2,
    meaning: str = "margin: label times aggregate",
) -> Chart:
    """Draw how many certified rows have which margin, and how many of them are answered wrongly.

    For two classes, those with a margin of at most 0 are wrong; for more, most of them.
    """
    # Scores of many classes are all near 0; what matters is their differences.
    end = 1.0 if n_classes == 2 else min(1.0, math.ceil(5 * float(np.abs(margins).max()) + 1e-9) / 5)
    places = np.clip(margins, -end, end)
    counts, edges = np.histogram(places, bins=N_MARGIN_BINS, range=(-end, end))
    wrong, _ = np.histogram(places[~right], bins=N_MARGIN_BINS, range=(-end, end))
    across = Axis(-end, end, LEFT, RIGHT - 6)
    up = Axis(0.0, max(1.0, float(counts.max()) * 1.08), BOTTOM, TOP)
    marks = level_lines(up, LEFT, RIGHT)
    for k in np.flatnonzero(counts).tolist():
        x, width = across(float(edges[k])) + 1, across(float(edges[k + 1])) - across(float(edges[k])) - 2
        middle = up(float(wrong[k]))
        for colour, some, top, bottom in (  # wrong ones stand below, drawn last: they are few, and thin
            ("certified", counts[k] - wrong[k], up(float(counts[k])), middle),
            ("wrong", wrong[k], middle, float(BOTTOM)),
        ):
            if some:
                y = min(top, bottom - 3.0)
                marks.append(mark("rect", x=x, y=y, width=width, height=bottom - y, class_=f"bar {colour}"))
    marks.append(mark("line", x1=across(0.0), x2=across(0.0), y1=TOP - 14, y2=BOTTOM, class_="zero"))
    marks += _margin_words(across, n_classes, meaning)
    marks += [label(across(tick), BOTTOM + 16, tick_text(tick), "tick", "middle") for tick in across.ticks(4)]
    words = f"{int((margins <= 0).sum())} of {margins.size} rows have a margin of at most 0, and "
    words += (
        f"{int((~right).sum())} are answered wrong; the median margin is {float(np.median(margins)):.3f}."
    )
    return Chart("margins", "Margins on the certified rows", words, WIDTH, HEIGHT, marks)


def _margin_words(across: Axis, n_classes: int, meaning: str) -> list[Mark]:
    """Return the labels of the axes: where the vote is wrong, or which colour shows it."""
    if n_classes == 2:
        told = [
            label(across(0.0) - 8, TOP - 4, "vote wrong", "tick", "end"),
            label(across(0.0) + 8, TOP - 4, "vote right", "tick"),
        ]
    else:
        meaning = "margin: score of the true class"
        told = [
            mark("rect", x=LEFT + 50, y=TOP - 21, width=10, height=10, class_="bar wrong"),
            label(LEFT + 64, TOP - 12, "wrong", "tick"),
            mark("rect", x=LEFT + 106, y=TOP - 21, width=10, height=10, class_="bar certified"),
            label(LEFT + 120, TOP - 12, "right", "tick"),
        ]
    return [
        *told,
        label(LEFT, TOP - 12, "rows", "tick"),
        label((LEFT + RIGHT) / 2, HEIGHT - 8, meaning, "tick", "middle"),
    ]


def _limits(hits: int, count: int) -> tuple[float, float]:
    """Two-sided 95 % Clopper-Pearson limits."""
    low = float(special.betaincinv(hits, count - hits + 1, 0.025)) if hits else 0.0
    high = float(special.betaincinv(hits + 1, count - hits, 0.975)) if hits < count else 1.0
    return low, high
