"""A fitted table preprocessor in ONNX operations, and tables in the form that these read.

Numbers and texts cannot share a tensor, so a table becomes two inputs: `x` with the numeric columns, NaN
where a value is missing, and `text` with the categorical ones. Columns without a value in the fitted rows
are left out of both.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.export.graph import Graph
from pbgnet.preprocessing import (
    LARGEST_SCALED,
    CategoricalColumn,
    Column,
    NumericColumn,
    TablePreprocessor,
    column_names,
    finite_numbers,
    read_columns,
)

UNKNOWN = "<unknown>"


def numeric_columns(preprocessor: TablePreprocessor) -> list[NumericColumn]:
    """Return the columns of the input `x`, in order."""
    return [column for column in preprocessor.columns_ if isinstance(column, NumericColumn)]


def text_columns(preprocessor: TablePreprocessor) -> list[CategoricalColumn]:
    """Return the columns of the input `text`, in order."""
    return [column for column in preprocessor.columns_ if isinstance(column, CategoricalColumn)]


def missing_text(preprocessor: TablePreprocessor) -> str:
    """Return the text that means "missing" in the input `text`: one that is no category."""
    known = {category for column in text_columns(preprocessor) for category in column.categories}
    return _unlike("<missing>", known)


def add_preprocessing(graph: Graph, preprocessor: TablePreprocessor) -> str:
    """Add the inputs of a table and what `TablePreprocessor.transform` does to them: (n, n_features_out_)."""
    parts: list[str] = []
    order: dict[str, list[int]] = {}  # where the outputs of each column are among all parts
    width = 0
    if numeric := numeric_columns(preprocessor):
        parts += _numbers(graph, numeric)
        order = {column.name: [k] for k, column in enumerate(numeric)}
        width = len(numeric)
        for column in numeric:
            if column.missing:
                order[column.name].append(width)
                width += 1
    if texts := text_columns(preprocessor):
        parts += _texts(graph, texts, missing_text(preprocessor))
        for text in texts:
            order[text.name] = list(range(width, width + len(text.outputs)))
            width += len(text.outputs)
    joined = graph.op("Concat", *parts, axis=1)
    wanted = [k for column in preprocessor.columns_ for k in order.get(column.name, [])]
    return graph.op("Gather", joined, graph.indices(wanted), axis=1)


def read_table(
    X: Any,  # noqa: N803
    preprocessor: TablePreprocessor,
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the inputs `x` and `text` of a table; raises and warns as the preprocessor does."""
    preprocessor.transform(X)  # for its errors and warnings: the operations of a file can give none
    names = [column.name for column in preprocessor.columns_] if column_names(X) is not None else None
    missing = missing_text(preprocessor)
    columns = list(zip(read_columns(X, names), preprocessor.columns_, strict=True))
    numbers = [finite_numbers(column)[0] for column, fitted in columns if isinstance(fitted, NumericColumn)]
    texts = [
        _read_texts(column, fitted, missing)
        for column, fitted in columns
        if isinstance(fitted, CategoricalColumn)
    ]
    n_rows = len(numbers[0] if numbers else texts[0])
    return _side_by_side(numbers, n_rows, np.float64), _side_by_side(texts, n_rows, object)


def _numbers(graph: Graph, columns: Sequence[NumericColumn]) -> list[str]:
    """All scaled columns, then where those with gaps in the fitted rows are missing."""
    x = graph.input("x", len(columns))
    medians, means, scales = (
        graph.constant([[getattr(column, name) for column in columns]])
        for name in ("median", "mean", "scale")
    )
    absent = graph.op("Or", graph.op("IsNaN", x), graph.op("IsInf", x))
    filled = graph.op("Where", absent, medians, x)
    largest = min(LARGEST_SCALED, float(np.finfo(graph.dtype).max))
    scaled = graph.op("Div", graph.op("Sub", filled, means), scales)
    parts = [graph.op("Clip", scaled, graph.constant(-largest), graph.constant(largest))]
    if gaps := [k for k, column in enumerate(columns) if column.missing]:
        parts.append(graph.op("Gather", _as_numbers(graph, absent), graph.indices(gaps), axis=1))
    return parts


def _texts(graph: Graph, columns: Sequence[CategoricalColumn], missing: str) -> list[str]:
    """One part per column: 1 at its category, or at the last place where it is missing."""
    text = graph.input("text", len(columns), np.dtype(object))
    parts = []
    for k, column in enumerate(columns):
        values = graph.op("Gather", text, graph.indices([k]), axis=1)
        known = [*column.categories, *([missing] if column.missing else [])]
        parts.append(_as_numbers(graph, graph.op("Equal", values, graph.store(np.array([known])))))
    return parts


def _as_numbers(graph: Graph, truth: str) -> str:
    return graph.op("Where", truth, graph.constant(1.0), graph.constant(0.0))


def _read_texts(column: Column, fitted: CategoricalColumn, missing: str) -> NDArray[Any]:
    """The category of each row, as the column itself finds it; a text that is none where it finds none."""
    known = [*fitted.categories, *([missing] if fitted.missing else [])]
    found = np.zeros((column.n_rows, len(known)))
    fitted.encode(column, found)
    unknown = _unlike(UNKNOWN, {*known, missing})
    return np.where(found.any(axis=1), np.array(known, dtype=object)[found.argmax(axis=1)], unknown)


def _side_by_side(columns: Sequence[NDArray[Any]], n_rows: int, dtype: type) -> NDArray[Any]:
    return np.stack(columns, axis=1) if columns else np.zeros((n_rows, 0), dtype=dtype)


def _unlike(text: str, known: set[str]) -> str:
    while text in known:
        text = f"<{text}>"
    return text
