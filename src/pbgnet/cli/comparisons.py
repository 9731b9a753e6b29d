"""What ``pbgnet reproduce`` and ``pbgnet report`` do with a study that compares methods."""

import time
from collections.abc import Sequence
from pathlib import Path

import typer

from pbgnet.cli.console import echo, pairs
from pbgnet.cli.folder import all_stores
from pbgnet.cli.outcome import Result
from pbgnet.exceptions import StoreError

RUNS = "runs.jsonl"


def reproduce_comparison(
    study: str,
    methods: Sequence[str] | None,
    out: Path | None,
    data_dir: Path | None,
    device: str,
    small: bool,
    *,
    quiet: bool,
) -> Result:
    """Do the runs that are not finished, and print the table."""
    from pbgnet.experiments.comparisons import (
        comparison_tables,
        load_comparison,
        read_finished,
        run_comparison,
    )

    chosen = load_comparison(study).narrowed(methods or None)
    runs = chosen.runs(small=small)
    path = (out or Path("results") / chosen.name) / RUNS
    start = time.perf_counter()

    def tell(n_done: int) -> None:
        if not quiet:
            seconds = time.perf_counter() - start
            typer.echo(f"{n_done} of {len(runs)} runs are done, {seconds:.0f} s", err=True)

    folder = None if data_dir is None else str(data_dir)
    n_done = run_comparison(runs, path, data_dir=folder, device=device, on_run=tell)
    seconds = time.perf_counter() - start
    tables = comparison_tables(chosen, read_finished([path]), small=small)

    def show() -> None:
        for line in (line for table in tables.values() for line in table):
            echo(line)
        pairs(
            (("study", f"{chosen.name}: {chosen.summary}"), ("time", f"{seconds:.0f} s"), ("runs", str(path)))
        )
        echo(f"Next: pbgnet report {study} --out {path.parent}")

    return Result(
        {
            "study": chosen.name,
            "small": small,
            "runs": len(runs),
            "done": n_done,
            "seconds": round(seconds, 3),
            "store": str(path),
        },
        show,
    )


def report_comparison(study: str, out: Path | None) -> Result:
    """Write the page of a comparison from its finished runs."""
    from pbgnet.experiments.comparisons import load_comparison, read_finished, write_comparison_page

    comparison = load_comparison(study)
    folder = out or Path("results") / comparison.name
    if not (finished := read_finished(all_stores(folder / RUNS))):
        raise StoreError(f"There are no finished runs in {folder / RUNS}; run the study first.")
    page = write_comparison_page(comparison, finished, folder)

    def show() -> None:
        echo(f"Page: {page}")

    return Result({"study": comparison.name, "page": str(page), "files": [str(page)]}, show)
