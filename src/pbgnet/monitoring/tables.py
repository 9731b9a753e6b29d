"""The columns of a table together with additional columns."""

from collections.abc import Mapping
from typing import Any, Self

from numpy.typing import ArrayLike

from pbgnet.exceptions import DtypeError, ShapeError
from pbgnet.monitoring.gaps import values_of
from pbgnet.preprocessing import TablePreprocessor, as_table, check_columns, column_names, count_rows
from pbgnet.validation import check_kind


class NamedColumns:
    """A minimal frame: columns by their names, each with one value per row."""

    def __init__(self, values: dict[str, Any]) -> None:
        lengths = {name: count_rows(column) for name, column in values.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name!r} has {count}" for name, count in list(lengths.items())[-2:])
            raise ShapeError(f"All columns must have the same number of rows; {told}.")
        self._values = values
        self.columns = tuple(values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __len__(self) -> int:
        return max((count_rows(column) for column in self._values.values()), default=0)

    @classmethod
    def of(cls, table: Any, extra: Mapping[str, ArrayLike] | None = None) -> Self:
        """Return the columns of a table (x0, x1, ... for an array) and additional ones."""
        values: dict[str, Any] = {}
        if table is not None:
            if hasattr(table, "tocsr"):
                raise DtypeError(
                    "Sparse rows cannot be compared column by column; pass only predictions and margins."
                )
            table = as_table(table)
            names = column_names(table)
            if names is None:
                if table.ndim != 2:
                    raise ShapeError(
                        f"A table must have rows and columns, got an array of shape {table.shape}."
                    )
                values = {f"x{k}": table[:, k] for k in range(table.shape[1])}
            else:
                values = {str(key): table[key] for key in table.columns}
        check_kind("Further columns", {} if extra is None else extra, Mapping, advice="Name each of them.")
        for name, column in (extra or {}).items():
            if name in values:
                raise ShapeError(
                    f"The table already has a column {name!r}; give the further column another name."
                )
            values[name] = values_of(f"The column {name!r:.60}", column)
        return cls(values)


def selected(columns: NamedColumns, bins: TablePreprocessor) -> NamedColumns:
    """Return the columns that have bins; raise `ShapeError` if one is missing."""
    wanted = [column.name for column in bins.columns_]
    found = [name for name in columns.columns if name in set(wanted)]
    if len(found) < len(wanted):
        check_columns(columns.columns, wanted)
    return NamedColumns({name: columns[name] for name in wanted})
