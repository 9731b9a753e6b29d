"""How good the bound is: beside what was measured, other routes, a test set and no learning at all."""

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates import Certificate
from pbgnet.certificates.words import round_up
from pbgnet.report import words
from pbgnet.report.bars import Yardsticks, bar_chart, claim_name, error_rate_bars, loss_bars
from pbgnet.report.sections import paragraph, section
from pbgnet.report.svg import tag

__all__ = ["comparison", "verdict", "yardsticks"]


def yardsticks(signs: NDArray[np.float64], tested: tuple[int, int] | None = None) -> Yardsticks:
    """Measure what the bounds are compared with.

    Parameters
    ----------
    signs : ndarray
        Labels of the certified rows, -1 and 1.
    tested : pair of int, optional
        Number of errors on a test set, and of its rows.
    """
    share = float(np.mean(signs > 0))
    minority = min(share, 1.0 - share)
    return Yardsticks(minority) if tested is None else Yardsticks(minority, tested[0] / tested[1], tested[1])


def comparison(certificate: Certificate, measured: Yardsticks) -> str:
    """Return the section."""
    loss, rate = loss_bars(certificate, measured), error_rate_bars(certificate, measured)
    charts = (
        tag("h3", "Error rate of the classifier")
        + bar_chart("chart-errors", "Bounds on the error rate", rate),
        tag("h3", "Linear loss of the aggregate")
        + bar_chart("chart-loss", "Bounds on the linear loss", loss),
    )
    return section(
        "How good is the bound?",
        paragraph(words.TWO_LOSSES),
        tag("div", "".join(tag("div", chart) for chart in charts), class_="two"),
        verdict(certificate),
        paragraph(words.NOT_JOINT, "note"),
    )


def verdict(certificate: Certificate) -> str:
    """Say without varnish whether another route would have been better."""
    claimed = certificate.error_rate
    others = [claim for claim in certificate.alternatives if claim.quantity == "error rate"]
    best = min(others, key=lambda claim: claim.value, default=claimed)
    if claimed.value >= 1 and best.value >= 1:
        text, kind = words.TRIVIAL, "warn"
    elif best.value < claimed.value:
        text = (
            f"Had it been chosen beforehand, the route {claim_name(best)!r} would have given the smaller "
            f"bound {round_up(best.value)} on the error rate. This certificate is valid all the same."
        )
        kind = "warn"
    else:
        text, kind = words.BEST, "good"
    return paragraph(text, f"verdict {kind}")
