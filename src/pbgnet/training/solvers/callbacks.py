"""Schedules, stopping and the best epoch, for many replicas.

A callback sees the state of the loop after each epoch and may change it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass
class LoopState:
    """What the loop shows its callbacks; numbers are for all replicas, including finished ones."""

    weights: Sequence[Tensor]  # of the A replicas that are still being trained, shapes (A, m, d)
    members: Tensor  # which replicas those are, int64, shape (A,)
    learning_rate: Tensor  # shape (R,)
    finished: Tensor  # replicas that are done, bool, shape (R,); their weights stay
    epoch: int = 0  # number of epochs completed
    # Numbers of the last epoch, shapes (R,); those of a finished replica are its last ones.
    record: dict[str, Tensor] = field(default_factory=dict)


class Callback:
    """Base class; every hook does nothing."""

    def on_epoch_end(self, state: LoopState) -> None:
        """Act on the state after an epoch."""

    def on_fit_end(self, weights: Sequence[Tensor]) -> None:
        """Act on the weights of all replicas after the last epoch."""


class _Watcher(Callback):
    """Counts, per replica, the epochs since a number was last below its minimum."""

    def __init__(self, patience: int = 0, monitor: str = "objective") -> None:
        self.patience = patience
        self.monitor = monitor
        self._best = torch.zeros(0)
        self.waited = torch.zeros(0, dtype=torch.long)

    def improved(self, state: LoopState) -> Tensor:
        """Update minimum and count; return a bool per replica."""
        value = state.record[self.monitor]
        if not len(self._best):
            self._best = torch.full_like(value, torch.inf)
            self.waited = torch.zeros_like(value, dtype=torch.long)
        better = (value < self._best) & ~state.finished
        self._best = torch.where(better, value, self._best)
        self.waited = torch.where(better, 0, self.waited + 1)
        return better


class PlateauHalving(_Watcher):
    """Halve a replica's learning rate after `patience` epochs without a new minimum of the objective."""

    def on_epoch_end(self, state: LoopState) -> None:
        """Halve the rate if the plateau has lasted long enough."""
        self.improved(state)
        stuck = self.waited >= self.patience
        state.learning_rate = torch.where(stuck, state.learning_rate / 2, state.learning_rate)
        self.waited = torch.where(stuck, 0, self.waited)


class EarlyStopping(_Watcher):
    """Finish a replica after `patience` epochs without a new minimum of the objective."""

    def on_epoch_end(self, state: LoopState) -> None:
        """Finish replicas that have not improved for long."""
        self.improved(state)
        state.finished = state.finished | (self.waited >= self.patience)


class BestEpoch(_Watcher):
    """Keep the weights of each replica's best epoch, and restore them at the end if requested.

    Epochs are counted from 1. If none was measured it is 0, and the weights are the last ones.
    """

    def __init__(self, monitor: str = "objective", *, restore: bool = True) -> None:
        super().__init__(monitor=monitor)
        self.restore = restore
        self.epoch = torch.zeros(0, dtype=torch.long)
        self.weights: list[Tensor] = []

    def on_epoch_end(self, state: LoopState) -> None:
        """Copy the weights of replicas that improved."""
        better = self.improved(state)
        if not self.weights:
            self.epoch = torch.zeros_like(better, dtype=torch.long)
            self.weights = [w.detach().new_zeros(len(better), *w.shape[1:]) for w in state.weights]
        self.epoch = torch.where(better, state.epoch, self.epoch)
        here = better[state.members]
        for kept, weight in zip(self.weights, state.weights, strict=True):
            kept[state.members[here]] = weight.detach()[here]

    @torch.no_grad()
    def on_fit_end(self, weights: Sequence[Tensor]) -> None:
        """Use the last weights if no epoch was measured, and restore the best ones."""
        if not self.weights:
            self.epoch = torch.zeros(len(weights[0]), dtype=torch.long, device=weights[0].device)
            self.weights = [w.clone() for w in weights]
        known = (self.epoch > 0)[:, None, None]
        self.weights = [torch.where(known, best, w) for best, w in zip(self.weights, weights, strict=True)]
        if self.restore:
            for weight, best in zip(weights, self.weights, strict=True):
                weight.copy_(best)


class LinearDecay(Callback):
    """Decrease the learning rate linearly to a share of its initial value over a number of epochs."""

    def __init__(self, n_epochs: int, final: float = 0.1) -> None:
        self.n_epochs = n_epochs
        self.final = final
        self._start: Tensor | None = None

    def on_epoch_end(self, state: LoopState) -> None:
        """Set the rate of the next epoch."""
        if self._start is None:
            self._start = state.learning_rate
        share = min(1.0, state.epoch / max(1, self.n_epochs - 1))
        state.learning_rate = self._start * (1 - (1 - self.final) * share)
