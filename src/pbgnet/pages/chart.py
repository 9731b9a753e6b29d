"""Charts as data: marks with attributes, which a template writes as SVG.

Colours are classes of the style sheet, so a chart follows the reader's light or dark scheme.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pbgnet.pages.axis import Axis, tick_text
from pbgnet.pages.rendering import fill


@dataclass(frozen=True)
class Mark:
    """An element of a chart: its kind, its attributes as SVG names them, and its words."""

    kind: str
    attributes: dict[str, str]
    text: str = ""


def mark(kind: str, text: str = "", **attributes: object) -> Mark:
    """Return a mark; underscores become hyphens, ``class_`` is ``class``, numbers are shortened.

    Examples
    --------
    >>> from pbgnet.pages import mark
    >>> mark("rect", x=1 / 3, class_="bar", stroke_width=2).attributes
    {'x': '0.33', 'class': 'bar', 'stroke-width': '2'}
    """
    written = {key.rstrip("_").replace("_", "-"): _short(value) for key, value in attributes.items()}
    return Mark(kind, written, text)


def label(x: float, y: float, text: str, class_: str = "", anchor: str = "start") -> Mark:
    """Return a line of text in a chart."""
    return mark("text", text, x=x, y=y, class_=class_, text_anchor=anchor)


def level_lines(axis: Axis, left: float, right: float) -> list[Mark]:
    """Return horizontal lines at the ticks of a vertical axis, with their numbers on the left."""
    marks = []
    for tick in axis.ticks(4):
        y = axis(tick)
        marks.append(mark("line", x1=left, x2=right, y1=y, y2=y, class_="grid"))
        marks.append(label(left - 6, y + 4, tick_text(tick), "tick", "end"))
    return marks


@dataclass(frozen=True)
class Chart:
    """A chart that a screen reader can announce; a template can print the object directly.

    Attributes
    ----------
    name : str
        Unique in the page.
    title, description : str
        What is drawn, in words.
    width, height : float
    marks : sequence of Mark
    """

    name: str
    title: str
    description: str
    width: float
    height: float
    marks: Sequence[Mark]

    def __html__(self) -> str:
        return fill(__file__, chart=self)


def _short(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
