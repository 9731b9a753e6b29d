"""Aggregation by sampling sign vectors: the paper's stochastic approximation (Section 3.2)."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import torch
from torch import Tensor

from pbgnet.aggregation.base import Aggregation, one_replica_axis
from pbgnet.aggregation.monte_carlo_function import sampled_mean
from pbgnet.autograd import Pullback
from pbgnet.exceptions import DtypeError, ShapeError, UncertifiedError
from pbgnet.kernels import find_kernel
from pbgnet.validation import positive_int


@dataclass(frozen=True)
class MonteCarlo(Aggregation):
    """The mean over T sampled sign vectors per example, with the paper's gradients (Eqs. 14, 15).

    A random estimate. For one layer it is unbiased in value and gradient, with an error of order 1/sqrt(T)
    that is not proved. The paper studies T, and its noise sometimes helps training. The neurons of a layer
    share their samples, so a network with more than one hidden layer has a bias of order 1/T.

    Parameters
    ----------
    n_samples : int or tuple of int
        The number T of sign vectors drawn for each example: one for all replicas, or one for each, so that
        networks with different T can be trained side by side.
    generator : torch.Generator
        Source of all randomness, on the device of the tensors.

    Notes
    -----
    If a mean is exactly -1 or 1, the sign that never occurs is missing from Eq. 14, and the estimated
    gradient with respect to that mean is finite but biased. Above the first layer it is multiplied by the
    slope of the saturated neuron below, which is 0 there.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.aggregation import MonteCarlo
    >>> sampled = MonteCarlo(n_samples=100, generator=torch.Generator().manual_seed(0))
    >>> sampled(torch.ones(1, 4), torch.ones(1, 4))  # no randomness left at the corner
    tensor([[0.9545]])
    """

    name: ClassVar[str] = "monte_carlo"

    n_samples: int | tuple[int, ...]
    generator: torch.Generator = field(repr=False)

    def __post_init__(self) -> None:
        for count in self.n_samples if isinstance(self.n_samples, tuple) else [self.n_samples]:
            positive_int("n_samples", count)
        if not isinstance(self.generator, torch.Generator):
            raise DtypeError(
                f"generator must be a torch.Generator, got {type(self.generator).__name__}; create "
                "one with torch.Generator(device).manual_seed(seed)."
            )

    def _aggregate(self, mean: Tensor, weight: Tensor, validate_args: bool) -> Tensor:
        if self.generator.device.type != mean.device.type:
            raise DtypeError(
                f"The generator is on {self.generator.device}, but the tensors are on {mean.device}; "
                "create one with torch.Generator(device)."
            )
        means, weights = one_replica_axis(mean), one_replica_axis(weight)
        self._check_replicas(len(means))
        value = sampled_mean(means, weights, self.n_samples, self.generator)
        return value.reshape(*mean.shape[:-1], weight.shape[-2])

    def with_pullback(self, mean: Tensor, weight: Tensor) -> tuple[Tensor, Pullback]:
        """The layer and the kernels' own derivative."""
        self._check_replicas(len(mean))
        kernel = find_kernel("monte_carlo", mean.device)
        value, kept = kernel.forward(mean, weight, self.n_samples, self.generator)
        return value, lambda grad: kernel.backward(grad, mean, weight, self.n_samples, kept)

    def generators(self) -> list[torch.Generator]:
        """The one generator."""
        return [self.generator]

    def of_replicas(self, count: int) -> list[Self]:
        """The method of each replica, with its T."""
        if isinstance(self.n_samples, int):
            return [self] * count
        self._check_replicas(count)
        return [replace(self, n_samples=n_samples) for n_samples in self.n_samples]

    def take(self, replicas: Tensor | slice) -> Self:
        """The T of some of the replicas, and the same generator."""
        if isinstance(self.n_samples, int):
            return self
        if isinstance(replicas, slice):
            return replace(self, n_samples=self.n_samples[replicas])
        return replace(self, n_samples=tuple(self.n_samples[r] for r in replicas.tolist()))

    def _check_replicas(self, count: int) -> None:
        if isinstance(self.n_samples, tuple) and len(self.n_samples) != count:
            raise ShapeError(
                f"n_samples has {len(self.n_samples)} numbers, but there are {count} replicas; give one "
                "number for all of them, or one for each."
            )

    def error_bound(self, weight: Tensor) -> Tensor:
        """Raise: a random estimate has no proved error."""
        raise UncertifiedError(
            "A Monte Carlo aggregate is a random estimate without a proved error. To certify the "
            "weights, evaluate them with method='fourier'."
        )
