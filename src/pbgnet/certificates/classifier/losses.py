"""Losses of a classifier, one per row: named ones from its probabilities, or a function of the user."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates.classifier.asking import as_array, read_row_values, takes_arguments
from pbgnet.certificates.classifier.batches import every_second, row_batches
from pbgnet.certificates.data import Classes, label_values
from pbgnet.certificates.routes import HELD_OUT_LOSS, LOSS_QUANTITY, ROUTES, Foresight
from pbgnet.exceptions import (
    DomainError,
    DtypeError,
    LabelError,
    OptionError,
    PBGNetError,
    ShapeError,
    UncertifiedError,
)
from pbgnet.records import Limits
from pbgnet.validation import check_name

Loss = str | Callable[[Any, Any, Any], ArrayLike]
"""A name in `NAMED_LOSSES`, or a function of classifier, rows and labels that returns numbers in [0, 1]."""

LOSS_SLACK = 1e-5
"""Recomputed losses may differ by at most this much: other machines, and other batches, round probabilities
differently.
"""

# Probabilities may leave [0, 1], and their sum may differ from 1, by this much, as in float32.
PROBABILITY_SLACK = 1e-4


@dataclass(frozen=True, eq=False)
class RowLosses:
    """The loss of each row, as it was computed, and its name.

    Attributes
    ----------
    quantity : str
        "linear loss", "brier loss", or "loss" and the name of the user's function in quotes.
    values : ndarray of float64, shape (n,)
        In [0, 1].

    Examples
    --------
    >>> from pbgnet.certificates.classifier import RowLosses
    >>> RowLosses("linear loss", [0.25, 1.5])
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DomainError: The linear loss must be in [0, 1] on every row, but ranges from 0.25 to
    1.5. Divide by its largest possible value (not by the largest on these rows), or clip the values at 1.
    """

    quantity: str
    values: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not isinstance(self.quantity, str):
            raise DtypeError(f"quantity must be a string, got {self.quantity!r:.60}.")
        Limits(pattern=LOSS_QUANTITY).check("quantity", self.quantity)
        values = _as_losses(f"The {self.quantity}", self.values)
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, which are read back exactly."""
        return {"quantity": self.quantity, "values": self.values.tolist()}

    @classmethod
    def from_dict(cls, data: object) -> "RowLosses":
        """Read what `to_dict` returned; raise a `PBGNetError` for anything else."""
        return cls(*read_row_values(data, "losses"))


def loss_quantity(loss: Loss) -> str:
    """Return the name of a loss in claims.

    Raises
    ------
    UnknownNameError
        If no loss has this name; the message lists the existing ones.
    OptionError
        If a function has no name that a certificate could state, or does not take classifier, rows and
        labels.
    """
    if isinstance(loss, str):
        check_name("loss", loss, NAMED_LOSSES)
        return f"{loss} loss"
    if not callable(loss):
        raise DtypeError(
            f"loss must be one of {', '.join(NAMED_LOSSES)} or a function loss(model, X, y), got "
            f"{type(loss).__name__}."
        )
    name = str(getattr(loss, "__name__", ""))
    quantity = f"loss '{name}'"
    if re.fullmatch(LOSS_QUANTITY, quantity) is None:
        raise OptionError(
            f"The certificate states the name of the loss, which cannot be {name!r:.60}. Write the loss as a "
            f"function with def, and give it a plain name other than {' or '.join(NAMED_LOSSES)}."
        )
    if not takes_arguments(loss, 3):
        raise OptionError(
            f"A loss is called as loss(model, X, y), but {name} does not accept these arguments. If it is a "
            "metric, wrap it in your own function that returns one number per row, not the mean."
        )
    return quantity


def loss_settings(n: int, delta: float) -> Any:
    """Return what the bound on a loss is told: there are no prior rows, so it is the same for all data."""
    return ROUTES[HELD_OUT_LOSS].plan(Foresight(n, delta))


def named_loss(quantity: str) -> str | None:
    """Return the name of a loss that can be recomputed with the classifier alone; None for others."""
    return next((name for name in NAMED_LOSSES if loss_quantity(name) == quantity), None)


