"""From a table of mixed types to numbers, in a way that keeps the proof valid."""

from pbgnet.preprocessing.table_preprocessor import TablePreprocessor
from pbgnet.preprocessing.tables import column_names, take_rows

__all__ = ["TablePreprocessor", "column_names", "take_rows"]
