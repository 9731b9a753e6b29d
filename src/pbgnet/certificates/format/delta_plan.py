"""How the failure probability is shared: one plan for everything that is claimed together."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from pbgnet.certificates.format.subjects import DisagreementSubject
from pbgnet.certificates.routes import ACCURACY, ERROR_RATE, HAMMING_LOSS, SELECTIVE, Claim

if TYPE_CHECKING:
    from pbgnet.certificates.format.certificate import Certificate

MOST_LINES = 6
"""Up to this many shares of one kind, such as cells of the confusion matrix, are listed one by one."""


class DeltaShare(NamedTuple):
    """The cost of one sentence.

    Attributes
    ----------
    subject : str
        What the sentence is about, in plain words.
    delta : float
        The probability with which it may fail.
    times : int
        How often it is paid: once for each prior, or classifier, that could have been chosen.
    kind : str
        What all such sentences are about.
    """

    subject: str
    delta: float
    times: int
    kind: str

    @property
    def total(self) -> Fraction:
        """Its total cost, exactly."""
        return Fraction(self.delta) * self.times


@dataclass(frozen=True)
class DeltaPlan:
    """Which sentence may fail with which probability, so that all hold together.

    Attributes
    ----------
    delta : float
        What there is to share: 1 minus the confidence.
    n_priors : int
        Number of priors, or classifiers, that could have been chosen; each pays for all sentences.
    shares : tuple of DeltaShare
    """

    delta: float
    n_priors: int
    shares: tuple[DeltaShare, ...]

    @property
    def total(self) -> Fraction:
        """The sum of all costs, exactly; at most delta if the certificate is right."""
        return sum((share.total for share in self.shares), Fraction())

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Subjects and shares for readers; many of one kind are one line."""
        told = []
        for _, some in groupby(self.shares, key=lambda share: (share.kind, share.delta)):
            told += _lines(list(some))
        return tuple(told)

    def __str__(self) -> str:
        parts = "; ".join(f"{subject} {share}" for subject, share in self.lines)
        each = "" if self.n_priors == 1 else f", for each of {self.n_priors}"
        return f"{parts}{each}: together at most {self.delta:g}."


def delta_plan(certificate: "Certificate") -> DeltaPlan:
    """Return the shares of all sentences that hold together."""
    subject, n = certificate.subject, certificate.n_priors
    if isinstance(subject, DisagreementSubject):
        reference, claim = subject.reference, certificate.error_rate
        paid = reference.n_priors * reference.n_shares
        shares = [
            DeltaShare("rows on which the classifier and the certified vote differ", claim.delta, n, "rate"),
            DeltaShare("error rate of the certified vote", reference.claim.delta, paid, "reference"),
        ]
        return DeltaPlan(certificate.delta, n, tuple(shares))
    shares = list(_of_claims(certificate.claims, n))
    share, candidates = certificate.error_rate.delta, certificate.choices.candidates
    sampled = certificate.of_network and certificate.network.aggregation.n_samples is not None
    if sampled:
        shares.append(DeltaShare("draws of the sampled risk", share, n, "draws"))
    if len(candidates) > 1:
        others = (len(candidates) - 1) * (certificate.choices.n_shares // len(candidates))
        words = f"the same by the other of the certificate types {' and '.join(candidates)}"
        shares.append(DeltaShare(words, share, n * others, "routes"))
    return DeltaPlan(certificate.delta, n, tuple(shares))


def _of_claims(claims: Iterable[Claim], n_priors: int) -> Iterable[DeltaShare]:
    """Return a share for each claim; those over all rows that follow from one bound share one."""
    listed = list(claims)
    joint = [claim for claim in listed if claim.overall and claim.predictor in ("aggregate", "vote")]
    for claim in listed:
        if claim in joint[1:]:
            continue
        told = [_subject(each) for each in (joint if claim in joint else [claim])]
        yield DeltaShare(", which also covers the ".join(told), claim.delta, n_priors, _kind(claim))


def _subject(claim: Claim) -> str:
    """Say in plain words what a claim is about."""
    if claim.group is not None and claim.quantity in (ERROR_RATE, ACCURACY):
        limit = "upper" if claim.quantity == ERROR_RATE else "lower"
        return f"error rate in group {claim.group}, {limit} limit"
    if claim.quantity in SELECTIVE:
        return claim.quantity
    if claim.answered is not None:
        return f"rows of class {claim.given_class} answered with {claim.answered}"
    if claim.overall and claim.quantity in (ERROR_RATE, HAMMING_LOSS):
        return "error rate over all rows" if claim.quantity == ERROR_RATE else "share of wrong labels"
    quantity = claim.quantity if claim.quantity == ERROR_RATE else f"expected {claim.quantity}"
    return f"{quantity}{claim.event.words}"


def _kind(claim: Claim) -> str:
    """Say what all claims of its kind are about."""
    if claim.group is not None:
        return "limits of the error rate in groups"
    if claim.answered is not None:
        return "cells of the confusion matrix"
    if claim.label is not None:
        return "error rates of labels"
    return "over all rows" if claim.given_class is None else "error rates of classes"


def _lines(shares: list[DeltaShare]) -> list[tuple[str, str]]:
    first = shares[0]
    if len(shares) > MOST_LINES:
        return [(f"{len(shares)} {first.kind}", f"{first.delta:.3g} each")]
    return [(share.subject, f"{share.delta:.3g}") for share in shares]
