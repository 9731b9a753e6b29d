"""The mini-batch fit loop: R networks side by side, each with its own rate, batches and end."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from pbgnet.training.callbacks import Callback, LoopState
from pbgnet.training.data import Batches
from pbgnet.training.evaluation import Trainable, empirical_loss
from pbgnet.training.journal import Journal
from pbgnet.training.memory import Portion
from pbgnet.training.objectives import Objective
from pbgnet.training.stepper import Stepper
from pbgnet.training.waiting import wait_for

__all__ = ["Measure", "fit"]

Ramp = Callable[[float], float]

Measure = Callable[[Trainable, dict[str, Tensor]], dict[str, Tensor]]


def _no_ramp(epoch: float) -> float:
    return 1.0


def _nothing_more(network: Trainable, record: dict[str, Tensor]) -> dict[str, Tensor]:
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
    journal: Journal,
    phase: str,
) -> None:
    """Minimise an objective by Adam on mini-batches; the network's weights are changed in place.

    Parameters
    ----------
    network : Trainable
    batches : Batches
    objective : Objective
    learning_rate : Tensor, float64, shape (R,)
    max_epochs : int
    callbacks : sequence of Callback
    ramp : callable
        Weight of the penalty as a function of the number of epochs passed.
    measure : callable
        Maps a network and the record of its epoch to further numbers, each of shape (R,).
    journal, phase
        Where to record the epochs, and under which name. An interrupt ends the loop; the callbacks
        then restore what they kept.
    """
    everybody = torch.arange(len(learning_rate), device=learning_rate.device)
    portion = Portion(len(learning_rate), "networks")
    stepper = Stepper(network, batches, objective, wait_for(empirical_loss(network, batches.data)), portion)
    state = LoopState(
        stepper.weights, everybody, learning_rate, torch.zeros_like(learning_rate, dtype=torch.bool)
    )
    n_steps = len(batches)
    with journal.interruptible():
        while state.epoch < max_epochs and not bool(state.finished.all()):
            stepper = _leave_finished_behind(stepper, state, network)
            rate = torch.where(state.finished, 0.0, state.learning_rate)[state.members]
            weights_of_penalty = [ramp(state.epoch + i / n_steps) for i in range(n_steps)]
            record = {"loss": stepper.epoch(state.epoch, rate, weights_of_penalty)}
            record["penalty"] = stepper.objective.penalty(stepper.weights)
            record["objective"] = stepper.objective.value(record["loss"], record["penalty"])
            record |= measure(stepper.network, record)
            wait_for(record["objective"])
            _enter(record, state)
            state.epoch += 1
            journal.record(phase, state.epoch, max_epochs, learning_rate=state.learning_rate, **state.record)
            for callback in callbacks:
                callback.on_epoch_end(state)
    _bring_back(stepper, state, network)
    for callback in callbacks:
        callback.on_fit_end([w.detach() for w in network.weights])


def _enter(record: dict[str, Tensor], state: LoopState) -> None:
    """Write the numbers of the replicas in training into those of all."""
    for key, value in record.items():
        entire = state.record.get(key)
        if entire is None or len(value) == len(state.finished):
            state.record[key] = value
        else:
            state.record[key] = entire.index_copy(0, state.members, value)


def _leave_finished_behind(stepper: Stepper, state: LoopState, network: Trainable) -> Stepper:
    """Go on with the replicas that are not finished, once they are half or fewer of those in training."""
    active = ~state.finished[state.members]
    if 2 * int(active.sum()) > len(active):
        return stepper
    _bring_back(stepper, state, network)
    staying = active.nonzero()[:, 0]
    state.members = state.members[staying]
    stepper = stepper.take(staying)
    state.weights = stepper.weights
    return stepper


@torch.no_grad()
def _bring_back(stepper: Stepper, state: LoopState, network: Trainable) -> None:
    """Copy the weights in training to the network they belong to, where they are not its own."""
    if stepper.network is network:
        return
    for weight, trained in zip(network.weights, stepper.weights, strict=True):
        weight.index_copy_(0, state.members, trained)
