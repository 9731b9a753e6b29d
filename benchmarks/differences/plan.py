"""Which runs results/differences has: plan.toml, key by key."""

import itertools
import tomllib
from collections.abc import Iterator
from pathlib import Path

from benchmarks.differences.store import Key

PLAN = Path(__file__).with_suffix(".toml")


def planned(path: Path = PLAN) -> Iterator[Key]:
    """Yield what tells each run from the others, in the order of the plan."""
    for part in tomllib.loads(path.read_text(encoding="utf-8"))["experiment"]:
        for split, dataset, variant in itertools.product(part["splits"], part["datasets"], part["variants"]):
            yield Key(part["name"], dataset, split, variant)
