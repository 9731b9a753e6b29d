"""What any classifier answers: asked for, checked, and told apart from what is no label."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates.fingerprints import label_values
from pbgnet.certificates.inputs import TYPES, Label
from pbgnet.exceptions import DomainError, DtypeError, LabelError, ShapeError

__all__ = ["as_array", "ask", "check_label_set", "known_labels", "label_indices", "predict_function"]

KINDS = {"O": "text", "b": "true/false", "i": "whole numbers", "f": "numbers with decimals"}


def predict_function(model: Any) -> Callable[[Any], Any]:
    """Return what maps rows to labels: the model's `predict`, or the model itself if it can be called.

    Examples
    --------
    >>> from pbgnet.certificates.answers import predict_function
    >>> predict_function("a path")
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DtypeError: A classifier must have predict, or be a function from rows to labels; got
    str.
    """
    predict = getattr(model, "predict", None)
    if isinstance(model, type) or not (callable(predict) or callable(model)):
        kind = (
            f"the class {model.__name__}, not an instance"
            if isinstance(model, type)
            else type(model).__name__
        )
        raise DtypeError(f"A classifier must have predict, or be a function from rows to labels; got {kind}.")
    found: Callable[[Any], Any] = predict if callable(predict) else model
    return found


def as_array(name: str, answer: Any) -> NDArray[Any]:
    """Return what a classifier, or a loss, returned as an array; `name` says what it is, for the message.

    Raises
    ------
    ShapeError
        If it is lists of unequal lengths.
    DomainError
        If values are masked.
    DtypeError
        If NumPy cannot read it, as a tensor of a precision that NumPy does not have.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.answers import as_array
    >>> as_array("The loss", np.ma.array([0.5, 0.25], mask=[True, False]))
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DomainError: The loss is masked in 1 of 2 places; every row needs a value of its own.
    """
    if np.ma.is_masked(answer):
        raise DomainError(
            f"{name} is masked in {int(np.ma.getmaskarray(answer).sum())} of {answer.size} places; every row "
            "needs a value of its own."
        )
    try:
        if hasattr(answer, "detach") and hasattr(answer, "cpu"):  # a tensor, perhaps on a GPU
            answer = answer.detach().cpu()
        return np.asarray(answer.to_numpy() if hasattr(answer, "to_numpy") else answer)
    except ValueError as error:
        raise ShapeError(f"{name} must be a regular array: {error}") from error
    except (RuntimeError, TypeError) as error:
        raise DtypeError(f"{name} must be an array that NumPy can read; convert it first: {error}") from error


def ask(model: Any, X: Any, n: int) -> NDArray[Any]:  # noqa: N803
    """Have a classifier answer on n rows, and return its labels as `label_values` does.

    Raises
    ------
    ShapeError
        If it does not return one answer per row.
    LabelError
        If an answer is missing or no label.
    """
    values = as_array("What the classifier answers", predict_function(model)(X))
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n,):
        advice = (
            " Probabilities or scores of several classes are no labels: return the label of the largest."
            if values.ndim == 2 and values.shape[0] == n
            else ""
        )
        raise ShapeError(
            f"The classifier must answer with one label for each of the {n} rows, got shape {values.shape}."
            + advice
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        missing = int(np.sum(~np.isfinite(values)))
        raise LabelError(f"The classifier answers {missing} of {n} rows with NaN or infinity, not a label.")
    try:
        return label_values(values)
    except LabelError as error:
        raise LabelError(f"The classifier does not answer with labels: {error}") from error


def check_label_set(labels: Sequence[Any]) -> tuple[Label, ...]:
    """Return different labels of one plain type, or raise `LabelError`.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.answers import check_label_set
    >>> check_label_set(np.array(["b", "a"]))
    ('b', 'a')
    """
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
    kinds = {type(label) for label in plain}
    if not plain or len(kinds) != 1 or not kinds <= set(TYPES.values()):
        raise LabelError(f"The classes must be texts, numbers or true and false alone, got {plain!r:.80}.")
    if len(set(plain)) != len(plain) or any(label != label for label in plain):
        raise LabelError(f"The classes must be different labels, got {plain!r:.80}.")
    return tuple(plain)


def known_labels(*sources: Any) -> tuple[Label, ...]:
    """Return all labels of several lists, in order.

    Raises
    ------
    LabelError
        If one list holds text and another numbers.

    Examples
    --------
    >>> from pbgnet.certificates.answers import known_labels
    >>> known_labels([1, 0, 1], [0, 1, 2])
    (0, 1, 2)
    """
    lists = [label_values(source) for source in sources if source is not None]
    kinds = {values.dtype.kind for values in lists}
    if len(kinds) > 1:
        raise LabelError(
            f"Labels and classes differ in kind: {' and '.join(sorted(KINDS[kind] for kind in kinds))}."
        )
    return check_label_set(sorted({label for values in lists for label in values.tolist()}))


def label_indices(values: NDArray[Any], classes: tuple[Label, ...], who: str) -> NDArray[np.int64]:
    """Return the place of each label among the classes; `who` gave the labels, for the message."""
    kind = label_values(list(classes)).dtype.kind
    if values.dtype.kind == "f" and kind != "f":
        raise LabelError(
            f"{who} numbers with decimals, such as {float(values[0]):g}, where the labels are {KINDS[kind]}: "
            "probabilities or scores are no labels; turn them into the label of the chosen class."
        )
    places = {label: k for k, label in enumerate(classes)} if values.dtype.kind == kind else {}
    unknown = [label for label in dict.fromkeys(values.tolist()) if label not in places]
    if unknown:
        raise LabelError(
            f"{who} the unknown label {unknown[0]!r:.60}; known are {', '.join(map(repr, classes[:5]))}"
            f"{' ...' if len(classes) > 5 else ''}. If it is a class that no row here has, name all with "
            "classes."
        )
    return np.array([places[label] for label in values.tolist()], dtype=np.int64)
