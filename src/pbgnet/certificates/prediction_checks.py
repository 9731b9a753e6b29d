"""Checks of `verify` of a classifier that is not stored: its answers, and what they were compared with."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates.answers import ask, label_indices
from pbgnet.certificates.arguments import with_value
from pbgnet.certificates.claim import Choices, Claim, Evidence, ReferenceRecord, Settings
from pbgnet.certificates.claim_checks import evidence_text, outcome_of
from pbgnet.certificates.classifier import count_errors, held_out_choices
from pbgnet.certificates.disagreement import CHOICES
from pbgnet.certificates.fingerprints import fingerprint_split, label_values, unchanged_data
from pbgnet.certificates.inputs import Label
from pbgnet.certificates.model import CertifiedModel
from pbgnet.certificates.parts import BoundInputs
from pbgnet.certificates.predictions import exported_network
from pbgnet.certificates.reference import own_mismatch
from pbgnet.certificates.row_losses import LOSS_SLACK, loss_quantity, measure_losses, named_loss
from pbgnet.certificates.rows import count_duplicates, row_fingerprints
from pbgnet.certificates.subject import RELATIVE, Outcome, PredictionSubject, same
from pbgnet.exceptions import ShapeError

__all__ = [
    "check_answers",
    "check_count",
    "check_duplicates",
    "check_evidence",
    "check_losses",
    "check_predictions",
    "check_reference",
    "check_rows",
    "check_shares",
]


def check_predictions(subject: PredictionSubject) -> Outcome:
    """Fingerprint the answers that are stored, and what is said about who gave them."""
    stated, exported = subject.certificate.fingerprints, subject.certified.exported
    found = None if exported is None else exported.fingerprint()
    if stated.posterior != found:
        detail = "the classifier described is not the one certified"
        return Outcome(str(stated.posterior), str(found), False, detail)
    detail = "an answer, a loss or a class was changed"
    return same(stated.predictions or "not stated", subject.certified.fingerprint(), detail)


def check_answers(subject: PredictionSubject) -> Outcome:
    """Ask the classifier again, where it is given."""
    certified = subject.certified
    expected = f"the {certified.predictions.size} answers that are stored"
    if subject.model is None:
        note = "not asked again: that the classifier answers so is taken on trust; pass model to ask it"
        return Outcome(expected, expected, True, note, trusted=True)
    described = exported_network(subject.model)
    if certified.exported is not None and described != certified.exported:
        told = "no exported network" if described is None else f"the {described.network} network"
        return Outcome(
            expected, told, False, "it is not the exported network that was counted; pass it itself"
        )
    with unchanged_data(subject.X, subject.y):
        answers = ask(subject.model, subject.X, certified.predictions.size)
    again = label_indices(answers, certified.classes, "The classifier answers with")
    differ = int(np.sum(again != certified.predictions))
    return Outcome(expected, f"{differ} other answers" if differ else expected, not differ)


def check_losses(subject: PredictionSubject) -> Outcome:
    """Compute the loss of each row again, where the classifier is given, and the loss has a name or is."""
    stored = subject.certified.losses
    stated = "no loss" if stored is None else stored.quantity
    if subject.loss is not None and (given := loss_quantity(subject.loss)) != stated:
        return Outcome(stated, given, False, "another loss was given than the one that is certified")
    if stored is None:
        return Outcome(stated, stated, True)
    expected = f"the {stored.values.size} values of the {stated} that are stored"
    loss = subject.loss if subject.loss is not None else named_loss(stated)
    if subject.model is None or loss is None:
        wanted = " and ".join(
            name for name, value in (("model", subject.model), ("loss", loss)) if value is None
        )
        note = f"not computed again: that the {stated} has these values is taken on trust; pass {wanted}"
        return Outcome(expected, expected, True, note, trusted=True)
    with unchanged_data(subject.X, subject.y):
        again = measure_losses(loss, subject.model, subject.X, subject.y).values
    if again.size != stored.values.size:
        return Outcome(expected, f"{again.size} values", False)
    gap = float(np.max(np.abs(again - stored.values)))
    if gap > LOSS_SLACK:
        return Outcome(expected, f"values that differ by up to {gap:.2g}", False)
    note = (
        f"values here differ by up to {gap:.2g}, as by rounding; the stored ones are on trust" if gap else ""
    )
    return Outcome(expected, expected, True, note, trusted=bool(gap))


def check_rows(subject: PredictionSubject) -> Outcome:
    """See that all rows were certified; that the classifier was fixed without them is taken on trust."""
    n, answers = subject.n_rows, subject.certified.predictions.size
    found = fingerprint_split(np.empty(0, dtype=np.int64), np.arange(n))
    if found != subject.certificate.fingerprints.split or n != answers:
        return Outcome(f"{answers} rows, all certified", f"{n} rows", False, "rows were added or left out")
    count = subject.certificate.n_priors
    number = "the only one tried on them" if count == 1 else f"one of at most {count} tried on them"
    each = "what it answers on a row depends"
    if subject.certified.losses is not None:
        each = "what it answers on a row, and the loss of a row, depend"
    claimed = "with or without a loss or classes, and the confidence"
    if subject.certificate.reference is not None:
        claimed = "the confidence, and the shares of it"
    note = (
        f"that the classifier was fixed without these rows, and is {number}, is taken on trust; so is that "
        f"{each} on no other row, and that what is claimed ({claimed}) was settled before the rows were seen"
    )
    return Outcome(f"{n} rows, all certified", f"{n} rows, all certified", True, note, trusted=True)


def check_duplicates(subject: PredictionSubject) -> Outcome:
    """Count again the rows that repeat another."""
    stated = subject.certificate.inputs.n_duplicates
    return same(f"{stated} rows", f"{count_duplicates(row_fingerprints(subject.X))} rows")


def check_count(subject: PredictionSubject) -> Outcome:
    """Count the errors, or the disagreements, again."""
    inputs, found = subject.certificate.inputs, count_errors(_wrong(subject))
    if inputs != BoundInputs(
        inputs.n, inputs.n_errors, inputs.empirical_error_rate, n_duplicates=inputs.n_duplicates
    ):
        return Outcome("counts alone", "numbers of a network", False, "there is no network to measure")
    return same(
        f"{inputs.n_errors} of {inputs.n}, rate {inputs.empirical_error_rate!r}",
        f"{found.n_errors} of {found.n}, rate {found.empirical_risk!r}",
    )


def check_evidence(subject: PredictionSubject) -> Outcome:
    """Count, or average, again for each claim: no number may differ."""
    wrong, losses = _wrong(subject), subject.certified.losses

    def problem(claim: Claim) -> str:
        if claim.quantity != "error rate":
            if losses is None:
                return "no losses"
            found = losses.evidence()
        else:
            counted = wrong if claim.given_class is None else wrong[_truth(subject) == _place(subject, claim)]
            found = _with_reference(subject, count_errors(counted))
        return "" if claim.evidence == found else evidence_text(found)

    return outcome_of(subject.certificate.claims, problem)


def check_shares(subject: PredictionSubject) -> Outcome:
    """See that what is claimed was paid for, and that nothing else is claimed."""
    stated, reference = subject.certificate, subject.certificate.reference
    losses = subject.certified.losses
    found = [(claim.quantity, claim.given_class) for claim in stated.claims]
    overall: list[tuple[str, str | None]] = [("error rate", None)]
    each = [("error rate", repr(label)) for label in subject.certified.classes]
    last = [] if losses is None else [(losses.quantity, None)]
    allowed = ([*overall, *last], [*overall, *each, *last]) if reference is None else (overall,)
    if found not in allowed:
        expected_claims = " or ".join(map(_listed, allowed))
        return Outcome(expected_claims, _listed(found), False, "more, or others, are claimed than are stored")
    if stated.alternatives or any(claim.settings != Settings() for claim in stated.claims):
        return Outcome("one count, no settings and no alternatives", "more", False)
    expected = CHOICES
    if reference is None:
        by_class = bool(stated.class_conditional)
        expected = held_out_choices(subject.certified.classes, by_class, losses is not None)
    if stated.choices != expected or reference is None:
        return Outcome(_told(stated.choices), _told(expected), stated.choices == expected)
    total = Fraction(stated.error_rate.delta) * stated.n_priors
    total += Fraction(reference.claim.delta) * reference.n_priors * reference.n_shares
    text = f"shares of delta of at most {stated.delta!r} together"
    ok = total <= Fraction(stated.delta)
    return Outcome(text, text if ok else f"{float(total)!r} together", ok)


def check_reference(subject: PredictionSubject) -> Outcome:
    """See that the certified vote has the bound that is leant on, and answers as stored.

    That its own certificate is right needs its own data: until it is verified with them, it is taken on
    trust.
    """
    stated = subject.certificate.reference
    if stated is None:
        return Outcome("no other classifier", "no other classifier", True)
    expected = f"bound {stated.claim.value!r} of the certificate {stated.seal}"
    if problem := _contradiction(stated, subject.certificate.error_rate.evidence):
        return Outcome(expected, problem, False, "what is stated of the certified vote contradicts itself")
    if subject.reference is None:
        note = "the certified vote was not given: its bound and its answers are taken on trust"
        return Outcome(expected, expected, True, note, trusted=True)
    if problem := own_mismatch(subject.reference) or _other_certificate(stated, subject.reference):
        return Outcome(expected, problem, False, "it is not the certified vote that was leant on")
    answers = label_indices(
        ask(subject.reference, subject.X, subject.n_rows), subject.certified.classes, "The vote answers with"
    )
    if differ := int(np.sum(answers != subject.certified.reference)):
        return Outcome(expected, f"{differ} other answers", False)
    if subject.reference_failures is None:
        note = "that the certificate of the vote is right is taken on trust; pass reference_data to verify it"
        return Outcome(expected, expected, True, note, trusted=True)
    if subject.reference_failures:
        told = f"failed steps of its own verification: {', '.join(subject.reference_failures)}"
        return Outcome(expected, told, False)
    return Outcome(expected, expected, True, "its own certificate was verified with the data given")


def _contradiction(stated: ReferenceRecord, evidence: Evidence) -> str:
    """Return what is wrong with the record of a certified vote as it stands; empty if nothing is."""
    claim = stated.claim
    if (claim.quantity, claim.given_class) != ("error rate", None):
        return "no bound on the error rate over all rows"
    if claim.evidence.sampling_delta not in (None, claim.delta):
        return "draws at another share of delta"
    value = with_value(claim).value
    if not math.isclose(value, claim.value, rel_tol=RELATIVE):
        return f"bound {value!r} from its evidence"
    return "" if evidence.reference_bound == claim.value else "another bound in the claim"


def _other_certificate(stated: ReferenceRecord, model: CertifiedModel) -> str:
    """Return where the certificate of a model is not the one on record; empty if it is."""
    certificate, own = model.certificate, model.certificate.error_rate
    if certificate.seal != stated.seal:
        return f"the certificate {certificate.seal}"
    again = with_value(replace(own, delta=stated.claim.delta, evidence=stated.claim.evidence))
    shares = (certificate.n_priors, certificate.choices.n_shares)
    ours, theirs = (replace(claim.evidence, sampling_delta=None) for claim in (stated.claim, own))
    if again != with_value(stated.claim) or shares != (stated.n_priors, stated.n_shares) or ours != theirs:
        return f"bound {own.value!r} by other evidence"
    return ""


def _listed(claims: list[tuple[str, str | None]]) -> str:
    return ", ".join(
        quantity if label is None else f"{quantity} in class {label}" for quantity, label in claims
    )


def _told(choices: Choices) -> str:
    paid = "; ".join(f"{union.count} for {union.what}" for union in choices.unions) or "nothing paid"
    free = ", ".join(choices.on_prior_rows) or "nothing"
    return f"{choices.certificate} by {' and '.join(choices.candidates)}; {paid}; {free} chosen on prior rows"


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
