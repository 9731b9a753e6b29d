"""How good the bound is: beside what was measured, other routes, a test set and no learning at all."""

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates import Certificate, round_up
from pbgnet.pages import Chart
from pbgnet.report.bars import Yardsticks, bar_chart, error_rate_bars, loss_bars

TRIVIAL = "The bound is trivial: nothing is proved. More rows, or a simpler network, may help."
BEST = "No other route gives a smaller bound on the error rate."


def yardsticks(signs: NDArray[np.float64], tested: tuple[int, int] | None = None) -> Yardsticks:
    """Measure what the bounds are compared with, on the certified rows with labels -1 and 1."""
    share = float(np.mean(signs > 0))
    return Yardsticks(min(share, 1.0 - share), tested)


def comparison_charts(certificate: Certificate, measured: Yardsticks) -> dict[str, Chart]:
    """Return the charts of both losses by their titles."""
    loss, rate = loss_bars(certificate, measured), error_rate_bars(certificate, measured)
    return {
        "Error rate of the classifier": bar_chart("chart-errors", "Bounds on the error rate", rate),
        "Linear loss of the aggregate": bar_chart("chart-loss", "Bounds on the linear loss", loss),
    }


def verdict(certificate: Certificate) -> tuple[str, str]:
    """Say without varnish whether another route would have been better: "good" or "warn", and in words."""
    claimed = certificate.error_rate
    others = [claim for claim in certificate.alternatives if claim.quantity == "error rate"]
    best = min(others, key=lambda claim: claim.value, default=claimed)
    if claimed.value >= 1 and best.value >= 1:
        return "warn", TRIVIAL
    if best.value < claimed.value:
        return "warn", (
            f"Had it been chosen beforehand, the route {best.words!r} would have given the smaller "
            f"bound {round_up(best.value)} on the error rate. This certificate is valid all the same."
        )
    return "good", BEST
