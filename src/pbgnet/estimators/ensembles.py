"""From a prepared table to the training of an ensemble: which encodings the folds choose between."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.aggregation import Aggregation
from pbgnet.certificates import Classes, PreparedTable
from pbgnet.exceptions import DomainError, LabelError
from pbgnet.preprocessing import NumericColumn
from pbgnet.training import EnsembleCourse, EnsembleRecipe, TrainingData
from pbgnet.validation import positive_real

# Numbers by their value do best on some tables, cut by steps as well on others; see docs/tables.md.
ENCODINGS = ("standard", "both")

MANY_COLUMNS = 256
"""With more columns of numbers than these, such as pixels, steps cost more time than they are worth."""

AS_GIVEN = "as given"
"""The encoding of numbers that no preprocessor encodes."""

HIDDEN_LAYER_SIZES = (20,)


def encodings(table: PreparedTable) -> tuple[str, ...]:
    """Return what the numbers of a table may become in training; a single one where nothing is to choose."""
    preprocessor = table.inputs.preprocessor
    if preprocessor is None:
        return (AS_GIVEN,)
    if preprocessor.numbers != "auto":
        return (preprocessor.numbers,)
    n_numbers = sum(isinstance(column, NumericColumn) for column in preprocessor.coded_)
    return ENCODINGS if 0 < n_numbers <= MANY_COLUMNS else ENCODINGS[:1]


def in_encoding(table: PreparedTable, encoding: str) -> PreparedTable:
    """Return a table in one of its encodings."""
    return table if encoding == AS_GIVEN else table.with_numbers(encoding)


def row_weights(
    places: NDArray[np.int64], classes: Classes, class_weight: str | Mapping[Any, Any] | None
) -> NDArray[np.float64] | None:
    """Return what the loss of each row is multiplied by, given its place among the classes; None for 1.

    "balanced" makes the rows of either class weigh as much together; a class that is not named weighs 1, as
    in scikit-learn. Weights are scaled to a mean of 1, so that the other settings keep their sense.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str):  # "balanced"
        of_class = 1.0 / np.maximum(np.bincount(places, minlength=len(classes)), 1)
    else:
        if unknown := [label for label in class_weight if label not in classes.labels]:
            raise LabelError(
                f"class_weight names {unknown[0]!r:.60}, which is no class; the classes are "
                f"{' and '.join(classes.names)}."
            )
        given = [class_weight.get(label, 1.0) for label in classes.labels]
        of_class = np.array([positive_real("A weight in class_weight", weight) for weight in given])
    weights = of_class[places]
    return np.asarray(weights / weights.mean())


def ensemble_recipe(
    table: PreparedTable,
    *,
    hidden_layer_sizes: Sequence[int],
    aggregation: Aggregation,
    n_members: int,
    learning_rate: float,
    weight_decay: float | None,
    batch_size: int | None,
    max_epochs: int | None,
    class_weight: str | Mapping[Any, Any] | None,
    seeds: Sequence[int],
    device: str,
) -> EnsembleRecipe:
    """Describe the training of an ensemble on the prior rows of a table."""
    rows = table.split.prior_rows
    if rows.size == 0:
        raise DomainError("'ensemble' needs rows to train on; prior_rows is empty.")
    course = EnsembleCourse(
        n_members=n_members, weight_decay=weight_decay, batch_size=batch_size, max_epochs=max_epochs
    )
    classes = table.inputs.classes
    weight = row_weights(classes.places(table.labels[rows]), classes, class_weight)
    return EnsembleRecipe(
        {
            encoding: TrainingData.of(
                *in_encoding(table, encoding).examples(rows), unit=True, device=device, weight=weight
            )
            for encoding in encodings(table)
        },
        hidden_layer_sizes,
        aggregation,
        learning_rate,
        weights_seed=seeds[0],
        folds_seed=seeds[1],
        course=course,
    )
