"""The paper's deviations over 20 random splits, beside those of one network that stays the same.

A split draws n of N rows without replacement. The mean of a loss over them has the variance
`s^2 / n (1 - n / N)`, where s is its deviation from row to row.
"""

import math
from collections.abc import Iterator
from statistics import fmean, stdev
from typing import NamedTuple

import torch
from torch import Tensor

from benchmarks.differences import store
from benchmarks.differences.published import NAMES
from benchmarks.differences.setting import Setting, bound
from benchmarks.tables import Table
from pbgnet.datasets import DATASETS, PAPER_DATASETS
from pbgnet.experiments.tables import paper_numbers
from pbgnet.networks import AggregatedNetwork, linear_loss
from pbgnet.training import empirical_means

RETRAINED = {"pbgnet_l_bnd": "PBGNet_l-bnd", "pbgnet": "PBGNet, exact"}
OTHER_SAMPLES = {"pbgnet_l_bnd": "PBGNet_l-bnd, the same but for the samples"}
"""The variants of `repeats` on each algorithm."""


class Deviations(NamedTuple):
    """Deviations of PBGNet's errors in the paper's Table 5, and those of one fixed classifier."""

    dataset: str
    printed: tuple[float, float]
    fixed: tuple[float, float]


def error_table() -> Table:
    """Return what random splits alone would give, beside the paper's deviations."""
    columns = ("data set", "train, paper", "train, fixed", "test, paper", "test, fixed")
    found = Table("Deviations of PBGNet's errors over random splits", columns)
    for x in error_deviations():
        train, test = (f"{number:.3f}" for number in x.printed)
        found.add(x.dataset, train, f"{x.fixed[0]:.4f}", test, f"{x.fixed[1]:.4f}")
    found.notes += [
        "Paper: Table 5, 20 splits, three digits.",
        "Fixed: one classifier with the same error rate over all rows, whatever the split. Only chance "
        "decides which of its wrong answers are among the train rows.",
    ]
    return found


def error_deviations() -> Iterator[Deviations]:
    """Yield the deviations of PBGNet's errors."""
    for (dataset, algorithm), row in paper_numbers("variance").items():
        rows = DATASETS[dataset].paper_rows
        if algorithm != "pbgnet" or rows is None:
            continue
        errors = [row[name] for name in ("train_error", "test_error")]
        rate = sum(n * error for n, error in zip(rows, errors, strict=True)) / sum(rows)
        fixed = [over_splits(rate * (1 - rate), n, sum(rows)) for n in rows]
        paper = [row[f"{name}_deviation"] for name in ("train_error", "test_error")]
        yield Deviations(dataset, (paper[0], paper[1]), (fixed[0], fixed[1]))


def over_splits(variance: float, n: int, total: int) -> float:
    """Return the deviation of a mean over n rows drawn from all."""
    return math.sqrt(variance / n * (1 - n / total))


def bound_over_splits(network: AggregatedNetwork, divergence: float, place: Setting, n: int) -> float:
    """Return the deviation of the bound of a network that stays the same, on n rows of random splits."""
    parts = (place.train, place.test)
    total = sum(map(len, parts))
    means = [empirical_means(network, part, linear_loss, _squared_loss) * len(part) for part in parts]
    loss, square = (torch.stack(means).sum(dim=0).flatten() / total).tolist()
    away = over_splits((square - loss**2) * total / (total - 1), n, total)
    return (bound(loss + away, divergence, n) - bound(loss - away, divergence, n)) / 2


def _squared_loss(output: Tensor, y: Tensor, *, validate_args: bool = True) -> Tensor:
    return linear_loss(output, y, validate_args=validate_args).square()


def bound_table() -> Table:
    """Return how much bounds deviate in each way that we know, beside the paper's deviations."""
    columns = ("algorithm", "data set", "paper", "same network, other rows", "same rows, other seed",
               "the same, other samples", "same network, predicting again")  # fmt: skip
    found = Table("Deviations of bounds", columns)
    paper, lines = paper_numbers("variance"), store.found()
    for algorithm, variant in RETRAINED.items():
        for dataset in PAPER_DATASETS:
            again, sampled = (
                [x for x in lines if (x["dataset"], x["variant"]) == (dataset, name)]
                for name in (variant, OTHER_SAMPLES.get(algorithm))
            )
            other_rows, predicted = (
                fmean(x[f"{name}_deviation"] for x in again) for name in ("split", "bound")
            )
            found.add(NAMES[algorithm], dataset, f"{paper[dataset, algorithm]['bound_deviation']:.3f}",
                      _four(other_rows), _spread(again), _spread(sampled),
                      _four(predicted) if algorithm in OTHER_SAMPLES else None)  # fmt: skip
    found.notes += [
        "Paper: Table 5, 20 splits, three digits.",
        "Same network, other rows: computed for the networks of the next column, with exact predictions, on "
        "all random splits at once. Training again on each split can only add to it, unless "
        "the network makes up for the rows it gets.",
        "Same rows, other seed: six trainings on one split, with their own first weights, batches and "
        "samples; PBGNet with the exact aggregate.",
        "The same, other samples: six trainings on one split from the same weights, with the same batches, "
        "for 100 epochs each.",
        "Same network, predicting again: 20 sampled predictions of each network of the column before last, "
        "where it samples.",
    ]
    return found


def _spread(lines: list[dict[str, float]]) -> str | None:
    return _four(stdev(x["bound"] for x in lines)) if lines else None


def _four(deviation: float) -> str:
    return f"{deviation:.4f}"
