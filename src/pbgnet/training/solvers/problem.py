"""The input and output of a solver, and what the registry knows about it."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from pbgnet.training.solvers.journal import Journal
from pbgnet.training.steps import (
    LINEAR,
    Augmentation,
    Criterion,
    FoldPools,
    Objective,
    Trainable,
    TrainingData,
)

Measure = Callable[[Trainable, dict[str, Tensor], Tensor], dict[str, Tensor]]
"""Maps a network, the record of its epoch and the indices of its replicas to further numbers, shape (R,)."""


def nothing_more(network: Trainable, record: dict[str, Tensor], members: Tensor) -> dict[str, Tensor]:
    """Measure nothing besides loss, penalty and objective."""
    return {}


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
    """What a solver works on."""

    network: Trainable  # weights with a leading axis of R replicas; changed in place
    data: TrainingData
    objective: Objective
    seeds: Tensor  # of the mini-batches of each replica, int64, shape (R,)
    learning_rate: Tensor  # the first of each replica, float64, shape (R,)
    measure: Measure = nothing_more
    # The numbers whose minima pick an epoch; the network is left at the pick of the first.
    rules: tuple[str, ...] = ("objective",)
    criterion: Criterion = LINEAR  # for batches; the exact loss over all rows is the linear one
    # The rows each replica is trained on, int64, shape (R, p), or by their fold; by default all.
    pools: Tensor | FoldPools | None = None
    augmentation: Augmentation | None = None  # how images are changed for the batches of Adam


@dataclass(frozen=True)
class Pick:
    """Where a rule would have stopped each replica."""

    epoch: Tensor  # counted from 1, 0 where no epoch was measured; shape (R,)
    weights: list[Tensor]  # shapes (R, m, d)


@dataclass(frozen=True)
class Solver:
    """A way to minimise the bound, by name.

    Attributes
    ----------
    name : str
    solve : callable
        Changes the weights of a problem's network in place, records in the journal under the name of a phase,
        ends early if the journal says so, and returns the epoch each replica has reached, shape (R,).
    course : Course, optional
        Batches and epochs that suit it; by default those of the paper.
    exact : bool
        Whether it needs an objective that is computed exactly and has no parameters to learn.
    """

    name: str
    solve: Callable[[Problem, Course, Journal, str], Tensor]
    course: Course | None = None
    exact: bool = False
