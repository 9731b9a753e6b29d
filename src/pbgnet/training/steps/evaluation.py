"""The exact empirical loss over all rows, and its gradient, in chunks that fit the memory."""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import NamedTuple, Protocol, Self

import torch
from torch import Tensor

from pbgnet.autograd import Pullback
from pbgnet.kernels import one_thread
from pbgnet.networks import PreparedRows, SparseRows, linear_loss
from pbgnet.training.steps.criteria import LINEAR, Criterion
from pbgnet.training.steps.data import TrainingData
from pbgnet.training.steps.exact_sums import equal_pieces, mean_of_pieces
from pbgnet.training.steps.memory import Portion
from pbgnet.training.steps.objectives import Objective
from pbgnet.workers import current_workers

# Numbers (examples x replicas x neurons x nodes) that one chunk may hold: enough to keep a device busy. Only
# the reference kernels really hold them all.
CHUNK_NUMBERS = {"cpu": 1 << 24, "cuda": 1 << 28}
NODES_EXPECTED = 16

# On CPUs, threads and workers share at least this many pieces, none with fewer rows than this. The division
# does not depend on the number of threads and workers.
N_PIECES, FEWEST_PIECE_ROWS = 8, 512

Loss = Callable[..., Tensor]
"""Maps outputs and labels to the loss of each, shape (R, n) or (R, n, r), such as `linear_loss`."""


class Trainable(Protocol):
    """What training needs from a network: its weights, and outputs for prepared rows."""

    @property
    def weights(self) -> Iterable[Tensor]:
        """Weight matrices of shapes (R, m, d), first layer first."""

    @property
    def capturable(self) -> bool:
        """Whether a CUDA graph can contain `output`."""

    def generators(self) -> list[torch.Generator]:
        """Sources of the randomness in `output`."""

    def output(self, rows: PreparedRows, *, validate_args: bool = True) -> Tensor:
        """Return outputs in [-1, 1], shape (R, n) or (R, n, r)."""

    def output_with_pullback(
        self,
        rows: PreparedRows,
        weights: Sequence[Tensor] | None = None,
        replicas: slice | None = None,
    ) -> tuple[Tensor, Pullback]:
        """Return outputs and what maps a gradient of them to those of the weights.

        The weights are the network's own, or given for all replicas or some of them.
        """

    def take(self, replicas: Tensor) -> Self:
        """Return a copy of some replicas."""


def capturable(network: Trainable, data: TrainingData) -> bool:
    """Whether a CUDA graph can contain the outputs for the rows; workers wait for each other."""
    alone = current_workers().size == 1
    return alone and data.y.is_cuda and network.capturable and not isinstance(data.rows, SparseRows)


def objective_value(network: Trainable, data: TrainingData, objective: Objective) -> Tensor:
    """The objective over all rows, float64, shape (R,)."""
    return objective.value(empirical_loss(network, data), objective.penalty(list(network.weights)))


class Gradients(NamedTuple):
    """The mean loss of each replica, float64, shape (R,), and its derivatives."""

    loss: Tensor
    by_weights: Sequence[Tensor]  # shapes (R, m, d)
    by_learned: Sequence[Tensor] = ()  # with respect to the parameters of the criterion, shapes (R,)

    @classmethod
    def joined(cls, parts: "Sequence[Gradients]") -> "Gradients":
        """Concatenate the replicas of several parts."""
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
    replicas: slice | None = None,
) -> Gradients:
    """Return the mean loss of each replica, or some of them, on a batch, and its gradients."""
    output, pull_back = network.output_with_pullback(rows, weights, replicas)
    judged = criterion.judge(output, y, row_weight)
    return Gradients(judged.loss, pull_back(judged.slope), judged.by_learned)


def empirical_loss(network: Trainable, data: TrainingData) -> Tensor:
    """Mean linear loss over all rows and outputs, float64, shape (R,)."""
    return empirical_means(network, data, linear_loss)[0]


@torch.no_grad()
def empirical_means(network: Trainable, data: TrainingData, *losses: Loss) -> Tensor:
    """Means of several losses over all rows and outputs, float64, shape (number of losses, R)."""
    portion = _portion(network, data)

    def mean_of(part: TrainingData) -> list[Tensor]:
        means = [_no_loss(network, data) for _ in losses]

        def add_up() -> None:
            for chunk, share in _begun(means, part, portion):
                output = network.output(chunk.rows, validate_args=False)
                for mean, loss in zip(means, losses, strict=True):
                    found = loss(output, chunk.y, validate_args=False).flatten(1)
                    mean.add_(found.mean(dim=-1, dtype=torch.float64), alpha=share)

        portion.attempt(add_up)
        return means

    return torch.stack(_mean_over_rows(mean_of, network, data, [_no_loss(network, data) for _ in losses]))


