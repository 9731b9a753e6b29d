"""Two charts over the rows: how the bound decreases, and how the probability of reaching the claim grows."""

import math
from collections.abc import Sequence

from pbgnet.certificates import percent, round_up
from pbgnet.pages import Axis, Chart, Mark, label, level_lines, mark
from pbgnet.planning.by_rows import bound_by_rows
from pbgnet.planning.goal import Goal
from pbgnet.planning.parts import chance_of_claim
from pbgnet.planning.plan import SPAN, Plan
from pbgnet.planning.words import decimals

WIDTH, HEIGHT = 420, 300
LEFT, RIGHT, TOP, BOTTOM = 48, 408, 26, 256

N_POINTS = 160
"""Number of points, enough to show the sawtooth."""


def bound_chart(plan: Plan) -> Chart:
    """Draw the bound against the rows, with the expected error rate and the claim."""
    across = _rows_axis(plan)
    points = bound_by_rows(plan.error, _rows(across), plan.confidence, n_claims=plan.n_parts)
    up = Axis(0.0, min(1.0, 1.08 * max(point.bound for point in points)), BOTTOM, TOP)
    marks = [
        *level_lines(up, LEFT, RIGHT),
        *_rows_marks(plan, across),
        *_level(up(plan.claim), f"claim {percent(plan.claim)} %", "diagonal"),
        *(_level(up(plan.error), f"error rate {percent(plan.error)} %", "zero", True) if plan.error else ()),
        _curve([(across(point.rows), up(point.bound)) for point in points]),
        *_needed(plan, across, up(plan.claim)),
        label(LEFT, TOP - 12, "bound on the error rate", "tick"),
    ]
    first, last = points[0], points[-1]
    bounds = [round_up(point.bound, decimals(plan)) for point in (first, last)]
    words = (
        f"From {bounds[0]} with {first.rows} rows to {bounds[1]} with {last.rows} rows; the claim of "
        f"{percent(plan.claim)} % is reached with {plan.overall.own_rows} rows."
    )
    return Chart("bound-by-rows", "How the bound falls as rows are added", words, WIDTH, HEIGHT, marks)


def chance_chart(plan: Plan) -> Chart:
    """Draw the probability of reaching the claim against the rows, if the error rate is as expected."""
    across, up = _rows_axis(plan), Axis(0.0, 1.0, BOTTOM, TOP)
    goal = Goal(plan.error, plan.claim, plan.delta)
    chances = [(n, chance_of_claim(goal, n)) for n in _rows(across)]
    marks = [
        *level_lines(up, LEFT, RIGHT),
        *_rows_marks(plan, across),
        *_level(up(plan.chance), f"chance {percent(plan.chance)} %", "diagonal"),
        _curve([(across(n), up(chance)) for n, chance in chances]),
        label(LEFT, TOP - 12, "chance of reaching the claim", "tick"),
    ]
    words = "; ".join(f"{n} rows: {chance:.2f}" for n, chance in chances[:: N_POINTS // 8])
    return Chart("chance-by-rows", "The chance of reaching the claim", words + ".", WIDTH, HEIGHT, marks)


def _rows_axis(plan: Plan) -> Axis:
    needed = plan.overall.own_rows
    return Axis(max(1.0, needed / SPAN), max(10.0, needed * SPAN), LEFT, RIGHT - 6, log=True)


def _rows(across: Axis) -> list[int]:
    """Return whole numbers of rows, evenly spaced on a logarithmic axis."""
    low, high = math.log(across.low), math.log(across.high)
    places = (low + (high - low) * k / (N_POINTS - 1) for k in range(N_POINTS))
    return sorted({max(1, round(math.exp(place))) for place in places})


def _rows_marks(plan: Plan, across: Axis) -> list[Mark]:
    ticks = across.ticks(4)
    what = "certified rows" if plan.answered == 1 else "answered certified rows"
    return [
        *(mark("line", x1=across(n), x2=across(n), y1=TOP, y2=BOTTOM, class_="grid") for n in ticks),
        *(label(across(n), BOTTOM + 16, _short(n), "tick", "middle") for n in ticks),
        label((LEFT + RIGHT) / 2, HEIGHT - 8, f"{what}, logarithmic scale", "tick", "middle"),
    ]


def _level(y: float, text: str, class_: str, below: bool = False) -> tuple[Mark, Mark]:
    return (
        mark("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, class_=class_),
        label(RIGHT, y + 14 if below else y - 5, text, "tick halo", "end"),
    )


def _needed(plan: Plan, across: Axis, y: float) -> tuple[Mark, Mark]:
    n = plan.overall.own_rows
    x = across(n)
    return mark("circle", cx=x, cy=y, r=4, class_="end"), label(x + 8, y - 9, f"{n:,}", "value halo")


def _curve(points: Sequence[tuple[float, float]]) -> Mark:
    return mark("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_="curve")


def _short(n: float) -> str:
    """Write a number of rows in few characters: 20k for 20,000."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if n >= size:
            return f"{n / size:g}{letter}"
    return f"{n:g}"
