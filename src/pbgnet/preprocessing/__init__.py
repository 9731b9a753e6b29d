"""From a table of mixed types to numbers, in a way that keeps the proof valid."""

from pbgnet.preprocessing.columns import LARGEST_SCALED, CategoricalColumn, NumericColumn, finite_numbers
from pbgnet.preprocessing.table_preprocessor import TablePreprocessor
from pbgnet.preprocessing.tables import (
    Column,
    as_numbers,
    as_table,
    check_columns,
    column_names,
    count_rows,
    is_frame,
    parse_number,
    read_columns,
    take_rows,
)

__all__ = [
    "LARGEST_SCALED",
    "CategoricalColumn",
    "Column",
    "NumericColumn",
    "TablePreprocessor",
    "as_numbers",
    "as_table",
    "check_columns",
    "column_names",
    "count_rows",
    "finite_numbers",
    "is_frame",
    "parse_number",
    "read_columns",
    "take_rows",
]
