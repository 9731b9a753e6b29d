"""The bound beside what was measured, the held-out bound and the trivial one."""

from dataclasses import dataclass

from pbgnet.certificates import Certificate
from pbgnet.certificates.words import round_up
from pbgnet.report.svg import Axis, figure, label, tag, tick_text

__all__ = ["Bar", "bar_chart", "error_rate_bars", "linear_loss_bars"]

WIDTH, ROW, TOP, AXIS = 420, 46, 4, 26

# Where all but the trivial bar lie below this, the trivial one is drawn cut off.
CUT_BELOW = 0.45


@dataclass(frozen=True)
class Bar:
    """One bar: its words, value, printed value and class of colour."""

    name: str
    value: float
    text: str
    colour: str


def linear_loss_bars(certificate: Certificate) -> list[Bar]:
    """Return what is known of the linear loss of the aggregate."""
    inputs, held_out = certificate.inputs, certificate.held_out
    return [
        Bar(
            "Measured on the certified rows",
            inputs.empirical_risk,
            f"{inputs.empirical_risk:.4f}",
            "measured",
        ),
        Bar(
            "Certified by this bound", certificate.bound.value, round_up(certificate.bound.value), "certified"
        ),
        Bar(
            "Held-out bound of the prior alone",
            held_out.risk_bound,
            round_up(held_out.risk_bound),
            "held-out",
        ),
        Bar("Trivial bound", 1.0, "1", "trivial"),
    ]


def error_rate_bars(certificate: Certificate) -> list[Bar]:
    """Return what is known of the error rate of the vote."""
    inputs, held_out, bound = certificate.inputs, certificate.held_out, certificate.bound
    rate = inputs.empirical_error_rate
    return [
        Bar("Measured on the certified rows", rate, f"{rate:.4f}", "measured"),
        Bar(
            "Certified by this bound (twice the loss)",
            bound.error_rate_bound,
            round_up(bound.error_rate_bound),
            "certified",
        ),
        Bar(
            "Held-out bound of the prior alone",
            held_out.error_rate_bound,
            round_up(held_out.error_rate_bound),
            "held-out",
        ),
        Bar("Trivial bound", 1.0, "1", "trivial"),
    ]


def bar_chart(name: str, title: str, bars: list[Bar]) -> str:
    """Draw horizontal bars, each under its words and value.

    Examples
    --------
    >>> from pbgnet.report.bars import Bar, bar_chart
    >>> bars = [Bar("small", 0.1, "0.1", "certified"), Bar("trivial", 1.0, "1", "trivial")]
    >>> "cut off" in bar_chart("chart", "Two bounds", bars)
    True
    """
    largest = max([bar.value for bar in bars if bar.colour != "trivial"], default=1.0)
    high = 1.0 if largest >= CUT_BELOW else max(largest * 1.25, 0.01)
    axis = Axis(0.0, high, 0.0, WIDTH - 12.0)
    bottom = TOP + ROW * len(bars)
    parts = []
    for tick in axis.ticks(4):
        x = axis(tick)
        anchor = "start" if x < 8 else "middle"
        parts.append(tag("line", x1=x, x2=x, y1=TOP, y2=bottom, class_="grid"))
        parts.append(label(x, bottom + 17, tick_text(tick), "tick", anchor))
    for k, bar in enumerate(bars):
        y = TOP + k * ROW
        cut = bar.value > high
        length = max(2.0, axis(bar.value)) + (8.0 if cut else 0.0)
        parts.append(label(0, y + 15, bar.name, "name halo"))
        parts.append(label(WIDTH - 12, y + 15, bar.text, "value halo", "end"))
        parts.append(tag("rect", x=0, y=y + 21, width=length, height=15, rx=2, class_=f"bar {bar.colour}"))
        if cut:
            points = (
                f"{WIDTH - 46},{y + 39} {WIDTH - 36},{y + 18} {WIDTH - 28},{y + 18} {WIDTH - 38},{y + 39}"
            )
            parts.append(tag("polygon", points=points, class_="gap"))
    words = ", ".join(f"{bar.name}: {bar.text}" for bar in bars)
    if largest < CUT_BELOW:
        words += ". The bar of the trivial bound is cut off."
    return figure(name, title, words, WIDTH, bottom + AXIS, "".join(parts))
