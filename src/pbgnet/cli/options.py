"""Arguments and options that several commands share.

Whether a file is readable is found out by reading it (``readable=False`` turns off typer's own check): a file
problem has its own exit code.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer


def out_option(metavar: str, text: str) -> Any:
    """Return the option that says where a command writes."""
    return typer.Option("--out", metavar=metavar, readable=False, help=text)


def offering(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return what completes an option that takes one of these names, in shells with completion installed."""
    known = sorted(names)

    def complete(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return complete


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", readable=False, help="Table with one row per example: .csv, .csv.gz or .parquet."
    ),
]
SeveralData = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="Table with one row per example: .csv, .csv.gz or .parquet. Several files with the "
        "same columns, a folder of them or a glob pattern count as one table. Tables above "
        "32 MB are read piece by piece instead of loaded into memory.",
    ),
]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", readable=False, help="Folder of a model made by train.")
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="TEXT",
        help='Text that means "missing" in a CSV, besides an empty cell, ?, NA, N/A, NaN and '
        "null. Repeatable.",
    ),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", metavar="DIR", readable=False, help="Folder with the data sets, or a packed file."
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it already exists.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object to standard output and nothing else.")
]
Debug = Annotated[bool, typer.Option("--debug", help="Print the full traceback of an error.")]
Compare = Annotated[
    bool,
    typer.Option(
        "--compare",
        help="Also show what logistic regression, a random forest and gradient boosting achieve "
        "on the same rows.",
    ),
]
