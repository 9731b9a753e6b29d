"""Whether a certified model is what its own certificate speaks of; more needs the data, and `verify`."""

from pbgnet.certificates import identity_checks as identity
from pbgnet.certificates.model import CertifiedModel
from pbgnet.certificates.subject import NetworkSubject
from pbgnet.exceptions import UncertifiedError

__all__ = ["check_own_certificate", "own_mismatch"]

CHECKS = {
    "certificate text": identity.check_seal,
    "network": identity.check_network,
    "posterior weights": identity.check_posterior,
    "prior weights": identity.check_prior,
    "preprocessing": identity.check_preprocessing,
}
"""Those steps of `verify` that need no data."""


def own_mismatch(model: CertifiedModel) -> str:
    """Return where a model is not what its certificate speaks of; empty if it is."""
    subject = NetworkSubject(model, None, None)
    outcomes = {name: check(subject) for name, check in CHECKS.items()}
    return "; ".join(f"{name} ({found.detail})" for name, found in outcomes.items() if not found.ok)


def check_own_certificate(model: CertifiedModel) -> None:
    """Raise `UncertifiedError` unless weights, sizes and inputs are those the certificate speaks of.

    Examples
    --------
    >>> import dataclasses, torch
    >>> from pbgnet.certificates import PriorRecord, certify_network
    >>> from pbgnet.certificates.reference import check_own_certificate
    >>> from pbgnet.networks import AggregatedNetwork
    >>> network = AggregatedNetwork([torch.tensor([[3.0]])], [torch.tensor([[0.0]])], intercept=False)
    >>> model = certify_network(network, [[1.0], [-1.0]], [1, 0], classes=(0, 1),
    ...                         prior=PriorRecord("zero"), prior_rows=[], certified_rows=[0, 1])
    >>> check_own_certificate(model)
    >>> check_own_certificate(dataclasses.replace(model, classes=(1, 0)))
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.UncertifiedError: The model is not what its certificate speaks of: preprocessing
    (classes, feature names or the preprocessor were changed). Load it again, or certify it as it is now.
    """
    if problem := own_mismatch(model):
        raise UncertifiedError(
            f"The model is not what its certificate speaks of: {problem}. Load it again, or certify it as it "
            "is now."
        )
