"""The mini-batch fit loop: R networks side by side, each with its own rate, batches and end."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from pbgnet.networks import linear_loss
from pbgnet.training.adam import ReplicaAdam
from pbgnet.training.callbacks import Callback, LoopState
from pbgnet.training.data import Batches
from pbgnet.training.evaluation import Trainable, empirical_loss
from pbgnet.training.history import History
from pbgnet.training.objectives import Objective
from pbgnet.training.progress import Progress

__all__ = ["Measure", "fit"]

Ramp = Callable[[float], float]


Measure = Callable[[dict[str, Tensor]], dict[str, Tensor]]


def _no_ramp(epoch: float) -> float:
    return 1.0


def _nothing_more(record: dict[str, Tensor]) -> dict[str, Tensor]:
    return {}


def fit(
    network: Trainable,
    batches: Batches,
    objective: Objective,
    *,
    learning_rate: Tensor,
    max_epochs: int,
    callbacks: Sequence[Callback] = (),
    ramp: Ramp = _no_ramp,
    measure: Measure = _nothing_more,
    history: History,
    progress: Progress,
    phase: str,
) -> None:
    """Minimise an objective by Adam on mini-batches; the network's weights are changed in place.

    Parameters
    ----------
    network : Trainable
    batches : Batches
    objective : Objective
    learning_rate : Tensor, shape (R,)
    max_epochs : int
    callbacks : sequence of Callback
    ramp : callable
        Weight of the penalty as a function of the number of epochs passed.
    measure : callable
        Maps the record of an epoch to further numbers for it, each of shape (R,).
    history, progress, phase
        Where to record the epochs, what to show, and under which name.
    """
    weights = list(network.weights)
    adam = ReplicaAdam([*weights, *objective.learned()])
    state = LoopState(weights, learning_rate, finished=torch.zeros_like(learning_rate, dtype=torch.bool))
    running = empirical_loss(network, batches.data)
    horizon = min(1.0, 2.0 / len(batches))  # the running average looks back about half an epoch
    while state.epoch < max_epochs and not bool(state.finished.all()):
        total = torch.zeros_like(running)
        for i, (rows, y) in enumerate(batches.epoch()):
            losses = linear_loss(network.output(rows, validate_args=False), y, validate_args=False)
            loss = losses.mean(dim=-1, dtype=torch.float64)
            running = torch.lerp(running, loss.detach(), horizon)
            total += loss.detach()
            gradients = _gradients(objective, loss, running, weights, ramp(state.epoch + i / len(batches)))
            adam.step(gradients, torch.where(state.finished, 0.0, state.learning_rate))
        state.epoch += 1
        state.record = _record(objective, total / len(batches), weights)
        state.record |= measure(state.record)
        history.append(phase=phase, epoch=state.epoch, learning_rate=state.learning_rate, **state.record)
        for callback in callbacks:
            callback.on_epoch_end(state)
        progress.advance(phase, state.epoch, max_epochs, state.record["objective"])
    for callback in callbacks:
        callback.on_fit_end(state)


def _gradients(
    objective: Objective, loss: Tensor, running: Tensor, weights: Sequence[Tensor], ramp: float
) -> tuple[Tensor, ...]:
    """Gradient of the objective linearised at the running loss; replicas do not mix in the sum."""
    penalty = objective.penalty(weights)
    by_loss, by_penalty = objective.slopes(running, penalty)
    descent = (by_loss * loss + ramp * by_penalty * penalty).sum()
    learned = objective.learned()
    if learned:
        descent = descent + objective.value(running, penalty.detach()).sum()
    return torch.autograd.grad(descent, [*weights, *learned])


def _record(objective: Objective, loss: Tensor, weights: Sequence[Tensor]) -> dict[str, Tensor]:
    with torch.no_grad():
        penalty = objective.penalty(weights)
        return {"loss": loss, "penalty": penalty, "objective": objective.value(loss, penalty)}
