"""Horizontal bars as text with a line below: they wrap on a phone, and a screen reader can read them."""

from collections.abc import Sequence
from dataclasses import dataclass

from pbgnet.pages.rendering import fill

# If all other bars are below this part of the trivial bar, that bar may be cut off.
CUT_BELOW = 0.4
LARGEST = 1.08


@dataclass(frozen=True)
class Bar:
    """One bar.

    Attributes
    ----------
    name : str
        Its label.
    value : float
        Where it ends, in [0, 1].
    text : str
        The value as text.
    colour : {"certified", "measured", "held-out", "trivial", "wrong"}
    start : float
        Where it begins.
    ticks : tuple of float
        Values marked across it.
    """

    name: str
    value: float
    text: str
    colour: str
    start: float = 0.0
    ticks: tuple[float, ...] = ()


@dataclass(frozen=True)
class Bars:
    """Bars on one scale; a template can print the object directly.

    Attributes
    ----------
    name : str
        Unique in the page.
    title : str
        What the bars compare.
    bars : sequence of Bar
    cut : bool
        Whether trivial bars that would dwarf the others are cut off.

    Examples
    --------
    >>> from pbgnet.pages import Bar, Bars
    >>> bars = Bars("rates", "Error rates", [Bar("ours", 0.1, "10 %", "certified")])
    >>> "width: 92.59%" in bars.__html__()
    True
    """

    name: str
    title: str
    bars: Sequence[Bar]
    cut: bool = False

    @property
    def high(self) -> float:
        """Where the scale ends."""
        ends = [(end, bar.colour) for bar in self.bars for end in (bar.value, *bar.ticks)]
        whole = max([end for end, _ in ends], default=1.0)
        largest = max([end for end, colour in ends if colour != "trivial"], default=whole)
        cut = self.cut and largest < CUT_BELOW * whole
        return max(1e-9, LARGEST * (largest / CUT_BELOW if cut else whole))

    @property
    def drawn(self) -> list[dict[str, object]]:
        """Names, texts and places of the bars, in percent of the width."""
        high = self.high

        def place(value: float) -> str:
            return f"{100 * min(1.0, value / high):.2f}%"

        return [
            {
                "bar": bar,
                "left": place(bar.start),
                "width": place(bar.value - bar.start),
                "ticks": [place(tick) for tick in bar.ticks],
                "cut": bar.value > high,
            }
            for bar in self.bars
        ]

    def __html__(self) -> str:
        return fill(__file__, bars=self)
