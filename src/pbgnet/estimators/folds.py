"""Folds of the prior rows: candidates compared on them, and scores of rows that a fit has not seen."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from pbgnet.certificates import CandidateRecord, RowScores, measure_scores, score_quantity
from pbgnet.estimators.wrapped import FittedClassifier, told, wrong_rows
from pbgnet.exceptions import DomainError, UnseenCategoryWarning
from pbgnet.preprocessing import take_rows

N_FOLDS = 5
"""Folds of the prior rows; fewer if a class has fewer rows."""


def check_learnable(labels: NDArray[Any]) -> None:
    """Raise an error unless the labels of the prior rows differ."""
    n_classes = len(set(labels.tolist())) if labels.ndim == 1 else 2
    if len(labels) == 0 or n_classes < 2:
        raise DomainError(
            f"The {len(labels)} prior rows contain {n_classes} class(es); at least two are needed "
            "for training. Set more rows apart by raising prior_fraction."
        )


class Folds:
    """Fits that each leave out one fold of a table with its labels.

    Parameters
    ----------
    preprocessor
        As in `HeldOutPipeline`; fitted again without each fold.
    table, labels
        The prior rows.
    seed : int
    """

    def __init__(self, preprocessor: Any, table: Any, labels: NDArray[Any], seed: int) -> None:
        self.preprocessor, self.table, self.labels = preprocessor, table, labels
        self.count, kind = min(N_FOLDS, len(labels)), KFold
        if labels.ndim == 1 and np.unique(labels, return_counts=True)[1].min() >= self.count:
            kind = StratifiedKFold
        splitter = kind(self.count, shuffle=True, random_state=seed)
        self.parts = list(splitter.split(np.zeros(len(labels)), labels)) if self.count > 1 else []

    def compare(self, candidates: Sequence[Any]) -> tuple[CandidateRecord, ...]:
        """Count the errors of each candidate on rows that it was not fitted on."""
        compared = []
        for candidate in candidates:
            n_errors = 0
            for fitted, rows in self._fits(candidate, "to compare the candidates"):
                answers = fitted.predict(take_rows(self.table, rows))
                n_errors += int(wrong_rows(answers, self.labels[rows]).sum())
            compared.append(CandidateRecord(told(candidate), n_errors))
        return tuple(compared)

    def scores(self, candidate: Any) -> RowScores:
        """Return how sure a classifier is about rows that it was not fitted on."""
        parts = []
        for fitted, rows in self._fits(candidate, "to measure how confident the classifier is"):
            quantity = score_quantity(None, fitted)
            parts.append(measure_scores(quantity, None, fitted, take_rows(self.table, rows)))
        return RowScores(parts[0].quantity, np.concatenate([part.values for part in parts]))

    def _fits(self, candidate: Any, what: str) -> Iterator[tuple[FittedClassifier, NDArray[np.int64]]]:
        """Fit without each fold, and return each fit with the rows of its fold."""
        for learned, held_out in self.parts:
            if self.labels.ndim == 1 and len(set(self.labels[learned].tolist())) < 2:
                raise DomainError(
                    f"One class has too few prior rows {what}. Set more rows apart by raising prior_fraction."
                )
            fitted = FittedClassifier(
                candidate, self.preprocessor, take_rows(self.table, learned), self.labels[learned]
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnseenCategoryWarning)
                yield fitted, held_out
