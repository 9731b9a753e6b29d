"""The bound beside the measured rate, other routes, and always the same answer."""

from collections.abc import Mapping

from pbgnet.certificates import Certificate, Claim, DisagreementSubject, round_up
from pbgnet.pages import Bar
from pbgnet.report.kept import ErrorCount

MEASURED = "Measured on the certified rows"


def loss_bars(certificate: Certificate) -> list[Bar]:
    """Return what is known about the linear loss of the aggregate, or the loss of a classifier, if any."""
    if certificate.of_network:
        measured = _measured(MEASURED, certificate.network.empirical_risk)
        # With several outputs, the linear loss of always giving the same answer depends on the code.
        trivial = _trivial(certificate) if certificate.network.network.n_outputs == 1 else []
        return [measured, *_claimed(certificate, "linear loss"), *trivial]
    claim = certificate.expected_loss
    if claim is None:
        return []
    return [_measured(MEASURED, claim.empirical_risk), *_claimed(certificate, claim.quantity)]


def hamming_bars(certificate: Certificate, measured: float | None = None) -> list[Bar]:
    """Return what is known about the share of wrong labels, if rows have several.

    The certificate contains the measured share if it was counted; PAC-Bayes bounds use other numbers.
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
    """Return what is known about the error rate of the classifier, and of others on the same rows."""
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
    """Return the result of always giving the same answer, if the rows have labels.

    With one output, its linear loss is its error rate.
    """
    if certificate.majority is None:
        return []
    rate = certificate.majority.error_rate
    kind = "labels" if certificate.of_labels else "class"
    return [Bar(f"Always the most frequent {kind}", rate, f"{rate:.4f}", "trivial")]


def _measured(name: str, value: float) -> Bar:
    return Bar(name, value, f"{value:.4f}", "measured")


def _claimed(certificate: Certificate, quantity: str) -> list[Bar]:
    """Return the bounds: the claim first, then the alternatives."""
    claimed = [c for c in certificate.claims if c.quantity == quantity and c.overall]
    others = [c for c in certificate.alternatives if c.quantity == quantity]
    groups = (("Certified", "certified", claimed), ("For comparison", "held-out", others))
    return [
        Bar(f"{heading}: {certificate.words_of(claim)}", claim.value, round_up(claim.value), colour)
        for heading, colour, claims in groups
        for claim in claims
    ]
