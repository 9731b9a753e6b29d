"""The answers of any classifier: requested, and checked to be labels."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates.classifier.batches import row_batches
from pbgnet.certificates.data import Classes, label_values
from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
    DtypeError,
    LabelError,
    ShapeError,
    UnknownNameError,
)
from pbgnet.preprocessing import column_names, count_rows
from pbgnet.records import read_keys
from pbgnet.validation import refuse_masked


@dataclass(frozen=True)
class AnswerColumn:
    """Answers in a column of the table, of a classifier that runs elsewhere: in R, in Java, as a service.

    Where the rows are certified, it takes the place of the classifier. That the classifier gave these
    answers is taken on trust.

    Attributes
    ----------
    column : str
        Name of the column, which is one of the table given to `certify`.
    labels : mapping, optional
        The label that each cell of the column stands for; default: the cells are the labels.

    Examples
    --------
    >>> import pandas as pd
    >>> from pbgnet.certificates import AnswerColumn, certify
    >>> table = pd.DataFrame({"case": [7, 8, 9], "answer": ["yes", "no", "no"]})
    >>> certified = certify(AnswerColumn("answer"), table, ["yes", "no", "yes"], name="model in R")
    >>> certified.certificate.inputs.n_errors
    1
    """

    column: str
    labels: Mapping[Any, Any] | None = None

    def __call__(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the answers to rows, which are those that the table holds."""
        names = column_names(X)
        if names is None or self.column not in names:
            raise UnknownNameError(
                f"The answers should be in the column {self.column!r}, which X does not have. Pass a data "
                "frame that has it."
            )
        cells = X[self.column].to_numpy()
        if self.labels is None:
            return np.asarray(cells)
        labels = np.empty(len(cells), dtype=object)
        labels[:] = [self.labels.get(cell, cell) for cell in cells.tolist()]
        return np.asarray(labels.tolist()) if len(labels) else labels


def predict_function(model: Any) -> Callable[[Any], Any]:
    """Return what maps rows to labels: the model's `predict`, or the model itself if it can be called."""
    predict = getattr(model, "predict", None)
    if isinstance(model, type) or not (callable(predict) or callable(model)):
        kind = (
            f"the class {model.__name__} instead of an instance"
            if isinstance(model, type)
            else type(model).__name__
        )
        raise DtypeError(
            f"A classifier must have a predict method, or be a function from rows to labels; got {kind}."
        )
    found: Callable[[Any], Any] = predict if callable(predict) else model
    return found


def as_array(name: str, answer: Any) -> NDArray[Any]:
    """Return what a classifier, or a loss, returned as an array; `name` describes it in the message.

    Raises
    ------
    ShapeError
        If it is lists of unequal lengths.
    DomainError
        If values are masked.
    DtypeError
        If NumPy cannot read it, for example a tensor of a precision that NumPy does not have.
    """
    refuse_masked(name, answer)
    try:
        if hasattr(answer, "detach") and hasattr(answer, "cpu"):  # a tensor, possibly on a GPU
            answer = answer.detach().cpu()
        return np.asarray(answer.to_numpy() if hasattr(answer, "to_numpy") else answer)
    except ValueError as error:
        raise ShapeError(f"{name} must be a regular array: {error}") from error
    except (RuntimeError, TypeError) as error:
        raise DtypeError(f"{name} must be an array that NumPy can read. Convert it first: {error}") from error


def ask(model: Any, X: Any, known: Classes, who: str = "The classifier") -> NDArray[np.int64]:  # noqa: N803
    """Let a classifier answer rows, batch by batch, and return the class indices of its labels.

    Parameters
    ----------
    model : classifier or callable
    X : DataFrame, ndarray, scipy sparse matrix or source, shape (n, d)
    known : Classes
    who : str
        Who answers, for messages.

    Raises
    ------
    ShapeError
        If it does not return one answer per row.
    LabelError
        If an answer is missing, not a label, or an unknown one.
    """
    parts = [
        known.places(ask_once(model, part, rows.stop - rows.start), f"{who} answers with")
        for rows, part in row_batches(model, X)
    ]
    return np.concatenate(parts)


def ask_once(model: Any, X: Any, n: int) -> NDArray[Any]:  # noqa: N803
    """Let a classifier answer n rows in memory, and return its labels as `label_values` does.

    Raises
    ------
    ShapeError
        If it does not return one answer per row.
    LabelError
        If an answer is missing or not a label.
    """
    values = as_array("The classifier's answers", predict_function(model)(X))
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n,):
        advice = (
            " Probabilities and scores are not labels: return the label with the largest one."
            if values.ndim == 2 and values.shape[0] == n
            else ""
        )
        raise ShapeError(
            f"The classifier must return one label for each of the {n} rows, got shape {values.shape}."
            + advice
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        missing = int(np.sum(~np.isfinite(values)))
        raise LabelError(
            f"The classifier returns NaN or infinity instead of a label on {missing} of {n} rows."
        )
    try:
        return label_values(values)
    except LabelError as error:
        raise LabelError(f"The classifier does not return labels: {error}") from error


def check_row_count(X: Any, n_labels: int) -> int:  # noqa: N803
    """Return the number of rows, one or more, or raise an error if the number of labels differs."""
    n = count_rows(X)
    if n != n_labels:
        raise ShapeError(f"The table has {n} rows, but there are {n_labels} labels.")
    if n == 0:
        raise DomainError("There are no rows to certify; at least one is needed.")
    return n


def takes_arguments(function: Callable[..., Any], count: int) -> bool:
    """Whether a user's function can be called with this many arguments, as far as Python can tell."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some that are not written in Python have none
        return True
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True


def read_row_values(data: object, where: str) -> tuple[Any, NDArray[np.float64]]:
    """Read a quantity and its value on each row from parsed JSON, or raise a `PBGNetError`."""
    content = read_keys(data, ["quantity", "values"], where)
    values = content["values"]
    if not isinstance(values, list) or not all(type(value) is float for value in values):
        raise DamagedFileError(f"{where}.values must be a list of numbers, got {values!r:.60}.")
    return content["quantity"], np.array(values, dtype=np.float64)
