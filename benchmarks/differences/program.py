"""PBGNet: two things that the authors' published program does and the paper does not mention.

The norm that a layer divides by leaves out its constant. And an epoch counts as an improvement only if the
bound falls by more than 0.0001, so that the rate is halved and the training ends sooner.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from benchmarks.differences.setting import (
    BATCHES,
    DELTA,
    NarrowNorm,
    Setting,
    bound,
    detached,
    losses,
    predictions,
)
from pbgnet.aggregation import Fourier
from pbgnet.bounds import tree_divergence
from pbgnet.networks import AggregatedNetwork
from pbgnet.training import Course, Journal, Start, TrainingData
from pbgnet.training.solvers import Problem, fit
from pbgnet.training.solvers.callbacks import BestEpoch, Callback, EarlyStopping, LoopState, PlateauHalving
from pbgnet.training.steps import Catoni

RATES = (0.1, 0.01)
"""Those that the paper selects for PBGNet."""

MAX_EPOCHS = 150
THRESHOLD = 1e-4
COUNTED = "counted"


@dataclass(frozen=True)
class Variant:
    """How PBGNet is trained; the defaults are those of the studies."""

    narrow_norm: bool = False  # whether norms leave out the constants
    threshold: float = 0.0  # what the bound must fall by to count as an improvement
    n_samples: int | None = None  # the T that trains


VARIANTS = {
    "as in the studies": Variant(),
    "norm": Variant(narrow_norm=True),
    "threshold": Variant(threshold=THRESHOLD),
    "norm and threshold": Variant(narrow_norm=True, threshold=THRESHOLD),
    "norm and threshold, T = 10": Variant(narrow_norm=True, threshold=THRESHOLD, n_samples=10),
    "norm and threshold, T = 50": Variant(narrow_norm=True, threshold=THRESHOLD, n_samples=50),
    "norm and threshold, T = 1000": Variant(narrow_norm=True, threshold=THRESHOLD, n_samples=1000),
}


WITH_ANY_T = {
    "norm and threshold, T = 10": "T = 10",
    "norm and threshold, T = 50": "T = 50",
    "norm and threshold, T = 1000": "T = 1,000",
    "norm and threshold": "exact",
}
"""Variants that differ in T only; the exact one stands for more samples than a CPU can draw."""


@dataclass(frozen=True)
class Trained:
    """The network of each rate, C, and the epoch it is from."""

    network: AggregatedNetwork
    c: list[float]
    epoch: list[int]


def run(place: Setting, variant: str) -> Iterator[dict[str, Any]]:
    """Train with each rate, side by side; yield the numbers of each network."""
    how = VARIANTS[variant]
    start, train, test = place.start(how.n_samples), place.train, place.test
    if how.narrow_norm:
        start, train, test = NarrowNorm.start(start), NarrowNorm.rows(train), NarrowNorm.rows(test)
    trained = _train(place, how, start, train)
    weights, prior = list(trained.network.weights), trained.network.prior_weights
    if how.narrow_norm:
        divergence = NarrowNorm.divergence(weights, prior)
    else:
        divergence = tree_divergence(weights, prior, validate_args=False).tolist()
    exact = AggregatedNetwork(weights, prior, aggregation=Fourier())
    (loss, train_error), (_, test_error) = (losses(exact, part) for part in (train, test))
    numbers: dict[str, Sequence[float]] = {
        "rate": RATES,
        "c": trained.c,
        "epoch": trained.epoch,
        "divergence": divergence,
        "bound": [bound(x, kl, len(train)) for x, kl in zip(loss, divergence, strict=True)],
        "train_error": train_error,
        "test_error": test_error,
    }
    if how.n_samples is not None:
        numbers |= _sampled_errors(trained.network, train, test)
    for values in zip(*numbers.values(), strict=True):
        yield dict(zip(numbers, values, strict=True))


def _train(place: Setting, how: Variant, start: Start, rows: TrainingData) -> Trained:
    network, count = start.network(len(RATES), rows), len(RATES)
    log_c = torch.zeros(count, dtype=torch.float64)
    minimised = NarrowCatoni if how.narrow_norm else Catoni
    objective = minimised(network.prior_weights, len(rows), DELTA, log_c, "paper")
    rates = torch.tensor(RATES, dtype=torch.float64)
    problem = Problem(network, rows, objective, place.seeds(BATCHES, count), rates)
    course, best = Course(place.batch_size, MAX_EPOCHS), BestEpoch()
    halving = PlateauHalving(course.plateau_patience, COUNTED)
    stopping = EarlyStopping(course.stopping_patience, COUNTED)
    fit(problem, course, Journal(), "bound", callbacks=[_Counted(how.threshold), halving, stopping, best])
    return Trained(detached(network), log_c.exp().tolist(), [int(epoch) for epoch in best.epoch])


def _sampled_errors(network: AggregatedNetwork, *parts: TrainingData) -> dict[str, Sequence[float]]:
    """Return the mean errors of the paper's predictions, with the T that trained, for each rate."""
    errors = [[error for _, error in prediction] for prediction in predictions(network, *parts)]
    train, test = (torch.tensor(part).mean(dim=0).tolist() for part in zip(*errors, strict=True))
    return {"sampled_train_error": train, "sampled_test_error": test}


class NarrowCatoni(Catoni):
    """Catoni's bound of networks whose norms leave out the constants."""

    def multiplicities(self) -> list[float]:
        """Return how often each layer counts."""
        return list(NarrowNorm.FACTORS)


class _Counted(Callback):
    """Records the cost of the last epoch that counts as an improvement, for the schedule to watch."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._last: Tensor | None = None

    def on_epoch_end(self, state: LoopState) -> None:
        cost = state.record["objective"]
        if self._last is None:
            self._last = cost.clone()
        self._last = torch.where(cost < self._last - self.threshold, cost, self._last)
        state.record[COUNTED] = self._last
