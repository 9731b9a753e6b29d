"""Margins on the certified rows, and whether the vote's share says how often it is right."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from pbgnet.pages import Axis, Chart, label, level_lines, mark, tick_text

WIDTH, HEIGHT = 420, 300
LEFT, RIGHT, TOP, BOTTOM = 44, 412, 26, 256

# Fewer rows are grouped more coarsely.
MANY_ROWS, N_BINS, FEW_BINS = 1000, 10, 5
N_MARGIN_BINS = 20

# Where the reliability diagram ends and the counts below it begin.
DIAGRAM_BOTTOM, COUNT_TOP = 186, 220


@dataclass(frozen=True)
class Bin:
    """Rows whose vote was won by about the same share, (1 + |G|) / 2."""

    low: float
    high: float  # held by the last bin only
    count: int
    right: int  # rows the vote gets right
    share: float  # mean of the bin
    interval: tuple[float, float]  # Clopper-Pearson limits of the accuracy, each at 2.5 %

    @property
    def accuracy(self) -> float:
        """Observed share of right votes."""
        return self.right / self.count


def reliability_bins(
    output: NDArray[np.float64], signs: NDArray[np.float64], n_bins: int | None = None
) -> list[Bin]:
    """Group rows by the share (1 + |G|) / 2 that won the vote; empty groups are left out."""
    n_bins = n_bins or (N_BINS if output.size >= MANY_ROWS else FEW_BINS)
    share = (1.0 + np.abs(output)) / 2.0
    right = np.where(output > 0, 1.0, -1.0) == signs
    index = np.clip(((share - 0.5) * 2 * n_bins).astype(np.int64), 0, n_bins - 1)
    bins = []
    for k in range(n_bins):
        inside = index == k
        count, hits = int(inside.sum()), int(right[inside].sum())
        if count:
            low, high = 0.5 + 0.5 * k / n_bins, 0.5 + 0.5 * (k + 1) / n_bins
            bins.append(Bin(low, high, count, hits, float(share[inside].mean()), _limits(hits, count)))
    return bins


def reliability_chart(bins: list[Bin]) -> Chart:
    """Draw observed accuracy against the share behind the vote, with counts below."""
    across = Axis(0.5, 1.0, LEFT, RIGHT - 6)
    lowest = min([bin.interval[0] for bin in bins], default=0.0)
    up = Axis(0.5 if lowest >= 0.5 else 0.0, 1.0, DIAGRAM_BOTTOM, TOP)
    counts = Axis(0.0, float(max([bin.count for bin in bins], default=1)), BOTTOM, COUNT_TOP)
    marks = [
        *(
            mark("line", x1=across(tick), x2=across(tick), y1=TOP, y2=DIAGRAM_BOTTOM, class_="grid")
            for tick in across.ticks(5)
        ),
        *level_lines(up, LEFT, RIGHT),
        label(LEFT - 6, BOTTOM - 2, "rows", "tick", "end"),
        mark("line", x1=across(0.5), y1=up(0.5), x2=across(1.0), y2=up(1.0), class_="diagonal"),
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
    marks.append(label((LEFT + RIGHT) / 2, HEIGHT - 8, "share of the vote", "tick", "middle"))
    marks.append(label(LEFT, TOP - 12, "how often the vote is right", "tick"))
    words = "; ".join(f"share {bin.share:.2f}: {bin.right} of {bin.count} right" for bin in bins)
    title = "Share of the vote against observed accuracy"
    return Chart("reliability", title, words + ".", WIDTH, HEIGHT, marks)


def margin_chart(margins: NDArray[np.float64]) -> Chart:
    """Draw how many certified rows have which margin; below 0 the vote is wrong."""
    counts, edges = np.histogram(np.clip(margins, -1.0, 1.0), bins=N_MARGIN_BINS, range=(-1.0, 1.0))
    across = Axis(-1.0, 1.0, LEFT, RIGHT - 6)
    up = Axis(0.0, max(1.0, float(counts.max()) * 1.08), BOTTOM, TOP)
    marks = level_lines(up, LEFT, RIGHT)
    for count, low, high in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if count:
            x, top = across(low) + 1, min(up(count), BOTTOM - 3.0)
            colour = "wrong" if high <= 1e-12 else "certified"
            width, height = across(high) - across(low) - 2, BOTTOM - top
            marks.append(mark("rect", x=x, y=top, width=width, height=height, class_=f"bar {colour}"))
    marks.append(mark("line", x1=across(0.0), x2=across(0.0), y1=TOP - 14, y2=BOTTOM, class_="zero"))
    marks.append(label(across(0.0) - 8, TOP - 4, "vote wrong", "tick", "end"))
    marks.append(label(across(0.0) + 8, TOP - 4, "vote right", "tick"))
    marks += [label(across(tick), BOTTOM + 16, tick_text(tick), "tick", "middle") for tick in across.ticks(4)]
    marks.append(label((LEFT + RIGHT) / 2, HEIGHT - 8, "margin: label times aggregate", "tick", "middle"))
    marks.append(label(LEFT, TOP - 12, "rows", "tick"))
    wrong = int((margins <= 0).sum())
    words = f"{wrong} of {margins.size} rows have a margin of at most 0; the median margin is "
    words += f"{float(np.median(margins)):.3f}."
    return Chart("margins", "Margins on the certified rows", words, WIDTH, HEIGHT, marks)


def _limits(hits: int, count: int) -> tuple[float, float]:
    """Two-sided 95 % Clopper-Pearson limits."""
    low = float(special.betaincinv(hits, count - hits + 1, 0.025)) if hits else 0.0
    high = float(special.betaincinv(hits + 1, count - hits, 0.975)) if hits < count else 1.0
    return low, high
