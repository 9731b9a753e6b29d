"""Runs that were trained by two versions of the code: whether their stores belong side by side."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from benchmarks.differences.store import RESULTS
from benchmarks.tables import Table
from pbgnet.experiments import Store
from pbgnet.experiments.runs import RunSpec
from pbgnet.experiments.studies.store import RunRecord


class Trained(NamedTuple):
    """A run as a store has it."""

    code: str
    record: RunRecord

    @property
    def test_error(self) -> float:
        """That of the epoch which the validation loss or the objective picked."""
        return self._number("test_error")

    @property
    def bound(self) -> float | None:
        """The bound, if it was minimised: otherwise it is that of some epoch."""
        return self._number("bound") if self.record.spec.training in ("bound", "pretrained") else None

    def _number(self, name: str) -> float:
        results = self.record.results
        numbers = results.get("validation") or results["objective"]
        return numbers.get(f"sampled_{name}", numbers[name])


Pair = tuple[Trained, Trained]

COLUMNS = ("older version", "newer version", "aggregate", "runs", "equal", "difference of test errors",
           "largest", "with a bound", "difference of bounds", "largest one")  # fmt: skip
DIFFERENCE = (
    "Versions are fingerprints of the code. A difference is the mean of the newer numbers less the older "
    "ones, with its standard error, and the largest one has no sign."
)


def version_table() -> Table:
    """Return how far this version is from older ones that trained the same runs on the same machine."""
    now, *older = _stores_of_versions()
    found = Table("Runs trained by several versions of the code, all on one CPU", COLUMNS)
    _compare(found, itertools.chain.from_iterable(pairs([path, now]) for path in _by_age(older)))
    found.notes += [
        "Networks with one to three hidden layers of 10 on ads and mnist56, with the exact aggregate or "
        "T = 10: `versions.toml`, of which the older versions trained a part.",
        DIFFERENCE,
        "Versions may draw samples in another order, and their random numbers then differ. Some networks "
        "end far apart with other random numbers.",
    ]
    return found


def store_table() -> Table:
    """Return how far runs that two stores have are apart, by the versions that trained them."""
    _, *older = _stores_of_versions()
    found = Table("Runs that two stores have", COLUMNS)
    _compare(found, pairs(_by_age(sorted(set(RESULTS.glob("*/runs*.sqlite")) - set(older)))))
    found.notes += [
        "Every run that two stores in results/ have, but for older versions on a CPU: same data, split, "
        "seed, network and training. Where both versions are the same, two studies have the run.",
        DIFFERENCE,
        "Sampled runs have other random numbers in each store: they depend on the machine, the kernel, and "
        "the networks trained beside them.",
    ]
    return found


def _stores_of_versions() -> list[Path]:
    """The stores of one machine, that of this version first."""
    return [RESULTS / "versions" / "runs.sqlite", *sorted(RESULTS.glob("versions/runs-*.sqlite"))]


def _compare(table: Table, both: Iterable[Pair]) -> None:
    """Add a row for every two versions and each kind of aggregate."""
    groups: dict[tuple[str, str, str], list[Pair]] = {}
    for one, other in both:
        kind = "exact" if one.record.spec.n_samples is None else "sampled"
        groups.setdefault((one.code, other.code, kind), []).append((one, other))
    for (code, other_code, kind), group in sorted(groups.items(), key=lambda x: (x[0][2], -len(x[1]), x[0])):
        errors = [b.test_error - a.test_error for a, b in group]
        bounds = [b.bound - a.bound for a, b in group if a.bound is not None and b.bound is not None]
        n_equal = sum(difference == 0 for difference in errors)
        table.add(code, other_code, kind, len(group), n_equal, _mean(errors), _largest(errors),
                  len(bounds), _mean(bounds), _largest(bounds))  # fmt: skip


def pairs(stores: Iterable[Path]) -> Iterator[Pair]:
    """Yield all pairs of stored results of one run, in the order of the stores."""
    found: dict[RunSpec, list[Trained]] = {}
    for path in stores:
        for trained in _done(path):
            found.setdefault(trained.record.spec, []).append(trained)
    for several in found.values():
        yield from itertools.combinations(several, 2)


def _by_age(stores: Iterable[Path]) -> list[Path]:
    """Sort stores by when the version that wrote them was first used."""
    written = {path: _done(path) for path in stores}
    first: dict[str, str] = {}
    for trained in itertools.chain.from_iterable(written.values()):
        finished = trained.record.finished
        first[trained.code] = min(first.get(trained.code, finished), finished)
    return sorted((path for path in written if written[path]), key=lambda path: first[written[path][0].code])


def _done(path: Path) -> list[Trained]:
    with Store(path, read_only=True) as store:
        code = store.code.rpartition("+")[2]
        return [Trained(code, record) for record in store.records() if record.done]


def _mean(differences: Sequence[float]) -> str | None:
    if not differences:
        return None
    if len(differences) == 1:
        return f"{differences[0]:+.4f}"
    return f"{fmean(differences):+.4f} ± {stdev(differences) / len(differences) ** 0.5:.4f}"


def _largest(differences: Sequence[float]) -> str | None:
    return f"{max(map(abs, differences)):.4f}" if differences else None
