"""Which columns, thresholds and categories matter: charts and words."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.pages import Axis, Chart, Mark, label, mark, tick_text
from pbgnet.report.class_facts import short
from pbgnet.report.columns.effects import Effect, Effects

WIDTH, HEIGHT = 300, 240
LEFT, RIGHT, TOP, BOTTOM = 40, 294, 26, 200
NAMED_LEFT, ROW = 2, 28

MOST_STEPS = 3
"""Most thresholds of a column that are named."""

MOST_NAMED = 6
"""Most categories of a column that are drawn: those that occur and have the largest effect."""

LEAST_SHARE = 0.01
"""Values of a smaller share of the rows are neither named nor drawn."""

# A threshold that explains less of the variation of the curve is not named.
LEAST_EXPLAINED = 0.05

# A range of positive numbers wider than this factor is drawn on a logarithmic axis.
LOG_FACTOR = 50.0


@dataclass(frozen=True)
class Step:
    """A threshold, and how the mean share of the vote differs between the intervals on its two sides."""

    threshold: float
    change: float


def main_steps(effect: Effect) -> list[Step]:
    """Return the thresholds that best divide the curve of a column into nearly constant intervals.

    They are found one by one: each removes most of the squared distance between the curve and the mean of its
    interval, over the rows.

    Returns
    -------
    list of Step
        In the order of thresholds.
    """
    count = effect.grid.n_numbers
    levels, shares = effect.levels[:count], effect.grid.shares[:count]
    total = _scatter(levels, shares)
    cuts = [0, count]
    while len(cuts) < MOST_STEPS + 2 and total > 0:
        gain, cut = max(
            (_best_cut(levels, shares, start, stop) for start, stop in itertools.pairwise(cuts)),
            default=(0.0, 0),
        )
        if gain < LEAST_EXPLAINED * total:
            break
        cuts = sorted([*cuts, cut])
    means = [_mean(levels[a:b], shares[a:b]) for a, b in itertools.pairwise(cuts)]
    return [
        Step(float(effect.grid.thresholds[cut - 1]), means[k + 1] - means[k])
        for k, cut in enumerate(cuts[1:-1])
    ]


def named_levels(effect: Effect) -> list[tuple[str, float]]:
    """Return the categories that occur, or "missing", and how far each moves the share from its mean."""
    shares, mean = effect.grid.shares, _mean(effect.levels, effect.grid.shares)
    first = effect.grid.n_numbers
    return [
        (name, float(effect.levels[first + k]) - mean)
        for k, name in enumerate(effect.grid.names)
        if shares[first + k] >= LEAST_SHARE
    ]


def effect_sections(
    effects: Effects, classes: Sequence[str], several_labels: bool = False
) -> list[dict[str, Any]]:
    """Return name, importance, chart and words of each column that is shown.

    Parameters
    ----------
    effects : Effects
    classes : sequence of str
        Names of all classes; for two, shares are those of the vote.
    several_labels : bool, default=False
        Whether these are labels that a row may have together, each with its own vote.
    """
    share = "vote for" if several_labels or len(classes) == 2 else "share of"
    levels = np.concatenate([_drawn_levels(effect) for effect in effects.shown] or [np.zeros(1)])
    low, high = float(levels.min()), float(levels.max())
    room = max(0.02, 0.06 * (high - low))
    ends = max(0.0, low - room), min(1.0, high + room)
    sections = []
    for k, effect in enumerate(effects.shown):
        draw = _curve if effect.grid.n_numbers > 1 else _named
        words = effect_words(effect)
        caption = f"{share} {classes[effect.answer]}"
        sections.append(
            {
                "name": effect.grid.name,
                "importance": points(effect.importance, sign=False),
                "chart": draw(f"effect-{k}", effect, ends, caption, words),
                "words": words if effect.grid.n_numbers > 1 else [],  # the chart of categories has them
            }
        )
    return sections


def effect_words(effect: Effect) -> list[str]:
    """Say what a column does: its thresholds, then its categories or the effect of a missing number."""
    steps = [f"from {effect.grid.write(s.threshold)} up: {points(s.change)}" for s in main_steps(effect)]
    return [*steps, *(f"{name}: {points(change)}" for name, change in _largest(named_levels(effect)))]


def points(change: float, *, sign: bool = True) -> str:
    """Write a change of a share in percentage points.

    Examples
    --------
    >>> from pbgnet.report.columns.effect_charts import points
    >>> points(0.1234), points(-0.004), points(0.05, sign=False)
    ('+12.3 points', '\N{MINUS SIGN}0.4 points', '5.0 points')
    """
    written = f"{100 * change:+.1f}" if sign else f"{100 * change:.1f}"
    return f"{written.replace('-', chr(0x2212))} points"


def _best_cut(
    levels: NDArray[np.float64], shares: NDArray[np.float64], start: int, stop: int
) -> tuple[float, int]:
    """Return how much of the variation the best cut of an interval removes, and where it is."""
    weight, value = np.cumsum(shares[start:stop]), np.cumsum((shares * levels)[start:stop])
    left, right = weight[:-1], weight[-1] - weight[:-1]
    allowed = (left >= LEAST_SHARE) & (right >= LEAST_SHARE)
    if not allowed.any():
        return 0.0, start
    a, b = np.maximum(left, LEAST_SHARE), np.maximum(right, LEAST_SHARE)
    gains = np.where(allowed, a * b / weight[-1] * (value[:-1] / a - (value[-1] - value[:-1]) / b) ** 2, 0.0)
    return float(gains.max()), start + 1 + int(gains.argmax())


def _scatter(levels: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
    return float(np.sum(shares * (levels - _mean(levels, shares)) ** 2))


def _mean(levels: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
    return float(np.sum(shares * levels) / np.sum(shares)) if np.any(shares > 0) else 0.0


def _largest(changes: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return those that change most, from the largest increase to the largest decrease."""
    most = sorted(changes, key=lambda each: -abs(each[1]))[:MOST_NAMED]
    return sorted(most, key=lambda each: -each[1])


