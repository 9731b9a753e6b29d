"""The mini-batch training loop: R networks side by side, each with its own rate, batches and end."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from pbgnet.training.solvers.callbacks import Callback, LoopState
from pbgnet.training.solvers.checkpoints import Phase, State, begin_phase, copy_all, on_device
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

# Finished replicas are left behind once at most this share of those in training is unfinished. To leave them
# costs as much as a few steps, or recording a CUDA graph; to keep them, their part of every step.
MOST_ACTIVE = 0.75


def fit(
    problem: Problem,
    course: Course,
    journal: Journal,
    phase: str,
    *,
    callbacks: Sequence[Callback] = (),
    ramp: Callable[[float], float] = lambda epoch: 1.0,
    pace: Callable[[float], float] = lambda epoch: 1.0,
) -> None:
    """Minimise an objective with Adam on mini-batches; the network's weights are changed in place.

    The ramp is the weight of the penalty and the pace that of the rate, as functions of the number of epochs
    passed, which grows with every step. Epochs are recorded under the name of the phase. An interrupt ends
    the loop; the callbacks then restore what they kept.
    """
    kept = begin_phase(phase, problem, course)
    if kept.is_done:
        _take_over(kept, problem, callbacks, journal)
        return
    network, learning_rate, max_epochs = problem.network, problem.learning_rate, course.max_epochs
    stepper = _make_stepper(problem, course)
    batches = stepper.batches
    everybody = torch.arange(len(learning_rate), device=learning_rate.device)
    state = LoopState(
        stepper.weights, everybody, learning_rate, torch.zeros_like(learning_rate, dtype=torch.bool)
    )
    n_steps, n_records = len(batches), len(journal.history.records)
    if kept.found is not None:
        stepper = _go_on(kept.found, stepper, state, network, callbacks, journal)

    def reached() -> State:
        records = journal.history.records[n_records:]
        return _reached(stepper, state, network, callbacks, records)

    with journal.interruptible():
        while state.epoch < max_epochs and not bool(state.finished.all()):
            stepper = _leave_finished_behind(stepper, state, network)
            rate = torch.where(state.finished, 0.0, state.learning_rate)[state.members]
            times = [state.epoch + i / n_steps for i in range(n_steps)]
            with threads_for_steps(stepper.network, batches), kept.kept_if_lost(reached):
                loss = stepper.epoch(
                    state.epoch,
                    rate,
                    [ramp(t) for t in times],
                    [pace(t) for t in times],
                    before_step=lambda: kept.pass_by(reached),
                )
            record = {problem.criterion.name: loss, "penalty": stepper.objective.penalty(stepper.weights)}
            record["objective"] = stepper.objective.value(loss, record["penalty"])
            record |= problem.measure(stepper.network, record, state.members)
            wait_for(record["objective"])
            _enter(record, state)
            state.epoch += 1
            journal.record(phase, state.epoch, max_epochs, learning_rate=state.learning_rate, **state.record)
            for callback in callbacks:
                callback.on_epoch_end(state)
            kept.pass_by(reached)
    _bring_back(stepper, state, network)
    for callback in callbacks:
        callback.on_fit_end([w.detach() for w in network.weights])
    if not journal.interrupted:
        kept.finish(lambda: _left(problem, callbacks, journal.history.records[n_records:]))


def _make_stepper(problem: Problem, course: Course) -> Stepper:
    augmentation = problem.augmentation
    augmented = None if augmentation is None else AugmentedImages(problem.data.rows, augmentation)
    pools = problem.data.pools if problem.pools is None else problem.pools
    batches = Batches(problem.data, course.batch_size, problem.seeds, pools, augmented)
    # With a linear objective, nothing uses the running average of the loss.
    start = torch.zeros_like(problem.learning_rate)
    if not problem.objective.is_linear:
        start = wait_for(empirical_loss(problem.network, problem.data))
    portion = Portion(len(start), "networks")
    return Stepper(problem.network, batches, problem.objective, start, portion, problem.criterion)


def _reached(
    stepper: Stepper,
    state: LoopState,
    network: Trainable,
    callbacks: Sequence[Callback],
    records: list[dict[str, Any]],
) -> State:
    """Return the state of the loop, for `_go_on`."""
    return {
        "loop": {name: value for name, value in vars(state).items() if name != "weights"},
        "stepper": stepper.state(),
        "generators": [generator.get_state() for generator in network.generators()],
        "network": [w.detach() for w in network.weights],
        "callbacks": [vars(callback) for callback in callbacks],
        "records": records,
    }


def _go_on(
    found: State,
    stepper: Stepper,
    state: LoopState,
    network: Trainable,
    callbacks: Sequence[Callback],
    journal: Journal,
) -> Stepper:
    """Bring a new loop to the state of another one; return what takes its steps."""
    device = state.learning_rate.device
    found = on_device(found, device)
    if len(found["loop"]["members"]) < len(state.members):
        stepper = stepper.take(found["loop"]["members"])
    vars(state).update(found["loop"])
    state.weights = stepper.weights
    copy_all([w.detach() for w in network.weights], found["network"])
    copy_all(stepper.state(), found["stepper"])
    for generator, kept in zip(network.generators(), found["generators"], strict=True):
        generator.set_state(kept.cpu())
    for callback, kept in zip(callbacks, found["callbacks"], strict=True):
        vars(callback).update(kept)
    journal.history.records.extend(found["records"])
    return stepper


def _left(problem: Problem, callbacks: Sequence[Callback], records: list[dict[str, Any]]) -> State:
    """Return the result of the loop, for `_take_over`."""
    learned = [*problem.objective.learned(), *problem.criterion.learned()]
    return {
        "tensors": [*(w.detach() for w in problem.network.weights), *learned],
        "generators": [generator.get_state() for generator in problem.network.generators()],
        "callbacks": [vars(callback) for callback in callbacks],
        "records": records,
    }


def _take_over(kept: Phase, problem: Problem, callbacks: Sequence[Callback], journal: Journal) -> None:
    """Take over the result of another loop, without a step."""
    assert kept.found is not None
    found = on_device(kept.found, problem.learning_rate.device)
    learned = [*problem.objective.learned(), *problem.criterion.learned()]
    copy_all([*(w.detach() for w in problem.network.weights), *learned], found["tensors"])
    for generator, state in zip(problem.network.generators(), found["generators"], strict=True):
        generator.set_state(state.cpu())
    for callback, state in zip(callbacks, found["callbacks"], strict=True):
        vars(callback).update(state)
    journal.history.records.extend(found["records"])


def _enter(record: dict[str, Tensor], state: LoopState) -> None:
    """Write the numbers of the replicas still in training into those of all."""
    for key, value in record.items():
        entire = state.record.get(key)
        if entire is None or len(value) == len(state.finished):
            state.record[key] = value
        else:
            state.record[key] = entire.index_copy(0, state.members, value)


def _leave_finished_behind(stepper: Stepper, state: LoopState, network: Trainable) -> Stepper:
    """Continue with the unfinished replicas, once they are few enough of those in training."""
    active = ~state.finished[state.members]
    if int(active.sum()) > MOST_ACTIVE * len(active):
        return stepper
    _bring_back(stepper, state, network)
    staying = active.nonzero()[:, 0]
    state.members = state.members[staying]
    stepper = stepper.take(staying)
    state.weights = stepper.weights
    return stepper


@torch.no_grad()
def _bring_back(stepper: Stepper, state: LoopState, network: Trainable) -> None:
    """Copy the weights in training to their network, if they are not its own."""
    if stepper.network is network:
        return
    for weight, trained in zip(network.weights, stepper.weights, strict=True):
        weight.index_copy_(0, state.members, trained)
