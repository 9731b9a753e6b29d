"""From a prepared table to the training of an ensemble: the encodings to choose from, and the settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from pbgnet.aggregation import Aggregation
from pbgnet.certificates import Classes, PreparedTable
from pbgnet.estimators.learning.images import Layout, image_deviation
from pbgnet.exceptions import LabelError
from pbgnet.networks import BinnedRows, as_part_of, with_strong_values
from pbgnet.preprocessing import NumericColumn
from pbgnet.training import EnsembleCourse, EnsembleRecipe, Part, TrainingData
from pbgnet.validation import positive_real

MANY_COLUMNS = 256
"""With more numeric columns than this, such as pixels, steps cost more time than they are worth."""

AS_GIVEN = "as given"
"""The encoding of numbers without a preprocessor."""

VALUES = "values"
"""The part of "both" without steps: on some tables, networks do best with values only."""

# Second word of the seed of the sample of very many rows.
SAMPLE = 4

# What is better for many columns: docs/reference/training.md has the measurements.
WIDE_HIDDEN_LAYER_SIZES, HIDDEN_LAYER_SIZES = (50,), (20,)
WIDE_STEPS = 3000
WIDE_COURSE = EnsembleCourse(total_decay=(0.01, 0.1), deviation=3.0, judging_folds=1, many_rows_rate=1.0)


def _n_numbers(table: PreparedTable) -> int:
    """Count the numeric columns; sparse ones, of which a row has few, do not count."""
    preprocessor = table.inputs.preprocessor
    if preprocessor is not None:
        return sum(isinstance(column, NumericColumn) for column in preprocessor.coded_)
    return 0 if sparse.issparse(table.features) else int(table.features.shape[1])


def auto_hidden_layer_sizes(table: PreparedTable) -> tuple[int, ...]:
    """Return the neurons per hidden layer if the user leaves them open."""
    return WIDE_HIDDEN_LAYER_SIZES if _n_numbers(table) > MANY_COLUMNS else HIDDEN_LAYER_SIZES


def encodings(table: PreparedTable) -> tuple[str, ...]:
    """Return what the numbers of a table may become in training; a single encoding if there is no choice."""
    preprocessor = table.inputs.preprocessor
    if preprocessor is None:
        return (AS_GIVEN,)
    if preprocessor.numbers != "auto":
        return (preprocessor.numbers,)
    n_numbers = _n_numbers(table)
    if n_numbers == 0:
        return ("standard",)
    return ("both",) if n_numbers <= MANY_COLUMNS else ("standard", "range")


def in_encoding(table: PreparedTable, encoding: str) -> PreparedTable:
    """Return a table in one of its encodings."""
    return table if encoding == AS_GIVEN else table.with_numbers(encoding)


def row_weights(
    places: NDArray[np.int64], classes: Classes, class_weight: str | Mapping[Any, Any] | None
) -> NDArray[np.float64] | None:
    """Return the factor of the loss of each row, given its class index; None for 1.

    "balanced" gives the rows of each class the same total weight; a class that is not named has weight 1, as
    in scikit-learn. Weights are scaled to a mean of 1, so that the other settings keep their meaning.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str):  # "balanced"
        of_class = 1.0 / np.maximum(np.bincount(places, minlength=len(classes)), 1)
    else:
        if unknown := [label for label in class_weight if label not in classes.labels]:
            raise LabelError(
                f"class_weight names {unknown[0]!r:.60}, which is not one of the classes: "
                f"{' and '.join(classes.names):.200}."
            )
        given = [class_weight.get(label, 1.0) for label in classes.labels]
        of_class = np.array([positive_real("A weight in class_weight", weight) for weight in given])
    weights = of_class[places]
    return np.asarray(weights / weights.mean())


