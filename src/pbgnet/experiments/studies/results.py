"""What stores contain about studies: the finished runs, each algorithm's results, and what is missing."""

import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pbgnet.experiments.runs import RunSpec
from pbgnet.experiments.studies.selection import Selected, select_all
from pbgnet.experiments.studies.store import RunRecord, Store
from pbgnet.experiments.studies.study import GRID, Study, load_study, study_names
from pbgnet.training import ALGORITHMS

# How algorithms are written; subscripts are in _{...}.
NAMES = {
    "mlp": "MLP",
    "pbgnet_l": "PBGNet_{\N{SCRIPT SMALL L}}",
    "pbgnet_l_bnd": "PBGNet_{\N{SCRIPT SMALL L}-bnd}",
    "pbgnet": "PBGNet",
    "pbgnet_pre": "PBGNet_{pre}",
}

Key = tuple[str, str, int, int | None]
"""Data set, algorithm, split and training size."""


@dataclass(frozen=True)
class Spread:
    """Mean and deviation of a number over repetitions."""

    mean: float
    deviation: float | None  # square root of the unbiased variance; None for one repetition
    count: int


def spread_of(values: Iterable[float | None]) -> Spread | None:
    """Return mean and deviation of the existing values; None if there are none."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    if not all(map(math.isfinite, known)):
        return Spread(math.nan, None, len(known))
    return Spread(statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else None, len(known))


@dataclass(frozen=True)
class StudyResults:
    """A study and the state of its runs."""

    study: Study
    records: tuple[RunRecord, ...]  # only those of the study, failed ones included, in its order
    code_versions: tuple[str, ...] = ()  # of the code that ran them

    @property
    def done(self) -> list[RunRecord]:
        """Records with results."""
        return [record for record in self.records if record.done]

    @property
    def failed(self) -> list[RunRecord]:
        """Records with an error."""
        return [record for record in self.records if not record.done]

    @property
    def n_missing(self) -> int:
        """Number of runs that are not in the stores."""
        return len(self.study.runs) - len(self.records)

    @property
    def complete(self) -> bool:
        """Whether every run has results."""
        return len(self.done) == len(self.study.runs)

    @property
    def split_seeds(self) -> list[int]:
        """Return the splits of the study."""
        return sorted({run.split_seed for run in self.study.runs})

    @cached_property
    def selected(self) -> dict[Key, Selected]:
        """The result of each algorithm, on every data set, split and training size."""
        return select_all(self.done, self.study.algorithms)

    def part(self, study: Study) -> "StudyResults":
        """Return the results of a part of the study, as `Study.narrowed` and `Study.where` give it."""
        runs = set(study.runs)
        return replace(self, study=study, records=tuple(r for r in self.records if r.spec in runs))

    def values(
        self, dataset: str, algorithm: str, name: str, splits: Sequence[int] | None = None
    ) -> list[float | None]:
        """Return a number of the selected networks over splits, at the largest training size."""
        places = self.split_seeds if splits is None else splits
        found = (self.selected.get((dataset, algorithm, split, None)) for split in places)
        return [None if selected is None else selected.number(name) for selected in found]

    def progress(self, dataset: str, algorithm: str, splits: Sequence[int] | None = None) -> tuple[int, int]:
        """Return how many of the runs that an algorithm selects from are done, and how many there will be."""

        def counts(run: RunSpec) -> bool:
            right_split = splits is None or run.split_seed in splits
            return run.dataset == dataset and run.training == ALGORITHMS[algorithm].training and right_split

        return sum(counts(record.spec) for record in self.done), sum(map(counts, self.study.runs))

    def cells(self) -> Iterator[tuple[str, str]]:
        """Return every data set with every algorithm."""
        return itertools.product(self.study.datasets, self.study.algorithms)


def confidence_text(*results: StudyResults) -> str:
    """Return the confidence of each bound of some studies."""
    deltas = sorted({run.delta for result in results for run in result.study.runs})
    return " or ".join(f"{1 - delta:.12g}" for delta in deltas)


def read_results(
    stores: Iterable[str | Path] | str | Path, studies: Iterable[str | Path] | None = None
) -> list[StudyResults]:
    """Read what stores contain about studies, by name or TOML file; by default all studies with runs.

    A run that is in several stores counts once: with results if one has them, and the last one first.
    """
    paths = [Path(stores)] if isinstance(stores, str | Path) else [Path(path) for path in stores]
    found: dict[RunSpec, tuple[RunRecord, str]] = {}
    for path in paths:
        with Store(path, read_only=True) as store:
            records, version = store.records(), store.code
        for record in records:
            before = found.get(record.spec)
            if before is None or record.done or not before[0].done:
                found[record.spec] = (record, version)
    chosen = [load_study(name) for name in (study_names(GRID) if studies is None else studies)]
    results = [_results_of(study, found) for study in chosen]
    return results if studies is not None else _meant(results)


def _meant(results: Sequence[StudyResults]) -> list[StudyResults]:
    """Drop studies whose only runs are shared with a study that is further along."""
    seen: set[RunSpec] = set()
    meant = []
    for result in sorted(results, key=lambda result: -len(result.done) / len(result.study.runs)):
        runs = {record.spec for record in result.done}
        if runs - seen:
            meant.append(result)
            seen |= runs
    return [result for result in results if result in meant]


def _results_of(study: Study, found: dict[RunSpec, tuple[RunRecord, str]]) -> StudyResults:
    pairs = [found[run] for run in study.runs if run in found]
    versions = dict.fromkeys(version for _, version in pairs)
    return StudyResults(study, tuple(record for record, _ in pairs), tuple(versions))
