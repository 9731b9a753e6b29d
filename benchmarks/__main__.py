"""``python -m benchmarks cpu|gpu|scale``: measure, print, and on request write to the file of results."""

import argparse
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks import cpu, gpu, machine, scale
from benchmarks.results import RESULTS, replace_section
from benchmarks.tables import Table
from benchmarks.timing import Effort

TABLES = {"cpu": cpu.TABLES, "gpu": gpu.TABLES, "scale": scale.TABLES}
DEVICES = {"cpu": "cpu", "gpu": "cuda", "scale": "cpu"}
QUICK_ROUNDS = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tables asked for; return 1 if one of them failed, after running the others."""
    options = _parse(arguments)
    makers = TABLES[options.kind]
    device = options.device or DEVICES[options.kind]
    effort = (
        Effort(n_rounds=QUICK_ROUNDS, quick=True, device=device) if options.quick else Effort(device=device)
    )
    about = [f"- {line}" for line in machine.describe(device)]
    if options.quick:
        about.append("- A quick run, to see that everything works: not figures to quote")
    if options.only:
        about.append(f"- Only the tables {', '.join(options.only)}")
    print("\n".join(about) + "\n", flush=True)
    written, failed = ["\n".join(about) + "\n"], False
    for name in options.only or makers:
        start = time.perf_counter()
        try:
            table = makers[name](effort)
        except Exception as error:  # the tables after it are still worth having
            traceback.print_exc()
            failed = True
            table = Table(f"Table {name}", (), notes=[f"Failed: {type(error).__name__}: {error}"])
        print(table.markdown(), flush=True)
        print(f"[{name}: {time.perf_counter() - start:.0f} s]\n", file=sys.stderr, flush=True)
        if not table.printed_only:
            written.append(table.markdown())
    if options.write is not None:
        replace_section(options.kind, "\n".join(written), options.write)
    return int(failed)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure how fast pbgnet is.")
    parser.add_argument("kind", choices=sorted(TABLES))
    parser.add_argument("--quick", action="store_true", help="few repeats and small sizes: does it work?")
    parser.add_argument(
        "--write", nargs="?", type=Path, const=RESULTS, metavar="FILE",
        help="replace one section of a file of results, benchmarks/RESULTS.md unless named",
    )  # fmt: skip
    parser.add_argument("--only", nargs="+", metavar="TABLE", help="run these tables alone")
    parser.add_argument("--device", help="for the tables of `gpu`: another device than cuda")
    options = parser.parse_args(arguments)
    for name in options.only or ():
        if name not in TABLES[options.kind]:
            parser.error(
                f"there is no table {name!r}; those of {options.kind}: {', '.join(TABLES[options.kind])}"
            )
    if options.kind != "gpu" and options.device not in (None, "cpu"):
        parser.error(f"the tables of `{options.kind}` run on the CPU")
    if options.kind == "gpu" and options.device is None and not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU here; --device cpu only sees that the tables work")
    return options


if __name__ == "__main__":
    sys.exit(main())
