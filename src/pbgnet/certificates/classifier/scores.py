"""How sure a classifier is of each row: by its probabilities, its decision function, or the user's own."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates.classifier.asking import as_array, read_row_values, takes_arguments
from pbgnet.certificates.classifier.batches import every_second, row_batches
from pbgnet.exceptions import (
    DomainError,
    DtypeError,
    OptionError,
    ShapeError,
    UncertifiedError,
)

Scores = Callable[[Any, Any], ArrayLike]
"""A function of classifier and rows that returns one number per row: the larger, the surer."""

PROBABILITY, MARGIN = "largest probability", "margin"
"""Scores of every classifier with `predict_proba` or `decision_function`."""

OWN_SCORE = re.compile(r"score '[A-Za-z_][A-Za-z0-9_]{0,79}'")

SCORE_SLACK = 1e-5
"""Recomputed scores may differ by this much, relative to their size if they are above 1."""


@dataclass(frozen=True, eq=False)
class RowScores:
    """How sure a classifier is about each row, and the name of this score.

    Attributes
    ----------
    quantity : str
        "largest probability", "margin", or "score" and the name of the user's function in quotes.
    values : ndarray of float64, shape (n,)
        Finite; the larger, the surer.

    Examples
    --------
    >>> from pbgnet.certificates.classifier import RowScores
    >>> RowScores("margin", [0.5, float("nan")])
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DomainError: The margin is NaN or infinite on 1 of 2 rows. Give a row about which
    nothing is known the lowest possible score.
    """

    quantity: str
    values: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not isinstance(self.quantity, str):
            raise DtypeError(f"quantity must be a string, got {self.quantity!r:.60}.")
        if self.quantity not in (PROBABILITY, MARGIN) and OWN_SCORE.fullmatch(self.quantity) is None:
            raise DomainError(f"There is no score named {self.quantity!r:.80}.")
        values = as_array(f"The {self.quantity}", self.values)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.dtype.kind not in "biuf":
            raise DtypeError(f"The {self.quantity} must be numbers, got {values.dtype}.")
        if values.ndim != 1 or not values.size:
            raise ShapeError(
                f"The {self.quantity} must be one number for each row, got shape {values.shape}. With "
                "several classes, return the lead of the first over the second."
            )
        numbers = values.astype(np.float64) + 0.0  # -0.0 becomes 0.0
        if missing := int(np.sum(~np.isfinite(numbers))):
            raise DomainError(
                f"The {self.quantity} is NaN or infinite on {missing} of {numbers.size} rows. Give a row "
                "about which nothing is known the lowest possible score."
            )
        numbers.setflags(write=False)
        object.__setattr__(self, "values", numbers)

    @property
    def lowest(self) -> float | None:
        """A number that no score is below; None if none is known."""
        return 0.0 if self.quantity in (PROBABILITY, MARGIN) else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, which are read back exactly."""
        return {"quantity": self.quantity, "values": self.values.tolist()}

    @classmethod
    def from_dict(cls, data: object) -> "RowScores":
        """Read what `to_dict` returned; raise a `PBGNetError` for anything else."""
        return cls(*read_row_values(data, "scores"))


def score_quantity(scores: Scores | None, model: Any) -> str:
    """Return the name of the scores in a certificate.

    Raises
    ------
    OptionError
        If the classifier has none, or a function has no name that a certificate could state.
    """
    if scores is None:
        for quantity, method in ((PROBABILITY, "predict_proba"), (MARGIN, "decision_function")):
            if callable(getattr(model, method, None)):
                return quantity
        raise OptionError(
            f"{type(model).__name__} has neither predict_proba nor decision_function, so pbgnet cannot tell "
            "where it is sure. Pass scores, a function scores(model, X) that returns one number per row."
        )
    if not callable(scores):
        raise DtypeError(f"scores must be a function scores(model, X), got {type(scores).__name__}.")
    quantity = f"score '{getattr(scores, '__name__', '')}'"
    if OWN_SCORE.fullmatch(quantity) is None:
        raise OptionError(
            f"The certificate states the name of the scores, which cannot be {quantity[7:-1]!r:.60}. Write a "
            "function with def, and give it a plain name."
        )
    if not takes_arguments(scores, 2):
        raise OptionError(
            f"Scores are called as scores(model, X), but {quantity[7:-1]} does not accept these arguments."
        )
    return quantity


def measure_scores(quantity: str, scores: Scores | None, model: Any, X: Any) -> RowScores:  # noqa: N803
    """Compute how sure a classifier is about each row, batch by batch.

    The largest probability; for a decision function its distance from 0 or, with several columns, how far the
    largest is ahead of the next; or the result of the user's function.

    Raises
    ------
    ShapeError, DtypeError, DomainError
        If there is not one finite number per row.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from pbgnet.certificates.classifier.scores import measure_scores
    >>> guess = DummyClassifier(strategy="prior").fit([[0]] * 4, ["no", "no", "no", "yes"])
    >>> measure_scores("largest probability", None, guess, [[0], [0]]).values
    array([0.75, 0.75])
    """
    parts = [
        _measure_once(quantity, scores, model, part, rows.stop - rows.start).values
        for rows, part in row_batches(model, X)
    ]
    return RowScores(quantity, np.concatenate(parts))


def _measure_once(quantity: str, scores: Scores | None, model: Any, X: Any, n: int) -> RowScores:  # noqa: N803
    """Compute how sure a classifier is about n rows in memory."""
    if scores is not None:
        values = as_array(f"The {quantity}", scores(model, X))
    elif quantity == PROBABILITY:
        found = as_array("The result of predict_proba", model.predict_proba(X))
        values = _columns("predict_proba", found).max(axis=1)
    else:
        found = as_array("The result of decision_function", model.decision_function(X))
        values = np.abs(found) if found.ndim == 1 else _lead(_columns("decision_function", found))
    measured = RowScores(quantity, values)
    if measured.values.size != n:
        raise ShapeError(
            f"The {quantity} must be one number for each of the {n} rows, got {measured.values.size}."
        )
    return measured


def check_scores_of_rows(measured: RowScores, scores: Scores, model: Any, X: Any) -> None:  # noqa: N803
    """Recompute scores on every second row: the score of a row must not depend on the others.

    Raises
    ------
    UncertifiedError
        If it does, or is random.
    """
    gap = 0.0
    for rows, part in row_batches(model, X):
        places, some = every_second(part)
        again = _measure_once(measured.quantity, scores, model, some, places.size).values
        gap = max(gap, scores_differ(measured.values[rows][places], again))
    if gap > SCORE_SLACK:
        raise UncertifiedError(
            f"With every other row only, the {measured.quantity} of a row changes by up to {gap:.2g}. It "
            "must depend only on the row and the classifier, not on other rows (as a rank does) or on "
            "chance."
        )


def scores_differ(stored: NDArray[np.float64], again: NDArray[np.float64]) -> float:
    """Return the largest difference of scores, relative to those above 1."""
    return float(np.max(np.abs(stored - again) / np.maximum(1.0, np.abs(stored))))


def _columns(method: str, values: NDArray[Any]) -> NDArray[Any]:
    if values.ndim != 2 or values.shape[1] < 2 or values.dtype.kind not in "biuf":
        raise ShapeError(
            f"{method} must return a number for each row and class, got {values.dtype} of shape "
            f"{values.shape}."
        )
    return values


def _lead(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return how far the largest value of each row is ahead of the next."""
    highest = np.partition(values.astype(np.float64), -2, axis=1)[:, -2:]
    return np.asarray(highest[:, 1] - highest[:, 0])
