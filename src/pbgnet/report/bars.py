"""The bound beside what was measured, what other routes give, and what can be had without learning."""

from dataclasses import dataclass

from pbgnet.certificates import Certificate, Claim
from pbgnet.certificates.words import round_up
from pbgnet.report.svg import Axis, figure, label, tag, tick_text

__all__ = [
    "Bar",
    "Yardsticks",
    "bar_chart",
    "claim_name",
    "error_rate_bars",
    "loss_bars",
]

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
    test_error, test_rows : float, int or None
        Error rate of the classifier on a test set, and its number of rows.
    n_classes : int
        Number of classes between which a guess is made.
    """

    minority: float | None = None
    test_error: float | None = None
    test_rows: int | None = None
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
    if certificate.network is None:
        claim = certificate.expected_loss
        if claim is None:
            return []
        mean = claim.evidence.empirical_risk
        return [Bar(MEASURED, mean, f"{mean:.4f}", "measured"), *_claimed(certificate, claim.quantity)]
    risk = certificate.inputs.empirical_risk
    measured = [] if risk is None else [Bar(MEASURED, risk, f"{risk:.4f}", "measured")]
    return [*measured, *_claimed(certificate, "linear loss"), yardsticks.trivial()]


def error_rate_bars(certificate: Certificate, yardsticks: Yardsticks) -> list[Bar]:
    """Return what is known of the error rate of the classifier."""
    rate = certificate.inputs.empirical_error_rate
    bars = [Bar(MEASURED, rate, f"{rate:.4f}", "measured")] if certificate.reference is None else []
    if yardsticks.test_error is not None:
        name = f"Measured on {yardsticks.test_rows} test rows"
        bars.append(Bar(name, yardsticks.test_error, f"{yardsticks.test_error:.4f}", "measured"))
    return [*bars, *_claimed(certificate, "error rate"), yardsticks.trivial()]


def claim_name(claim: Claim) -> str:
    """Return a few words for the route of a claim and the predictor it speaks of.

    Examples
    --------
    >>> from pbgnet.certificates import Claim, Evidence
    >>> from pbgnet.report.bars import claim_name
    >>> none = Evidence(9, 0, n_errors=0)
    >>> claim_name(Claim("error rate", "prior's vote", "clopper-pearson", 0.1, 0.05, none))
    'held-out count, prior alone'
    """
    inner = "the mixture" if claim.settings.c is not None else "the kl bound"
    name = {
        "seeger": "kl bound",
        "catoni-mixture": "Catoni's mixture",
        "doubled": f"twice {inner}",
        "vote": f"vote of {claim.settings.n_networks} networks",
        "clopper-pearson": "held-out count",
        "chernoff": "held-out bound",
        "disagreement": "disagreement",
    }[claim.route]
    if claim.predictor.startswith("prior's"):
        return f"{name}, prior alone"
    return f"{name}, posterior not kept" if claim.predictor.startswith("discarded") else name


def _claimed(certificate: Certificate, quantity: str) -> list[Bar]:
    """Return the bounds: what is claimed first, then the alternatives."""
    claimed = [c for c in certificate.claims if c.quantity == quantity and c.given_class is None]
    others = [c for c in certificate.alternatives if c.quantity == quantity]
    return [
        *(Bar(f"Certified: {claim_name(c)}", c.value, round_up(c.value), "certified") for c in claimed),
        *(Bar(f"For comparison: {claim_name(c)}", c.value, round_up(c.value), "held-out") for c in others),
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
    if any(bar.value > high for bar in bars):
        words += ". The bar of the trivial bound is cut off."
    return figure(name, title, words, WIDTH, bottom + AXIS, "".join(parts))
