"""Checks of `verify` of a classifier that is not stored: its answers, and what they were compared with."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates.answers import ask, label_indices
from pbgnet.certificates.arguments import with_value
from pbgnet.certificates.claim import Claim, Evidence
from pbgnet.certificates.claim_checks import compare_evidence, outcome_of
from pbgnet.certificates.classifier import class_union, count_errors
from pbgnet.certificates.fingerprints import fingerprint_split, label_values
from pbgnet.certificates.inputs import Label
from pbgnet.certificates.rows import count_duplicates, row_fingerprints
from pbgnet.certificates.subject import RELATIVE, Outcome, PredictionSubject, same
from pbgnet.exceptions import ShapeError

__all__ = [
    "check_answers",
    "check_count",
    "check_duplicates",
    "check_evidence",
    "check_predictions",
    "check_reference",
    "check_rows",
    "check_shares",
]


def check_predictions(subject: PredictionSubject) -> Outcome:
    """Fingerprint the answers that are stored."""
    stated = subject.certificate.fingerprints.predictions or "not stated"
    return same(stated, subject.certified.fingerprint(), "an answer or a class was changed")


def check_answers(subject: PredictionSubject) -> Outcome:
    """Ask the classifier again, where it is given."""
    certified = subject.certified
    expected = f"the {certified.predictions.size} answers that are stored"
    if subject.model is None:
        note = "not asked again: that the classifier answers so is taken on trust; pass model to ask it"
        return Outcome(expected, expected, True, note, trusted=True)
    answers = ask(subject.model, subject.X, certified.predictions.size)
    again = label_indices(answers, certified.classes, "The classifier answers with")
    differ = int(np.sum(again != certified.predictions))
    return Outcome(expected, f"{differ} other answers" if differ else expected, not differ)


def check_rows(subject: PredictionSubject) -> Outcome:
    """See that all rows were certified, and that there is one answer for each."""
    n, answers = subject.n_rows, subject.certified.predictions.size
    found = fingerprint_split(np.empty(0, dtype=np.int64), np.arange(n))
    if found != subject.certificate.fingerprints.split or n != answers:
        return Outcome(f"{answers} rows, all certified", f"{n} rows", False, "rows were added or left out")
    return Outcome(f"{n} rows, all certified", f"{n} rows, all certified", True)


def check_duplicates(subject: PredictionSubject) -> Outcome:
    """Count again the rows that repeat another."""
    stated = subject.certificate.inputs.n_duplicates
    return same(f"{stated} rows", f"{count_duplicates(row_fingerprints(subject.X))} rows")


def check_count(subject: PredictionSubject) -> Outcome:
    """Count the errors, or the disagreements, again."""
    inputs, found = subject.certificate.inputs, count_errors(_wrong(subject))
    return same(
        f"{inputs.n_errors} of {inputs.n}, rate {inputs.empirical_error_rate!r}",
        f"{found.n_errors} of {found.n}, rate {found.empirical_risk!r}",
    )


def check_evidence(subject: PredictionSubject) -> Outcome:
    """Count again for each claim."""
    wrong = _wrong(subject)

    def problem(claim: Claim) -> str:
        counted = wrong if claim.given_class is None else wrong[_truth(subject) == _place(subject, claim)]
        return compare_evidence(claim, _with_reference(subject, count_errors(counted)), n_ties=0)

    return outcome_of(subject.certificate.claims, problem)


def check_shares(subject: PredictionSubject) -> Outcome:
    """See that what is claimed was paid for: the classes, or the certificate that is leant on."""
    stated, reference = subject.certificate, subject.certificate.reference
    names = [repr(label) for label in subject.certified.classes]
    if [claim.given_class for claim in stated.claims] not in ([None], [None, *names]):
        told = ", ".join(str(claim.given_class) for claim in stated.claims)
        return Outcome("one bound over all rows, and one for each class or none", told, False)
    if reference is None:
        expected = class_union(subject.certified.classes) if stated.class_conditional else ()
        paid = [f"{union.count} for {union.what}" for union in stated.choices.unions]
        return same("; ".join(paid), "; ".join(f"{union.count} for {union.what}" for union in expected))
    parts = [stated.error_rate.delta, *[reference.claim.delta] * (reference.n_priors * reference.n_shares)]
    total, ok = math.fsum(parts), math.fsum(parts) <= stated.delta
    text = f"shares of delta of at most {stated.delta!r} together"
    return Outcome(text, text if ok else f"{total!r} together", ok)


def check_reference(subject: PredictionSubject) -> Outcome:
    """See that the certified vote has the bound that is leant on, and answers as stored."""
    stated = subject.certificate.reference
    if stated is None:
        return Outcome("no other classifier", "no other classifier", True)
    expected = f"bound {stated.claim.value!r} of the certificate {stated.seal}"
    if stated.claim.evidence.sampling_delta not in (None, stated.claim.delta):
        return Outcome(expected, "draws at another share of delta", False)
    value = with_value(stated.claim).value
    if not math.isclose(value, stated.claim.value, rel_tol=RELATIVE):
        return Outcome(expected, f"bound {value!r}", False, "it is not what its evidence gives")
    if subject.certificate.error_rate.evidence.reference_bound != stated.claim.value:
        return Outcome(expected, "another bound in the claim", False)
    if subject.reference is None:
        note = "the certified vote was not given: its bound and its answers are taken on trust"
        return Outcome(expected, expected, True, note, trusted=True)
    certificate = subject.reference.certificate
    own = certificate.error_rate
    if certificate.seal != stated.seal:
        return Outcome(expected, f"the certificate {certificate.seal}", False, "it is another certificate")
    again = with_value(replace(own, delta=stated.claim.delta, evidence=stated.claim.evidence))
    shares = (certificate.n_priors, certificate.choices.n_shares)
    if again != with_value(stated.claim) or shares != (stated.n_priors, stated.n_shares):
        return Outcome(expected, f"bound {own.value!r} by other evidence", False)
    if replace(stated.claim.evidence, sampling_delta=None) != replace(own.evidence, sampling_delta=None):
        return Outcome(expected, f"bound {own.value!r} by other evidence", False)
    answers = label_indices(
        ask(subject.reference, subject.X, subject.n_rows), subject.certified.classes, "The vote answers with"
    )
    differ = int(np.sum(answers != subject.certified.reference))
    return Outcome(expected, f"{differ} other answers" if differ else expected, not differ)


def _truth(subject: PredictionSubject) -> NDArray[np.int64]:
    return label_indices(label_values(subject.y), subject.certified.classes, "y holds")


def _wrong(subject: PredictionSubject) -> NDArray[np.bool_]:
    certified = subject.certified
    right = certified.reference if certified.reference is not None else _truth(subject)
    if right.size != certified.predictions.size:
        raise ShapeError(f"there are {right.size} labels for {certified.predictions.size} answers")
    return np.asarray(certified.predictions != right)


def _place(subject: PredictionSubject, claim: Claim) -> int:
    names: list[Label] = [repr(label) for label in subject.certified.classes]
    return names.index(str(claim.given_class))


def _with_reference(subject: PredictionSubject, evidence: Evidence) -> Evidence:
    reference = subject.certificate.reference
    return evidence if reference is None else replace(evidence, reference_bound=reference.claim.value)
