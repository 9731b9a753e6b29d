"""Small experiments on why some of our numbers differ from the paper's.

``rows``, ``constant`` and ``deviations`` are arithmetic on the paper's own tables, ``versions`` and
``stores`` compare what is stored; each takes seconds. The others train networks with one hidden layer of 10,
on one CPU core.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from benchmarks.differences import epochs, priors, program, published, repeats, tradeoff, versions
from benchmarks.differences.setting import Setting, setting
from benchmarks.tables import Table
from pbgnet.datasets import PAPER_DATASETS
from pbgnet.experiments.runs import code_version

FOLDER = Path(__file__).resolve().parents[2] / "results" / "differences"
STORE, TABLES_FOLDER = FOLDER / "runs.jsonl", FOLDER / "tables"
KEY = ("experiment", "dataset", "split", "variant")

EPILOG = """\
What results/differences has:
  python -m benchmarks.differences rows
  python -m benchmarks.differences constant
  python -m benchmarks.differences deviations
  pbgnet reproduce benchmarks/differences/versions.toml --out results/versions
  python -m benchmarks.differences versions
  python -m benchmarks.differences stores
  pbgnet reproduce benchmarks/differences/wide-layers.toml --out results/wide-layers --device cuda
  python -m benchmarks.differences epochs --datasets ads adult mnist17 mnist49 mnist56 --splits 0 1 2
  python -m benchmarks.differences epochs --datasets mnistLH --splits 0 --variants validation
  python -m benchmarks.differences epochs --datasets mnistLH --splits 0 1 2 \\
      --variants "validation, decay of 1e-6"
  python -m benchmarks.differences priors --datasets ads adult --splits 0 1 2 3 4 5 \\
      --variants exact "T = 10" "T = 50" "T = 100"
  python -m benchmarks.differences priors --datasets adult --splits 0 1 2 \\
      --variants "last epoch" "no halving" "batches of 32" "weights of variance 1"
  python -m benchmarks.differences tradeoff --datasets ads --splits 0 1 2 3 4 5 --variants exact "T = 100"
  python -m benchmarks.differences tradeoff --datasets mnist49 --splits 0 1 --variants exact
  python -m benchmarks.differences tradeoff --datasets ads mnist49 --splits 0 1 2 \\
      --variants "C kept" "80 % of the rows"
  python -m benchmarks.differences program --datasets ads --splits 0 1 2 --variants "as in the studies" norm
  python -m benchmarks.differences program --datasets ads --splits 0 --variants threshold
  python -m benchmarks.differences program --datasets adult mnist17 mnist56 --splits 0 \\
      --variants "as in the studies" norm
  python -m benchmarks.differences program --datasets mnist49 --splits 0 --variants norm "norm and threshold"
  python -m benchmarks.differences repeats --datasets ads mnist49 --splits 0 --variants "PBGNet, exact"
  python -m benchmarks.differences repeats --datasets ads mnist56 --splits 0 --variants PBGNet_l-bnd
