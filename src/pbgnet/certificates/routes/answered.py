"""Error rates of a classifier that only answers when it is sure, and how many rows it leaves unanswered."""

from typing import ClassVar

from pbgnet.bounds import (
    clopper_pearson_bound,
    score_thresholds,
    split_delta,
    spread_starts,
    threshold_for,
)
from pbgnet.certificates.routes.base import (
    ANSWERED_ERROR_RATE,
    UNANSWERED_RATE,
    Evidence,
    Foresight,
    Route,
    Settings,
)
from pbgnet.certificates.routes.measured import Measured
from pbgnet.certificates.routes.selection import (
    SelectionEvidence,
    SelectionSettings,
    certified_place,
    count_answered,
)
from pbgnet.exceptions import DomainError


class Selective(Route):
    """What routes for a classifier that may abstain share: thresholds, counts, and planning."""

    predictors = ("prior's vote", "classifier")
    evidence_type: ClassVar[type[Evidence]] = SelectionEvidence
    settings_type: ClassVar[type[Settings]] = SelectionSettings

    def plan(self, foresight: Foresight) -> SelectionSettings:
        """Place the thresholds using the scores of prior rows, which are never negative."""
        if foresight.scores is None:
            raise DomainError("Thresholds are placed by scores of prior rows, and there are none.")
        if foresight.coverage is not None:
            threshold = threshold_for(foresight.scores, foresight.coverage)
            return SelectionSettings((threshold,), coverage=foresight.coverage)
        assert foresight.max_error is not None
        thresholds = score_thresholds(
            foresight.scores, foresight.n, foresight.max_error, foresight.delta, lowest=0.0
        )
        return SelectionSettings(thresholds, foresight.max_error, starts=spread_starts(len(thresholds)))

    def chosen(self, settings: SelectionSettings) -> tuple[str, ...]:
        """Name the thresholds."""
        count = len(settings.thresholds)
        return ("the threshold for answering",) if count == 1 else (f"the {count} thresholds for answering",)

    def evidence(self, measured: Measured, settings: SelectionSettings, delta: float) -> SelectionEvidence:
        """Count at each threshold."""
        return count_answered(measured, settings)


class FixedSequence(Selective):
    """Tests "the error rate among answered rows is above the target" from few answers to many.

    What is proved is the target: the Clopper-Pearson limit at the threshold where the walk ends would be
    chosen by the rows it is computed on. Without a target there is one threshold, fixed beforehand, and its
    limit is what is proved.
    """

    name = "fixed-sequence"
    summary = (
        "that answered rows are wrong no more often than asked, by exact tests that go from few answered "
        "rows to many; at a single threshold, the held-out count of errors among them"
    )
    quantity = ANSWERED_ERROR_RATE

    def value(self, evidence: SelectionEvidence, settings: SelectionSettings, delta: float) -> float:
        """Return the target if a threshold is certified, or the limit at the only one; otherwise 1."""
        place = certified_place(evidence, settings, delta)
        if settings.target is not None:
            return 1.0 if place is None else settings.target
        answered, wrong = evidence.answered[0], evidence.wrong[0]
        return float(clopper_pearson_bound(wrong, answered, delta)) if answered else 1.0

    def words(self, settings: SelectionSettings) -> str:
        """Name it."""
        return f"answered rows, {'held-out count' if settings.target is None else 'fixed sequence'}"


class UnansweredCount(Selective):
    """How many rows are left unanswered, at whichever threshold is certified: all thresholds share delta."""

    name = "unanswered-count"
    summary = "the held-out count of rows left unanswered, at whichever threshold is certified"
    quantity = UNANSWERED_RATE

    def value(self, evidence: SelectionEvidence, settings: SelectionSettings, delta: float) -> float:
        """Return the upper limit at the share of one threshold."""
        place = certified_place(evidence, settings, delta)
        if place is None:
            return 1.0
        unanswered = evidence.n - evidence.surely_answered[place]
        share = split_delta(delta, len(settings.thresholds))
        return float(clopper_pearson_bound(unanswered, evidence.n, share))

    def words(self, settings: SelectionSettings) -> str:
        """Name it."""
        return "unanswered rows, held-out count"
