"""A fitted table preprocessor in ONNX operations, and tables in the form that these read.

Numbers and texts cannot share a tensor, so a table becomes two inputs: `x` with the numeric columns and the
parts of dates, NaN for missing values, and `text` with the categorical ones. Columns without a value in the
fitted rows are left out of both. Numbers are only compared, always in float64: if they were rounded first,
one could fall into another bin.

The operations are those of the preprocessor: every cell becomes a code, and the meaning of a code is looked
up. Codes are numbered through all columns, as in the arrays of `CodeBook`. Columns are on the first axis
until the end, because selecting along the first axis copies whole columns and is many times faster.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.export.dependency import import_onnx
from pbgnet.export.graph import Graph
from pbgnet.preprocessing import (
    CategoricalColumn,
    CodeBook,
    Column,
    NumericColumn,
    TablePreprocessor,
    coded_numbers,
    column_names,
    read_columns,
)

UNKNOWN = "<unknown>"

NUMBERS_DTYPE = np.dtype(np.float64)
"""The type of the input `x` of a table."""


def numeric_columns(preprocessor: TablePreprocessor) -> list[NumericColumn]:
    """Return the columns of the input `x`, in order."""
    return [column for column in preprocessor.coded_ if isinstance(column, NumericColumn)]


def text_columns(preprocessor: TablePreprocessor) -> list[CategoricalColumn]:
    """Return the columns of the input `text`, in order."""
    return [column for column in preprocessor.coded_ if isinstance(column, CategoricalColumn)]


def missing_text(preprocessor: TablePreprocessor) -> str:
    """Return the text that means "missing" in the input `text`; it is not a category."""
    known = {category for column in text_columns(preprocessor) for category in column.categories}
    return _unlike("<missing>", known)


def add_preprocessing(graph: Graph, preprocessor: TablePreprocessor) -> str:
    """Add the inputs of a table and what `TablePreprocessor.transform` does to them: (n, n_features_out_)."""
    book, missing = preprocessor.book_, missing_text(preprocessor)
    numeric, texts = numeric_columns(preprocessor), text_columns(preprocessor)
    columns, starts = preprocessor.coded_, book.starts[:-1].tolist()
    places = [k for k, column in enumerate(columns) if isinstance(column, NumericColumn)]
    text_places = [k for k, column in enumerate(columns) if isinstance(column, CategoricalColumn)]
    parts = []
    if numeric:
        parts.append(_number_codes(graph, numeric, [starts[place] for place in places]))
    if texts:
        text = graph.input("text", len(texts), np.dtype(object))
        # Along the last axis: along the first, onnxruntime 1.31 copies only one text of each row.
        for k, (column, place) in enumerate(zip(texts, text_places, strict=True)):
            values = graph.op("Gather", text, graph.indices([k]), axis=1)
            parts.append(_text_codes(graph, values, column, starts[place], missing))
    codes = _chosen(graph, graph.op("Concat", *parts, axis=0), np.argsort([*places, *text_places]))
    return graph.op("Transpose", _add_outputs(graph, codes, book), perm=[1, 0])


def preprocessing_per_row(preprocessor: TablePreprocessor) -> int:
    """Return how many numbers the preprocessing holds simultaneously for one row: copies of its output."""
    return 4 * int(preprocessor.n_features_out_)


def read_table(
    X: Any,  # noqa: N803
    preprocessor: TablePreprocessor,
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the inputs `x` and `text` of a table; errors and warnings are those of the preprocessor."""
    codes = preprocessor.encode(X).codes
    names = [column.name for column in preprocessor.columns_] if column_names(X) is not None else None
    read = zip(preprocessor.columns_, read_columns(X, names), strict=True)
    found = [some for fitted, column in read for some in coded_numbers(fitted, column)]
    numbers = [some for some in found if some is not None]
    missing = missing_text(preprocessor)
    texts = [
        _code_texts(fitted, missing)[codes[:, k]]
        for k, fitted in enumerate(preprocessor.coded_)
        if isinstance(fitted, CategoricalColumn)
    ]
    return _side_by_side(numbers, len(codes), np.float64), _side_by_side(texts, len(codes), object)


