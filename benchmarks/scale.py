"""The tables for many rows: ``python -m benchmarks scale``. Files are made by `benchmarks.scale_data`."""

import json
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.footprint import python, run_measured
from benchmarks.predicting import predicting
from benchmarks.rows_cost import ROWS, exponent, made_rows, row_costs
from benchmarks.scale_data import write_table
from benchmarks.scale_figure import draw_costs
from benchmarks.tables import Table
from benchmarks.timing import Arm, Effort, side_by_side
from pbgnet.certificates import LabelledRows, Split
from pbgnet.preprocessing import TablePreprocessor, take_rows
from pbgnet.sources import scan_table

__all__ = ["TABLES"]

TARGET = "label"


def from_file_to_certificate(effort: Effort) -> Table:
    """The command line on a table that is not held."""
    table = Table(
        "From Parquet to certificate: `pbgnet train`, one hidden layer of 100",
        ("rows", "columns", "workers", "minutes", "own memory, MB", "with mapped files, MB", "bound"),
        notes=[
            "Mixed types with gaps; label noise of 5 %. Own memory is that of all processes, without "
            "pages of mapped files, which the system may drop.",
        ],
    )
    n_rows = 20_000 if effort.quick else 10_000_000
    with tempfile.TemporaryDirectory(prefix="pbgnet-scale-") as name:
        folder = Path(name)
        write_table(folder / "data", n_rows)
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
        notes=[
            "Two threads each, in turns. Boosting learns from all rows. pbgnet learns from half of them and "
            "certifies on the others.",
        ],
    )
    n_rows, n_columns = (5_000, 10) if effort.quick else (1_000_000, 50)
    with tempfile.TemporaryDirectory(prefix="pbgnet-scale-") as name:
        folder = Path(name)
        for seed, (part, count) in enumerate({"train": n_rows, "few": 2_000, "test": 100_000}.items()):
            _write_numbers(folder / f"{part}.parquet", count, n_columns, seed)
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
        ("rows", "columns", "what", "seconds", "/ pandas.read_csv", "processor, s", "/ pandas.read_csv"),
        notes=["Seconds of the processor are those of all threads, the least of the rounds."],
    )
    with tempfile.TemporaryDirectory(prefix="pbgnet-scale-") as name:
        path = Path(name) / "table.csv"
        pd.concat(map(pd.read_parquet, write_table(Path(name) / "data", n_rows))).to_csv(path, index=False)
        runs: dict[str, Callable[[], object]] = {
            "pandas.read_csv": lambda: pd.read_csv(path),
            "read and prepared": lambda: _prepared(scan_table(path)),
        }
        found = side_by_side({name: Arm(run) for name, run in runs.items()}, effort.fewer(), n_warm_up=1)
        rounds = range(effort.fewer().n_rounds)
        processor = {name: min(_processor_seconds(run) for _ in rounds) for name, run in runs.items()}
    for name, seconds in processor.items():
        ratio = found[name].over(found["pandas.read_csv"])
        beside = seconds / processor["pandas.read_csv"]
        table.add(n_rows, 30, name, found[name].median, str(ratio), seconds, beside)
    return table


def _processor_seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def shared_steps(effort: Effort) -> Table:
    """Steps of training by one worker, two workers and two threads."""
    table = Table(
        "Steps on rows of codes, shared between workers and threads; one hidden layer of 100",
        (
            "rows",
            "columns",
            "batch",
            "what",
            "seconds of an epoch",
            "gain",
            "seconds of an evaluation",
            "gain",
        ),
        notes=["An evaluation is the exact loss over all rows with its gradient, as L-BFGS needs it."],
    )
    n_rows = 20_000 if effort.quick else 1_000_000
    steps = ("-m", "benchmarks.scale_steps", "--rows", n_rows)
    together = ("-m", "torch.distributed.run", "--nproc-per-node", 2)
    ways: dict[str, tuple[tuple[object, ...], int]] = {
        "one worker": (steps, 1),
        "two workers": ((*together, *steps), 1),
        "two threads": (steps, 2),
    }
    for batch in (4096,) if effort.quick else (8192, 65536):
        alone: dict[str, float] = {}
        for what, (words, n_threads) in ways.items():
            found = run_measured(python(*words, "--batch", batch), n_threads=n_threads)
            seconds = json.loads(found.output.splitlines()[-1])
            alone = alone or seconds
            cells = [(seconds[name], alone[name] / seconds[name]) for name in ("epoch", "evaluation")]
            table.add(n_rows, 30, batch, what, *cells[0], *cells[1])
    return table


def cost_of_rows(effort: Effort) -> Table:
    """What a fit costs as rows grow, and the figure of it."""
    counts = (1_000, 4_000) if effort.quick else ROWS
    costs = row_costs(counts)
    table = Table(
        "From a table in memory to a certificate, as rows grow",
        ("rows", "columns", "seconds", "seconds of CPU time", "errors on certified rows"),
        notes=[f"CPU time grows like the number of rows to the power {exponent(costs):.2f}."],
    )
    for cost in costs:
        table.add(cost.n_rows, 30, cost.seconds, cost.processor_seconds, cost.error_rate)
    if not effort.quick:
        draw_costs(costs)
    return table


def _write_numbers(path: Path, n_rows: int, n_columns: int, seed: int) -> None:
    cells, y = made_rows(n_rows, n_columns, seed)
    frame = pd.DataFrame(cells, columns=[f"x{k}" for k in range(n_columns)], copy=False)
    frame.assign(**{TARGET: y}).to_parquet(path, row_group_size=1 << 17)


def _prepared(source: Any) -> Any:
    """Do all that comes before training: labels, hashes of rows, the split, columns, codes."""
    table = source.drop(TARGET)
    rows = LabelledRows(table, source[TARGET])
    split = Split.of_table(rows, fraction=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TablePreprocessor().fit(take_rows(table, split.prior_rows)).encode(table)


TABLES: dict[str, Callable[[Effort], Table]] = {
    "train": from_file_to_certificate,
    "boosting": beside_boosting,
    "csv": reading_csv,
    "steps": shared_steps,
    "rows": cost_of_rows,
    "predicting": predicting,
}
