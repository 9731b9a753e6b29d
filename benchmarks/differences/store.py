"""What the experiments have found: a file with a line for each network."""

import json
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = Path(__file__).resolve().parents[2] / "results"
FOLDER = RESULTS / "differences"
STORE, TABLES_FOLDER = FOLDER / "runs.jsonl", FOLDER / "tables"


class Key(NamedTuple):
    """What tells one run from another."""

    experiment: str
    dataset: str
    split: int
    variant: str

    @classmethod
    def of(cls, line: dict[str, Any]) -> "Key":
        """Return the key of the run that a network is from."""
        return cls(*(line[name] for name in cls._fields))


def found(path: Path = STORE) -> list[dict[str, Any]]:
    """Return the numbers of all networks in a store."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def append(path: Path, lines: list[dict[str, Any]]) -> None:
    """Add the networks of one run together."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as store:
        store.write("".join(json.dumps(_rounded(line)) + "\n" for line in lines))


def _rounded(numbers: dict[str, Any]) -> dict[str, Any]:
    return {name: round(x, 6) if isinstance(x, float) and x > 1e-3 else x for name, x in numbers.items()}
