"""Small experiments on why some of our numbers differ from the paper's.

Tables compare what the paper prints with what is stored here; each takes seconds. Experiments train networks
with one hidden layer of 10, on one CPU core: ``everything`` runs what plan.toml has and the store lacks.
"""

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from benchmarks.differences import (
    deviations,
    epochs,
    plan,
    priors,
    program,
    published,
    repeats,
    selection,
    store,
    tradeoff,
    versions,
)
from benchmarks.differences.setting import Setting, setting
from benchmarks.differences.store import STORE, TABLES_FOLDER, Key
from benchmarks.tables import Table
from pbgnet.datasets import PAPER_DATASETS
from pbgnet.experiments.runs import code_version

EVERYTHING = "everything"
"""The command that runs what the plan has."""


class Experiment(NamedTuple):
    """An experiment that trains: what it is about, its variants, and what runs one of them on a split."""

    about: str
    variants: Iterable[str]
    run: Callable[[Setting, str], Iterator[dict[str, Any]]]


class Comparison(NamedTuple):
    """A table made without training: what it is about, what makes it, and where it is kept."""

    about: str
    make: Callable[[], Table]
    path: Path


TABLES = {
    "rows": Comparison(
        "how many rows are behind each bound of the paper's Table 1",
        published.table,
        TABLES_FOLDER / "implied-rows.md",
    ),
    "constant": Comparison(
        "PBGNet on ads: the paper's numbers beside those of the best constant answer",
        published.constant_table,
        TABLES_FOLDER / "constant-answer.md",
    ),
    "deviations": Comparison(
        "the deviations of PBGNet's errors beside those of one fixed classifier on random splits",
        deviations.error_table,
        TABLES_FOLDER / "split-deviations.md",
    ),
    "bounds": Comparison(
        "the deviations of bounds beside those of each way to repeat a training that we know",
        deviations.bound_table,
        TABLES_FOLDER / "bound-deviations.md",
    ),
    "selection": Comparison(
        "PBGNet with T selected on each split or once for all, beside the paper's Table 5",
        selection.study_table,
        TABLES_FOLDER / "selection.md",
    ),
    "norms": Comparison(
        "PBGNet trained as the authors' program does, beside the paper's Table 5",
        selection.program_table,
        TABLES_FOLDER / "norms.md",
    ),
    "versions": Comparison(
        "runs trained by several versions of the code on one machine: how far apart they are",
        versions.version_table,
        TABLES_FOLDER / "versions.md",
    ),
    "stores": Comparison(
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
    """Write one table, or run experiments."""
    options = _parse(arguments)
    if options.command in TABLES:
        _write(TABLES[options.command], options.out)
        return 0
    torch.set_num_threads(1)
    known = {Key.of(line) for line in store.found(options.out)}
    for key in plan.planned() if options.command == EVERYTHING else _asked(options):
        if key not in known:
            print(*key, f"{_run(key, options.out):.0f} s", flush=True)
    return 0


def _write(table: Comparison, path: Path) -> None:
    text = table.make().markdown()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(text, end="")


def _asked(options: argparse.Namespace) -> Iterator[Key]:
    """Yield the runs of one experiment."""
    variants = options.variants or EXPERIMENTS[options.command].variants
    for split, dataset, variant in itertools.product(options.splits, options.datasets, variants):
        yield Key(options.command, dataset, split, variant)


def _run(key: Key, path: Path) -> float:
    """Run one variant on one split, append its lines together, and return the seconds it took."""
    begun = time.process_time()
    found = list(EXPERIMENTS[key.experiment].run(setting(key.dataset, key.split), key.variant))
    seconds = time.process_time() - begun
    about = key._asdict() | {"seconds": round(seconds / len(found), 1), "code": code_version()}
    store.append(path, [about | numbers for numbers in found])
    return seconds


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.differences", description=__doc__.replace("``", "")
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, table in TABLES.items():
        command = commands.add_parser(name, help=table.about, description=table.about)
        command.add_argument("--out", type=Path, default=table.path, help="the Markdown file to write")
    for name, experiment in EXPERIMENTS.items():
        command = commands.add_parser(name, help=experiment.about, description=experiment.about)
        _add_parts(command, list(experiment.variants))
        _add_store(command)
    about = "all runs of plan.toml that the store lacks"
    _add_store(commands.add_parser(EVERYTHING, help=about, description=about))
    return parser.parse_args(arguments)


def _add_parts(command: argparse.ArgumentParser, variants: list[str]) -> None:
    """Add what chooses the runs of an experiment."""
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
    command.add_argument(
        "--variants",
        nargs="+",
        choices=variants,
        metavar="VARIANT",
        help=f"all of these unless given: {', '.join(variants)}",
    )


def _add_store(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--out", type=Path, default=STORE, help="the store to append to; what it already has is not run again"
    )


if __name__ == "__main__":
    sys.exit(main())
