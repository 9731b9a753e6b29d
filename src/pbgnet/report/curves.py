"""Training curves: loss, divergence and bound, phase by phase."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pbgnet.certificates.words import round_up
from pbgnet.report.svg import Axis, figure, label, tag, tick_text

__all__ = ["CURVES", "PHASES", "Curve", "Stretch", "curve_chart", "read_curve"]

Record = Mapping[str, Any]

WIDTH, HEIGHT = 300, 240
LEFT, RIGHT, TOP, BOTTOM = 40, 294, 40, 206

# More points than this in a phase are thinned: nobody could see them.
MOST_POINTS = 240

# A range wider than this factor is drawn on a logarithmic axis.
LOG_FACTOR = 30.0

PHASES = {
    "prior": "the linear loss is minimised on the prior rows; the result becomes the prior",
    "bound": "the bound is minimised on the certified rows, in mini-batches",
    "bound, polish": "the bound is minimised on all certified rows at once",
    "loss": "the linear loss is minimised on the training rows, in mini-batches",
    "final": "all certified rows after training: the dot at the end of each curve",
}


@dataclass(frozen=True)
class Curve:
    """A quantity that training reports.

    Attributes
    ----------
    name, title : str
    keys : tuple of str
        Where a record may hold it, in any phase.
    bound_keys : tuple of str
        Where it is held in the phases that minimise the bound.
    unit : str
    is_bound : bool
        Whether its values are bounds, which are rounded up in print.
    """

    name: str
    title: str
    keys: tuple[str, ...]
    bound_keys: tuple[str, ...]
    unit: str = ""
    is_bound: bool = False

    def text(self, value: float) -> str:
        """Write a value; a bound as in the certificate, so that it never shrinks in print.

        Examples
        --------
        >>> from pbgnet.report.curves import CURVES
        >>> CURVES[0].text(0.16131), CURVES[2].text(0.16131)
        ('0.1613', '0.1614')
        """
        return round_up(value) if self.is_bound else f"{value:.4g}"


CURVES = (
    Curve("loss", "Linear loss", ("loss",), ("loss",)),
    Curve("divergence", "Divergence from the prior", ("divergence",), ("penalty",), "nats"),
    Curve("bound", "Bound on the linear loss", ("bound",), ("objective",), is_bound=True),
)


@dataclass(frozen=True)
class Stretch:
    """The values of a curve in one phase, in order."""

    phase: str
    values: list[float]


def read_curve(curve: Curve, history: Sequence[Record]) -> list[Stretch]:
    """Collect a curve from the records of training; phases that do not report it are left out.

    Examples
    --------
    >>> from pbgnet.report.curves import CURVES, read_curve
    >>> read_curve(CURVES[2], [{"phase": "prior", "loss": 0.4, "objective": 0.4},
    ...                        {"phase": "bound", "loss": 0.3, "objective": 0.5}])
    [Stretch(phase='bound', values=[0.5])]
    """
    stretches = []
    for phase, records in itertools.groupby(history, key=lambda record: str(record.get("phase", ""))):
        of_bound = phase.startswith(("bound", "final"))
        keys = (*curve.keys, *curve.bound_keys) if of_bound else curve.keys
        found = [next((record[key] for key in keys if key in record), None) for record in records]
        values = [float(value) for value in found if isinstance(value, int | float) and math.isfinite(value)]
        if values:
            stretches.append(Stretch(phase, values))
    return stretches


def curve_chart(curve: Curve, history: Sequence[Record]) -> str:
    """Draw a curve, each phase in a band of its own; empty text where nothing was reported."""
    stretches = read_curve(curve, history)
    final = stretches.pop() if stretches and stretches[-1].phase == "final" else None
    if not stretches:
        return ""
    values = [value for stretch in [*stretches, *([final] if final else [])] for value in stretch.values]
    axis = _value_axis(values)
    width = (RIGHT - LEFT) / len(stretches)
    parts = [_bands(stretches, width), _value_ticks(axis)]
    points = []
    for k, stretch in enumerate(stretches):
        across = Axis(
            0.0, max(1.0, len(stretch.values) - 1.0), LEFT + k * width + 6, LEFT + (k + 1) * width - 6
        )
        own = [(across(float(i)), axis(value)) for i, value in thin(stretch.values)]
        parts.append(_line(own))
        points.append(own[-1])
    last = final.values[-1] if final else stretches[-1].values[-1]
    parts.append(_end_point(points[-1][0], axis(last), curve.text(last)))
    first = stretches[0].values[0]
    unit = f" {curve.unit}" if curve.unit else ""
    words = (
        f"From {curve.text(first)}{unit} at the first step to {curve.text(last)}{unit} at the end; phases: "
    )
    words += ", ".join(f"{stretch.phase} ({len(stretch.values)} steps)" for stretch in stretches)
    parts.append(_captions(curve, axis.log))
    return figure(f"curve-{curve.name}", curve.title, words + ".", WIDTH, HEIGHT, "".join(parts))


def thin(values: Sequence[float]) -> list[tuple[int, float]]:
    """Return at most about `MOST_POINTS` of the values with their places, ends and extremes kept."""
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
    positive = [value for value in values if value > 0]
    if low > 0 and high > LOG_FACTOR * low:
        return Axis(low / 1.15, high * 1.15, BOTTOM, TOP, log=True)
    if not positive:
        return Axis(min(low, 0.0), 1.0, BOTTOM, TOP)
    return Axis(min(low, 0.0), high * 1.08, BOTTOM, TOP)


def _bands(stretches: Sequence[Stretch], width: float) -> str:
    parts = []
    for k, stretch in enumerate(stretches):
        x = LEFT + k * width
        parts.append(
            tag(
                "rect",
                x=x,
                y=TOP,
                width=width,
                height=BOTTOM - TOP,
                class_=f"band {'odd' if k % 2 else 'even'}",
            )
        )
        parts.append(label(x + width / 2, TOP - 20, _short_name(stretch.phase), "phase", "middle"))
        steps = f"{len(stretch.values)} step" + ("" if len(stretch.values) == 1 else "s")
        parts.append(label(x + width / 2, TOP - 7, steps, "tick", "middle"))
    return "".join(parts)


def _short_name(phase: str) -> str:
    return phase.rpartition(", ")[2][:24]


def _value_ticks(axis: Axis) -> str:
    parts = []
    for tick in axis.ticks(4):
        y = axis(tick)
        parts.append(tag("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, class_="grid"))
        parts.append(label(LEFT - 6, y + 4, tick_text(tick), "tick", "end"))
    return "".join(parts)


def _line(points: Sequence[tuple[float, float]]) -> str:
    if len(points) == 1:
        return tag("circle", cx=points[0][0], cy=points[0][1], r=2.5, class_="dot")
    return tag("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_="curve")


def _end_point(x: float, y: float, text: str) -> str:
    above = y - 9 if y > TOP + 22 else y + 19
    return tag("circle", cx=x, cy=y, r=4, class_="end") + label(x + 4, above, text, "value halo", "end")


def _captions(curve: Curve, log: bool) -> str:
    parts = [part for part in (curve.unit, "logarithmic scale" if log else "") if part]
    text = "training steps, phase by phase" + (f"; {', '.join(parts)}" if parts else "")
    return label((LEFT + RIGHT) / 2, BOTTOM + 22, text, "tick", "middle")
