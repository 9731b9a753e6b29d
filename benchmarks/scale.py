"""The tables for many rows: ``python -m benchmarks scale``. Files are made by `benchmarks.scale_data`."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.footprint import python, run_measured
from benchmarks.scale_data import write_numbers, write_table
from benchmarks.tables import Table
from benchmarks.timing import Arm, Effort, side_by_side
from pbgnet.sources import scan_table

__all__ = ["TABLES"]

TARGET = "label"


def from_file_to_certificate(effort: Effort) -> Table:
    """The command line on a table that is not held."""
    table = Table(
        "From Parquet to certificate: `pbgnet train`, one hidden layer of 100",
        ("rows", "columns", "workers", "minutes", "own memory, MB", "with mapped files, MB", "bound"),
        notes=[
            "Mixed types with gaps; label noise of 5 %. Own memory is that of all processes together, without "
            "pages of mapped files, which the system may drop.",
        ],
    )
    n_rows = 20_000 if effort.quick else 10_000_000
    with _folder() as folder:
        write_table(folder / "data", n_rows=n_rows, n_columns=30, seed=0)
        for workers in (1, 2):
            out = folder / f"model-{workers}"
            command = python("-m", "pbgnet", "train", folder / "data", "--target", TARGET, "--hidden", 100)
            command += ["--workers", str(workers), "--out", str(out), "--json"]
            found = run_measured(command, n_threads=2 if workers == 1 else 1)
            claims = json.loads(found.output)["certificate"]["claims"]
            bound = next(claim["value"] for claim in claims if claim["about"] == "error rate")
            megabytes = [1e-6 * found.own, 1e-6 * found.resident]
            table.add(n_rows, 30, workers, found.seconds / 60, *megabytes, bound)
    return table


def beside_boosting(effort: Effort) -> Table:
    """A table in memory and streamed beside boosting."""
    table = Table(
        "The default classifier in memory and streamed, beside histogram boosting",
        ("rows", "columns", "what", "seconds", "/ boosting", "memory / float32 table", "test error", "bound"),
        notes=["Two threads each, in turns. Boosting learns from all rows; ours from half, and certifies."],
    )
    n_rows, n_columns = (5_000, 10) if effort.quick else (1_000_000, 50)
    with _folder() as folder:
        for name, count in (("train", n_rows), ("few", 2_000), ("test", min(n_rows, 100_000))):
            write_numbers(folder / f"{name}.parquet", n_rows=count, n_columns=n_columns, seed=len(name))
        rounds = [
            {how: _fit_once(how, folder) for how in ("boosting", "in memory", "streamed")}
            for _ in range(1 if effort.quick else 3)
        ]
    size = 4.0 * n_rows * n_columns
    for how in rounds[0]:
        seconds = [one[how]["seconds"] for one in rounds]
        ratios = [one[how]["seconds"] / one["boosting"]["seconds"] for one in rounds]
        last = rounds[-1][how]
        most = max(one[how]["bytes"] for one in rounds)
        cells = (
            float(np.median(seconds)),
            float(np.median(ratios)),
            most / size,
            last["error"],
            last.get("bound"),
        )
        table.add(n_rows, n_columns, how, *cells)
    return table


def _fit_once(how: str, folder: Path) -> dict[str, float]:
    command = python("-m", "benchmarks.scale_fit", how, folder / "train.parquet")
    outcome: dict[str, float] = json.loads(run_measured(command, n_threads=2).output.splitlines()[-1])
    return outcome


def reading_csv(effort: Effort) -> Table:
    """Reading and preparing a CSV beside pandas."""
    n_rows = 2_000 if effort.quick else 200_000
    table = Table(
        "Reading a CSV and preparing it: labels, hashes of rows, codes",
        ("rows", "columns", "what", "seconds", "/ pandas.read_csv"),
    )
    with _folder() as folder:
        write_table(folder / "data", n_rows=n_rows, n_columns=30, seed=0)
        path = folder / "table.csv"
        pd.read_parquet(folder / "data").to_csv(path, index=False)
        from benchmarks.scale_steps import prepared

        runs: dict[str, Callable[[], object]] = {
            "pandas.read_csv": lambda: pd.read_csv(path),
            "read and prepared": lambda: prepared(scan_table(path), TARGET),
        }
        found = side_by_side({name: Arm(run) for name, run in runs.items()}, effort.fewer(), n_warm_up=1)
    for name in runs:
        ratio = found[name].over(found["pandas.read_csv"])
        table.add(n_rows, 30, name, found[name].median, str(ratio))
    return table


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="pbgnet-scale-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


TABLES: dict[str, Callable[[Effort], Table]] = {
    "train": from_file_to_certificate,
    "boosting": beside_boosting,
    "csv": reading_csv,
}
