"""Files that contain tables: their kinds, by name, and the texts that mean "missing" in a CSV."""

from pathlib import Path

from pbgnet.exceptions import DamagedFileError

MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL")
"""Texts that mean "missing" in a CSV. For text columns, missing is a category of its own: nothing is lost."""

ENDINGS = {
    ".csv": "csv",
    ".csv.gz": "csv.gz",
    ".tsv": "tsv",
    ".tsv.gz": "tsv.gz",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def kind_of_file(path: object) -> str:
    """Return "csv", "csv.gz", "tsv", "tsv.gz" or "parquet", by the extension of a file."""
    name = str(path).lower()
    for ending, kind in ENDINGS.items():
        if name.endswith(ending):
            return kind
    raise DamagedFileError(
        f"{path} has an unknown extension: use .csv, .csv.gz or .parquet, or .tsv with tabs (export "
        "spreadsheets as CSV with UTF-8 text)."
    )


def is_csv(path: object) -> bool:
    """Whether the cells of a table are texts, judging by its extension."""
    return kind_of_file(path) != "parquet"


def check_file(path: Path) -> None:
    """Raise `DamagedFileError` if a file does not exist or is empty."""
    if path.is_dir():
        raise DamagedFileError(f"{path} is a folder, not a table.")
    if not path.exists():
        raise DamagedFileError(f"There is no file {path}.")
    if path.stat().st_size == 0:
        raise DamagedFileError(f"{path} is empty.")
