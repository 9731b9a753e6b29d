"""The numbers in the paper, read from the files that come with the package."""

import csv
import functools
from importlib import resources


@functools.cache
def paper_numbers(table: str) -> dict[tuple[str, str], dict[str, float | None]]:
    """Return the numbers of a table of the paper by data set and algorithm; None where it has a dash."""
    path = resources.files("pbgnet.experiments") / "paper" / f"{table}.csv"
    return {
        (row.pop("dataset"), row.pop("algorithm")): {
            name: float(text) if text else None for name, text in row.items()
        }
        for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    }
