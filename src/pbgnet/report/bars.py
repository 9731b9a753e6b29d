"""The bound beside what was measured, what other routes give, and what can be had without learning."""

from dataclasses import dataclass

from pbgnet.certificates import Certificate, DisagreementSubject, round_up
from pbgnet.pages import Axis, Chart, label, mark, tick_text

MEASURED = "Measured on the certified rows"

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


@dataclass(frozen=True)
class Yardsticks:
    """What bounds are compared with, besides each other.

    Attributes
    ----------
    minority : float or None
        Share of the rarer class: how often it errs to answer always with the other one.
    tested : pair of int or None
        Errors of the classifier on a test set, and its number of rows.
    n_classes : int
        Number of classes between which a guess is made.
    """

    minority: float | None = None
    tested: tuple[int, int] | None = None
    n_classes: int = 2

    def trivial(self) -> Bar:
        """Return what can be had without learning."""
        if self.n_classes > 2:
            rate = 1 - 1 / self.n_classes
            return Bar(f"Trivial: a guess among {self.n_classes} classes", rate, f"{rate:.4f}", "trivial")
        if self.minority is None:
            return Bar("Trivial: a toss of a coin", 0.5, "0.5", "trivial")
        name = "Trivial: always the more frequent class"
        return Bar(name, self.minority, f"{self.minority:.4f}", "trivial")


def loss_bars(certificate: Certificate, yardsticks: Yardsticks) -> list[Bar]:
    """Return what is known of the linear loss of the aggregate, or of the loss of a classifier, if any."""
    if certificate.of_network:
        measured = _measured(MEASURED, certificate.network.empirical_risk)
        return [measured, *_claimed(certificate, "linear loss"), yardsticks.trivial()]
    claim = certificate.expected_loss
    if claim is None:
        return []
    return [_measured(MEASURED, claim.empirical_risk), *_claimed(certificate, claim.quantity)]


def error_rate_bars(certificate: Certificate, yardsticks: Yardsticks) -> list[Bar]:
    """Return what is known of the error rate of the classifier."""
    bars = []
    if not isinstance(certificate.subject, DisagreementSubject):
        bars.append(_measured(MEASURED, certificate.inputs.empirical_error_rate))
    if yardsticks.tested is not None:
        n_errors, n_rows = yardsticks.tested
        bars.append(_measured(f"Measured on {n_rows} test rows", n_errors / n_rows))
    return [*bars, *_claimed(certificate, "error rate"), yardsticks.trivial()]


def _measured(name: str, value: float) -> Bar:
    return Bar(name, value, f"{value:.4f}", "measured")


def _claimed(certificate: Certificate, quantity: str) -> list[Bar]:
    """Return the bounds: what is claimed first, then the alternatives."""
    claimed = [c for c in certificate.claims if c.quantity == quantity and c.given_class is None]
    others = [c for c in certificate.alternatives if c.quantity == quantity]
    return [
        *(Bar(f"Certified: {c.words}", c.value, round_up(c.value), "certified") for c in claimed),
        *(Bar(f"For comparison: {c.words}", c.value, round_up(c.value), "held-out") for c in others),
    ]


def bar_chart(name: str, title: str, bars: list[Bar]) -> Chart:
    """Draw horizontal bars, each under its words and value."""
    largest = max([bar.value for bar in bars if bar.colour != "trivial"], default=1.0)
    high = 1.0 if largest >= CUT_BELOW else max(largest * 1.25, 0.01)
    axis = Axis(0.0, high, 0.0, WIDTH - 12.0)
    bottom = TOP + ROW * len(bars)
    marks = []
    for tick in axis.ticks(4):
        x = axis(tick)
        anchor = "start" if x < 8 else "middle"
        marks.append(mark("line", x1=x, x2=x, y1=TOP, y2=bottom, class_="grid"))
        marks.append(label(x, bottom + 17, tick_text(tick), "tick", anchor))
    for k, bar in enumerate(bars):
        y = TOP + k * ROW
        cut = bar.value > high
        length = max(2.0, axis(bar.value)) + (8.0 if cut else 0.0)
        marks.append(label(0, y + 15, bar.name, "name halo"))
        marks.append(label(WIDTH - 12, y + 15, bar.text, "value halo", "end"))
        marks.append(mark("rect", x=0, y=y + 21, width=length, height=15, rx=2, class_=f"bar {bar.colour}"))
        if cut:
            points = (
                f"{WIDTH - 46},{y + 39} {WIDTH - 36},{y + 18} {WIDTH - 28},{y + 18} {WIDTH - 38},{y + 39}"
            )
            marks.append(mark("polygon", points=points, class_="gap"))
    words = ", ".join(f"{bar.name}: {bar.text}" for bar in bars)
    if any(bar.value > high for bar in bars):
        words += ". The bar of the trivial bound is cut off."
    return Chart(name, title, words, WIDTH, bottom + AXIS, marks)
