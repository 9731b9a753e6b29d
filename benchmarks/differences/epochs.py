"""PBGNet_l-bnd: which number picks the epoch, halves the rate and ends the training.

The rate, 0.001, and T are those the paper selects. Of its three weight decays the largest is left out: the
validation loss never selects it.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from benchmarks.differences.setting import BATCHES, PREDICTIONS, ROWS, VALIDATION_FRACTION, Setting, bound
from pbgnet.bounds import tree_divergence
from pbgnet.networks import AggregatedNetwork, linear_loss, zero_one_loss
from pbgnet.training import Course, Journal, empirical_means
from pbgnet.training.solvers import Problem, fit
from pbgnet.training.solvers.callbacks import EarlyStopping, PlateauHalving
from pbgnet.training.steps import LinearLoss, Trainable

RATE, MAX_EPOCHS = 0.001, 150
N_SAMPLES, MORE_SAMPLES = 10, {"mnistLH": 100}


class Schedule(NamedTuple):
    """The number that halves the rate and ends the training, and the weight decays to choose from."""

    monitor: str
    weight_decays: tuple[float, ...] = (0.0, 1e-6)


SCHEDULES = {
    "cost": Schedule("objective"),
    "validation": Schedule("validation_loss"),
    "validation, decay of 1e-6": Schedule("validation_loss", (1e-6,)),
}

RULES: dict[str, Callable[[dict[str, Any]], float]] = {
    "bound": lambda epoch: epoch["bound"],
    "validation loss": lambda epoch: epoch["validation_loss"],
    "validation error": lambda epoch: epoch["validation_error"],
    "cost": lambda epoch: epoch["objective"],
}
"""What picks the epoch."""


NUMBERS = ("epoch", "divergence", "bound", "validation_loss", "train_error", "test_error")


def chosen_samples(place: Setting) -> int:
    """Return the T that the paper selects."""
    return MORE_SAMPLES.get(place.dataset, N_SAMPLES)


def run(place: Setting, variant: str) -> Iterator[dict[str, Any]]:
    """Train by one schedule; yield what each rule would have given."""
    schedule = SCHEDULES[variant]
    courses = _train(place, schedule)
    for rule, number in RULES.items():
        # each weight decay gives its best epoch, and the validation loss picks one of them
        best = [min(epochs, key=number) for epochs in courses]
        chosen = min(range(len(best)), key=lambda r: best[r]["validation_loss"])
        yield {
            "rule": rule,
            "weight_decay": schedule.weight_decays[chosen],
            "last_epoch": len(courses[chosen]),
            **{name: best[chosen][name] for name in NUMBERS},
        }


def _train(place: Setting, schedule: Schedule) -> list[list[dict[str, Any]]]:
    """Return all epochs of the replica of each weight decay, with bounds on the rows that train."""
    held, used = place.train.shares(VALIDATION_FRACTION, place.seed(ROWS))
    count, monitor = len(schedule.weight_decays), schedule.monitor
    start = place.start(chosen_samples(place))
    network, prior = start.network(count, used), start.prior
    predicting = place.aggregation(chosen_samples(place), PREDICTIONS)

    def measure(trained: Trainable, record: dict[str, Tensor], members: Tensor) -> dict[str, Tensor]:
        loss, error = empirical_means(trained, held, linear_loss, zero_one_loss)
        weights = [w.detach() for w in trained.weights]
        predictor = AggregatedNetwork(weights, prior, aggregation=predicting)
        train_error, test_error = (
            empirical_means(predictor, part, zero_one_loss)[0] for part in (used, place.test)
        )
        return {
            "validation_loss": loss,
            "validation_error": error,
            "train_error": train_error,
            "test_error": test_error,
            "divergence": tree_divergence(weights, prior, validate_args=False),
        }

    decays = torch.tensor(schedule.weight_decays, dtype=torch.float64)
    objective = LinearLoss.of(list(network.weights), decays)
    rates = torch.full_like(decays, RATE)
    problem = Problem(network, used, objective, place.seeds(BATCHES, count), rates, measure)
    course, journal = Course(place.batch_size, MAX_EPOCHS), Journal()
    halving = PlateauHalving(course.plateau_patience, monitor)
    stopping = EarlyStopping(course.stopping_patience, monitor)
    fit(problem, course, journal, "loss", callbacks=[halving, stopping])
    courses = [_until_stopped(journal.history.of_replica(r), monitor, course) for r in range(count)]
    for epoch in (epoch for epochs in courses for epoch in epochs):
        epoch["bound"] = bound(epoch["loss"], epoch["divergence"], len(used))
    return courses


def _until_stopped(epochs: list[dict[str, Any]], monitor: str, course: Course) -> list[dict[str, Any]]:
    """Drop the epochs after a replica has stopped, in which others went on."""
    best, waited = float("inf"), 0
    for number, epoch in enumerate(epochs, 1):
        waited = 0 if epoch[monitor] < best else waited + 1
        best = min(best, epoch[monitor])
        if waited >= course.stopping_patience:
            return epochs[:number]
    return epochs
