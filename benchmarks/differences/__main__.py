"""``python -m benchmarks.differences EXPERIMENT``: run an experiment and add its lines to the store."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from benchmarks.differences import epochs, priors, tradeoff
from benchmarks.differences.setting import Setting, setting
from pbgnet.experiments.runs import code_version

STORE = Path(__file__).resolve().parents[2] / "results" / "differences" / "runs.jsonl"


class Experiment(NamedTuple):
    """An experiment: its variants, and what runs one of them on a split."""

    variants: Iterable[str]
    run: Callable[[Setting, str], Iterator[dict[str, Any]]]


EXPERIMENTS = {
    "epochs": Experiment(epochs.SCHEDULES, epochs.run),
    "priors": Experiment(priors.VARIANTS, priors.run),
    "tradeoff": Experiment(tradeoff.VARIANTS, tradeoff.run),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the store does not have yet; a line is written as soon as it is there."""
    options = _parse(arguments)
    torch.set_num_threads(1)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    lines = options.out.read_text(encoding="utf-8").splitlines() if options.out.exists() else []
    known = {(x["experiment"], x["dataset"], x["split"], x["variant"]) for x in map(json.loads, lines)}
    experiment = EXPERIMENTS[options.experiment]
    for split in options.splits:
        for dataset in options.datasets:
            for variant in options.variants or experiment.variants:
                key = (options.experiment, dataset, split, variant)
                if key in known:
                    continue
                begun = time.process_time()
                found = list(experiment.run(setting(dataset, split), variant))
                about = dict(zip(("experiment", "dataset", "split", "variant"), key, strict=True))
                about["seconds"] = round((time.process_time() - begun) / len(found), 1)
                about["code"] = code_version()
                with options.out.open("a", encoding="utf-8") as store:
                    for numbers in found:
                        store.write(json.dumps(about | _rounded(numbers)) + "\n")
                print(*key, f"{time.process_time() - begun:.0f} s", flush=True)
    return 0


def _rounded(numbers: dict[str, Any]) -> dict[str, Any]:
    return {name: round(x, 6) if isinstance(x, float) and x > 1e-3 else x for name, x in numbers.items()}


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.differences", description=__doc__)
    parser.add_argument("experiment", choices=sorted(EXPERIMENTS))
    parser.add_argument("--datasets", nargs="+", required=True)
    parser.add_argument("--splits", nargs="+", type=int, required=True)
    parser.add_argument("--variants", nargs="+", help="all unless given")
    parser.add_argument("--out", type=Path, default=STORE)
    options = parser.parse_args(arguments)
    variants = list(EXPERIMENTS[options.experiment].variants)
    for variant in options.variants or ():
        if variant not in variants:
            parser.error(f"there is no variant {variant!r}; there are {', '.join(variants)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