def _inner(effect: Effect) -> slice:
    """Return the thresholds with some rows on both sides; all if there are none."""
    upto = np.cumsum(effect.grid.shares[: effect.grid.n_numbers])
    inside = np.flatnonzero((upto[:-1] >= LEAST_SHARE) & (upto[:-1] <= upto[-1] - LEAST_SHARE))
    return slice(int(inside[0]), int(inside[-1]) + 1) if inside.size else slice(0, upto.size - 1)


def _drawn_levels(effect: Effect) -> NDArray[np.float64]:
    if effect.grid.n_numbers > 1:
        inner = _inner(effect)
        return effect.levels[inner.start : inner.stop + 1]
    mean = _mean(effect.levels, effect.grid.shares)
    return np.array([mean, *(mean + change for _, change in named_levels(effect))])


def _curve(name: str, effect: Effect, ends: tuple[float, float], caption: str, words: Sequence[str]) -> Chart:
    """Draw how the share goes up and down in steps as a number increases."""
    inner = _inner(effect)
    thresholds, levels = effect.grid.thresholds[inner], effect.levels[inner.start : inner.stop + 1]
    across, up = _across(thresholds), Axis(*ends, BOTTOM, TOP)
    xs = [float(LEFT), *(across(float(t)) for t in thresholds), float(RIGHT)]
    corners = [
        f"{x:.1f},{up(float(level)):.1f}"
        for level, left, right in zip(levels, xs[:-1], xs[1:], strict=True)
        for x in (left, right)
    ]
    marks = []
    for tick in up.ticks(4):
        marks.append(mark("line", x1=LEFT, x2=RIGHT, y1=up(tick), y2=up(tick), class_="grid"))
        marks.append(label(LEFT - 6, up(tick) + 4, _percent(tick), "tick", "end"))
    for step in main_steps(effect):
        x = across(step.threshold)
        marks.append(mark("line", x1=x, x2=x, y1=TOP, y2=BOTTOM, class_="diagonal"))
    marks.append(mark("polyline", points=" ".join(corners), class_="curve"))
    marks += [
        label(across(tick), BOTTOM + 16, effect.grid.write(tick), "tick", "middle")
        for tick in across.ticks(3)
    ]
    return _chart(name, effect, caption, marks, words)


def _named(name: str, effect: Effect, ends: tuple[float, float], caption: str, words: Sequence[str]) -> Chart:
    """Draw how far each category moves the share from its mean."""
    across = Axis(*ends, NAMED_LEFT, RIGHT)
    mean = _mean(effect.levels, effect.grid.shares)
    marks = []
    for tick in across.ticks(4):
        x = across(tick)
        marks.append(mark("line", x1=x, x2=x, y1=TOP, y2=BOTTOM, class_="grid"))
        anchor = "start" if x < 20 else "end" if x > WIDTH - 20 else "middle"
        marks.append(label(x, BOTTOM + 16, _percent(tick), "tick", anchor))
    marks.append(mark("line", x1=across(mean), x2=across(mean), y1=TOP, y2=BOTTOM, class_="zero"))
    for k, (category, change) in enumerate(_largest(named_levels(effect))):
        y, places = TOP + k * ROW, sorted((across(mean), across(mean + change)))
        width = max(1.5, places[1] - places[0])
        marks.append(mark("rect", x=places[0], y=y + 15, width=width, height=9, rx=2, class_="bar certified"))
        marks.append(label(NAMED_LEFT, y + 11, short(category, 30), "phase halo"))
        marks.append(label(RIGHT, y + 11, points(change).removesuffix(" points"), "phase halo", "end"))
    return _chart(name, effect, caption, marks, words)


def _across(thresholds: NDArray[np.float64]) -> Axis:
    low, high = float(thresholds[0]), float(thresholds[-1])
    start, stop = LEFT + 16.0, RIGHT - 16.0  # the first and the last bin are open-ended
    if low > 0 and high > LOG_FACTOR * low:
        return Axis(low, high, start, stop, log=True)
    return Axis(low, high, start, stop)


def _chart(name: str, effect: Effect, caption: str, marks: Sequence[Mark], words: Sequence[str]) -> Chart:
    title = f"{caption[0].upper()}{caption[1:]} by {effect.grid.name}"
    told = "; ".join(words) or "No threshold stands out"
    above = label(0, TOP - 12, short(caption, 43), "tick")
    return Chart(name, title, f"{told}.", WIDTH, HEIGHT, [*marks, above])


def _percent(share: float) -> str:
    return f"{tick_text(round(100 * share, 6))} %"
