"""Two ways to minimise an objective over a network's weights.

`adam` is the paper's optimisation: Adam on mini-batches, the learning rate halved on plateaus,
early stopping, the best epoch. `hybrid` uses that the aggregate is exact: a short run of Adam in
which the divergence counts little at first, to choose a good basin, and then full-batch L-BFGS on
the objective itself, to reach its floor.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pbgnet.training.callbacks import BestEpoch, Callback, EarlyStopping, LinearDecay, PlateauHalving
from pbgnet.training.data import Batches, TrainingData
from pbgnet.training.evaluation import Trainable, capturable, loss_and_gradients, objective_value
from pbgnet.training.journal import Journal
from pbgnet.training.lbfgs import minimise_lbfgs
from pbgnet.training.loop import Measure, fit
from pbgnet.training.objectives import Objective

__all__ = ["SOLVERS", "Course", "Problem", "polish", "solve_adam", "solve_hybrid"]


@dataclass(frozen=True)
class Course:
    """How long and how fast to train.

    Attributes
    ----------
    batch_size : int
    max_epochs : int
        Most epochs of Adam.
    plateau_patience, stopping_patience : int
        Epochs without a new minimum before the rate is halved, and before training stops ("adam").
    ramp_start : float
        Weight of the divergence at the beginning ("hybrid"); it is 1 after half of the epochs.
    max_iterations : int
        Most iterations of L-BFGS ("hybrid").
    """

    batch_size: int
    max_epochs: int
    plateau_patience: int = 5
    stopping_patience: int = 20
    ramp_start: float = 0.02
    max_iterations: int = 150


@dataclass(frozen=True)
class Problem:
    """What a solver works on.

    Attributes
    ----------
    network : Trainable
        Weights with a leading axis of R replicas; changed in place.
    data : TrainingData
    objective : Objective
    seeds : Tensor, int64, shape (R,)
        Of the mini-batches of each replica.
    learning_rate : Tensor, shape (R,)
        First learning rate of each replica.
    measure : callable, optional
        Maps a network and the record of its epoch to further numbers, each of shape (R,).
    monitor : str
        The number whose minimum tells the best epoch.
    """

    network: Trainable
    data: TrainingData
    objective: Objective
    seeds: Tensor
    learning_rate: Tensor
    measure: Measure = lambda network, record: {}
    monitor: str = "objective"


def solve_adam(
    problem: Problem, course: Course, journal: Journal, phase: str, callbacks: Sequence[Callback] = ()
) -> None:
    """Adam with plateau halving, early stopping and the best epoch, as in the paper's appendix."""
    fit(
        problem.network,
        Batches(problem.data, course.batch_size, problem.seeds),
        problem.objective,
        learning_rate=problem.learning_rate,
        max_epochs=course.max_epochs,
        callbacks=[
            PlateauHalving(course.plateau_patience),
            EarlyStopping(course.stopping_patience),
            BestEpoch(problem.monitor),
            *callbacks,
        ],
        measure=problem.measure,
        journal=journal,
        phase=phase,
    )


def solve_hybrid(problem: Problem, course: Course, journal: Journal, phase: str) -> None:
    """Ramped Adam with a falling rate, then L-BFGS on the exact objective over all rows.

    Where Adam has gone astray, at a rate too high for it, L-BFGS begins at the start.
    """
    weights = [w.detach() for w in problem.network.weights]
    start = [w.clone() for w in weights]
    first = objective_value(problem.network, problem.data, problem.objective)
    ramp_epochs = course.max_epochs / 2

    def ramp(epoch: float) -> float:
        """Grow geometrically from the first weight to 1."""
        weight: float = course.ramp_start ** max(0.0, 1 - epoch / ramp_epochs)
        return weight

    fit(
        problem.network,
        Batches(problem.data, course.batch_size, problem.seeds),
        problem.objective,
        learning_rate=problem.learning_rate,
        max_epochs=course.max_epochs,
        callbacks=[LinearDecay(course.max_epochs)],
        ramp=ramp,
        measure=problem.measure,
        journal=journal,
        phase=phase,
    )
    last = objective_value(problem.network, problem.data, problem.objective)
    better = (last < first)[:, None, None]
    for weight, old in zip(weights, start, strict=True):
        weight.copy_(torch.where(better, weight, old))
    polish(problem, course.max_iterations, journal, f"{phase}, polish")


def polish(problem: Problem, max_iterations: int, journal: Journal, phase: str) -> None:
    """Minimise the exact objective over all rows by L-BFGS, from the present weights.

    Interrupted, it leaves the best weights so far.
    """
    if journal.interrupted:
        return
    objective = problem.objective
    weights = [w.detach() for w in problem.network.weights]
    best = [_read(weights)]

    def evaluate(x: Tensor) -> tuple[Tensor, ...]:
        _write(weights, x)
        loss, gradients = loss_and_gradients(problem.network, problem.data)
        penalty = objective.penalty(weights)
        value, slopes = objective.value_and_slopes(loss, penalty)
        total = []
        for g, w, u, m in zip(gradients, weights, objective.anchors, objective.multiplicities(), strict=True):
            scale, pull = (
                factor[:, None, None].to(w.dtype) for factor in (slopes.by_loss, m * slopes.by_penalty)
            )
            total.append(scale * g + pull * (w - u))
        return value, _read(total), loss, penalty

    def record(iteration: int, x: Tensor, value: Tensor, loss: Tensor, penalty: Tensor) -> None:
        best[0] = x
        journal.record(phase, iteration, max_iterations, objective=value, loss=loss, penalty=penalty)

    with journal.interruptible():
        best[0] = minimise_lbfgs(
            evaluate,
            best[0],
            max_iterations=max_iterations,
            on_iteration=record,
            capturable=capturable(problem.network, problem.data),
        )
    _write(weights, best[0])


def _read(tensors: Sequence[Tensor]) -> Tensor:
    """All matrices of each replica as one vector, shape (R, D)."""
    return torch.cat([t.detach().flatten(1) for t in tensors], dim=1)


@torch.no_grad()
def _write(weights: Sequence[Tensor], x: Tensor) -> None:
    sizes = [w[0].numel() for w in weights]
    for weight, part in zip(weights, x.split(sizes, dim=1), strict=True):
        weight.copy_(part.reshape(weight.shape))


SOLVERS = {"adam": solve_adam, "hybrid": solve_hybrid}