@torch.no_grad()
def criterion_mean(network: Trainable, data: TrainingData, criterion: Criterion) -> Tensor:
    """Mean loss of a criterion over all rows, which count equally: float64, shape (R,)."""
    portion = _portion(network, data)

    def mean_of(part: TrainingData) -> list[Tensor]:
        mean = _no_loss(network, data)

        def add_up() -> None:
            for chunk, share in _begun([mean], part, portion):
                output = network.output(chunk.rows, validate_args=False)
                mean.add_(criterion.judge(output, chunk.y, None).loss, alpha=share)

        portion.attempt(add_up)
        return [mean]

    (mean,) = _mean_over_rows(mean_of, network, data, [_no_loss(network, data)])
    return mean


def loss_and_gradients(network: Trainable, data: TrainingData) -> tuple[Tensor, list[Tensor]]:
    """Mean linear loss over all rows and outputs (R,), and its gradient for every weight matrix."""
    weights = [weight.detach() for weight in network.weights]
    portion = _portion(network, data)

    def means_of(part: TrainingData) -> list[Tensor]:
        means = [_no_loss(network, data), *(torch.zeros_like(w) for w in weights)]

        def add_up() -> None:
            for chunk, share in _begun(means, part, portion):
                found = batch_gradients(network, weights, chunk.rows, chunk.y, LINEAR)
                for mean, value in zip(means, (found.loss, *found.by_weights), strict=True):
                    mean.add_(value, alpha=share)

        portion.attempt(add_up)
        return means

    loss, *gradients = _mean_over_rows(means_of, network, data, [_no_loss(network, data), *weights])
    return loss, gradients


def _begun(
    means: Sequence[Tensor], part: TrainingData, portion: Portion
) -> Iterator[tuple[TrainingData, float]]:
    """Begin means over a part of the rows, and iterate over it as memory allows, with the shares."""
    for mean in means:
        mean.zero_()
    for chunk in part.chunks(portion.size):
        yield chunk, len(chunk) / len(part)


def _mean_over_rows(
    compute: Callable[[TrainingData], Sequence[Tensor]],
    network: Trainable,
    data: TrainingData,
    like: Sequence[Tensor],
) -> list[Tensor]:
    """Return the mean of what is computed for rows, the same for any number of threads and workers.

    Random outputs are computed in order, by every worker.
    """
    n, largest = len(data), _chunk_rows(network, data)
    size = largest if data.y.is_cuda else min(largest, max(FEWEST_PIECE_ROWS, -(-n // N_PIECES)))
    if size >= n or network.generators():
        with nullcontext() if data.y.is_cuda else one_thread():
            return list(compute(data))
    operations = n * sum(w.numel() for w in network.weights)
    return mean_of_pieces(
        lambda rows: compute(data.take(rows)), equal_pieces(n, size), like, operations=operations
    )


def _no_loss(network: Trainable, data: TrainingData) -> Tensor:
    return torch.zeros(_n_replicas(network), dtype=torch.float64, device=data.y.device)


def _n_replicas(network: Trainable) -> int:
    return next(iter(network.weights)).shape[0]


def _chunk_rows(network: Trainable, data: TrainingData) -> int:
    """Return how many rows are evaluated at a time; it only depends on the network and the kind of device."""
    weights = list(network.weights)
    # A convolution has more neurons than rows of weights; its rows know how many.
    widest = max([w.shape[-2] for w in weights] + [w.shape[-1] - 1 for w in weights[1:]])
    numbers = CHUNK_NUMBERS.get(data.y.device.type, CHUNK_NUMBERS["cpu"])
    # If each replica has its own examples, they are copied for each of them.
    per_example = max(widest * NODES_EXPECTED, 0 if data.pools is None else data.rows.shape[-1])
    return max(1, numbers // (_n_replicas(network) * per_example))


def _portion(network: Trainable, data: TrainingData) -> Portion:
    return _row_portion(min(_chunk_rows(network, data), len(data)), data.y.device)


@functools.lru_cache(maxsize=64)
def _row_portion(size: int, device: torch.device) -> Portion:
    """The same object for the same work, which keeps what one evaluation learns about memory."""
    return Portion(size, "rows")
