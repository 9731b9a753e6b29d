"""Tables larger than memory, read from files a few thousand rows at a time."""

from pbgnet.sources.csv_files import CsvFile
from pbgnet.sources.file_damage import damage_named
from pbgnet.sources.parquet_files import read_parquet
from pbgnet.sources.row_source import RowSource
from pbgnet.sources.scanning import find_files, scan_table

__all__ = ["CsvFile", "RowSource", "damage_named", "find_files", "read_parquet", "scan_table"]
