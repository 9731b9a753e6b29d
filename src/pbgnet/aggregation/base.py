"""What every way of computing an aggregated layer has in common."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from pbgnet.exceptions import DtypeError, ShapeError
from pbgnet.validation import check_interval

__all__ = ["Aggregation"]


class Aggregation(ABC):
    r"""A method to compute the aggregated layer of the paper's Eq. 16.

    .. math:: G_{ij} = \mathbb{E}_{s}\, \mathrm{erf}\!\left(\frac{w_j \cdot s}{\sqrt{2d}}\right)

    where the d signs s are independent with means `mean[i]`. Subclasses are frozen dataclasses
    whose fields are the options of the method. A new method is a file with a subclass, one line in
    the registry, and a test class derived from `conformance.AggregationConformance`.
    """

    name: ClassVar[str]
    """The name in the registry."""

    summary: ClassVar[str]
    """One sentence for lists and error messages."""

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
            check_interval("mean", mean.detach(), -1.0, 1.0, advice="It holds means of signs.")
            check_interval(
                "weight",
                weight.detach(),
                -torch.inf,
                torch.inf,
                open_low=True,
                open_high=True,
                advice="NaN or infinity in the weights usually means that training diverged.",
            )
        return self._aggregate(
            mean.expand(*replicas, *mean.shape[-2:]), weight.expand(*replicas, *weight.shape[-2:])
        )

    @abstractmethod
    def _aggregate(self, mean: Tensor, weight: Tensor) -> Tensor:
        """Compute the layer for checked tensors with equal leading axes."""

    @abstractmethod
    def error_bound(self, weight: Tensor) -> Tensor:
        """Bound the distance between the computed and the exact layer, whatever the means.

        Rounding in the precision of `weight` is included.

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


def _check_tensors(mean: Tensor, weight: Tensor) -> torch.Size:
    """Check types and shapes; return the broadcast leading axes."""
    for name, tensor, axes in (("mean", mean, "(..., n, d)"), ("weight", weight, "(..., m, d)")):
        if not isinstance(tensor, Tensor):
            raise DtypeError(f"{name} must be a float tensor of shape {axes}, got {type(tensor).__name__}.")
        if tensor.dtype not in (torch.float32, torch.float64):
            raise DtypeError(f"{name} must be float32 or float64, got {tensor.dtype}; convert it first.")
        if tensor.ndim < 2:
            raise ShapeError(f"{name} must have shape {axes}, got {tuple(tensor.shape)}.")
    if mean.dtype != weight.dtype or mean.device != weight.device:
        raise DtypeError(
            f"mean is {mean.dtype} on {mean.device} but weight is {weight.dtype} on {weight.device}; "
            "bring both to one type and device with .to(...)."
        )
    if mean.shape[-1] != weight.shape[-1] or mean.shape[-1] == 0:
        raise ShapeError(
            f"mean {tuple(mean.shape)} and weight {tuple(weight.shape)} must end in the same number of "
            "inputs, at least one: (..., n, d) and (..., m, d)."
        )
    try:
        return torch.Size(torch.broadcast_shapes(mean.shape[:-2], weight.shape[:-2]))
    except RuntimeError as error:
        raise ShapeError(
            f"The replica axes of mean {tuple(mean.shape)} and weight {tuple(weight.shape)} do not broadcast."
        ) from error