def measure_losses(loss: Loss, model: Any, X: Any, y: ArrayLike) -> RowLosses:  # noqa: N803
    """Compute the loss of a classifier on each row.

    A function receives the labels as a flat array of its own, in any form in which they were given.

    Raises
    ------
    OptionError
        If a named loss is requested for a classifier without `predict_proba` or `classes_`.
    ShapeError, DtypeError, DomainError
        If there is not one number in [0, 1] per row, or the classifier does not return probabilities.
    LabelError
        If a row has a label that the probabilities do not include.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from pbgnet.certificates.classifier.losses import measure_losses
    >>> guess = DummyClassifier(strategy="prior").fit([[0]] * 4, ["no", "no", "no", "yes"])
    >>> measure_losses("linear", guess, [[0], [0]], ["no", "yes"]).values
    array([0.25, 0.75])
    """
    quantity, labels = loss_quantity(loss), label_values(y)
    parts = [
        _measure_once(quantity, loss, model, part, labels[rows]).values
        for rows, part in row_batches(model, X)
    ]
    return RowLosses(quantity, np.concatenate(parts))


def _measure_once(quantity: str, loss: Loss, model: Any, X: Any, labels: NDArray[Any]) -> RowLosses:  # noqa: N803
    """Compute the loss on rows in memory."""
    if isinstance(loss, str):
        probabilities, columns = _probabilities(model, X, labels, quantity)
        values: Any = NAMED_LOSSES[loss](probabilities, columns)
    else:
        values = loss(model, X, labels.copy())
    measured = RowLosses(quantity, values)
    if measured.values.size != labels.size:
        raise ShapeError(
            f"The {quantity} must be one number for each of the {labels.size} rows, got "
            f"{measured.values.size}."
        )
    return measured


def check_each_row(measured: RowLosses, loss: Loss, model: Any, X: Any, y: ArrayLike) -> None:  # noqa: N803
    """Recompute the loss on every second row: the loss of a row must not depend on the others.

    Raises
    ------
    UncertifiedError
        If it does, or is random.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.classifier.losses import check_each_row, measure_losses
    >>> def rank(model, X, y):
    ...     return np.argsort(np.argsort(X[:, 0])) / len(X)
    >>> X, y = np.array([[0.1], [0.3], [0.2]]), [0, 1, 1]
    >>> check_each_row(measure_losses(rank, None, X, y), rank, None, X, y)
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.UncertifiedError: With every other row only, the loss 'rank' of a row changes by up to
    0.17. It must depend only on the row, its label and the classifier, not on other rows, on chance, or on
    arithmetic less precise than float32.
    """
    labels, where = label_values(y), f"With every other row only, the {measured.quantity}"
    only, gap = "It must depend only on the row, its label and the classifier", 0.0
    try:
        for rows, part in row_batches(model, X):
            places, some = every_second(part)
            again = _measure_once(measured.quantity, loss, model, some, labels[rows][places]).values
            gap = max(gap, float(np.max(np.abs(again - measured.values[rows][places]))))
    except PBGNetError as error:
        raise UncertifiedError(f"{where} cannot be computed. {only}, not on other rows. {error}") from error
    except Exception as error:
        error.add_note(f"{where} cannot be computed. {only}, not on other rows.")
        raise
    if gap > LOSS_SLACK:
        raise UncertifiedError(
            f"{where} of a row changes by up to {gap:.2g}. {only}, not on other rows, on chance, or on "
            "arithmetic less precise than float32."
        )


