"""How many rows are answered, and how many wrongly, at each threshold."""

from pbgnet.certificates import Certificate, SelectionEvidence, round_up
from pbgnet.pages import Axis, Chart, label, level_lines, mark, tick_text
from pbgnet.report.class_facts import KeyNumber

WIDTH, HEIGHT = 340, 250
LEFT, RIGHT, TOP, BOTTOM = 44, 328, 16, 200


def answering_numbers(certificate: Certificate) -> tuple[KeyNumber, ...]:
    """Return what is certified about answered rows, if not all rows are answered."""
    claim, unanswered = certificate.answered_error_rate, certificate.unanswered_rate
    share, threshold = certificate.answered_share, certificate.threshold
    if claim is None or unanswered is None or share is None:
        return ()
    if threshold is None:
        return (("answered", "0 %", "of rows are answered: no threshold is certified", True),)
    return (
        ("answered-error", certificate.answered_limit, "bound on the error rate of answered rows", True),
        ("unanswered", round_up(unanswered.value), "bound on the share of rows left unanswered", True),
        (
            "answered",
            f"{100 * share:.1f} %",
            f"of certified rows answered, those with a score of at least {threshold:.4g}",
            False,
        ),
    )


def answering_chart(certificate: Certificate) -> Chart | None:
    """Draw the share of wrong answers against the share of rows answered; None if all rows are answered."""
    claim = certificate.answered_error_rate
    if claim is None or not isinstance(claim.evidence, SelectionEvidence):
        return None
    evidence, n = claim.evidence, claim.evidence.n
    points = [
        (answered / n, wrong / answered)
        for answered, wrong in zip(evidence.answered, evidence.wrong, strict=True)
        if answered
    ]
    if not points:
        return None
    target = claim.value if claim.value < 1 else getattr(claim.settings, "target", None)
    high = 1.15 * max([rate for _, rate in points] + ([] if target is None else [target]))
    across, up = Axis(0.0, 1.0, LEFT, RIGHT), Axis(0.0, high or 0.01, BOTTOM, TOP)
    marks = [*level_lines(up, LEFT, RIGHT)]
    marks += [label(across(tick), BOTTOM + 17, tick_text(tick), "tick", "middle") for tick in across.ticks(5)]
    marks.append(label((LEFT + RIGHT) / 2, BOTTOM + 38, "share of certified rows answered", "tick", "middle"))
    if target is not None:
        marks.append(mark("line", x1=LEFT, x2=RIGHT, y1=up(target), y2=up(target), class_="diagonal"))
        marks.append(label(LEFT + 4, up(target) - 5, f"at most {target:.4g}", "tick halo"))
    line = " ".join(f"{across(share):.1f},{up(rate):.1f}" for share, rate in points)
    marks.append(mark("polyline", points=line, class_="curve"))
    ends = f"from {_told(*points[0])} to {_told(*points[-1])}"
    words = f"Share of wrong answers at {len(points)} thresholds, {ends}."
    share = certificate.answered_share
    if certificate.threshold is not None and share:
        rate = next(rate for answered, rate in points if answered == share)
        marks.append(mark("circle", cx=across(share), cy=up(rate), r=4, class_="end"))
        words += f" Certified: {_told(share, rate)}."
    return Chart(
        "chart-answering", "Wrong answers by the share of rows answered", words, WIDTH, HEIGHT, marks
    )


def _told(share: float, rate: float) -> str:
    return f"{100 * share:.1f} % of rows answered and {100 * rate:.2f} % of them wrong"
