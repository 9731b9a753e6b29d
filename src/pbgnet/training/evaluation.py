"""The exact empirical loss over all rows, and its gradient, in chunks that fit the memory."""

from collections.abc import Iterable
from typing import Protocol

import torch
from torch import Tensor

from pbgnet.networks import PreparedRows, linear_loss
from pbgnet.training.data import TrainingData

__all__ = ["Trainable", "empirical_loss", "loss_and_gradients"]

# Numbers (examples x replicas x neurons x nodes) one chunk may hold at a time.
CHUNK_NUMBERS = 1 << 24
NODES_EXPECTED = 16


class Trainable(Protocol):
    """What training needs of a network: its weights, and outputs for prepared rows."""

    @property
    def weights(self) -> Iterable[Tensor]:
        """Weight matrices of shapes (R, m, d), first layer first."""
        ...

    def output(self, rows: PreparedRows, *, validate_args: bool = True) -> Tensor:
        """Return outputs in [-1, 1], shape (R, n)."""
        ...


def empirical_loss(network: Trainable, data: TrainingData) -> Tensor:
    """Mean linear loss over all rows, float64, shape (R,)."""
    n_replicas = next(iter(network.weights)).shape[0]
    total = torch.zeros(n_replicas, dtype=torch.float64, device=data.y.device)
    with torch.no_grad():
        for part in data.chunks(_chunk_size(network)):
            losses = linear_loss(network.output(part.rows, validate_args=False), part.y, validate_args=False)
            total += losses.sum(dim=-1, dtype=torch.float64)
    return total / len(data)


def loss_and_gradients(network: Trainable, data: TrainingData) -> tuple[Tensor, list[Tensor]]:
    """Mean linear loss over all rows (R,), and its gradient in every weight matrix."""
    weights = list(network.weights)
    loss = torch.zeros(weights[0].shape[0], dtype=torch.float64, device=weights[0].device)
    gradients = [torch.zeros_like(w) for w in weights]
    for part in data.chunks(_chunk_size(network)):
        losses = linear_loss(network.output(part.rows, validate_args=False), part.y, validate_args=False)
        share = losses.sum(dim=-1, dtype=torch.float64) / len(data)
        for total, gradient in zip(gradients, torch.autograd.grad(share.sum(), weights), strict=True):
            total.add_(gradient)
        loss += share.detach()
    return loss, gradients


def _chunk_size(network: Trainable) -> int:
    weights = list(network.weights)
    widest = max(w.shape[-2] for w in weights)
    return max(1, CHUNK_NUMBERS // (weights[0].shape[0] * widest * NODES_EXPECTED))