def _linear(probabilities: NDArray[np.float64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """1 minus the probability of the true label."""
    return np.asarray(1.0 - probabilities[np.arange(columns.size), columns])


def _brier(probabilities: NDArray[np.float64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Half the squared distance to 1 for the true label and 0 for the others."""
    distance = probabilities.copy()
    distance[np.arange(columns.size), columns] -= 1.0
    return np.asarray(np.minimum(0.5 * np.sum(distance**2, axis=1), 1.0))


NAMED_LOSSES: dict[str, Callable[[NDArray[np.float64], NDArray[np.int64]], NDArray[np.float64]]] = {
    "linear": _linear,
    "brier": _brier,
}
"""The named losses: functions of the probabilities and of the column of the true label."""


def _probabilities(
    model: Any,
    X: Any,  # noqa: N803
    labels: NDArray[Any],
    quantity: str,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Compute probabilities, and return them with the column of the true label of each row."""
    ask, known = getattr(model, "predict_proba", None), getattr(model, "classes_", None)
    if not callable(ask) or known is None:
        raise OptionError(
            f"The {quantity} needs probabilities, but {type(model).__name__} has no {_lacking(model)}, or "
            "pass a function loss(model, X, y)."
        )
    classes = Classes(tuple(label_values(known).tolist())).labels
    values = _as_numbers("The result of predict_proba", ask(X))
    if values.shape != (labels.size, len(classes)):
        raise ShapeError(
            f"predict_proba must return {labels.size} rows with one probability for each of the "
            f"{len(classes)} classes in classes_, got shape {values.shape}."
        )
    found = values.astype(np.float64)
    # Written so that NaN fails.
    if not (
        np.all(np.abs(found.sum(axis=1) - 1.0) <= PROBABILITY_SLACK) and np.all(found >= -PROBABILITY_SLACK)
    ):
        raise DomainError(
            "predict_proba does not return probabilities: those of a row must be at least 0 and add up to "
            "1. To turn scores into probabilities, calibrate the classifier, for example with "
            "scikit-learn's CalibratedClassifierCV."
        )
    places = {label: k for k, label in enumerate(classes)}
    unknown = [label for label in dict.fromkeys(labels.tolist()) if label not in places]
    if unknown:
        raise LabelError(
            f"y contains the label {unknown[0]!r:.60}, to which the classifier gives no probability: its "
            f"classes_ are {', '.join(map(repr, classes[:5]))}{' ...' if len(classes) > 5 else ''}. Write "
            "the labels alike, or pass a function loss(model, X, y) that says what such a row costs."
        )
    columns = np.array([places[label] for label in labels.tolist()], dtype=np.int64)
    return np.clip(found, 0.0, 1.0), columns


def _lacking(model: Any) -> str:
    """Say why a classifier cannot give probabilities, and what to do about it."""
    if callable(getattr(model, "predict_proba", None)):
        return "classes_, which names the columns of predict_proba: set it"
    if callable(getattr(getattr(model, "__self__", None), "predict_proba", None)):
        return "predict_proba: pass the fitted classifier itself"
    return (
        "predict_proba: fit it with probability=True if it has that option, or wrap it in scikit-learn's "
        "CalibratedClassifierCV"
    )


def _as_losses(name: str, losses: Any) -> NDArray[np.float64]:
    """Return one number in [0, 1] per row as a new array, or raise an error."""
    values = _as_numbers(name, losses)
    if values.ndim != 1 or values.size == 0:
        advice = "return a flat array, one number per row" if values.ndim else "do not average over rows"
        raise ShapeError(f"{name} must be one number for each row, got shape {values.shape}; {advice}.")
    if missing := int(np.sum(~np.isfinite(values))):
        raise DomainError(f"{name} is NaN or infinite on {missing} of {values.size} rows.")
    low, high = float(values.min()), float(values.max())
    if low < 0 or high > 1:
        advice = (
            " Add a constant that does not depend on these rows, or clip the values at 0." if low < 0 else ""
        )
        if high > 1:
            advice += (
                " Divide by its largest possible value (not by the largest on these rows), or clip the "
                "values at 1."
            )
        raise DomainError(
            f"{name} must be in [0, 1] on every row, but ranges from {low!r} to {high!r}.{advice}"
        )
    return np.asarray(values.astype(np.float64) + 0.0)  # -0.0 becomes 0.0


def _as_numbers(name: str, answer: Any) -> NDArray[Any]:
    """Return the result of a classifier or a loss as an array of numbers, or raise an error."""
    values = as_array(name, answer)
    if values.dtype.kind not in "biuf":
        raise DtypeError(f"{name} must be numbers, got {values.dtype}.")
    return values