def _number_codes(graph: Graph, columns: Sequence[NumericColumn], starts: Sequence[int]) -> str:
    """Count the thresholds up to each number by bisection, for all columns together: codes, shape (c, n)."""
    x = graph.op("Transpose", graph.input("x", len(columns), NUMBERS_DTYPE), perm=[1, 0])
    # Infinity follows the thresholds of each column; no number reaches it.
    ends = np.cumsum([column.n_bins for column in columns])
    offsets = ends - [column.n_bins for column in columns]
    thresholds = np.concatenate([[*column.thresholds, np.inf] for column in columns])
    table, last = graph.store(thresholds), graph.indices(ends[:, None] - 1)
    found = graph.indices(offsets[:, None])
    for k in reversed(range(max(column.n_bins - 1 for column in columns).bit_length())):
        probe = graph.op("Min", graph.op("Add", found, graph.indices([2**k - 1])), last)
        above = graph.op("GreaterOrEqual", x, graph.op("Gather", table, probe))
        found = graph.op("Where", above, graph.op("Add", found, graph.indices([2**k])), found)
    first = np.array(starts)[:, None]
    codes = graph.op("Add", found, graph.indices(first - offsets[:, None]))
    gaps = np.array([column.encode(Column(column.name, np.array([np.nan]), None))[0] for column in columns])
    absent = graph.op("Or", graph.op("IsNaN", x), graph.op("IsInf", x))
    return graph.op("Where", absent, graph.indices(first + gaps), codes)


def _text_codes(graph: Graph, values: str, column: CategoricalColumn, start: int, missing: str) -> str:
    """Compare texts (n, 1) with all that have a code of their own; at most one is equal: (1, n)."""
    unknown = _unlike(UNKNOWN, set(column.categories))
    texts = [*column.categories, None, unknown]
    *known, otherwise = column.encode(Column(column.name, None, texts))[0].tolist()
    equal = graph.op("Equal", values, graph.store(np.array([[*column.categories, missing]])))
    more = graph.op("Where", equal, graph.indices(np.array(known) - otherwise), graph.indices([0]))
    codes = graph.op(
        "Add", graph.op("ReduceSum", more, graph.indices([1]), keepdims=0), graph.indices([start + otherwise])
    )
    return graph.op("Unsqueeze", codes, graph.indices([0]))


def _add_outputs(graph: Graph, codes: str, book: CodeBook) -> str:
    """Write out codes (c, n) as `CodeBook.dense` does: values, steps and others, then in their order."""
    parts: list[str] = []
    places: list[NDArray[np.int64]] = []
    with_value = np.flatnonzero(book.value_output >= 0)
    if with_value.size:
        parts.append(graph.op("Gather", graph.constant(book.value), _chosen(graph, codes, with_value)))
        places.append(book.value_output[with_value])
    of_step = np.repeat(np.arange(book.n_columns), book.n_steps)
    if of_step.size:
        step = np.concatenate([np.arange(n_steps) for n_steps in book.n_steps])
        counts = graph.op("Gather", graph.indices(book.steps_on), codes)
        above = graph.op("Greater", _chosen(graph, counts, of_step), graph.indices(step[:, None]))
        parts.append(_as_numbers(graph, above))
        places.append(book.first_step[of_step] + step)
    others = np.flatnonzero(book.other_output >= 0)  # each is the output of one code
    if others.size:
        of_other = np.searchsorted(book.starts, others, side="right") - 1
        equal = graph.op("Equal", _chosen(graph, codes, of_other), graph.indices(others[:, None]))
        parts.append(_as_numbers(graph, equal))
        places.append(book.other_output[others])
    return _chosen(graph, graph.op("Concat", *parts, axis=0), np.argsort(np.concatenate(places)))


def _chosen(graph: Graph, values: str, columns: Sequence[int] | NDArray[np.int64]) -> str:
    return graph.op("Gather", values, graph.indices(columns), axis=0)


def _as_numbers(graph: Graph, truth: str) -> str:
    element = import_onnx().helper.np_dtype_to_tensor_dtype(graph.dtype)
    return graph.op("Cast", truth, to=element)


def _code_texts(column: CategoricalColumn, missing: str) -> NDArray[Any]:
    """Return a text for each code of a column: its category, or a text that is not one."""
    unknown = _unlike(UNKNOWN, {*column.categories, missing})
    texts = [*column.categories, *[unknown] * column.rare, *[missing] * column.missing]
    # Codes without an output: if there were rare values in the fitted rows only missing, else also unknown.
    return np.array([*texts, missing if column.rare else unknown], dtype=object)


def _side_by_side(columns: Sequence[NDArray[Any]], n_rows: int, dtype: type) -> NDArray[Any]:
    return np.stack(columns, axis=1) if columns else np.zeros((n_rows, 0), dtype=dtype)


def _unlike(text: str, known: set[str]) -> str:
    while text in known:
        text = f"<{text}>"
    return text
