"""How much the numbers vary when one split is trained on again, and when one network predicts again.

The paper repeats 20 times, each time on another split. Repeats on one split have their own first weights,
batches and samples; "the same but for the samples" trains from the same weights on the same batches, for as
many epochs each time.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import mean, stdev
from typing import Any

import torch
from torch import Tensor

from benchmarks.differences.deviations import bound_over_splits
from benchmarks.differences.epochs import RATE, chosen_samples
from benchmarks.differences.setting import (
    BATCHES,
    DELTA,
    ROWS,
    SAMPLES,
    VALIDATION_FRACTION,
    Setting,
    bound,
    detached,
    predictions,
)
from pbgnet.aggregation import Fourier
from pbgnet.bounds import tree_divergence
from pbgnet.networks import AggregatedNetwork, linear_loss
from pbgnet.training import Course, Journal, TrainingData, empirical_means
from pbgnet.training.solvers import Problem, descend, fit
from pbgnet.training.solvers.callbacks import BestEpoch, EarlyStopping, PlateauHalving
from pbgnet.training.steps import Catoni, LinearLoss, Trainable

REPEATS = 6
BOUND_RATE, WEIGHT_DECAY, MAX_EPOCHS = 0.1, 1e-6, 150
UNSCHEDULED_EPOCHS = 100
"""About as many as the paper's PBGNet_l-bnd takes on ads and mnist49, with the rate never halved."""


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
    weights, prior, rows = list(trained.network.weights), trained.network.prior_weights, trained.rows
    divergence = tree_divergence(weights, prior, validate_args=False).item()
    aggregation = place.aggregation(trained.n_samples)
    drawn, exact = (AggregatedNetwork(weights, prior, aggregation=a) for a in (aggregation, Fourier()))
    found = predictions(drawn, rows, place.test)
    bounds = [bound(train[0][0], divergence, len(rows)) for train, _ in found]
    return {
        "epoch": trained.epoch,
        "divergence": divergence,
        "bound": mean(bounds),
        "train_error": mean(train[1][0] for train, _ in found),
        "test_error": mean(test[1][0] for _, test in found),
        "bound_deviation": stdev(bounds) if len(bounds) > 1 else 0.0,
        "split_deviation": bound_over_splits(exact, divergence, place, len(rows)),
    }


def _bound_minimised(place: Setting, n_samples: int | None) -> Trained:
    """Train PBGNet."""
    start, rows = place.start(n_samples), place.train
    network = start.network(1, rows)
    objective = Catoni(network.prior_weights, len(rows), DELTA, torch.zeros(1, dtype=torch.float64), "paper")
    rates = torch.full((1,), BOUND_RATE, dtype=torch.float64)
    problem = Problem(network, rows, objective, place.seeds(BATCHES, 1), rates)
    picked = descend(problem, Course(place.batch_size, MAX_EPOCHS), Journal(), "bound")["objective"]
    return Trained(detached(network), rows, int(picked.epoch), n_samples)


def _loss_minimised(place: Setting) -> Trained:
    """Train PBGNet_l-bnd where the validation loss is the schedule and picks the epoch."""
    problem, used = _loss_problem(place)
    course, best = Course(place.batch_size, MAX_EPOCHS), BestEpoch("validation_loss")
    halving = PlateauHalving(course.plateau_patience, "validation_loss")
    stopping = EarlyStopping(course.stopping_patience, "validation_loss")
    fit(problem, course, Journal(), "loss", callbacks=[halving, stopping, best])
    return Trained(detached(problem.network), used, int(best.epoch), chosen_samples(place))


def _loss_minimised_with_other_samples(place: Setting) -> Trained:
    """Train PBGNet_l-bnd from the same weights on the same batches, without a schedule."""
    problem, used = _loss_problem(replace(place, renewed=(SAMPLES,)))
    fit(problem, Course(place.batch_size, UNSCHEDULED_EPOCHS), Journal(), "loss", callbacks=[])
    return Trained(detached(problem.network), used, UNSCHEDULED_EPOCHS, chosen_samples(place))


def _loss_problem(place: Setting) -> tuple[Problem, TrainingData]:
    """Return what PBGNet_l-bnd minimises, and the rows it trains on."""
    held, used = place.train.shares(VALIDATION_FRACTION, place.seed(ROWS))
    network = place.start(chosen_samples(place)).network(1, used)

    def measure(trained: Trainable, record: dict[str, Tensor], members: Tensor) -> dict[str, Tensor]:
        (loss,) = empirical_means(trained, held, linear_loss)
        return {"validation_loss": loss}

    decays, rates = (torch.full((1,), x, dtype=torch.float64) for x in (WEIGHT_DECAY, RATE))
    objective = LinearLoss.of(list(network.weights), decays)
    return Problem(network, used, objective, place.seeds(BATCHES, 1), rates, measure), used


VARIANTS: dict[str, Callable[[Setting], Trained]] = {
    "PBGNet, exact": lambda place: _bound_minimised(place, None),
    "PBGNet, T = 10": lambda place: _bound_minimised(place, 10),
    "PBGNet_l-bnd": _loss_minimised,
    "PBGNet_l-bnd, the same but for the samples": _loss_minimised_with_other_samples,
}
