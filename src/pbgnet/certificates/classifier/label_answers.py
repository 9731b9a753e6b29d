"""Several labels answered by any classifier: requested, counted, and turned into claims."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates.classifier.asking import as_array, predict_function
from pbgnet.certificates.classifier.batches import row_batches
from pbgnet.certificates.classifier.losses import loss_settings
from pbgnet.certificates.data import Classes, Groups, indicator_values
from pbgnet.certificates.format import Choices, Claimed, MajorityAnswer, Wanted, never_answered
from pbgnet.certificates.routes import (
    ANY_ERROR,
    ERROR_RATE,
    HAMMING_LOSS,
    Claim,
    Event,
    Measured,
    make_claim,
)
from pbgnet.exceptions import DomainError, LabelError, OptionError, ShapeError

SHARE_ROUNDING = 2.0**-52
"""Error of the share of wrong labels in a row, a quotient that was rounded once."""


@dataclass(frozen=True, eq=False)
class LabelAnswers:
    """The labels of rows, and those that a classifier answers with.

    Attributes
    ----------
    labels : Classes
        The names of the labels, in the order of the columns.
    truth, predictions : ndarray of int64, shape (n, L)
        1 for each label that a row has, or is answered with; 0 for the others.
    groups : Groups or None
        The group of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.classifier import LabelAnswers
    >>> from pbgnet.certificates.data import Classes
    >>> truth, predictions = np.array([[1, 0], [1, 1]]), np.array([[1, 1], [1, 1]])
    >>> LabelAnswers(Classes(("wet", "warm")), truth, predictions).measured().losses
    array([0.5, 0. ])
    """

    labels: Classes
    truth: NDArray[np.int64]
    predictions: NDArray[np.int64]
    groups: Groups | None = None

    def __post_init__(self) -> None:
        expected = (len(self.truth), len(self.labels))
        for name, found in (("labels", self.truth.shape), ("answers", self.predictions.shape)):
            if found != expected:
                raise ShapeError(f"{name} must have shape {expected}, got {found}.")

    @functools.cached_property
    def wrong(self) -> NDArray[np.bool_]:
        """Which labels are wrong, shape (n, L)."""
        return np.asarray(self.truth != self.predictions)

    @property
    def never_answered(self) -> tuple[str, ...]:
        """Labels that occur, but are never answered."""
        return never_answered(self.labels.names, self.truth, self.predictions)

    def majority(self, apart: NDArray[np.int64]) -> MajorityAnswer:
        """Count how often always giving the same answer is wrong, given the labels of other rows."""
        return MajorityAnswer.counted(self.labels.names, apart, self.truth)

    def measured(self, event: Event = ANY_ERROR) -> Measured:
        """Return what routes look at: any wrong label, and their share; or the errors of one label."""
        if event.label is not None:
            return Measured(self.wrong[:, self.labels.names.index(event.label)])
        rows = np.asarray(self.wrong.any(axis=1))
        measured = Measured(rows, self.wrong.mean(axis=1), loss_error=SHARE_ROUNDING)
        if event.group is None:
            return measured
        if self.groups is None:
            raise DomainError(f"There is no group {event.group}: these rows have no groups.")
        return measured.among(self.groups.rows_of(event.group))

    def wanted(self, per_label: bool) -> Wanted:
        """Return what to claim besides the two shares over all rows."""
        groups = () if self.groups is None else self.groups.present
        return Wanted(self.labels.names, per_label=per_label, groups=groups, several_labels=True)

    def claims(
        self, per_label: bool, delta: float, chosen: tuple[str, ...] = ()
    ) -> tuple[tuple[Claim, ...], Choices]:
        """Bound the share of wrong labels, the share of rows with any, and everything else requested.

        Returns the claims, and what was chosen for them; see `count_claims`.
        """
        wanted = self.wanted(per_label)
        choices, claims = label_choices(wanted, chosen), []
        for claimed in claimed_of_labels(wanted):
            quantity, event = claimed
            share, rows = wanted.delta_of(event, delta, choices.n_shares), self.measured(event)
            settings = loss_settings(rows.n, share) if quantity == HAMMING_LOSS else None
            route = claimed.route_beside("clopper-pearson")
            claims.append(
                make_claim("classifier", route, rows, settings, delta=share, quantity=quantity, event=event)
            )
        return tuple(claims), choices


def claimed_of_labels(wanted: Wanted) -> tuple[Claimed, ...]:
    """Return the quantity and event of each of the claims, in their order."""
    return (Claimed(HAMMING_LOSS, ANY_ERROR), Claimed(ERROR_RATE, ANY_ERROR), *wanted.claims)


def label_choices(wanted: Wanted, chosen: tuple[str, ...] = ()) -> Choices:
    """Return what is chosen: what the prior rows chose, and one share of delta per claim."""
    return Choices("held-out", chosen, wanted.unions(2), ("clopper-pearson",))


def ask_labels(model: Any, X: Any, n_labels: int) -> NDArray[np.int64]:  # noqa: N803
    """Let a classifier answer rows, batch by batch; return 1 for each label it answers with, and 0 otherwise.

    Raises
    ------
    ShapeError
        If it does not return one answer for each row and label.
    LabelError
        If an answer is neither 0 nor 1.
    """
    parts = [_ask_once(model, part, rows.stop - rows.start, n_labels) for rows, part in row_batches(model, X)]
    return np.concatenate(parts)


def _ask_once(model: Any, X: Any, n: int, n_labels: int) -> NDArray[np.int64]:  # noqa: N803
    answer = predict_function(model)(X)
    answer = answer.toarray() if hasattr(answer, "toarray") else answer
    values = as_array("The classifier's answers", answer)
    if values.shape != (n, n_labels):
        raise ShapeError(
            f"The classifier must return 0 or 1 for each of the {n_labels} labels of each of the {n} rows: "
            f"shape ({n}, {n_labels}), got {values.shape}."
        )
    return _zeros_and_ones(
        values, "The classifier does not return labels (turn probabilities into labels with a threshold): "
    )


def as_label_answers(name: str, answers: ArrayLike, n_labels: int) -> NDArray[np.int64]:
    """Return the answers to several labels as a read-only array of 0 and 1, or raise an error."""
    array: NDArray[Any] = np.asarray(answers)
    if array.ndim != 2 or len(array) == 0 or array.shape[1] != n_labels:
        raise ShapeError(
            f"{name} must have {n_labels} numbers per row, one for each label; got shape {array.shape}."
        )
    result = _zeros_and_ones(array, f"{name}: ")
    result.setflags(write=False)
    return result


def check_label_options(
    several_labels: bool,
    per_label: bool,
    *,
    class_conditional: bool = False,
    confusion: bool = False,
    loss: object = None,
    classes: object = None,
    selective: bool = False,
) -> None:
    """Raise `OptionError` for label options if rows have classes, or the other way round."""
    if not several_labels:
        if per_label:
            raise OptionError(
                "per_label is for rows with several labels, where y is a matrix of 0 and 1. For classes, "
                "use class_conditional."
            )
        return
    if class_conditional or confusion:
        raise OptionError(
            "class_conditional and confusion are for rows with a single class each. For several labels, use "
            "per_label."
        )
    if selective:
        raise OptionError(
            "Abstaining is only available for rows with a single class each, not for several labels: each "
            "row has one score, but every label would need its own."
        )
    if loss is not None:
        raise OptionError(
            "With several labels, the Hamming loss (the share of wrong labels) is always bounded. Other "
            "losses are for rows with a single class each."
        )
    if classes is not None:
        raise OptionError(
            "classes is for rows with a single class each. With several labels, the column names of y name "
            "them."
        )


def _zeros_and_ones(values: NDArray[Any], where: str) -> NDArray[np.int64]:
    try:
        return indicator_values(values).astype(np.int64)
    except LabelError as error:
        raise LabelError(f"{where}{error}") from error
