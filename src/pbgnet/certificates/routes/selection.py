"""Which rows are answered: thresholds on a score, counts at each of them, and which one is certified."""

from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.bounds import binomial_tail, last_certified
from pbgnet.certificates.routes.base import Evidence, Settings
from pbgnet.certificates.routes.measured import Measured
from pbgnet.exceptions import DomainError, OptionError
from pbgnet.records import Count, Limits, OpenProbability, Probability
from pbgnet.validation import positive_real

MOST_THRESHOLDS = 256
"""Most thresholds that a certificate tests."""

Counts = Annotated[tuple[Count, ...], Limits(longest=MOST_THRESHOLDS)]


def check_selection(
    max_error: Any, coverage: Any, names: tuple[str, str] = ("max_error", "coverage")
) -> bool:
    """Return whether only some rows are to be answered; raise an error for impossible requests.

    Parameters
    ----------
    max_error, coverage : float or None
        How often answered rows may be wrong, or the share of rows to answer.
    names : tuple of str
        The user's names for the two.
    """
    name, share = names
    if max_error is not None and coverage is not None:
        raise OptionError(
            f"Give {name} or {share}, not both. With {name}, pbgnet answers as many rows as it can; with "
            f"{share}, it answers that share of the rows as accurately as it can."
        )
    if max_error is not None and (_is_zero(max_error) or positive_real(name, max_error) >= 1.0):
        raise DomainError(
            f"{name} must be between 0 and 1 (for example 0.02), got {max_error!r:.60}. No count can show "
            "that a classifier is never wrong, and a limit of 1 needs no proof."
        )
    if coverage is not None and (_is_zero(coverage) or positive_real(share, coverage) > 1.0):
        raise DomainError(
            f"{share}, the share of rows to answer, must be above 0 and at most 1, got {coverage!r:.60}."
        )
    return max_error is not None or coverage is not None


def _is_zero(value: Any) -> bool:
    """Whether it is the number 0, which needs its own message."""
    return isinstance(value, Real) and value is not False and value == 0


@dataclass(frozen=True)
class SelectionSettings(Settings):
    """Which rows may be answered, fixed before looking at the certified rows.

    Attributes
    ----------
    thresholds : tuple of float
        Rows whose score is at least a threshold are answered; decreasing, so that each answers more rows.
    target : float or None
        The largest error rate wanted among answered rows; None if there is one threshold, whose error rate is
        bounded as it is.
    coverage : float or None
        The share of rows that a single threshold was to answer, if it was placed for that.
    starts : tuple of int
        Indices of thresholds where the walk through them begins, or begins again.
    """

    thresholds: Annotated[tuple[float, ...], Limits(longest=MOST_THRESHOLDS)]
    target: OpenProbability | None = None
    coverage: Probability | None = None
    starts: Counts = (0,)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.thresholds or any(low >= high for high, low in pairwise(self.thresholds)):
            raise DomainError("thresholds must be one or more numbers in decreasing order.")
        rising = all(a < b for a, b in pairwise(self.starts))
        if not self.starts or not rising or self.starts[-1] >= len(self.thresholds):
            raise DomainError("starts must be indices of thresholds in increasing order.")
        if self.target is not None and self.coverage is not None:
            raise DomainError("A threshold is set by a target or by a coverage, not by both.")
        if self.target is None and len(self.thresholds) > 1:
            raise DomainError("Without a target there must be a single threshold, fixed in advance.")


@dataclass(frozen=True)
class SelectionEvidence(Evidence):
    """How many of the n rows are answered at each threshold, and how many of these are wrong.

    Attributes
    ----------
    n : int
        Number of all rows.
    answered : tuple of int
        Rows that are answered, or may be, given the proved error of a score.
    wrong : tuple of int
        Those of them that are wrong, or may be; also all whose answering is uncertain.
    surely_answered : tuple of int
        Rows that are answered whatever the error.
    """

    answered: Counts
    wrong: Counts
    surely_answered: Counts

    def __post_init__(self) -> None:
        super().__post_init__()
        if not len(self.answered) == len(self.wrong) == len(self.surely_answered) > 0:
            raise DomainError(
                "answered, wrong and surely_answered must have the same number of counts, at least one."
            )
        for counts in (self.answered, self.surely_answered):
            if any(a > b for a, b in pairwise(counts)) or counts[-1] > self.n:
                raise DomainError(
                    "A lower threshold cannot answer fewer rows, and no threshold can answer more rows than "
                    "there are."
                )
        for answered, wrong, surely in zip(self.answered, self.wrong, self.surely_answered, strict=True):
            if max(wrong, surely) > answered:
                raise DomainError("There cannot be more wrong rows than answered rows.")

    @property
    def empirical_risk(self) -> float:
        """Share of answered rows that are wrong, at the lowest threshold."""
        return self.wrong[-1] / max(1, self.answered[-1])


def count_answered(measured: Measured, settings: SelectionSettings) -> SelectionEvidence:
    """Count answered and wrong rows at each threshold."""
    if measured.scores is None:
        raise DomainError("This route needs the scores of the rows, but none were measured.")
    thresholds, slack = np.asarray(settings.thresholds), measured.score_error
    right, wrong = (np.sort(measured.scores[rows]) for rows in (~measured.wrong, measured.wrong))
    may, surely = thresholds - slack, thresholds + slack
    right_may, wrong_may, right_surely, wrong_surely = (
        _reaching(scores, level) for level in (may, surely) for scores in (right, wrong)
    )
    return SelectionEvidence(
        measured.n,
        tuple((right_may + wrong_may).tolist()),
        tuple((wrong_may + right_may - right_surely).tolist()),
        tuple((right_surely + wrong_surely).tolist()),
    )


def certified_place(evidence: SelectionEvidence, settings: SelectionSettings, delta: float) -> int | None:
    """Return the index of the certified threshold; None if there is none."""
    if len(evidence.answered) != len(settings.thresholds):
        raise DomainError(
            f"There are {len(settings.thresholds)} thresholds but {len(evidence.answered)} counts."
        )
    if settings.target is None:
        return 0
    tails = binomial_tail(evidence.wrong, evidence.answered, settings.target)
    return last_certified(tails, delta, settings.starts)


def _reaching(scores: NDArray[np.float64], levels: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many scores, in increasing order, are at least each level."""
    return np.asarray(scores.size - np.searchsorted(scores, levels, side="left"), dtype=np.int64)
