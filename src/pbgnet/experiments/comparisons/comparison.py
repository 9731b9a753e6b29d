"""A comparison as data: a TOML file with methods becomes a list of runs, one per method and seed."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pbgnet.datasets import IMAGES
from pbgnet.exceptions import OptionError
from pbgnet.experiments.comparisons.methods import check_parameters
from pbgnet.experiments.comparisons.published import PublishedFigure, published_figures
from pbgnet.experiments.studies import COMPARISON, read_study
from pbgnet.validation import check_name

FORMS = ("images", "table")
"""What a method receives: images, or their pixels as columns of a table."""

SECTIONS = {
    *("kind", "summary", "about", "dataset", "seeds", "certified_fraction", "labels", "published"),
    *("small", "methods"),
}
OF_METHOD = {"name", "title", "small_title", "estimator", "rows", "parameters", "small"}
OF_SMALL = {"n_train", "n_test"}


@dataclass(frozen=True)
class ComparedRun:
    """A method with a seed, described so that equal descriptions mean equal runs.

    Attributes
    ----------
    dataset : str
        A name in `pbgnet.datasets.IMAGES`.
    seed : int
        Seed of the certified rows, and of the method.
    certified_fraction : float
        Share of the training rows that are certified.
    estimator : str
        A name in `ESTIMATORS`.
    rows : {"images", "table"}
    parameters : mapping
        Parameters of the estimator.
    labels : mapping of str to sequence of int
        Digits that have each label; empty if the digit itself is the class.
    n_train, n_test : int or None
        Number of rows to draw; None for all.
    """

    dataset: str
    seed: int
    certified_fraction: float
    estimator: str
    rows: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Sequence[int]] = field(default_factory=dict)
    n_train: int | None = None
    n_test: int | None = None

    def fingerprint(self) -> str:
        """Return the hash of the whole description, 16 hexadecimal digits."""
        text = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Method:
    """What is compared: its runs by seed, full and small."""

    name: str
    title: str
    small_title: str
    runs: tuple[ComparedRun, ...]
    small_runs: tuple[ComparedRun, ...]


@dataclass(frozen=True)
class Comparison:
    """A named set of methods on one set of images."""

    name: str
    summary: str
    about: str  # for the page: how the data are used, and what else to know
    dataset: str
    methods: tuple[Method, ...]
    published: tuple[PublishedFigure, ...] = ()  # shown beside our results

    def narrowed(self, methods: Sequence[str] | None = None) -> "Comparison":
        """Return the part with some of the methods."""
        if methods is None:
            return self
        known = [method.name for method in self.methods]
        chosen = {check_name(f"method of the study {self.name}", name, known) for name in methods}
        return replace(self, methods=tuple(method for method in self.methods if method.name in chosen))

    @property
    def has_small(self) -> bool:
        """Whether there are small runs that differ from the full ones."""
        return any(method.small_runs != method.runs for method in self.methods)

    def runs(self, *, small: bool) -> tuple[ComparedRun, ...]:
        """Return all runs, every method with the first seed before any with the second."""
        if small and not self.has_small:
            raise OptionError(f"The study {self.name} has no small version; run it without --small.")
        of_method = [method.small_runs if small else method.runs for method in self.methods]
        return tuple(run for runs in zip(*of_method, strict=True) for run in runs)


def load_comparison(name: str | Path) -> Comparison:
    """Read a comparison by its name, or from your own TOML file."""
    stem, table = read_study(name)
    if table.get("kind") != COMPARISON:
        raise OptionError(
            f"The study {stem} is not a {COMPARISON}; pbgnet reproduce and pbgnet report accept both."
        )
    _check_keys(f"The study {stem}", table, SECTIONS, {"dataset", "certified_fraction", "methods"})
    check_name("set of images", table["dataset"], IMAGES)
    if not 0 < table["certified_fraction"] < 1:
        raise OptionError(f"certified_fraction of the study {stem} must lie between 0 and 1.")
    small = table.get("small", {})
    _check_keys(f"[small] of the study {stem}", small, OF_SMALL, set())
    methods = tuple(_method(stem, table, entry, small) for entry in table["methods"])
    if len({method.name for method in methods}) < len(methods):
        raise OptionError(f"Two methods of the study {stem} have the same name; give each its own.")
    return Comparison(
        name=stem,
        summary=table.get("summary", ""),
        about=table.get("about", ""),
        dataset=table["dataset"],
        methods=methods,
        published=tuple(published_figures(table.get("published"))),
    )


def _method(study: str, table: dict[str, Any], entry: dict[str, Any], small: dict[str, int]) -> Method:
    _check_keys(f"A method of the study {study}", entry, OF_METHOD, {"name", "estimator"})
    parameters, changes = entry.get("parameters", {}), entry.get("small", {})
    check_parameters(entry["estimator"], [*parameters, *changes])
    runs = tuple(
        ComparedRun(
            dataset=table["dataset"],
            seed=seed,
            certified_fraction=float(table["certified_fraction"]),
            estimator=entry["estimator"],
            rows=check_name("form of rows", entry.get("rows", "table"), FORMS),
            parameters=parameters,
            labels=table.get("labels", {}),
        )
        for seed in table.get("seeds", [0])
    )
    small_runs = tuple(
        replace(
            run,
            parameters=parameters | changes,
            n_train=small.get("n_train"),
            n_test=small.get("n_test"),
        )
        for run in runs
    )
    title = entry.get("title", entry["name"])
    return Method(entry["name"], title, entry.get("small_title", title), runs, small_runs)


def _check_keys(where: str, table: Mapping[str, Any], known: set[str], needed: set[str]) -> None:
    if unknown := sorted(set(table) - known):
        raise OptionError(
            f"{where} has unknown entries: {', '.join(unknown)}. The known entries are "
            f"{', '.join(sorted(known))}."
        )
    if missing := sorted(needed - set(table)):
        raise OptionError(f"{where} lacks {', '.join(missing)}.")