def ensemble_recipe(
    table: PreparedTable,
    layout: Layout,
    *,
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
    course = replace(
        _auto_course(table, layout),
        n_members=n_members,
        weight_decay=weight_decay,
        batch_size=batch_size,
        max_epochs=max_epochs,
    )
    prior = _PriorRows(
        table, layout, row_weights(table.truth[rows], table.inputs.classes, class_weight), device
    )
    has_very_many = course.has_very_many(rows.size)
    shown = None
    if has_very_many:
        generator = np.random.default_rng((seeds[1], SAMPLE))
        shown = np.sort(generator.choice(rows.size, min(course.sample_rows, rows.size), replace=False))
    prepared = {name: prior.examples(name, shown, strong=has_very_many) for name in prior.names}
    return EnsembleRecipe(
        {name: examples for name, (examples, _) in prepared.items()},
        layout.hidden_layer_sizes,
        aggregation,
        learning_rate,
        weights_seed=seeds[0],
        folds_seed=seeds[1],
        course=course,
        augmentation=layout.augmentation,
        code=table.inputs.code,
        parts={name: part for name, (_, part) in prepared.items() if part is not None},
        everything=partial(prior.examples, strong=True) if has_very_many else None,
    )


@dataclass(frozen=True, eq=False)
class _PriorRows:
    """The prior rows of a table, in any of the encodings that the folds choose between."""

    table: PreparedTable
    layout: Layout
    weight: NDArray[np.float64] | None
    device: str

    @property
    def names(self) -> tuple[str, ...]:
        found = encodings(self.table)
        return (*found, VALUES) if "both" in found else found

    def examples(
        self, name: str, shown: NDArray[np.int64] | None = None, *, strong: bool = False
    ) -> tuple[TrainingData, Part | None]:
        """Return rows in an encoding, and the part it is, if any; by default all rows.

        With strong values, those of "both" count as much as their steps.
        """
        if name == VALUES:
            outputs = in_encoding(self.table, "both").features.book.outputs_without_steps
            both, standard = (self._data(each, shown) for each in ("both", "standard"))
            return _values_of(both, standard, outputs)
        data = self._data(name, shown)
        if not strong or name != "both":
            return data, None
        assert isinstance(data.rows, torch.Tensor | BinnedRows)
        rows, factors = with_strong_values(data.rows, in_encoding(self.table, name).features.book)
        every = torch.arange(len(factors), device=factors.device)
        return replace(data, rows=rows), Part(name, every, len(factors), factors)

    def _data(self, name: str, shown: NDArray[np.int64] | None) -> TrainingData:
        rows, weight = self.table.split.prior_rows, self.weight
        if shown is not None:
            rows, weight = rows[shown], None if weight is None else weight[shown]
        examples = in_encoding(self.table, name).examples(rows)
        return TrainingData.of(
            *examples, unit=True, device=self.device, weight=weight, patches=self.layout.patches
        )


def _auto_course(table: PreparedTable, layout: Layout) -> EnsembleCourse:
    """Return the course that suits a table; the long one for many columns also pays off with many rows."""
    course = EnsembleCourse() if _n_numbers(table) <= MANY_COLUMNS else WIDE_COURSE
    if course is WIDE_COURSE and table.split.prior_rows.size >= WIDE_COURSE.many_rows:
        course = replace(WIDE_COURSE, n_steps=WIDE_STEPS)
    if layout.patches is None:
        return course
    return replace(course, deviation=image_deviation(layout.patches), very_many_rows=None)


def _values_of(
    both: TrainingData, standard: TrainingData, outputs: NDArray[np.int64]
) -> tuple[TrainingData, Part]:
    """Return numbers with values only as the part of "both" that they are, at these of its outputs."""
    assert isinstance(both.rows, torch.Tensor | BinnedRows)
    assert isinstance(standard.rows, torch.Tensor | BinnedRows)
    rows, factor = as_part_of(standard.rows, both.rows)
    n_inputs = both.rows.shape[-1]
    inputs = torch.from_numpy(np.append(outputs, n_inputs - 1)).to(both.y.device)
    return replace(standard, rows=rows), Part("both", inputs, n_inputs, factor)
