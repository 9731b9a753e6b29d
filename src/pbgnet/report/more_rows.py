"""How the bound would decrease with more certified rows at the same error rate."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from pbgnet.certificates import Certificate, percent_up
from pbgnet.pages import Axis, Chart, label, mark

WIDTH, HEIGHT = 340, 230
LEFT, RIGHT, TOP, BOTTOM = 46, 326, 30, 184

SPAN = 16
"""The curve ends at this multiple of the rows."""

FEWER = 4
"""And begins at this share of them."""

SHOWN = {2: "twice", 4: "four times", 16: "sixteen times"}
"""Multiples of the rows that are described in words."""


@dataclass(frozen=True)
class MoreRows:
    """What more rows would gain.

    Attributes
    ----------
    words : tuple of str
        One sentence for each multiple of the rows.
    chart : Chart
    """

    words: tuple[str, ...]
    chart: Chart


def more_rows(certificate: Certificate) -> MoreRows | None:
    """Compute the bound for fewer and for more rows; None if it is not based on a count of errors."""
    claim = certificate.error_rate
    if claim.route != "clopper-pearson":
        return None
    n, rate = claim.evidence.n, claim.empirical_risk
    sizes = np.unique(np.geomspace(max(1, n // FEWER), n * SPAN, 60).round().astype(np.int64))
    bounds = _bounds(rate, [*sizes.tolist(), *(n * times for times in SHOWN)], claim.delta)
    told = dict(zip(SHOWN, bounds[-len(SHOWN) :], strict=True))
    words = tuple(
        f"{percent_up(bound)} % with {SHOWN[times]} as many certified rows, {n * times:,}"
        for times, bound in told.items()
    )
    points = [(float(size), bound) for size, bound in zip(sizes.tolist(), bounds, strict=False)]
    return MoreRows(words, _chart(points, n, claim.value, rate))


def _bounds(rate: float, sizes: list[int], delta: float) -> list[float]:
    """Return the approximate bound for each number of rows at the same error rate, errors unrounded."""
    rows = np.array(sizes, dtype=np.float64)
    errors = rate * rows
    found: list[float] = special.betaincinv(errors + 1, np.maximum(rows - errors, 1e-9), 1 - delta).tolist()
    return found


def _chart(points: list[tuple[float, float]], n: int, value: float, rate: float) -> Chart:
    across = Axis(points[0][0], points[-1][0], LEFT, RIGHT, log=True)
    up = Axis(0.0, min(1.0, 1.08 * max(bound for _, bound in points)), BOTTOM, TOP)
    marks = []
    for tick in up.ticks(4):
        marks.append(mark("line", x1=LEFT, x2=RIGHT, y1=up(tick), y2=up(tick), class_="grid"))
        marks.append(label(LEFT - 6, up(tick) + 4, f"{100 * tick:.4g} %", "tick", "end"))
    for size in (n // FEWER, n, 4 * n, 16 * n):
        if size >= points[0][0]:
            anchor = "end" if size == 16 * n else "middle"
            marks.append(label(across(size), BOTTOM + 17, f"{size:,}", "tick", anchor))
    marks.append(label((LEFT + RIGHT) / 2, BOTTOM + 38, "certified rows", "tick", "middle"))
    marks.append(label(0, TOP - 14, "bound on the error rate", "tick"))
    marks.append(mark("line", x1=LEFT, x2=RIGHT, y1=up(rate), y2=up(rate), class_="diagonal"))
    line = " ".join(f"{across(size):.1f},{up(bound):.1f}" for size, bound in points)
    marks.append(mark("polyline", points=line, class_="curve"))
    marks.append(mark("circle", cx=across(n), cy=up(value), r=4.5, class_="end"))
    marks.append(label(across(n) + 8, up(value) - 6, f"now {percent_up(value)} %", "value halo"))
    first, last = points[0], points[-1]
    words = (
        f"From {percent_up(first[1])} % with {first[0]:.0f} rows to {percent_up(last[1])} % with "
        f"{last[0]:.0f} rows; the dashed line is the error rate measured, {100 * rate:.2f} %."
    )
    return Chart("chart-rows", "The bound by the number of certified rows", words, WIDTH, HEIGHT, marks)
