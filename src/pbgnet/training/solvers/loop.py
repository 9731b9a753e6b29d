"""The mini-batch fit loop: R networks side by side, each with its own rate, batches and end."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from pbgnet.training.solvers.callbacks import Callback, LoopState
from pbgnet.training.solvers.journal import Journal
from pbgnet.training.solvers.problem import Course, Problem
from pbgnet.training.steps import (
    AugmentedImages,
    Batches,
    Portion,
    Stepper,
    Trainable,
    empirical_loss,
    threads_for_steps,
    wait_for,
)


def fit(
    problem: Problem,
    course: Course,
    journal: Journal,
    phase: str,
    *,
    callbacks: Sequence[Callback] = (),
    ramp: Callable[[float], float] = lambda epoch: 1.0,
) -> None:
    """Minimise an objective by Adam on mini-batches; the network's weights are changed in place.

    The ramp weighs the penalty, as a function of the number of epochs passed. Epochs are recorded under the
    name of the phase. An interrupt ends the loop; the callbacks then restore what they kept.
    """
    network, learning_rate, max_epochs = problem.network, problem.learning_rate, course.max_epochs
    augmentation = problem.augmentation
    augmented = None if augmentation is None else AugmentedImages(problem.data.rows, augmentation)
    pools = problem.data.pools if problem.pools is None else problem.pools
    batches = Batches(problem.data, course.batch_size, problem.seeds, pools, augmented)
    everybody = torch.arange(len(learning_rate), device=learning_rate.device)
    portion = Portion(len(learning_rate), "networks")
    # Where the objective is linear nothing looks at the running average of the loss.
    start = torch.zeros_like(learning_rate)
    if not problem.objective.is_linear:
        start = wait_for(empirical_loss(network, problem.data))
    stepper = Stepper(network, batches, problem.objective, start, portion, problem.criterion)
    state = LoopState(
        stepper.weights, everybody, learning_rate, torch.zeros_like(learning_rate, dtype=torch.bool)
    )
    n_steps = len(batches)
    with journal.interruptible():
        while state.epoch < max_epochs and not bool(state.finished.all()):
            stepper = _leave_finished_behind(stepper, state, network)
            rate = torch.where(state.finished, 0.0, state.learning_rate)[state.members]
            weights_of_penalty = [ramp(state.epoch + i / n_steps) for i in range(n_steps)]
            with threads_for_steps(stepper.network, batches):
                loss = stepper.epoch(state.epoch, rate, weights_of_penalty)
            record = {problem.criterion.name: loss, "penalty": stepper.objective.penalty(stepper.weights)}
            record["objective"] = stepper.objective.value(loss, record["penalty"])
            record |= problem.measure(stepper.network, record, state.members)
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
