"""The bound beside what was measured, what other routes give, and what can be had without learning."""

from collections.abc import Mapping
from dataclasses import dataclass

from pbgnet.certificates import Certificate, Claim, DisagreementSubject, round_up
from pbgnet.pages import Axis, Chart, label, mark, tick_text
from pbgnet.report.kept import ErrorCount

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


def loss_bars(certificate: Certificate) -> list[Bar]:
    """Return what is known of the linear loss of the aggregate, or of the loss of a classifier, if any."""
    if certificate.of_network:
        measured = _measured(MEASURED, certificate.network.empirical_risk)
        # With several outputs the linear loss of always the same answer depends on the code.
        trivial = _trivial(certificate) if certificate.network.network.n_outputs == 1 else []
        return [measured, *_claimed(certificate, "linear loss"), *trivial]
    claim = certificate.expected_loss
    if claim is None:
        return []
    return [_measured(MEASURED, claim.empirical_risk), *_claimed(certificate, claim.quantity)]


def hamming_bars(certificate: Certificate, measured: float | None = None) -> list[Bar]:
    """Return what is known of the share of wrong labels, where rows have several.

    What was measured is in the certificate where it was counted; PAC-Bayes bounds rest on other numbers.
    """
    claim = certificate.hamming_loss
    if claim is None:
        return []
    if measured is None and claim.route == "betting":
        measured = claim.empirical_risk
    bars = [] if measured is None else [_measured(MEASURED, measured)]
    return [*bars, *_claimed(certificate, claim.quantity)]


def error_rate_bars(
    certificate: Certificate, tested: ErrorCount | None = None, others: Mapping[str, Claim] | None = None
) -> list[Bar]:
    """Return what is known of the error rate of the classifier, and of others on the same rows."""
    bars = []
    if not isinstance(certificate.subject, DisagreementSubject):
        bars.append(_measured(MEASURED, certificate.inputs.empirical_error_rate))
    if tested is not None:
        bars.append(_measured(tested.name, tested.n_errors / tested.n_rows))
    alternatives = [
        Bar(f"Alternative: {name.replace('_', ' ')}", claim.value, round_up(claim.value), "held-out")
        for name, claim in (others or {}).items()
    ]
    return [*bars, *_claimed(certificate, "error rate"), *alternatives, *_trivial(certificate)]


def _trivial(certificate: Certificate) -> list[Bar]:
    """Return what can be had without learning: always the same answer, where the rows have labels.

    Its linear loss, with one output, is its error rate.
    """
    if certificate.majority is None:
        return []
    rate = certificate.majority.error_rate
    kind = "labels" if certificate.of_labels else "class"
    return [Bar(f"Trivial: always the most frequent {kind}", rate, f"{rate:.4f}", "trivial")]


def _measured(name: str, value: float) -> Bar:
    return Bar(name, value, f"{value:.4f}", "measured")


def _claimed(certificate: Certificate, quantity: str) -> list[Bar]:
    """Return the bounds: what is claimed first, then the alternatives."""
    claimed = [c for c in certificate.claims if c.quantity == quantity and c.overall]
    others = [c for c in certificate.alternatives if c.quantity == quantity]
    groups = (("Certified", "certified", claimed), ("For comparison", "held-out", others))
    return [
        Bar(f"{heading}: {certificate.words_of(claim)}", claim.value, round_up(claim.value), colour)
        for heading, colour, claims in groups
        for claim in claims
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
