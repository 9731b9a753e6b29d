"""Checks of `verify` for a classifier that is not stored: its answers, and what they were compared with."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates.classifier import (
    CHOICES,
    LOSS_SLACK,
    OVERALL,
    AnswerColumn,
    CountedAnswers,
    ask,
    exported_network,
    held_out_choices,
    loss_quantity,
    loss_settings,
    measure_losses,
    named_loss,
    refuse_rows_of_fit,
)
from pbgnet.certificates.data import (
    count_duplicates,
    fingerprint_split,
    note_on_near_copies,
    unchanged_data,
)
from pbgnet.certificates.format import (
    Choices,
    Claimed,
    DisagreementSubject,
    FittedSubject,
    MajorityAnswer,
    ReferenceRecord,
    never_answered,
)
from pbgnet.certificates.network import CertifiedModel
from pbgnet.certificates.routes import (
    COUNTED,
    ERROR_RATE,
    HELD_OUT_LOSS,
    SELECTIVE,
    Claim,
    Measured,
    Settings,
)
from pbgnet.certificates.verification.cases import AnswersCase
from pbgnet.certificates.verification.claims import (
    claimed_by,
    evidence_text,
    outcome_of,
    same_evidence,
    same_settings,
)
from pbgnet.certificates.verification.outcomes import (
    Outcome,
    compare_duplicates,
    compare_majority,
    is_outward,
    same,
)
from pbgnet.exceptions import PriorLeakageError, ShapeError


def check_predictions(case: AnswersCase) -> Outcome:
    """Fingerprint the answers that are stored, and what is said about who gave them."""
    compared = case.certified.stated_and_found()
    for name in ("exported network", "column names", "answers"):
        outcome = same(*compared[name])
        if not outcome.ok:
            break
    return outcome


def check_stored_rows(case: AnswersCase) -> Outcome:
    """Fingerprint the row fingerprints that are stored."""
    return same(*case.certified.stated_and_found()["row fingerprints"])


def check_answers(case: AnswersCase) -> Outcome:
    """Ask the classifier again, if it is given."""
    certified = case.certified
    expected = f"the {certified.predictions.size} stored answers"
    if case.model is None:
        return not_asked(expected)
    described = exported_network(case.model)
    if certified.exported is not None and described != certified.exported:
        told = "no exported network" if described is None else f"the {described.network} network"
        return Outcome(expected, told, False, "this is not the exported network that was certified")
    with unchanged_data(case.X, case.y, case.facts):
        again = ask(case.model, case.asked_rows, case.classes)
    if again.size != certified.predictions.size:
        return Outcome(expected, f"{again.size} answers", False)
    differ = int(np.sum(again != certified.predictions))
    if not differ and isinstance(case.model, AnswerColumn):
        note = f"taken on trust: the answers in column {case.model.column!r} are those of the classifier"
        return Outcome(expected, expected, True, note, trusted=True)
    return Outcome(expected, f"{differ} different answers" if differ else expected, not differ)


def not_asked(expected: str) -> Outcome:
    """Say that the stored answers are on trust."""
    note = "not asked again; taken on trust: the classifier gives these answers. To check, pass model"
    return Outcome(expected, expected, True, note, trusted=True)


def check_losses(case: AnswersCase) -> Outcome:
    """Compute the loss of each row again, where the classifier is given, and the loss has a name or is."""
    stored = case.certified.losses
    stated = "no loss" if stored is None else stored.quantity
    if case.loss is not None and (given := loss_quantity(case.loss)) != stated:
        return Outcome(stated, given, False, "the loss passed is not the certified one")
    if stored is None:
        return Outcome(stated, stated, True)
    expected = f"the {stored.values.size} stored values of the {stated}"
    loss = case.loss if case.loss is not None else named_loss(stated)
    if case.model is None or loss is None:
        wanted = " and ".join(
            name for name, value in (("model", case.model), ("loss", loss)) if value is None
        )
        note = f"not computed again; taken on trust: the {stated} has these values. To check, pass {wanted}"
        return Outcome(expected, expected, True, note, trusted=True)
    with unchanged_data(case.X, case.y, case.facts):
        again = measure_losses(loss, case.model, case.asked_rows, case.true_labels).values
    if again.size != stored.values.size:
        return Outcome(expected, f"{again.size} values", False)
    gap = float(np.max(np.abs(again - stored.values)))
    if gap > LOSS_SLACK:
        return Outcome(expected, f"values that differ by up to {gap:.2g}", False)
    note = (
        f"values computed here differ by up to {gap:.2g}, which may be rounding; the stored ones are taken "
        "on trust"
        if gap
        else ""
    )
    return Outcome(expected, expected, True, note, trusted=bool(gap))


def check_rows(case: AnswersCase) -> Outcome:
    """Check that all rows were certified, and that models that remember their rows have not seen them.

    Otherwise, that classifier and vote were fixed without these rows is taken on trust.
    """
    n, answers = case.n_rows, len(case.certified.predictions)
    found = fingerprint_split(np.empty(0, dtype=np.int64), np.arange(n))
    if found != case.certificate.fingerprints.split or n != answers:
        return Outcome(f"{answers} rows, all certified", f"{n} rows", False, "rows were added or left out")
    for seeing in (case.reference, case.model):
        try:
            refuse_rows_of_fit(seeing, case.X)
        except PriorLeakageError as error:
            return Outcome(f"{n} rows that no classifier was fitted on", "others", False, str(error))
    count = case.certificate.n_priors
    number = "the only one tried on them" if count == 1 else f"one of at most {count} tried on them"
    each = "its answer on a row does not depend"
    if case.certified.losses is not None:
        each = "its answer and its loss on a row do not depend"
    claimed, fixed = "with or without a loss or classes, and the confidence", "was"
    if isinstance(case.certificate.subject, DisagreementSubject):
        claimed, fixed = "the confidence and how it is divided", "and the certified vote were"
    note = (
        f"taken on trust: the classifier {fixed} fixed without these rows; the classifier is {number}; "
        f"{each} on other rows; the claims ({claimed}) were chosen before looking at the rows"
    )
    return Outcome(f"{n} rows, all certified", f"{n} rows, all certified", True, note, trusted=True)


def check_duplicates(case: AnswersCase) -> Outcome:
    """Recount the rows that repeat another; near copies are on trust."""
    found = count_duplicates(case.facts.exact)
    near = note_on_near_copies(case.facts.near, found)
    return compare_duplicates(case.certificate.inputs.n_duplicates, found, near)


def check_count(case: AnswersCase) -> Outcome:
    """Recount the errors, or the disagreements."""
    inputs, found = case.certificate.inputs, _measured(case)
    return same(
        f"{inputs.n_errors} of {inputs.n}, rate {inputs.empirical_error_rate!r}",
        f"{found.n_errors} of {found.n}, rate {found.n_errors / found.n!r}",
    )


def check_majority(case: AnswersCase) -> Outcome:
    """Recount how often always giving the same answer is wrong, and which classes are never answered."""
    if isinstance(case.certificate.subject, DisagreementSubject):
        return compare_majority(case.certificate, None, ())
    truth, names = _truth(case), case.classes.names
    majority = MajorityAnswer.counted(names, case.classes.places(case.labels_apart, "y contains"), truth)
    return compare_majority(
        case.certificate, majority, never_answered(names, truth, case.certified.predictions)
    )


def check_evidence(case: AnswersCase) -> Outcome:
    """Recount, or recompute the mean, for each claim: no count may differ."""
    measured = _measured(case)
    truth = np.empty(0, dtype=np.int64) if case.certified.reference is not None else _truth(case)
    groups, predictions = case.certified_groups, case.certified.predictions
    counted = CountedAnswers(measured, case.classes.names, truth, predictions, groups)

    def problem(claim: Claim) -> str:
        if claim.quantity not in COUNTED and measured.losses is None:
            return "no losses"
        if claim.quantity in SELECTIVE and measured.scores is None:
            return "no scores"
        found = claim.argument.evidence(counted.among(claim.event), claim.settings, claim.delta)
        return "" if same_evidence(claim.evidence, found) else evidence_text(found)

    return outcome_of(case.certificate.claims, problem)


def check_shares(case: AnswersCase) -> Outcome:
    """Check that everything claimed was paid for, and that nothing else is claimed."""
    stated, subject = case.certificate, case.certificate.subject
    found = tuple(claimed_by(claim) for claim in stated.claims)
    compared = isinstance(subject, DisagreementSubject)
    expected_claims = (OVERALL,) if compared else (OVERALL, *case.wanted.claims)
    if found != expected_claims:
        detail = "the claims are not the ones that the stored answers support"
        return Outcome(claims_text(expected_claims), claims_text(found), False, detail)
    if stated.alternatives or any(not is_settled(claim) for claim in stated.claims):
        return Outcome("one count, the fixed settings and no alternatives", "more", False)
    expected = CHOICES
    if not compared:
        chosen = subject.fit.chosen if isinstance(subject, FittedSubject) else ()
        expected = held_out_choices(case.wanted, chosen)
    return Outcome(choices_text(stated.choices), choices_text(expected), stated.choices == expected)


def check_reference(case: AnswersCase) -> Outcome:
    """Check that the certified vote has the bound that is used, and answers as stored.

    Whether its own certificate is right needs its own data: until it is verified with them, it is taken on
    trust.
    """
    subject = case.certificate.subject
    if not isinstance(subject, DisagreementSubject):
        return Outcome("no other classifier", "no other classifier", True)
    stated = subject.reference
    expected = f"bound {stated.claim.value!r} of the certificate {stated.seal}"
    if problem := _contradiction(stated, case.certificate.error_rate):
        return Outcome(
            expected, problem, False, "the statements about the certified vote contradict each other"
        )
    if case.reference is None:
        note = "the certified vote was not passed; taken on trust: its bound and its answers"
        return Outcome(expected, expected, True, note, trusted=True)
    if problem := case.reference.mismatch() or _other_certificate(stated, case.reference):
        return Outcome(
            expected, problem, False, "this is not the certified vote that the certificate relies on"
        )
    answers = ask(case.reference, case.X, case.classes, "The vote")
    if differ := int(np.sum(answers != case.certified.reference)):
        return Outcome(expected, f"{differ} different answers", False)
    if case.reference_failures is None:
        note = "taken on trust: the certificate of the vote is correct. To check, pass reference_data"
        return Outcome(expected, expected, True, note, trusted=True)
    if case.reference_failures:
        told = f"its own verification failed at: {', '.join(case.reference_failures)}"
        return Outcome(expected, told, False)
    return Outcome(expected, expected, True, "its own certificate was verified with the data passed")


def _contradiction(stated: ReferenceRecord, leaning: Claim) -> str:
    """Return what is wrong with the record of a certified vote itself; empty if nothing is."""
    claim = stated.claim
    if (claim.quantity, claim.given_class) != (ERROR_RATE, None):
        return "a claim other than the error rate over all rows"
    if claim.evidence != claim.evidence.at(claim.delta):
        return "draws for a different share of delta"
    value = claim.recomputed().value
    if not is_outward(claim.value, value):
        return f"bound {value!r} from its evidence"
    leant_on = getattr(leaning.evidence, "reference_bound", None)
    return "" if leant_on == claim.value else "a different bound in the claim"


def _other_certificate(stated: ReferenceRecord, model: CertifiedModel) -> str:
    """Return where the certificate of a model is not the recorded one; empty if it is."""
    certificate, own = model.certificate, model.certificate.error_rate
    if certificate.seal != stated.seal:
        return f"the certificate {certificate.seal}"
    shares = (certificate.n_priors, certificate.choices.n_shares)
    if own.at(stated.claim.delta) != stated.claim.recomputed() or shares != (
        stated.n_priors,
        stated.n_shares,
    ):
        return f"bound {own.value!r} from different evidence"
    return ""


def is_settled(claim: Claim) -> bool:
    """Whether a claim has the route, and the settings, that are the same for all data."""
    if claim.quantity in SELECTIVE:
        return True  # a step of its own says where thresholds come from
    if claim.quantity in COUNTED:
        return claim.settings == Settings()
    expected = loss_settings(claim.evidence.n, claim.delta)
    return claim.route == HELD_OUT_LOSS and same_settings(claim.settings, expected)


def claims_text(claims: Iterable[Claimed]) -> str:
    """List what is claimed."""
    return ", ".join(map(str, claims))


def choices_text(choices: Choices) -> str:
    """Say what was chosen, and what was paid."""
    paid = "; ".join(f"{union.count} for {union.what}" for union in choices.unions) or "nothing paid"
    free = ", ".join(choices.on_prior_rows) or "nothing"
    return f"{choices.certificate} by {' and '.join(choices.candidates)}; {paid}; {free} chosen on prior rows"


def _truth(case: AnswersCase) -> NDArray[np.int64]:
    return case.classes.places(case.true_labels, "y contains")


def _measured(case: AnswersCase) -> Measured:
    """Return the results of the stored answers and losses on the rows."""
    certified, subject = case.certified, case.certificate.subject
    right = certified.reference if certified.reference is not None else _truth(case)
    if right.size != certified.predictions.size:
        raise ShapeError(f"there are {right.size} labels for {certified.predictions.size} answers")
    return Measured(
        np.asarray(certified.predictions != right),
        None if certified.losses is None else certified.losses.values,
        reference_bound=subject.reference.claim.value if isinstance(subject, DisagreementSubject) else None,
        scores=None if certified.scores is None else certified.scores.values,
    )
