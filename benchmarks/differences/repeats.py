"""How much the numbers vary when one split is trained on again, and when one network predicts again.

The paper repeats 20 times, each time on another split. Repeats on one split have their own first weights,
batches and samples.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import mean, stdev
from typing import Any

import torch
from torch import Tensor

from benchmarks.differences.epochs import N_SAMPLES, RATE
from benchmarks.differences.setting import (
    BATCHES,
    DELTA,
    ROWS,
    VALIDATION_FRACTION,
    Setting,
    bound,
    losses,
)
from pbgnet.bounds import tree_divergence
from pbgnet.networks import AggregatedNetwork, linear_loss
from pbgnet.training import Course, Journal, TrainingData, empirical_means
from pbgnet.training.solvers import Problem, descend, fit
from pbgnet.training.solvers.callbacks import BestEpoch, EarlyStopping, PlateauHalving
from pbgnet.training.steps import Catoni, LinearLoss, Trainable

REPEATS, N_PREDICTIONS = 6, 20
BOUND_RATE, WEIGHT_DECAY, MAX_EPOCHS = 0.1, 1e-6, 150


@dataclass(frozen=True)
class Trained:
    """A network, the rows of its bound, the epoch it was taken from, and the T it predicts with."""

    network: AggregatedNetwork
    rows: TrainingData
    epoch: int
    n_samples: int | None


def run(place: Setting, variant: str) -> Iterator[dict[str, Any]]:
    """Train on the split several times; yield the numbers of each network."""
    for repeat in range(REPEATS):
        again = replace(place, repeat=repeat)
        yield {"repeat": repeat, **_measured(again, VARIANTS[variant](again))}


def _measured(place: Setting, trained: Trained) -> dict[str, Any]:
    network, rows = trained.network, trained.rows
    divergence = tree_divergence(list(network.weights), network.prior_weights, validate_args=False).item()
    sampled, aggregation = trained.n_samples is not None, place.aggregation(trained.n_samples)
    drawn = AggregatedNetwork(list(network.weights), network.prior_weights, aggregation=aggregation)
    found = [(losses(drawn, rows), losses(drawn, place.test)) for _ in range(N_PREDICTIONS if sampled else 1)]
    bounds = [bound(train[0][0], divergence, len(rows)) for train, _ in found]
    return {
        "epoch": trained.epoch,
        "divergence": divergence,
        "bound": mean(bounds),
        "train_error": mean(train[1][0] for train, _ in found),
        "test_error": mean(test[1][0] for _, test in found),
        "bound_deviation": stdev(bounds) if sampled else 0.0,
    }


def _bound_minimised(place: Setting, n_samples: int | None) -> Trained:
    """Train PBGNet."""
    start, rows = place.start(n_samples), place.train
    network = start.network(1, rows)
    objective = Catoni(network.prior_weights, len(rows), DELTA, torch.zeros(1, dtype=torch.float64), "paper")
    rates = torch.full((1,), BOUND_RATE, dtype=torch.float64)
    problem = Problem(network, rows, objective, place.seeds(BATCHES, 1), rates)
    picked = descend(problem, Course(place.batch_size, MAX_EPOCHS), Journal(), "bound")["objective"]
    return Trained(_detached(network), rows, int(picked.epoch), n_samples)


def _loss_minimised(place: Setting) -> Trained:
    """Train PBGNet_l-bnd where the validation loss is the schedule and picks the epoch."""
    held, used = place.train.shares(VALIDATION_FRACTION, place.seed(ROWS))
    network = place.start(N_SAMPLES).network(1, used)

    def measure(trained: Trainable, record: dict[str, Tensor], members: Tensor) -> dict[str, Tensor]:
        (loss,) = empirical_means(trained, held, linear_loss)
        return {"validation_loss": loss}

    decays, rates = (torch.full((1,), x, dtype=torch.float64) for x in (WEIGHT_DECAY, RATE))
    objective = LinearLoss.of(list(network.weights), decays)
    problem = Problem(network, used, objective, place.seeds(BATCHES, 1), rates, measure)
    course, best = Course(place.batch_size, MAX_EPOCHS), BestEpoch("validation_loss")
    halving = PlateauHalving(course.plateau_patience, "validation_loss")
    stopping = EarlyStopping(course.stopping_patience, "validation_loss")
    fit(problem, course, Journal(), "loss", callbacks=[halving, stopping, best])
    return Trained(_detached(network), used, int(best.epoch), N_SAMPLES)


def _detached(network: AggregatedNetwork) -> AggregatedNetwork:
    weights = [w.detach() for w in network.weights]
    return AggregatedNetwork(weights, network.prior_weights, aggregation=network.aggregation)


VARIANTS: dict[str, Callable[[Setting], Trained]] = {
    "PBGNet, exact": lambda place: _bound_minimised(place, None),
    "PBGNet, T = 10": lambda place: _bound_minimised(place, 10),
    "PBGNet_l-bnd": _loss_minimised,
}
