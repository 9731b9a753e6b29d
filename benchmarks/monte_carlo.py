"""The opponent: the paper's sampled layer (Section 3.2), written out in plain PyTorch.

T sign vectors are drawn per example and held as one tensor (R, n, T, d), shared by the neurons of the
layer. All sums over samples are matrix products, and what the backward pass needs is kept, not computed
twice: as fast as PyTorch allows without a kernel of its own, for memory that grows with T.
`pbgnet.kernels.sampled.monte_carlo_torch` is the other opponent, which takes the samples in chunks.
"""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from pbgnet.aggregation.base import Aggregation
from pbgnet.autograd import Pullback
from pbgnet.exceptions import UncertifiedError

__all__ = ["Drawn", "SampledLayer", "backward", "bytes_needed", "forward"]


class Drawn(NamedTuple):
    """What the forward pass keeps."""

    signs: Tensor  # (R, n, T, d)
    scaled: Tensor  # w . s / sqrt(2 d), shape (R, n, T, m)
    votes: Tensor  # its erf


def forward(mean: Tensor, weight: Tensor, n_samples: int, generator: torch.Generator) -> tuple[Tensor, Drawn]:
    """Return the mean of erf(w . s / sqrt(2 d)) over the samples, and what the backward pass needs.

    Parameters
    ----------
    mean : Tensor, shape (R, n, d)
    weight : Tensor, shape (R, m, d)
    n_samples : int
    generator : torch.Generator

    Returns
    -------
    Tensor, shape (R, n, m)
    """
    shape = (*mean.shape[:-1], n_samples, mean.shape[-1])
    uniform = torch.rand(shape, generator=generator, dtype=mean.dtype, device=mean.device)
    chance = ((1 + mean) / 2).unsqueeze(-2)
    signs = torch.lt(uniform, chance, out=uniform).mul_(2).sub_(1)
    scaled = _product(signs, weight.mT / math.sqrt(2 * weight.shape[-1]))
    votes = torch.erf(scaled)
    return votes.mean(dim=-2), Drawn(signs, scaled, votes)


def backward(
    grad: Tensor, mean: Tensor, weight: Tensor, n_samples: int, drawn: Drawn
) -> tuple[Tensor, Tensor]:
    """Return the estimated gradients in mean (Eq. 14) and weight (Eq. 15).

    The sum of `s / (1 + s g) vote` over the samples is split into those with s = 1 and those with s = -1,
    which turns it into a matrix product. A sign that is certain never takes the other value.
    """
    signs, scaled, votes = drawn
    grad = grad / n_samples  # shape: (R, n, m)
    vote = votes @ grad.unsqueeze(-1)  # shape: (R, n, T, 1)
    total, signed = vote.sum(dim=-2), (vote.mT @ signs).squeeze(-2)  # shapes: (R, n, 1), (R, n, d)
    grad_mean = _over((total + signed) / 2, 1 + mean) - _over((total - signed) / 2, 1 - mean)
    slope = scaled.square().neg_().exp_().mul_(grad.unsqueeze(-2))  # shape: (R, n, T, m)
    grad_weight = slope.flatten(-3, -2).mT @ signs.flatten(-3, -2)
    return grad_mean, grad_weight * (math.sqrt(2 / math.pi) / math.sqrt(weight.shape[-1]))


def bytes_needed(n_replicas: int, n: int, m: int, d: int, n_samples: int, size: int = 4) -> int:
    """Estimate the memory of `forward` and `backward`: signs, scaled sums, votes, slopes and one spare."""
    return n_replicas * n * n_samples * (d + 4 * m + max(d, m)) * size


@dataclass(frozen=True)
class SampledLayer(Aggregation):
    """The sampled layer with arithmetic of one's choice, to be put into a network in place of the exact one.

    Attributes
    ----------
    n_samples : int
    generator : torch.Generator
    kernel : module
        With `forward` and `backward` as in this module or in `pbgnet.kernels.sampled.monte_carlo_torch`.
    """

    name: ClassVar[str] = "sampled_layer"

    n_samples: int
    generator: torch.Generator = field(repr=False)
    kernel: Any = field(repr=False)

    def with_pullback(self, mean: Tensor, weight: Tensor) -> tuple[Tensor, Pullback]:
        """The layer and the estimated derivative."""
        value, drawn = self.kernel.forward(mean, weight, self.n_samples, self.generator)
        return value, lambda grad: self.kernel.backward(grad, mean, weight, self.n_samples, drawn)

    def generators(self) -> list[torch.Generator]:
        """The one generator."""
        return [self.generator]

    def error_bound(self, weight: Tensor) -> Tensor:
        """Raise: a random estimate has no proved error."""
        raise UncertifiedError("A sampled layer has no proved error.")

    def _aggregate(self, mean: Tensor, weight: Tensor, validate_args: bool) -> Tensor:
        replicas = mean.shape[:-2]
        g, w = (tensor.reshape(-1, *tensor.shape[-2:]) for tensor in (mean, weight))
        value, _ = self.kernel.forward(g, w, self.n_samples, self.generator)
        layer: Tensor = value.reshape(*replicas, *value.shape[-2:])
        return layer


def _product(signs: Tensor, matrix: Tensor) -> Tensor:
    """(R, n, T, d) x (R, d, m) -> (R, n, T, m), as one product per replica."""
    return (signs.flatten(-3, -2) @ matrix).reshape(*signs.shape[:-1], -1)


def _over(share: Tensor, chance: Tensor) -> Tensor:
    """Divide, and give 0 where the chance is 0."""
    return torch.where(chance > 0, share / chance, 0.0)
