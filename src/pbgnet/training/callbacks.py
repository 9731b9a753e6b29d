"""Schedules, stopping and the best epoch, for many replicas at once.

A callback sees the state of the loop after each epoch and may change it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

__all__ = ["BestEpoch", "Callback", "EarlyStopping", "LinearDecay", "LoopState", "PlateauHalving"]


@dataclass
class LoopState:
    """What the loop shows its callbacks; numbers are of all replicas, also of finished ones.

    Attributes
    ----------
    weights : sequence of Tensor, shapes (A, m, d)
        Of the replicas that are still being trained.
    members : Tensor, int64, shape (A,)
        Which replicas those are.
    learning_rate : Tensor, shape (R,)
    finished : Tensor, bool, shape (R,)
        Replicas that are done; their weights stay.
    epoch : int
        Number of epochs completed.
    record : dict of str to Tensor, shapes (R,)
        Numbers of the last epoch; those of a finished replica are its last ones.
    """

    weights: Sequence[Tensor]
    members: Tensor
    learning_rate: Tensor
    finished: Tensor
    epoch: int = 0
    record: dict[str, Tensor] = field(default_factory=dict)


class Callback:
    """Base class; every hook does nothing."""

    def on_epoch_end(self, state: LoopState) -> None:
        """Act on the state after an epoch."""

    def on_fit_end(self, weights: Sequence[Tensor]) -> None:
        """Act on the weights of all replicas after the last epoch."""


class _Watcher(Callback):
    """Counts, per replica, the epochs since a number was last below its minimum."""

    def __init__(self, monitor: str = "objective") -> None:
        self.monitor = monitor
        self.best: Tensor | None = None
        self.waited: Tensor | None = None

    def improved(self, state: LoopState) -> Tensor:
        """Update minimum and count; return a bool per replica."""
        value = state.record[self.monitor]
        if self.best is None or self.waited is None:
            self.best = torch.full_like(value, torch.inf)
            self.waited = torch.zeros_like(value, dtype=torch.long)
        better = (value < self.best) & ~state.finished
        self.best = torch.where(better, value, self.best)
        self.waited = torch.where(better, 0, self.waited + 1)
        return better


class PlateauHalving(_Watcher):
    """Halve a replica's learning rate after `patience` epochs without a new minimum.

    Parameters
    ----------
    patience : int, default=5
    monitor : str, default="objective"
    """

    def __init__(self, patience: int = 5, monitor: str = "objective") -> None:
        super().__init__(monitor)
        self.patience = patience

    def on_epoch_end(self, state: LoopState) -> None:
        """Halve where the plateau has lasted."""
        self.improved(state)
        assert self.waited is not None
        stuck = self.waited >= self.patience
        state.learning_rate = torch.where(stuck, state.learning_rate / 2, state.learning_rate)
        self.waited = torch.where(stuck, 0, self.waited)


class EarlyStopping(_Watcher):
    """Finish a replica after `patience` epochs without a new minimum.

    Parameters
    ----------
    patience : int, default=20
    monitor : str, default="objective"
    """

    def __init__(self, patience: int = 20, monitor: str = "objective") -> None:
        super().__init__(monitor)
        self.patience = patience

    def on_epoch_end(self, state: LoopState) -> None:
        """Finish where nothing has improved for long."""
        self.improved(state)
        assert self.waited is not None
        state.finished = state.finished | (self.waited >= self.patience)


class BestEpoch(_Watcher):
    """Keep each replica's weights of its best epoch, and restore them at the end.

    Parameters
    ----------
    monitor : str, default="objective"
    restore : bool, default=True
        False only keeps them, for `weights`.

    Attributes
    ----------
    epoch : Tensor, shape (R,)
        The best epoch of each replica, counted from 1; 0 where none was ever measured.
    """

    def __init__(self, monitor: str = "objective", *, restore: bool = True) -> None:
        super().__init__(monitor)
        self.restore = restore
        self.epoch: Tensor | None = None
        self._kept: list[Tensor] = []

    def on_epoch_end(self, state: LoopState) -> None:
        """Copy the weights of replicas that improved."""
        better = self.improved(state)
        if self.epoch is None:
            self.epoch = torch.zeros_like(better, dtype=torch.long)
            self._kept = [w.detach().new_zeros(len(better), *w.shape[1:]) for w in state.weights]
        self.epoch = torch.where(better, state.epoch, self.epoch)
        here = better[state.members]
        for kept, weight in zip(self._kept, state.weights, strict=True):
            kept[state.members[here]] = weight.detach()[here]

    @torch.no_grad()
    def on_fit_end(self, weights: Sequence[Tensor]) -> None:
        """Restore the best weights."""
        if not self.restore:
            return
        for weight, best in zip(weights, self.weights(weights), strict=True):
            weight.copy_(best)

    def weights(self, last: Sequence[Tensor]) -> list[Tensor]:
        """Return the best weights of every replica, and the last ones where no epoch was measured."""
        if self.epoch is None:
            return [w.detach() for w in last]
        known = (self.epoch > 0)[:, None, None]
        return [torch.where(known, kept, w.detach()) for kept, w in zip(self._kept, last, strict=True)]


class LinearDecay(Callback):
    """Let the learning rate fall linearly to a share of its start over a number of epochs.

    Parameters
    ----------
    n_epochs : int
    final : float, default=0.1
    """

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