"""


class Experiment(NamedTuple):
    """An experiment that trains: what it is about, its variants, and what runs one of them on a split."""

    about: str
    variants: Iterable[str]
    run: Callable[[Setting, str], Iterator[dict[str, Any]]]


class Arithmetic(NamedTuple):
    """A table made without training: what it is about, what makes it, and where it is kept."""

    about: str
    make: Callable[[], Table]
    path: Path


ARITHMETIC = {
    "rows": Arithmetic(
        "how many rows are behind each bound of the paper's Table 1",
        published.table,
        TABLES_FOLDER / "implied-rows.md",
    ),
    "constant": Arithmetic(
        "PBGNet on ads: the paper's numbers beside those of the best constant answer",
        published.constant_table,
        TABLES_FOLDER / "constant-answer.md",
    ),
    "deviations": Arithmetic(
        "the deviations of PBGNet's errors beside those of one fixed classifier on random splits",
        published.deviation_table,
        TABLES_FOLDER / "split-deviations.md",
    ),
    "versions": Arithmetic(
        "runs trained by several versions of the code on one machine: how far apart they are",
        versions.version_table,
        TABLES_FOLDER / "versions.md",
    ),
    "stores": Arithmetic(
        "runs that two stores in results/ have: how far apart they are",
        versions.store_table,
        TABLES_FOLDER / "stores.md",
    ),
}

EXPERIMENTS = {
    "epochs": Experiment(
        "PBGNet_l-bnd: what picks the epoch, halves the rate and stops the training",
        epochs.SCHEDULES,
        epochs.run,
    ),
    "priors": Experiment(
        "PBGNet_pre: how the prior is trained, and with which T", priors.VARIANTS, priors.run
    ),
    "tradeoff": Experiment(
        "PBGNet: the C of Catoni's bound, the rows that train, and errors measured with few samples",
        tradeoff.VARIANTS,
        tradeoff.run,
    ),
    "program": Experiment(
        "PBGNet: what the authors' program does and the paper does not mention", program.VARIANTS, program.run
    ),
    "repeats": Experiment(
        "deviations over trainings on one split, and over predictions of one network",
        repeats.VARIANTS,
        repeats.run,
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one experiment."""
    options = _parse(arguments)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    if options.experiment in ARITHMETIC:
        text = ARITHMETIC[options.experiment].make().markdown()
        options.out.write_text(text, encoding="utf-8")
        print(text, end="")
        return 0
    torch.set_num_threads(1)
    known = stored(options.out)
    experiment = EXPERIMENTS[options.experiment]
    for split in options.splits:
        for dataset in options.datasets:
            for variant in options.variants or experiment.variants:
                key = (options.experiment, dataset, split, variant)
                if key not in known:
                    seconds = _run(experiment, key, options.out)
                    print(*key, f"{seconds:.0f} s", flush=True)
    return 0


def stored(path: Path) -> set[tuple[Any, ...]]:
    """Return the keys of what a store has."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {tuple(line[name] for name in KEY) for line in map(json.loads, lines)}


def _run(experiment: Experiment, key: tuple[str, str, int, str], path: Path) -> float:
    """Run one variant on one split, append its lines together, and return the seconds it took."""
    begun = time.process_time()
    _, dataset, split, variant = key
    found = list(experiment.run(setting(dataset, split), variant))
    seconds = time.process_time() - begun
    about = dict(zip(KEY, key, strict=True)) | {
        "seconds": round(seconds / len(found), 1),
        "code": code_version(),
    }
    lines = [json.dumps(about | _rounded(numbers)) + "\n" for numbers in found]
    with path.open("a", encoding="utf-8") as store:
        store.write("".join(lines))
    return seconds


def _rounded(numbers: dict[str, Any]) -> dict[str, Any]:
    return {name: round(x, 6) if isinstance(x, float) and x > 1e-3 else x for name, x in numbers.items()}


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.differences",
        description=__doc__.replace("``", ""),
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="experiment", required=True, metavar="EXPERIMENT")
    for name, arithmetic in ARITHMETIC.items():
        command = commands.add_parser(name, help=arithmetic.about, description=arithmetic.about)
        command.add_argument("--out", type=Path, default=arithmetic.path, help="the Markdown file to write")
    for name, experiment in EXPERIMENTS.items():
        command = commands.add_parser(name, help=experiment.about, description=experiment.about)
        command.add_argument(
            "--datasets",
            nargs="+",
            required=True,
            choices=PAPER_DATASETS,
            metavar="NAME",
            help=", ".join(PAPER_DATASETS),
        )
        command.add_argument(
            "--splits", nargs="+", type=int, required=True, metavar="SEED", help="seeds of the splits, from 0"
        )
        variants = list(experiment.variants)
        command.add_argument(
            "--variants",
            nargs="+",
            choices=variants,
            metavar="VARIANT",
            help=f"all of these unless given: {', '.join(variants)}",
        )
        command.add_argument(
            "--out",
            type=Path,
            default=STORE,
            help="the store to append to; what it already has is not run again",
        )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
