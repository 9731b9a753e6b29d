"""Rows that a classifier has seen: an error if that can be detected, because the bound would not hold."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates.classifier.batches import row_batches
from pbgnet.certificates.data import (
    DUPLICATES_ADVICE,
    TableFacts,
    check_apart,
    count_duplicates,
    row_fingerprints,
    single_columns,
)
from pbgnet.certificates.network import CertifiedModel
from pbgnet.exceptions import DuplicateRowsWarning, ShapeError
from pbgnet.preprocessing import column_names
from pbgnet.validation import check_readable


def refuse_seen_rows(
    model: Any,
    X: Any,  # noqa: N803
    y: ArrayLike | None,
    training_data: Any,
    facts: TableFacts,
) -> None:
    """Raise an error if the model has seen one of the rows of a walk; warn about duplicates."""
    if training_data is not None:
        _refuse_training_rows(X, y, training_data)
    refuse_rows_of_fit(model, X)
    if count := count_duplicates(facts.exact):
        warnings.warn(
            f"{count} of the {facts.exact.size} rows repeat another row. {DUPLICATES_ADVICE}",
            DuplicateRowsWarning,
            stacklevel=3,
        )


def _refuse_training_rows(X: Any, y: ArrayLike | None, training_data: Any) -> None:  # noqa: N803
    """Raise an error if a row is among the training data, in the common columns, even rounded to float32."""
    table, labels = training_data if isinstance(training_data, tuple) else (training_data, None)
    columns = _common_columns(X, table)
    what = "the classifier in training"
    if labels is None or y is None:
        labels = y = None
    else:
        what += ", with their labels"
    mine, seen = TableFacts.of(X, columns).labelled(y), TableFacts.of(table, columns).labelled(labels)
    check_apart(mine.exact, seen.exact, what)
    check_apart(mine.single, seen.exact, f"{what}, rounded to float32")
    check_apart(mine.exact, seen.single, f"{what}, before they were rounded to float32")
    single = single_columns(X, columns) | single_columns(table, columns)
    check_apart(
        row_fingerprints(X, y, columns, rounding=single),
        row_fingerprints(table, labels, columns, rounding=single),
        f"{what}, partly as float32",
    )


def _common_columns(X: Any, table: Any) -> tuple[str, ...] | None:  # noqa: N803
    """Return the columns in which to compare two tables; None for all, if they are matched by position."""
    names, others = column_names(X), column_names(table)
    if names is not None and others is not None:
        if set(names) <= set(others):
            return names
        if set(others) <= set(names):
            return others
    check_readable("The training data", table)
    found, seen = (np.shape(part)[1:] for part in (X, table))
    if found != seen:
        raise ShapeError(
            f"The training data have columns of shape {seen} but X has {found}, so their rows cannot be "
            "compared. Give both the same columns in the same order, or pass both as data frames with "
            "column names."
        )
    return None


def refuse_rows_of_fit(model: Any, X: Any) -> None:  # noqa: N803
    """Raise an error if a model that remembers its rows was given one of these.

    pbgnet's estimators and certified models remember each row, even after saving. Searches and pipelines are
    inspected: behind other steps of a pipeline, rows are compared as its last step sees them.
    """
    core, before = getattr(model, "__self__", model), []
    while hasattr(core, "best_estimator_") or hasattr(core, "steps"):
        if hasattr(core, "best_estimator_"):
            core = core.best_estimator_
        else:
            before += [step for _, step in core.steps[:-1] if step not in (None, "passthrough")]
            core = core.steps[-1][1]
    seen = getattr(core, "row_fingerprints_", None)
    if seen is not None:
        names = getattr(core, "feature_names_in_", None)
        columns = None if names is None else [str(name) for name in names]
        single = getattr(core, "single_row_fingerprints_", None)
        for _, part in row_batches(model, X) if before else [(None, X)]:
            for step in before:
                part = step.transform(part)  # noqa: PLW2901
            _refuse(part, columns, seen, single, "the classifier in fit")
    if isinstance(core, CertifiedModel):
        what = "the certified model, which was trained on them"
        _refuse(X, core.feature_names, core.row_fingerprints, None, what)


def _refuse(
    X: Any,  # noqa: N803
    columns: Sequence[str] | None,
    seen: NDArray[np.uint64],
    seen_single: NDArray[np.uint64] | None,
    what: str,
) -> None:
    """Raise an error if a row is among those remembered, exactly, or if one of the two is rounded to float32.

    A model in a file only remembers exact rows: rows given as float32 are found in float64, but not the other
    way round.
    """
    facts = TableFacts.of(X, columns)
    check_apart(facts.exact, np.asarray(seen), what)
    check_apart(facts.single, np.asarray(seen), f"{what}, as float32")
    if seen_single is not None:
        check_apart(facts.exact, np.asarray(seen_single), f"{what}, before they were rounded to float32")
