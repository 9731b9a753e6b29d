"""Candidates compared by cross-validation inside the rows set apart, which costs no confidence."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from pbgnet.certificates import CandidateRecord
from pbgnet.estimators.wrapped import FittedClassifier, told, wrong_rows
from pbgnet.exceptions import DomainError, UnseenCategoryWarning
from pbgnet.preprocessing import take_rows

N_FOLDS = 5
"""Folds of the prior rows on which candidates are compared; fewer where a class has fewer rows."""


def check_learnable(labels: NDArray[Any]) -> None:
    """Raise unless there is something to learn from the labels of the prior rows."""
    n_classes = len(set(labels.tolist())) if labels.ndim == 1 else 2
    if len(labels) == 0 or n_classes < 2:
        raise DomainError(
            f"The {len(labels)} prior rows hold {n_classes} class(es); two are needed to learn from. Set "
            "more rows apart."
        )


def compare_candidates(
    candidates: Sequence[Any], preprocessor: Any, table: Any, labels: NDArray[Any], seed: int
) -> tuple[tuple[CandidateRecord, ...], int]:
    """Count the errors of each candidate in cross-validation, and return them with the number of folds."""
    n_folds, kind = min(N_FOLDS, len(labels)), KFold
    if labels.ndim == 1 and np.unique(labels, return_counts=True)[1].min() >= n_folds:
        kind = StratifiedKFold
    folds = list(kind(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(labels)), labels))
    compared = []
    for candidate in candidates:
        n_errors = 0
        for learned, held_out in folds:
            if labels.ndim == 1 and len(set(labels[learned].tolist())) < 2:
                raise DomainError("There are too few prior rows of one class to compare candidates on.")
            fitted = FittedClassifier(candidate, preprocessor, take_rows(table, learned), labels[learned])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnseenCategoryWarning)
                answers = fitted.predict(take_rows(table, held_out))
            n_errors += int(wrong_rows(answers, labels[held_out]).sum())
        compared.append(CandidateRecord(told(candidate), n_errors))
    return tuple(compared), n_folds
