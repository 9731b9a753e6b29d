"""Training curves: loss, divergence and bound, phase by phase."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pbgnet.certificates import round_up
from pbgnet.pages import Axis, Chart, Mark, label, level_lines, mark

Record = Mapping[str, Any]

WIDTH, HEIGHT = 300, 240
LEFT, RIGHT, TOP, BOTTOM = 40, 294, 40, 206

# Phases with more points than this are thinned; the difference would be invisible.
MOST_POINTS = 240

# A range wider than this factor is drawn on a logarithmic axis.
LOG_FACTOR = 30.0

PHASES = {
    "members": "the log loss is minimised on the prior rows; the mean over the members that were chosen",
    "members, margins": "the margins of the classes are trained on the prior rows, as far as needed",
    "prior": "the loss is minimised on the prior rows; the result becomes the prior",
    "prior, margins": "the margins of the classes are trained on the prior rows, as far as needed",
    "bound": "the bound is minimised on the certified rows, in mini-batches",
    "bound, polish": "the bound is minimised on all certified rows at once",
    "loss": "the linear loss is minimised on the training rows, in mini-batches",
    "final": "all certified rows after training: the dot at the end of each curve",
}


@dataclass(frozen=True)
class Curve:
    """A quantity that training reports."""

    name: str
    title: str
    key: str  # its key in a record, in any phase
    bound_key: str  # its key in phases that minimise the bound
    unit: str = ""
    is_bound: bool = False

    def text(self, value: float) -> str:
        """Write a value; a bound as in the certificate, so that rounding never makes it smaller."""
        return round_up(value) if self.is_bound else f"{value:.4g}"


CURVES = (
    Curve("log-loss", "Log loss", "log_loss", "log_loss"),
    Curve("margin-loss", "Loss of margins", "margin_loss", "margin_loss"),
    Curve("loss", "Linear loss", "loss", "loss"),
    Curve("divergence", "Divergence from the prior", "divergence", "penalty", "nats"),
    Curve("bound", "Bound on the linear loss", "bound", "objective", is_bound=True),
)


@dataclass(frozen=True)
class Stretch:
    """The values of a curve in one phase, in order."""

    phase: str
    values: list[float]


def read_curve(curve: Curve, history: Sequence[Record]) -> list[Stretch]:
    """Collect a curve from the records of training; phases that do not report it are left out."""
    stretches = []
    for phase, records in itertools.groupby(history, key=lambda record: str(record.get("phase", ""))):
        of_bound = phase.startswith(("bound", "final"))
        keys = (curve.key, curve.bound_key) if of_bound else (curve.key,)
        found = [next((record[key] for key in keys if key in record), None) for record in records]
        values = [float(value) for value in found if isinstance(value, int | float) and math.isfinite(value)]
        if values:
            stretches.append(Stretch(phase, values))
    return stretches


def curve_chart(curve: Curve, history: Sequence[Record]) -> Chart | None:
    """Draw a curve, with a band for each phase; None if nothing was reported."""
    stretches = read_curve(curve, history)
    final = stretches.pop() if stretches and stretches[-1].phase == "final" else None
    if not stretches:
        return None
    values = [value for stretch in [*stretches, *([final] if final else [])] for value in stretch.values]
    axis = _value_axis(values)
    width = (RIGHT - LEFT) / len(stretches)
    marks = [*_bands(stretches, width), *level_lines(axis, LEFT, RIGHT)]
    end = 0.0
    for k, stretch in enumerate(stretches):
        left, last_place = LEFT + k * width, max(1.0, len(stretch.values) - 1.0)
        across = Axis(0.0, last_place, left + 6, LEFT + (k + 1) * width - 6)
        points = [(across(float(i)), axis(value)) for i, value in thin(stretch.values)]
        marks.append(_line(points))
        end = points[-1][0]
    first, last = stretches[0].values[0], (final or stretches[-1]).values[-1]
    marks += [*_end_point(end, axis(last), curve.text(last)), _caption(curve, axis.log)]
    unit = f" {curve.unit}" if curve.unit else ""
    words = (
        f"From {curve.text(first)}{unit} at the first step to {curve.text(last)}{unit} at the end; phases: "
    )
    words += ", ".join(f"{stretch.phase} ({len(stretch.values)} steps)" for stretch in stretches)
    return Chart(f"curve-{curve.name}", curve.title, words + ".", WIDTH, HEIGHT, marks)


def thin(values: Sequence[float]) -> list[tuple[int, float]]:
    """Return at most about `MOST_POINTS` of the values with their positions, keeping ends and extremes."""
    step = math.ceil(2 * len(values) / MOST_POINTS)
    if step <= 1 or len(values) <= MOST_POINTS:
        return list(enumerate(values))
    kept = {0, len(values) - 1}
    for start in range(0, len(values), step):
        block = range(start, min(start + step, len(values)))
        kept |= {min(block, key=values.__getitem__), max(block, key=values.__getitem__)}
    return [(i, values[i]) for i in sorted(kept)]


def _value_axis(values: Sequence[float]) -> Axis:
    low, high = min(values), max(values)
    if low > 0 and high > LOG_FACTOR * low:
        return Axis(low / 1.15, high * 1.15, BOTTOM, TOP, log=True)
    return Axis(min(low, 0.0), high * 1.08 if high > 0 else 1.0, BOTTOM, TOP)


def _bands(stretches: Sequence[Stretch], width: float) -> list[Mark]:
    marks = []
    for k, stretch in enumerate(stretches):
        x, kind = LEFT + k * width, f"band {'odd' if k % 2 else 'even'}"
        steps = f"{len(stretch.values)} step" + ("" if len(stretch.values) == 1 else "s")
        short_name = stretch.phase.rpartition(", ")[2][:24]
        marks += [
            mark("rect", x=x, y=TOP, width=width, height=BOTTOM - TOP, class_=kind),
            label(x + width / 2, TOP - 20, short_name, "phase", "middle"),
            label(x + width / 2, TOP - 7, steps, "tick", "middle"),
        ]
    return marks


def _line(points: Sequence[tuple[float, float]]) -> Mark:
    if len(points) == 1:
        return mark("circle", cx=points[0][0], cy=points[0][1], r=2.5, class_="dot")
    return mark("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_="curve")


def _end_point(x: float, y: float, text: str) -> tuple[Mark, Mark]:
    above = y - 9 if y > TOP + 22 else y + 19
    return mark("circle", cx=x, cy=y, r=4, class_="end"), label(x + 4, above, text, "value halo", "end")


def _caption(curve: Curve, log: bool) -> Mark:
    parts = [part for part in (curve.unit, "logarithmic scale" if log else "") if part]
    text = "training steps, phase by phase" + (f"; {', '.join(parts)}" if parts else "")
    return label((LEFT + RIGHT) / 2, BOTTOM + 22, text, "tick", "middle")
