"""Studies as data: a TOML file with a grid becomes a list of runs; other kinds are read as a table."""

import itertools
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from pbgnet.exceptions import DamagedFileError, OptionError
from pbgnet.experiments.runs import RunSpec
from pbgnet.training import ALGORITHMS
from pbgnet.validation import check_name

FOLDER = resources.files("pbgnet.experiments") / "studies"
GRID, COMPARISON = "grid", "comparison"
KINDS = (GRID, COMPARISON)
"""The paper's studies, grids of trainings from which the best are selected; and comparisons of methods."""
SECTIONS = {
    "kind",
    "summary",
    "datasets",
    "algorithms",
    "split_seeds",
    "seeds",
    "grid",
    "common",
    "batch_size",
}


PROPERTIES = (*(field.name for field in fields(RunSpec)), "architecture")
"""What runs can be chosen by."""


@dataclass(frozen=True)
class Study:
    """A named set of runs."""

    name: str
    summary: str
    datasets: tuple[str, ...]
    algorithms: tuple[str, ...]
    runs: tuple[RunSpec, ...]  # without repetitions, in the order of the grid

    def narrowed(
        self, datasets: Sequence[str] | None = None, algorithms: Sequence[str] | None = None
    ) -> "Study":
        """Return the part of the study with some data sets and algorithms."""
        sets = self.datasets if datasets is None else tuple(datasets)
        names = self.algorithms if algorithms is None else tuple(algorithms)
        for kind, chosen, known in (("data set", sets, self.datasets), ("algorithm", names, self.algorithms)):
            for name in chosen:
                check_name(f"{kind} of the study {self.name}", name, known)
        trainings = {ALGORITHMS[algorithm].training for algorithm in names}
        runs = tuple(run for run in self.runs if run.dataset in sets and run.training in trainings)
        return replace(self, datasets=sets, algorithms=names, runs=runs)

    def where(self, wanted: Mapping[str, Collection[str]]) -> "Study":
        """Return the part of the study whose runs have one of the wanted values of each property.

        Values are texts, such as 1e-4; an `n_samples` of 0 stands for the exact aggregate, as in a TOML file.
        """
        for name in wanted:
            check_name("property of a run", name, PROPERTIES)
        runs = tuple(
            run for run in self.runs if all(_has_one(run, name, values) for name, values in wanted.items())
        )
        if not runs:
            words = ", ".join(f"{name}={value}" for name, values in wanted.items() for value in values)
            raise OptionError(f"No run of the study {self.name} has {words}.")
        return replace(self, runs=runs)

    def without(self, runs: Collection[RunSpec]) -> "Study":
        """Return the study without some runs."""
        return replace(self, runs=tuple(run for run in self.runs if run not in runs))


def study_names(kind: str | None = None) -> list[str]:
    """Return the names of the studies that come with the package, of one kind or of all."""
    names = sorted(Path(entry.name).stem for entry in FOLDER.iterdir() if entry.name.endswith(".toml"))
    return [name for name in names if kind is None or study_kind(name) == kind]


def study_kind(name: str | Path) -> str:
    """Return the kind of a study: "grid" or "comparison"."""
    return _kind(read_study(name)[1])


def read_study(name: str | Path) -> tuple[str, dict[str, Any]]:
    """Return the name and the content of a study, by its name or from your own TOML file."""
    path = Path(name)
    if path.suffix == ".toml":
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise DamagedFileError(f"The study {path} cannot be read: {reason}.") from error
    else:
        check_name("study", str(name), study_names())
        text = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    try:
        return path.stem, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DamagedFileError(f"The study {name} is not valid TOML: {error}.") from error


def load_study(name: str | Path) -> Study:
    """Read a study that is a grid, by its name or from your own TOML file."""
    stem, table = read_study(name)
    if (kind := _kind(table)) != GRID:
        raise OptionError(
            f"The study {stem} is a {kind}, not a grid; pbgnet reproduce and pbgnet report accept both."
        )
    return _from_table(stem, table)


def _kind(table: dict[str, Any]) -> str:
    return check_name("kind of a study", table.get("kind", GRID), KINDS)


def _from_table(name: str, table: dict[str, Any]) -> Study:
    if unknown := sorted(set(table) - SECTIONS):
        raise OptionError(
            f"The study {name} has unknown sections: {', '.join(unknown)}. The known sections are "
            f"{', '.join(sorted(SECTIONS))}."
        )
    if missing := sorted({"datasets", "algorithms", "grid"} - set(table)):
        raise OptionError(f"The study {name} has no {', '.join(missing)}.")
    for algorithm in table["algorithms"]:
        check_name("algorithm", algorithm, ALGORITHMS)
    return Study(
        name=name,
        summary=table.get("summary", ""),
        datasets=tuple(table["datasets"]),
        algorithms=tuple(table["algorithms"]),
        runs=tuple(dict.fromkeys(_runs(table))),
    )


def _runs(table: dict[str, Any]) -> Iterator[RunSpec]:
    """Expand the grid for every data set, split, seed and training."""
    trainings = dict.fromkeys(ALGORITHMS[algorithm].training for algorithm in table["algorithms"])
    batch_sizes = {"default": 64} | table.get("batch_size", {})
    for dataset, split_seed, training in itertools.product(
        table["datasets"], table.get("split_seeds", [0]), trainings
    ):
        fixed = table.get("common", {}) | {
            "dataset": dataset,
            "split_seed": split_seed,
            "training": training,
            "batch_size": batch_sizes.get(dataset, batch_sizes["default"]),
        }
        for seed, (algorithms, grid) in itertools.product(table.get("seeds", [0]), _grids(table)):
            if training not in {ALGORITHMS[algorithm].training for algorithm in algorithms}:
                continue
            fixed["seed"] = split_seed if seed == "split" else seed
            for values in itertools.product(*grid.values()):
                yield _settled(RunSpec.from_dict(fixed | dict(zip(grid, values, strict=True))))


def _grids(table: dict[str, Any]) -> list[tuple[list[str], dict[str, list[Any]]]]:
    """Return the grids of a study, whose runs it combines, and the algorithms of each."""
    grids = []
    for grid in table["grid"] if isinstance(table["grid"], list) else [table["grid"]]:
        values = {name: _as_list(values) for name, values in grid.items()}
        algorithms = values.pop("algorithms", table["algorithms"])
        for algorithm in algorithms:
            check_name("algorithm of a grid", algorithm, table["algorithms"])
        grids.append((algorithms, values))
    return grids


def _settled(run: RunSpec) -> RunSpec:
    """Set hyperparameters that do not apply to a training to one value, so that such runs coincide."""
    if run.training == "mlp" or run.n_samples == 0:  # T does not apply; 0 means the exact aggregate
        run = replace(run, n_samples=None)
    if run.training in ("bound", "pretrained"):
        return replace(run, weight_decay=0.0)
    return replace(run, restart=0, solver="adam", objective="catoni")


def _has_one(run: RunSpec, name: str, values: Collection[str]) -> bool:
    value = getattr(run, name)
    known = 0 if name == "n_samples" and value is None else value
    return any(text == str(known) or _number(text) == known for text in values)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _as_list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]
