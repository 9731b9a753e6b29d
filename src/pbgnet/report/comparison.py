"""How good the bound is: beside the measured rate, other routes, a test set, and always the same answer."""

from collections.abc import Mapping

from pbgnet.certificates import Certificate, Claim, round_up
from pbgnet.pages import Bars
from pbgnet.report.bars import error_rate_bars, hamming_bars, loss_bars
from pbgnet.report.kept import ErrorCount

TRIVIAL = "The bound is trivial: nothing is proved. More rows, or a simpler network, may help."
BEST = "No other route gives a smaller bound on the error rate."


def comparison_charts(
    certificate: Certificate,
    tested: ErrorCount | None = None,
    others: Mapping[str, Claim] | None = None,
    hamming_loss: float | None = None,
) -> dict[str, Bars]:
    """Return the charts of all losses by their titles; `others` are alternatives on the same rows.

    `hamming_loss` is the share of wrong labels on the certified rows, if rows have several.
    """
    loss, rate = loss_bars(certificate), error_rate_bars(certificate, tested, others)
    of_rows = "Rows with any wrong label" if certificate.of_labels else "Error rate of the classifier"
    charts = {of_rows: Bars("chart-errors", "Bounds on the error rate", rate, cut=True)}
    if hamming := hamming_bars(certificate, hamming_loss):
        title = "Share of wrong labels: the Hamming loss"
        charts[title] = Bars("chart-hamming", "Bounds on the Hamming loss", hamming, cut=True)
    if loss:
        quantity = "linear loss" if certificate.expected_loss is None else certificate.expected_loss.quantity
        title = "Linear loss of the aggregate" if certificate.of_network else f"{quantity} of the classifier"
        charts[title] = Bars("chart-loss", f"Bounds on the {quantity}", loss, cut=True)
    return charts


def verdict(certificate: Certificate, classifiers: Mapping[str, Claim] | None = None) -> tuple[str, str]:
    """Say plainly whether another route or classifier would have been better, and whether it is useful.

    Returns
    -------
    kind : {"good", "warn", "bad"}
    words : str
    """
    kind, words = _among_others(certificate, classifiers or {})
    if not certificate.beats_majority or certificate.inputs.never_answered:
        return "bad", " ".join((words, *certificate.shortcomings))
    return kind, words


def _among_others(certificate: Certificate, classifiers: Mapping[str, Claim]) -> tuple[str, str]:
    claimed = certificate.error_rate
    others = [claim for claim in certificate.alternatives if claim.quantity == "error rate"]
    best = min(others, key=lambda claim: claim.value, default=claimed)
    if claimed.value >= 1 and best.value >= 1:
        return "warn", TRIVIAL
    if best.value < claimed.value:
        return "warn", (
            f"Had it been chosen beforehand, the route {certificate.words_of(best)!r} would have given the "
            f"smaller bound {round_up(best.value)} on the error rate. This certificate is valid all the same."
        )
    name, rival = min(classifiers.items(), key=lambda item: item[1].value, default=("", claimed))
    if rival.value < claimed.value:
        return "warn", (
            f"Of the alternatives, {name.replace('_', ' ')} has the smaller bound {round_up(rival.value)} on "
            "the same rows. This certificate is valid all the same; to take the other now costs confidence."
        )
    return "good", BEST
