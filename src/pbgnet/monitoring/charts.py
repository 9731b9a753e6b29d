"""Charts of a monitor's history: error rates within their limits, and e-values on a logarithmic scale."""

import math
from collections.abc import Sequence

from pbgnet.monitoring.change import ChangeDetector
from pbgnet.monitoring.claims import WatchedClaim
from pbgnet.monitoring.words import e_value_text
from pbgnet.pages import Axis, Chart, Mark, label, level_lines, mark, tick_text

WIDTH, HEIGHT = 460, 270
LEFT, RIGHT, TOP, BOTTOM = 52, 452, 24, 226

LEAST_E = 1e-4
"""Smaller e-values are drawn as this one: there is no evidence of a problem."""

MOST_E = 1e8


def rate_chart(name: str, claim: WatchedClaim, alpha: float) -> Chart:
    """Draw the error rate of the latest rows within its limits, against the bound."""
    rows, _, _ = claim.course()
    rates = claim.recent_rates(alpha)
    shares = [rate.n_errors / rate.n_rows for rate in rates]
    highest = max([3.0 * claim.bound, *(1.3 * share for share in shares[len(shares) // 20 :])])
    up = Axis(0.0, min(1.0, highest), BOTTOM, TOP)
    across = _rows_axis(claim.n_rows)
    band = [(across(row), up(rate.upper)) for row, rate in zip(rows, rates, strict=True)]
    band += [(across(row), up(rate.lower)) for row, rate in zip(rows[::-1], rates[::-1], strict=True)]
    line = [(across(row), up(share)) for row, share in zip(rows, shares, strict=True)]
    y = up(claim.bound)
    marks = [
        *_percent_lines(up),
        *([mark("polygon", points=_points(band), class_="interval")] if len(rates) > 1 else []),
        *_line(line),
        mark("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, class_="limit"),
        label(LEFT + 4, y - 6, f"certified: at most {claim.bound_text} %", "said halo"),
        *_alarm(across, claim.alarm_row),
        *_below(across, "labelled rows"),
    ]
    told = f"{shares[-1]:.2%} of the latest rows wrong" if shares else "no labelled row yet"
    words = (
        f"After {claim.n_rows} labelled rows: {told}. The band contains the error rate of the "
        f"latest rows, at all times simultaneously, with {100 * (1 - alpha):.12g} % "
        f"confidence. The certified bound is {claim.bound_text} %."
    )
    return Chart(
        f"{name}-rate", f"Error rate of the latest rows{claim.rows_meant}", words, WIDTH, HEIGHT, marks
    )


def evidence_chart(name: str, claim: WatchedClaim, alpha: float) -> Chart:
    """Draw the e-value against a bound, with the line at which the alarm is raised."""
    rows, _, log_e = claim.course()
    title = f"Evidence against the bound{claim.rows_meant}: the e-value"
    points = list(zip(rows.tolist(), log_e.tolist(), strict=True))
    threshold = claim.log_threshold(alpha)
    return _evidence(f"{name}-evidence", title, "labelled rows", points, threshold, claim.alarm_row)


def change_chart(change: ChangeDetector) -> Chart:
    """Draw the e-value of the test of change."""
    points = list(zip(change.trail.rows.tolist(), change.trail.log_e, strict=True))
    if change.n_rows and (not points or points[-1][0] != change.n_rows):
        points.append((change.n_rows, change.log_e))
    title = "Evidence that the rows have changed: the e-value"
    return _evidence("change-evidence", title, "rows", points, -math.log(change.alpha), change.alarm_row)


def _evidence(
    name: str,
    title: str,
    unit: str,
    points: Sequence[tuple[int, float]],
    threshold: float,
    alarm_row: int | None,
) -> Chart:
    values = [min(MOST_E, max(LEAST_E, math.exp(min(log_e, 50.0)))) for _, log_e in points]
    alarm_at = math.exp(threshold)
    low, high = min([0.1, *values]), max([10.0 * alarm_at, *values])
    up, across = Axis(low, high, BOTTOM, TOP, log=True), _rows_axis(points[-1][0] if points else 0)
    line = [(across(row), up(value)) for (row, _), value in zip(points, values, strict=True)]
    y = up(alarm_at)
    marks = [
        *level_lines(up, LEFT, RIGHT),
        *_line(line),
        mark("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, class_="limit"),
        label(LEFT + 4, y - 6, f"alarm at {alarm_at:,.0f}", "said halo"),
        *_alarm(across, alarm_row),
        *_below(across, f"{unit}; the e-value on a logarithmic scale"),
    ]
    last = e_value_text(points[-1][1]) if points else "1"
    raised = f"The alarm was raised after {alarm_row} {unit}." if alarm_row else "No alarm was raised."
    words = f"The e-value is now {last}; the alarm is raised at {alarm_at:,.0f}. {raised}"
    return Chart(name, title, words, WIDTH, HEIGHT, marks)


def _rows_axis(n_rows: int) -> Axis:
    return Axis(0.0, float(max(n_rows, 1)), LEFT, RIGHT)


def _percent_lines(axis: Axis) -> list[Mark]:
    """Return horizontal lines at the ticks of an error rate, in percent."""
    marks = []
    for tick in axis.ticks(4):
        y = axis(tick)
        marks.append(mark("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, class_="grid"))
        marks.append(label(LEFT - 6, y + 4, f"{tick_text(round(100 * tick, 8))} %", "tick", "end"))
    return marks


def _line(points: Sequence[tuple[float, float]]) -> list[Mark]:
    if not points:
        return []
    x, y = points[-1]
    end = mark("circle", cx=x, cy=y, r=4, class_="end")
    return [mark("polyline", points=_points(points), class_="curve"), end] if len(points) > 1 else [end]


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _alarm(across: Axis, row: int | None) -> list[Mark]:
    """Return a vertical line where the alarm was raised, labelled with its row."""
    if row is None:
        return []
    x = across(row)
    right = x < (LEFT + RIGHT) / 2
    place = (x + 5, "start") if right else (x - 5, "end")
    return [
        mark("line", x1=x, x2=x, y1=TOP - 8, y2=BOTTOM, class_="alarm"),
        label(place[0], TOP - 2, f"alarm, row {row}", "said halo", place[1]),
    ]


def _below(across: Axis, text: str) -> list[Mark]:
    """Return the numbers below a chart, and a label that says what they count."""
    marks = [label(across(t), BOTTOM + 18, f"{t:,.0f}", "tick", "middle") for t in across.ticks(4)]
    return [*marks, label((LEFT + RIGHT) / 2, BOTTOM + 38, text, "tick", "middle")]
