"""What all methods of computing an aggregated layer have in common."""

from abc import ABC, abstractmethod
from typing import ClassVar, Self

import torch
from torch import Tensor

from pbgnet.autograd import Pullback, full_precision
from pbgnet.exceptions import DtypeError, ShapeError
from pbgnet.validation import check_finite, check_interval


class Aggregation(ABC):
    r"""A method to compute the aggregated layer of the paper's Eq. 16.

    .. math:: G_{ij} = \mathbb{E}_{s}\, \mathrm{erf}\!\left(\frac{w_j \cdot s}{\sqrt{2d}}\right)

    where the d signs s are independent with means `mean[i]`. Subclasses are frozen dataclasses
    whose fields are the options of the method. A new method is a file with a subclass, one line in
    the registry, and a test class derived from `conformance.AggregationConformance`.
    """

    name: ClassVar[str]
    """The name in the registry."""

    def __call__(self, mean: Tensor, weight: Tensor, *, validate_args: bool = True) -> Tensor:
        """Aggregate a layer.

        Parameters
        ----------
        mean : Tensor, shape (..., n, d)
            Means of the d signs below, one row per example, in [-1, 1].
        weight : Tensor, shape (..., m, d)
            Weights of the m neurons. Leading axes broadcast with those of `mean`: replicas.
        validate_args : bool, default=True
            Check the values, which on a GPU waits for the device. Shapes and types are always checked.

        Returns
        -------
        Tensor, shape (..., n, m)
            Mean output of each neuron for each example, in [-1, 1]; differentiable once.
        """
        replicas = _check_tensors(mean, weight)
        if validate_args:
            check_interval("mean", mean.detach(), -1.0, 1.0, advice="Its entries are means of signs.")
            check_finite(
                "weight", weight.detach(), "Training has probably diverged; use a smaller learning rate."
            )
        with full_precision(mean.device):
            return self._aggregate(
                mean.expand(*replicas, *mean.shape[-2:]),
                weight.expand(*replicas, *weight.shape[-2:]),
                validate_args,
            )

    def with_pullback(self, mean: Tensor, weight: Tensor) -> tuple[Tensor, Pullback]:
        """Aggregate a layer without checks, and also return what maps its gradient to those of the arguments.

        Training uses it to avoid building an autograd graph. Methods with their own derivatives override it.

        Parameters
        ----------
        mean : Tensor, shape (R, n, d)
        weight : Tensor, shape (R, m, d)
        """
        g, w = mean.detach().requires_grad_(), weight.detach().requires_grad_()
        with torch.enable_grad():
            value = self._aggregate(g, w, validate_args=False)
        return value.detach(), lambda grad: torch.autograd.grad(value, [g, w], grad)

    @abstractmethod
    def _aggregate(self, mean: Tensor, weight: Tensor, validate_args: bool) -> Tensor:
        """Compute the layer for tensors of checked shapes with equal leading axes.

        Without `validate_args` it must not wait for the device.
        """

    def capturable(self, device: torch.device) -> bool:
        """Whether a CUDA graph on this device can contain the layer: it never waits for the device."""
        return True

    def generators(self) -> list[torch.Generator]:
        """The sources of randomness that the method uses."""
        return []

    def of_replicas(self, count: int) -> list[Self]:
        """The method of each replica; equal unless an option differs between them."""
        return [self] * count

    def take(self, replicas: Tensor | slice) -> Self:
        """The method for some of the replicas."""
        return self

    @abstractmethod
    def error_bound(self, weight: Tensor) -> Tensor:
        """Bound the distance between the computed and the exact layer, for any means.

        It includes rounding in the precision of `weight`.

        Parameters
        ----------
        weight : Tensor, shape (..., m, d)

        Returns
        -------
        Tensor, float64, shape (..., m)
            One bound per neuron.

        Raises
        ------
        UncertifiedError
            If the method is a random estimate, which has no such bound.
        """


def check_layer(weight: Tensor) -> None:
    """Raise unless `weight` is a finite float32 or float64 tensor of shape (..., m, d), d >= 1."""
    _check_tensor("weight", weight, "(..., m, d)")
    if weight.shape[-1] == 0:
        raise ShapeError(
            f"weight {tuple(weight.shape)} has no inputs; its shape must be (..., m, d) with d >= 1."
        )
    check_finite("weight", weight.detach(), "Training has probably diverged; use a smaller learning rate.")


def one_replica_axis(tensor: Tensor) -> Tensor:
    """Bring a tensor of shape (..., n, d) to the form of the kernels: contiguous, shape (R, n, d)."""
    if tensor.ndim == 3:
        return tensor.contiguous()
    return tensor.reshape(tensor.shape[:-2].numel(), *tensor.shape[-2:]).contiguous()


def product_unit(weight: Tensor) -> float:
    """Unit roundoff of matrix products with `weight`.

    For float32 it depends on a global setting of PyTorch that trades digits for speed: "high" stands
    for TF32 with 11 bits, "medium" for bfloat16 with 8.
    """
    if weight.dtype == torch.float32:
        reduced = {"high": 2.0**-11, "medium": 2.0**-8}
        return reduced.get(torch.get_float32_matmul_precision(), 2.0**-24)
    return torch.finfo(weight.dtype).eps / 2


def _check_tensor(name: str, tensor: Tensor, axes: str) -> None:
    if not isinstance(tensor, Tensor):
        raise DtypeError(f"{name} must be a float tensor of shape {axes}, got {type(tensor).__name__}.")
    if tensor.dtype not in (torch.float32, torch.float64):
        raise DtypeError(f"{name} must be float32 or float64, got {tensor.dtype}; convert it first.")
    if tensor.ndim < 2:
        raise ShapeError(f"{name} must have shape {axes}, got {tuple(tensor.shape)}.")


def _check_tensors(mean: Tensor, weight: Tensor) -> torch.Size:
    """Check types and shapes; return the broadcast leading axes."""
    _check_tensor("mean", mean, "(..., n, d)")
    _check_tensor("weight", weight, "(..., m, d)")
    if mean.dtype != weight.dtype or mean.device != weight.device:
        raise DtypeError(
            f"mean is {mean.dtype} on {mean.device}, but weight is {weight.dtype} on "
            f"{weight.device}; convert both to one type and device with .to(...)."
        )
    if mean.shape[-1] != weight.shape[-1] or mean.shape[-1] == 0:
        raise ShapeError(
            f"mean {tuple(mean.shape)} and weight {tuple(weight.shape)} must end in the same number of "
            "inputs, at least one: (..., n, d) and (..., m, d)."
        )
    if mean.shape[:-2] == weight.shape[:-2]:
        return mean.shape[:-2]
    try:
        return torch.Size(torch.broadcast_shapes(mean.shape[:-2], weight.shape[:-2]))
    except RuntimeError as error:
        raise ShapeError(
            f"The replica axes of mean {tuple(mean.shape)} and weight {tuple(weight.shape)} do not broadcast."
        ) from error
