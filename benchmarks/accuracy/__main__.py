"""``python -m benchmarks.accuracy``: compare the default classifier with others, and write the page."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.accuracy.data import CSV_TABLES, PAPER_SETS, data_folder
from benchmarks.accuracy.methods import METHODS, OURS
from benchmarks.accuracy.page import write_page
from benchmarks.accuracy.runs import from_lines, run_all, to_lines

FOLDER = Path(__file__).resolve().parents[2] / "results" / "tables"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for beside what is there already, and write the page anew."""
    options = _parse(arguments)
    if not (data_folder() / "tables").is_dir():
        print(f"There are no tables in {data_folder()}; set PBGNET_DATA.", file=sys.stderr)
        return 1
    store = options.out / "runs.jsonl"
    options.out.mkdir(parents=True, exist_ok=True)
    known = from_lines(store.read_text(encoding="utf-8")) if store.exists() else []
    asked = {(t, m, s) for t in options.tables for m in options.methods for s in range(options.splits)}
    runs = [one for one in known if (one.table, one.method, one.seed) not in asked]
    if options.page_only:
        runs = known
    else:
        for one in run_all(options.tables, options.methods, range(options.splits), options.processes):
            print(
                f"{one.table:12} {one.method:20} {one.seed}  certified {one.certified:.4f}  "
                f"test {one.tested:.4f}  {one.seconds:6.1f} s  {one.megabytes:6.0f} MB  {one.note}",
                flush=True,
            )
            runs.append(one)
            store.write_text(to_lines(runs), encoding="utf-8")
    write_page(sorted(runs, key=lambda one: one.table), options.out)
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    everything = (*PAPER_SETS, *CSV_TABLES)
    parser.add_argument("--tables", nargs="+", default=everything, choices=everything)
    parser.add_argument("--methods", nargs="+", default=(OURS, *METHODS), choices=(OURS, *METHODS))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--page-only", action="store_true", help="write the page of the runs that are there")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
