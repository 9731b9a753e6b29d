"""From a table of mixed types to numbers, in a way that keeps the proof valid."""

from pbgnet.preprocessing.binned import BinnedTable, CodeBook
from pbgnet.preprocessing.cell_texts import CellTexts
from pbgnet.preprocessing.code_files import HELD_BYTES, room_for
from pbgnet.preprocessing.columns import (
    CategoricalColumn,
    CodedColumn,
    DateColumn,
    NumericColumn,
    coded,
    coded_numbers,
)
from pbgnet.preprocessing.moments import Moments
from pbgnet.preprocessing.numerals import parse_number, read_numbers, word_numbers
from pbgnet.preprocessing.packed_words import PackedWords, arrow_texts, unpack_arrow
from pbgnet.preprocessing.parts import (
    PART_ROWS,
    ColumnTable,
    column_parts,
    is_source,
    kept_beside,
    zeros_beside,
)
from pbgnet.preprocessing.table_preprocessor import TablePreprocessor
from pbgnet.preprocessing.tables import (
    Column,
    as_numbers,
    as_table,
    check_columns,
    column_names,
    count_rows,
    is_frame,
    is_missing,
    read_columns,
    take_rows,
)
from pbgnet.preprocessing.words import Words

__all__ = [
    "HELD_BYTES",
    "PART_ROWS",
    "BinnedTable",
    "CategoricalColumn",
    "CellTexts",
    "CodeBook",
    "CodedColumn",
    "Column",
    "ColumnTable",
    "DateColumn",
    "Moments",
    "NumericColumn",
    "PackedWords",
    "TablePreprocessor",
    "Words",
    "arrow_texts",
    "as_numbers",
    "as_table",
    "check_columns",
    "coded",
    "coded_numbers",
    "column_names",
    "column_parts",
    "count_rows",
    "is_frame",
    "is_missing",
    "is_source",
    "kept_beside",
    "parse_number",
    "read_columns",
    "read_numbers",
    "room_for",
    "take_rows",
    "unpack_arrow",
    "word_numbers",
    "zeros_beside",
]
