"""Checks of `verify` for a classifier that only answers when it is sure: its scores, and the thresholds."""

from pbgnet.bounds import probability_thresholds, spread_starts
from pbgnet.certificates.classifier import (
    PROBABILITY,
    SCORE_SLACK,
    measure_scores,
    score_quantity,
    scores_differ,
)
from pbgnet.certificates.data import unchanged_data
from pbgnet.certificates.routes import SELECTIVE, SelectionSettings
from pbgnet.certificates.verification.cases import AnswersCase
from pbgnet.certificates.verification.outcomes import Outcome


def check_scores(case: AnswersCase) -> Outcome:
    """Recompute the score of each row, if the classifier and any function of the user are given."""
    stored = case.certified.scores
    if stored is None:
        return Outcome("no scores", "no scores", True)
    own, n = stored.lowest is None, stored.values.size
    expected = f"the {n} stored values of the {stored.quantity}"
    if case.scores is not None and (given := score_quantity(case.scores, case.model)) != stored.quantity:
        return Outcome(stored.quantity, given, False, "the scores passed are not the certified ones")
    lacking = ["model"] * (case.model is None) + ["scores"] * (own and case.scores is None)
    if lacking:
        note = (
            f"not computed again; taken on trust: the {stored.quantity} has these values. To check, pass "
            f"{' and '.join(lacking)}"
        )
        return Outcome(expected, expected, True, note, trusted=True)
    with unchanged_data(case.X, case.y, case.facts):
        again = measure_scores(stored.quantity, case.scores, case.model, case.asked_rows).values
    gap = scores_differ(stored.values, again)
    if gap > SCORE_SLACK:
        return Outcome(expected, f"values that differ by up to {gap:.2g}", False)
    note = (
        f"values computed here differ by up to {gap:.2g}, which may be rounding; the stored ones are taken "
        "on trust"
        if gap
        else ""
    )
    return Outcome(expected, expected, True, note, trusted=bool(gap))


def check_thresholds(case: AnswersCase) -> Outcome:
    """Check that both claims about answered rows have the same thresholds, and say where they come from."""
    claims = [claim for claim in case.certificate.claims if claim.quantity in SELECTIVE]
    if not claims:
        return Outcome("no thresholds", "no thresholds", True)
    settings, scores = claims[0].settings, case.certified.scores
    assert isinstance(settings, SelectionSettings)
    assert scores is not None
    told = f"{len(settings.thresholds)} thresholds of the {scores.quantity}"
    if any(claim.settings != settings for claim in claims):
        return Outcome(
            told,
            ("different ones for the share of unanswered rows"),
            False,
            ("the two claims about answered rows use different thresholds"),
        )
    if settings.target is not None and scores.quantity == PROBABILITY:
        fixed = probability_thresholds(settings.target)
        if (settings.thresholds, settings.starts) == (fixed, spread_starts(len(fixed))):
            return Outcome(told, told, True, "they are the same for all data")
    note = (
        "taken on trust: the thresholds, the points where testing starts, and the target were fixed without "
        "looking at the certified rows"
    )
    return Outcome(told, told, True, note, trusted=True)
