"""Warnings about the columns of a fitted table."""

from collections.abc import Iterator, Sequence
from typing import Any

from pbgnet.exceptions import (
    EmptyColumnWarning,
    IdColumnWarning,
    ManyCategoriesWarning,
    OddCellsWarning,
    PBGNetWarning,
)
from pbgnet.preprocessing.columns import CategoricalColumn, DateColumn, EmptyColumn, IdColumn
from pbgnet.preprocessing.fitting import Fitted
from pbgnet.preprocessing.tables import count_rows, first_few, is_frame


def fit_warnings(
    found: Sequence[Fitted], table: Any, max_categories: int
) -> Iterator[tuple[str, type[PBGNetWarning]]]:
    """Yield the warnings about the columns of a fitted table, and their kinds."""
    fitted, n_rows = [one.column for one in found], count_rows(table)
    if empty := [column.name for column in fitted if isinstance(column, EmptyColumn)]:
        text = f"{some_columns(empty)} had no values in the {n_rows} fitted rows and will be left out."
        yield text, EmptyColumnWarning
    if ids := [column.name for column in fitted if isinstance(column, IdColumn)]:
        them = "it" if len(ids) == 1 else "them"
        text = (
            f"{some_columns(ids)} had a different value in each of the {n_rows} fitted rows, as "
            f"an ID does, and will be left out. To learn from {them} anyway, pass drop_ids=False "
            "(--keep-ids)."
        )
        yield text, IdColumnWarning
    for one in found:
        if one.odd:
            yield _odd_cells(one, table), OddCellsWarning
    if many := [column.name for column in fitted if isinstance(column, CategoricalColumn) and column.rare]:
        text = (
            f"{some_columns(many)} had more than {max_categories} categories; the rarest are "
            "encoded together. Drop columns that only identify rows; otherwise raise "
            "max_categories."
        )
        yield text, ManyCategoriesWarning


def some_columns(names: Sequence[str]) -> str:
    """Name columns; of many, the first three."""
    return f"{'Columns' if len(names) > 1 else 'Column'} {first_few(names)}"


def _odd_cells(one: Fitted, table: Any) -> str:
    """Say which cells were unlike the others of their column."""
    what = "dates" if isinstance(one.column, DateColumn) else "numbers"
    cells = [f"{_place(table, row)} ({text!r:.40})" for row, text in one.odd.items()]
    return (
        f"Column {one.column.name!r} contains {what}, except in {first_few(cells, str)}: "
        "treated as missing. Correct these cells or, if they have a meaning of their own, "
        "make the column categorical."
    )


def _place(table: Any, row: int) -> str:
    """Name a row by the index of its frame, or by its position among the fitted rows of an array."""
    index = getattr(table, "index", None) if is_frame(table) else None
    if index is None or callable(index):
        return f"fitted row {row}"
    return f"{index.name or 'row'} {index[row]}"
