"""Checks of `verify` for a classifier that answers with several labels, instead of one class."""

import numpy as np

from pbgnet.certificates.classifier import LabelAnswers, ask_labels, claimed_of_labels, label_choices
from pbgnet.certificates.data import indicator_values, unchanged_data
from pbgnet.certificates.format import FittedSubject, Wanted
from pbgnet.certificates.routes import Claim
from pbgnet.certificates.verification.answers import choices_text, claims_text, is_settled, not_asked
from pbgnet.certificates.verification.cases import AnswersCase
from pbgnet.certificates.verification.claims import claimed_by, evidence_text, outcome_of, same_evidence
from pbgnet.certificates.verification.outcomes import Outcome, compare_majority, same


def check_answers(case: AnswersCase) -> Outcome:
    """Ask the classifier again, if it is given."""
    stored = case.certified.predictions
    expected = f"the {len(stored)} stored answers"
    if case.model is None:
        return not_asked(expected)
    with unchanged_data(case.X, case.y, case.facts):
        again = ask_labels(case.model, case.asked_rows, stored.shape[1])
    if again.shape != stored.shape:
        return Outcome(expected, f"{len(again)} answers", False)
    differ = int((again != stored).any(axis=1).sum())
    return Outcome(expected, f"{differ} different answers" if differ else expected, not differ)


def check_count(case: AnswersCase) -> Outcome:
    """Count the rows with any wrong label again."""
    inputs, found = case.certificate.inputs, _counted(case).measured()
    return same(
        f"{inputs.n_errors} of {inputs.n}, rate {inputs.empirical_error_rate!r}",
        f"{found.n_errors} of {found.n}, rate {found.n_errors / found.n!r}",
    )


def check_majority(case: AnswersCase) -> Outcome:
    """Recount how often always giving the same answer is wrong, and which labels are never answered."""
    counted, apart = _counted(case), np.asarray(case.labels_apart, dtype=np.int64)
    return compare_majority(case.certificate, counted.majority(apart), counted.never_answered)


def check_evidence(case: AnswersCase) -> Outcome:
    """Recount, or recompute the mean, for each claim: no count may differ."""
    counted = _counted(case)

    def problem(claim: Claim) -> str:
        found = claim.argument.evidence(counted.measured(claim.event), claim.settings, claim.delta)
        return "" if same_evidence(claim.evidence, found) else evidence_text(found)

    return outcome_of(case.certificate.claims, problem)


def check_shares(case: AnswersCase) -> Outcome:
    """Check that everything claimed was paid for, and that nothing else is claimed."""
    stated, subject, names = case.certificate, case.certificate.subject, case.classes.names
    found = tuple(claimed_by(claim) for claim in stated.claims)
    wanted = Wanted.stated(stated.claims, names, case.claimed_groups, several_labels=True)
    allowed = claimed_of_labels(wanted)
    if found != allowed:
        detail = "the claims are not the ones that the stored answers support"
        return Outcome(claims_text(allowed), claims_text(found), False, detail)
    if stated.alternatives or not all(map(is_settled, stated.claims)):
        return Outcome("counts, the fixed settings and no alternatives", "more", False)
    chosen = subject.fit.chosen if isinstance(subject, FittedSubject) else ()
    expected = label_choices(wanted, chosen)
    return Outcome(choices_text(stated.choices), choices_text(expected), stated.choices == expected)


def _counted(case: AnswersCase) -> LabelAnswers:
    """Return the labels of the certified rows beside the stored answers."""
    truth = indicator_values(case.true_labels).astype(np.int64)
    return LabelAnswers(case.classes, truth, case.certified.predictions, case.certified_groups)
