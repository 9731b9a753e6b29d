"""Where a classifier begins to answer: thresholds on its score, fixed without the certified rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbgnet.bounds import (
    probability_thresholds,
    score_thresholds,
    spread_starts,
    threshold_for,
)
from pbgnet.certificates.classifier.asking import as_array
from pbgnet.certificates.classifier.scores import PROBABILITY, RowScores
from pbgnet.certificates.routes import MOST_THRESHOLDS, SelectionSettings, check_selection
from pbgnet.exceptions import DomainError, DtypeError, OptionError, ShapeError


def check_asked(error: Any, coverage: Any, thresholds: ArrayLike | None) -> tuple[float, ...] | None:
    """Return the given thresholds, highest first; raise an error for impossible requests.

    Exactly one of error, coverage and a single threshold must be given.
    """
    asked = check_selection(error, coverage, ("error", "coverage"))
    given = None if thresholds is None else _as_thresholds(thresholds)
    if given is None and not asked:
        raise OptionError(
            "Say what to certify: pass error (how often answered rows may be wrong, such as 0.02), coverage "
            "(the share of rows to answer), or a single value as thresholds."
        )
    if given is not None and coverage is not None:
        raise OptionError("coverage sets the threshold from other rows; do not pass thresholds as well.")
    if given is not None and not asked and len(given) > 1:
        raise OptionError(f"{len(given)} thresholds need a target to be tested against: pass error as well.")
    return given


@dataclass(frozen=True, eq=False)
class Selection:
    """What is requested of a classifier that only answers when it is sure.

    Attributes
    ----------
    others : RowScores or None
        Scores of rows that are not certified, for placing thresholds.
    max_error, coverage : float or None
        How often answered rows may be wrong, or the share of rows to answer.
    thresholds : tuple of float or None
        Those that were given, from `check_asked`.
    """

    others: RowScores | None = None
    max_error: float | None = None
    coverage: float | None = None
    thresholds: tuple[float, ...] | None = None

    def settings(self, quantity: str, n: int, delta: float) -> SelectionSettings:
        """Place the thresholds: as given, by the scores of other rows, or on probabilities without rows.

        Parameters
        ----------
        quantity : str
            The name of the score.
        n, delta
            Number of rows to be certified, and the share of delta of a claim.

        Raises
        ------
        OptionError
            If there is nothing to place them by.
        """
        if self.coverage is not None:
            if self.others is None:
                raise OptionError(
                    "The threshold for a given coverage is set from other rows: pass training_data, rows "
                    "that are not certified. Labels are not needed."
                )
            coverage = float(self.coverage)
            return SelectionSettings((threshold_for(self.others.values, coverage),), coverage=coverage)
        found, others = self.thresholds, self.others
        if self.max_error is None:
            assert found is not None
            return SelectionSettings(found)
        target = float(self.max_error)
        if found is None and others is not None:
            found = score_thresholds(others.values, n, target, delta, lowest=others.lowest)
        if found is None:
            if quantity != PROBABILITY:
                raise OptionError(
                    f"The range of the {quantity} is not known in advance. Pass training_data (rows that are "
                    "not certified; labels are not needed) or thresholds. Thresholds from the scores of the "
                    "certified rows would be tested on the rows that chose them."
                )
            found = probability_thresholds(target)
        return SelectionSettings(found, target, starts=spread_starts(len(found)))


def _as_thresholds(thresholds: ArrayLike) -> tuple[float, ...]:
    values = as_array("thresholds", thresholds)
    if values.dtype.kind not in "iuf":
        raise DtypeError(f"thresholds must be numbers, got {values.dtype}.")
    numbers = np.atleast_1d(values.astype(np.float64)) + 0.0
    if numbers.ndim != 1 or not numbers.size:
        raise ShapeError(f"thresholds must be a one-dimensional list of numbers, got shape {values.shape}.")
    if not np.isfinite(numbers).all():
        raise DomainError(
            "thresholds must be finite numbers. To answer every row, use the lowest possible score."
        )
    falling = np.unique(numbers)[::-1]
    if falling.size > MOST_THRESHOLDS:
        raise DomainError(f"There can be at most {MOST_THRESHOLDS} thresholds, got {falling.size}.")
    return tuple(falling.tolist())
