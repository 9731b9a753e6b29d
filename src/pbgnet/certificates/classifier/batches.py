"""The rows of a table as a classifier receives them: all together if they are in memory, else in batches."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates.data import Inputs
from pbgnet.preprocessing import count_rows, is_source, take_rows


def row_batches(model: Any, X: Any) -> Iterator[tuple[slice, Any]]:  # noqa: N803
    """Yield the rows of a table, and which they are, in a form that the classifier accepts.

    A table in memory is one batch. From a source, pbgnet's own models get its columns, classifiers that were
    fitted on arrays get arrays, and all others get frames; each batch is released before the next one is
    read.
    """
    if not is_source(X):
        yield slice(0, count_rows(X)), X
        return
    core, start = getattr(model, "__self__", model), 0
    inputs = getattr(core, "inputs", None)
    reads_columns = isinstance(inputs, Inputs) and inputs.feature_names is not None
    for batch in X.batches() if reads_columns else X.frames():
        stop = start + count_rows(batch)
        yield slice(start, stop), batch.to_numpy() if _wants_arrays(core) else batch
        start = stop


def every_second(X: Any) -> tuple[NDArray[np.int64], Any]:  # noqa: N803
    """Return every second row of a batch, and which they are."""
    rows = np.arange(0, count_rows(X), 2)
    return rows, [X[k] for k in rows] if isinstance(X, list | tuple) else take_rows(X, rows)


def _wants_arrays(model: Any) -> bool:
    """Whether a classifier was fitted on rows without column names."""
    inputs = getattr(model, "inputs", None)
    if isinstance(inputs, Inputs):
        return inputs.feature_names is None
    return hasattr(model, "n_features_in_") and not hasattr(model, "feature_names_in_")
