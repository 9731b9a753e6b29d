"""PBGNet's numbers over random splits: T selected on each split, or once for all, beside the paper's Table 5.

The smallest bound selects, on each split or on the mean over splits. The paper does not say which.
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from statistics import fmean, stdev
from typing import NamedTuple

from benchmarks.differences import store
from benchmarks.differences.program import WITH_ANY_T
from benchmarks.differences.published import agrees
from benchmarks.tables import Table
from pbgnet.datasets import PAPER_DATASETS
from pbgnet.experiments import Store
from pbgnet.experiments.tables import paper_numbers

COLUMNS = ("data set", "T", "splits", "train error", "test error", "bound", "within two deviations")
NUMBERS = ("train_error", "test_error", "bound")
SAMPLE_SIZES = (10, 50, 100, 1000, 10_000)
"""The paper's grid."""


class Network(NamedTuple):
    """What was chosen for a network, and its numbers."""

    choice: str
    split: int
    train_error: float
    test_error: float
    bound: float


def study_table() -> Table:
    """Return both ways to select, from the study `sample-size`."""
    found = Table("PBGNet with T selected on each split or once, study “sample-size”", COLUMNS)
    networks = study_networks()
    for dataset in PAPER_DATASETS:
        _add_paper(found, dataset)
        _add(found, dataset, "on each split", on_each_split(networks[dataset]))
        best = once(networks[dataset])
        _add(found, dataset, f"once: {best[0].choice}", best)
    found.notes.append(
        "Mean and deviation over splits; one hidden layer of 10, rate 0.1. As in the paper, errors and "
        "bounds are means of 20 predictions with the T that trained."
    )
    return found


def program_table() -> Table:
    """Return the same for networks trained as the authors' program does, with every T that ran."""
    found = Table("PBGNet with the norms and the threshold of the authors' program", COLUMNS)
    for dataset, networks in program_networks().items():
        _add_paper(found, dataset)
        choices = [name for name in WITH_ANY_T.values() if any(x.choice == name for x in networks)]
        for name in choices:
            _add(found, dataset, name, on_each_split(x for x in networks if x.choice == name))
        if len(choices) > 1:
            _add(found, dataset, "on each split", on_each_split(networks))
    found.notes += [
        "Mean and deviation over splits; one hidden layer of 10. On each split the bound selects the rate, "
        "0.1 or 0.01.",
        "Errors of sampled networks are means of 20 predictions with the T that trained, bounds are exact.",
    ]
    return found


def on_each_split(networks: Iterable[Network]) -> list[Network]:
    """Return the network with the smallest bound on each split."""
    best: dict[int, Network] = {}
    for x in networks:
        best[x.split] = min(best.get(x.split, x), x, key=attrgetter("bound"))
    return list(best.values())


def once(networks: Iterable[Network]) -> list[Network]:
    """Return the networks of the choice whose mean bound is the smallest."""
    groups: dict[str, list[Network]] = {}
    for x in networks:
        groups.setdefault(x.choice, []).append(x)
    return min(groups.values(), key=lambda group: fmean(x.bound for x in group))


def study_networks() -> dict[str, list[Network]]:
    """Return the sampled networks of PBGNet in the study, by data set."""
    found: dict[str, list[Network]] = {}
    for path in sorted(store.RESULTS.glob("sample-size/runs*.sqlite")):
        with Store(path, read_only=True) as runs:
            for record in runs.records():
                spec = record.spec
                if record.done and spec.training == "bound" and spec.n_samples in SAMPLE_SIZES:
                    numbers = [record.results["objective"][f"sampled_{name}"] for name in NUMBERS]
                    network = Network(f"T = {spec.n_samples:,}", spec.split_seed, *numbers)
                    found.setdefault(spec.dataset, []).append(network)
    return found


def program_networks() -> dict[str, list[Network]]:
    """Return the networks with the norms and the threshold of the program, by data set."""
    found: dict[str, list[Network]] = {}
    for line in store.found():
        if line["variant"] in WITH_ANY_T:
            errors = [line.get(f"sampled_{name}", line[name]) for name in NUMBERS[:2]]
            network = Network(WITH_ANY_T[line["variant"]], line["split"], *errors, line["bound"])
            found.setdefault(line["dataset"], []).append(network)
    return {dataset: found[dataset] for dataset in PAPER_DATASETS if dataset in found}


def _add_paper(table: Table, dataset: str) -> None:
    row = paper_numbers("variance")[dataset, "pbgnet"]
    table.add(dataset, "paper", 20, *(f"{row[x]:.3f} ± {row[f'{x}_deviation']:.3f}" for x in NUMBERS), None)


def _add(table: Table, dataset: str, name: str, networks: Sequence[Network]) -> None:
    numbers = {x: [getattr(network, x) for network in networks] for x in NUMBERS}
    cells = (f"{fmean(x):.4f} ± {stdev(x):.4f}" for x in numbers.values())
    agree = sum(agrees(dataset, "pbgnet", name, fmean(x)) for name, x in numbers.items())
    table.add(dataset, name, len(networks), *cells, f"{agree} of {len(NUMBERS)}")
