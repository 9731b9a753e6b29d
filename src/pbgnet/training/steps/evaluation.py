"""The exact empirical loss over all rows, and its gradient, in chunks that fit the memory."""

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, Self

import torch
from torch import Tensor

from pbgnet.autograd import Pullback
from pbgnet.networks import PreparedRows, SparseRows, linear_loss
from pbgnet.training.steps.criteria import LINEAR, Criterion
from pbgnet.training.steps.data import TrainingData
from pbgnet.training.steps.memory import Portion
from pbgnet.training.steps.objectives import Objective

# Numbers (examples x replicas x neurons x nodes) one chunk may hold at a time: enough to keep a device
# busy; only the reference kernels really hold them all.
CHUNK_NUMBERS = {"cpu": 1 << 24, "cuda": 1 << 28}
NODES_EXPECTED = 16

Loss = Callable[..., Tensor]
"""Maps outputs and labels to the loss of each, shape (R, n) or (R, n, r), such as `linear_loss`."""


class Trainable(Protocol):
    """What training needs of a network: its weights, and outputs for prepared rows."""

    @property
    def weights(self) -> Iterable[Tensor]:
        """Weight matrices of shapes (R, m, d), first layer first."""

    @property
    def capturable(self) -> bool:
        """Whether a CUDA graph can hold `output`."""

    def generators(self) -> list[torch.Generator]:
        """Sources of the randomness in `output`."""

    def output(self, rows: PreparedRows, *, validate_args: bool = True) -> Tensor:
        """Return outputs in [-1, 1], shape (R, n) or (R, n, r)."""

    def output_with_pullback(
        self, rows: PreparedRows, weights: Sequence[Tensor] | None = None
    ) -> tuple[Tensor, Pullback]:
        """Return outputs and what maps a gradient of them to those of the weights, own or others."""

    def take(self, replicas: Tensor) -> Self:
        """Return a copy of some replicas."""


def capturable(network: Trainable, data: TrainingData) -> bool:
    """Whether a CUDA graph can hold what the network makes of the rows."""
    return data.y.is_cuda and network.capturable and not isinstance(data.rows, SparseRows)


def objective_value(network: Trainable, data: TrainingData, objective: Objective) -> Tensor:
    """The objective over all rows, float64, shape (R,)."""
    return objective.value(empirical_loss(network, data), objective.penalty(list(network.weights)))


class Gradients(NamedTuple):
    """The mean loss of each replica, float64, shape (R,), and its derivatives."""

    loss: Tensor
    by_weights: Sequence[Tensor]  # shapes (R, m, d)
    by_learned: Sequence[Tensor] = ()  # in the parameters of the criterion, shapes (R,)

    @classmethod
    def joined(cls, parts: "Sequence[Gradients]") -> "Gradients":
        """Put the replicas of several parts side by side."""
        if len(parts) == 1:
            return parts[0]
        losses, weights, learned = zip(*parts, strict=True)
        return cls(
            torch.cat(losses),
            [torch.cat(pieces) for pieces in zip(*weights, strict=True)],
            [torch.cat(pieces) for pieces in zip(*learned, strict=True)],
        )


def batch_gradients(
    network: Trainable,
    weights: Sequence[Tensor],
    rows: PreparedRows,
    y: Tensor,
    criterion: Criterion,
    row_weight: Tensor | None = None,
) -> Gradients:
    """Return the mean loss of each replica on a batch, and its gradients."""
    output, pull_back = network.output_with_pullback(rows, weights)
    judged = criterion.judge(output, y, row_weight)
    return Gradients(judged.loss, pull_back(judged.slope), judged.by_learned)


def empirical_loss(network: Trainable, data: TrainingData) -> Tensor:
    """Mean linear loss over all rows and outputs, float64, shape (R,)."""
    return empirical_means(network, data, linear_loss)[0]


@torch.no_grad()
def empirical_means(network: Trainable, data: TrainingData, *losses: Loss) -> Tensor:
    """Means of several losses over all rows and outputs, float64, shape (number of losses, R)."""
    portion = _portion(network, data)
    sums = torch.zeros(len(losses), _n_replicas(network), dtype=torch.float64, device=data.y.device)

    def add_up() -> None:
        sums.zero_()
        for part in data.chunks(portion.size):
            output = network.output(part.rows, validate_args=False)
            for total, loss in zip(sums, losses, strict=True):
                losses_here = loss(output, part.y, validate_args=False).flatten(1)
                total.add_(losses_here.sum(dim=-1, dtype=torch.float64))

    portion.attempt(add_up)
    return sums / (len(data) * math.prod(data.y.shape[1:]))


@torch.no_grad()
def criterion_mean(network: Trainable, data: TrainingData, criterion: Criterion) -> Tensor:
    """Mean loss by a criterion over all rows, which count alike: float64, shape (R,)."""
    portion = _portion(network, data)
    mean = torch.zeros(_n_replicas(network), dtype=torch.float64, device=data.y.device)

    def add_up() -> None:
        mean.zero_()
        for part in data.chunks(portion.size):
            output = network.output(part.rows, validate_args=False)
            mean.add_(criterion.judge(output, part.y, None).loss, alpha=len(part) / len(data))

    portion.attempt(add_up)
    return mean


def loss_and_gradients(network: Trainable, data: TrainingData) -> tuple[Tensor, list[Tensor]]:
    """Mean linear loss over all rows and outputs (R,), and its gradient in every weight matrix."""
    weights = list(network.weights)
    portion = _portion(network, data)
    loss = torch.zeros(_n_replicas(network), dtype=torch.float64, device=data.y.device)
    gradients = [torch.zeros_like(w) for w in weights]

    def add_up() -> None:
        for total in (loss, *gradients):
            total.detach().zero_()
        for part in data.chunks(portion.size):
            share = len(part) / len(data)
            found = batch_gradients(network, weights, part.rows, part.y, LINEAR)
            loss.add_(found.loss, alpha=share)
            for total, gradient in zip(gradients, found.by_weights, strict=True):
                total.add_(gradient, alpha=share)

    portion.attempt(add_up)
    return loss, gradients


def _n_replicas(network: Trainable) -> int:
    return next(iter(network.weights)).shape[0]


def _portion(network: Trainable, data: TrainingData) -> Portion:
    weights = list(network.weights)
    # A convolution has more neurons than rows of weights; what reads them knows.
    widest = max([w.shape[-2] for w in weights] + [w.shape[-1] - 1 for w in weights[1:]])
    numbers = CHUNK_NUMBERS.get(data.y.device.type, CHUNK_NUMBERS["cpu"])
    # Where each replica has examples of its own, these are copied for every one of them.
    per_example = max(widest * NODES_EXPECTED, 0 if data.pools is None else data.rows.shape[-1])
    size = numbers // (_n_replicas(network) * per_example)
    return _row_portion(min(max(1, size), len(data)), data.y.device)


@functools.lru_cache(maxsize=64)
def _row_portion(size: int, device: torch.device) -> Portion:
    """The same object for the same work: what one evaluation learns about the memory, the next knows."""
    return Portion(size, "rows")
