"""The layers of an aggregated network: the first reads examples, those above it read signs.

A layer is a view of weights as what they compute. It has no state of its own, so networks create their layers
when needed.

References
----------
Letarte et al. (2019): Eq. 4 (first layer), Eq. 16 (layers above).
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from pbgnet.aggregation import Aggregation, product_unit, propagate_error
from pbgnet.autograd import Pullback, full_precision
from pbgnet.exceptions import DomainError, DtypeError, ShapeError
from pbgnet.kernels import find_kernel
from pbgnet.networks.inputs import PreparedRows, append_one, first_product, first_product_with_pullback
from pbgnet.networks.patches import PatchRows, PatchShape
from pbgnet.validation import check_finite


@dataclass(eq=False, slots=True)
class Layer:
    """Neurons that read the same inputs.

    Attributes
    ----------
    weight : Tensor, shape (..., m, d + intercept)
        One row per neuron; leading axes are replicas.
    intercept : bool
        Whether the last column is the weight of a constant input 1.
    """

    weight: Tensor
    intercept: bool

    @property
    def n_neurons(self) -> int:
        """The number m of neurons."""
        return self.weight.shape[-2]

    def inputs(self, values: Tensor) -> Tensor:
        """Append the constant input to values (..., n, d) if there is an intercept."""
        return append_one(values) if self.intercept else values


@dataclass(eq=False, slots=True)
class FirstLayer(Layer):
    """Neurons that read examples: means `erf(w . x / (sqrt(2) |x|))` (Eq. 4)."""

    def means(self, rows: PreparedRows, *, validate_args: bool = True) -> Tensor:
        """Return the mean sign of each neuron for prepared examples: shape (..., n, m), differentiable."""
        self._check_rows(rows, validate_args)
        with full_precision(self.weight.device):
            pre_activation = first_product(rows, self.weight)
        if validate_args:
            check_finite("The first layer", pre_activation.detach(), "A smaller learning rate usually helps.")
        return torch.erf(pre_activation / math.sqrt(2))  # the rows have length 1

    def with_pullback(
        self, rows: PreparedRows, *, constant: bool
    ) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """Return the means, unchecked, and what maps a gradient of them to that of the weights.

        With `constant` the layer above has an intercept, and its constant input 1 is appended to the means.
        """
        kernel = find_kernel("layers", self.weight.device)
        product, pull_back_product = first_product_with_pullback(rows, self.weight)
        means = kernel.first_means(product, constant)
        return means, lambda grad: pull_back_product(kernel.pull_back_first_means(grad, product, constant))

    def error_bound(self) -> Tensor:
        """Bound the rounding of the means, float64, shape (..., m).

        The error of normalising a row and multiplying it with w is at most (2 d + 10) units relative to |w|,
        which the slope sqrt(2 / pi) carries over; erf and its argument add a few units. If products are
        looked up, a term of w . x passes through the running sum of its column and the sum over columns:
        fewer than 2 d additions, because rows are stored as codes only if there are many more inputs than
        columns.
        """
        weight = self.weight.detach()
        length: Tensor = torch.linalg.vector_norm(weight, dim=-1, dtype=torch.float64)
        unit = product_unit(weight)
        rounding = unit * (math.sqrt(2 / math.pi) * (2 * weight.shape[-1] + 10) * length + 8)
        return rounding.clamp_max(2.0)  # both values are in [-1, 1]

    def _check_rows(self, rows: PreparedRows, validate_args: bool) -> None:
        """Raise an error unless the rows come from `AggregatedNetwork.prepare`."""
        weight = self.weight
        if not isinstance(rows, PreparedRows):
            raise DtypeError(f"Prepared rows must be a tensor or SparseRows, got {type(rows).__name__}.")
        if (rows.dtype, rows.device) != (weight.dtype, weight.device):
            raise DtypeError(
                f"Prepared rows must be {weight.dtype} on {weight.device}, got {rows.dtype} on {rows.device}."
            )
        if rows.shape[-1] != weight.shape[-1]:
            raise ShapeError(
                f"Prepared rows of this network must have {weight.shape[-1]} columns, got "
                f"{tuple(rows.shape)}; pass examples through prepare() first."
            )
        if validate_args and isinstance(rows, Tensor):
            lengths = torch.linalg.vector_norm(rows.detach(), dim=-1)
            if not bool(((lengths - 1).abs() < 1e-3).all()):
                raise DomainError("Rows must have length 1; pass examples through prepare() first.")


@dataclass(eq=False, slots=True)
class ConvolutionalLayer(FirstLayer):
    """Filters at every position of an image: neurons with tied means, each reading its own patch.

    Attributes
    ----------
    patches : PatchShape
    """

    patches: PatchShape

    @property
    def n_neurons(self) -> int:
        """Filters times positions; those of one position are next to each other."""
        return self.weight.shape[-2] * self.patches.n_positions

    def error_bound(self) -> Tensor:
        """Bound the rounding of the means, float64, shape (..., m): for each neuron that of its filter.

        A patch is a row of d numbers, the constant included. In units, relative to |w|: dividing by the scale
        and rounding costs 2, the length and dividing by it (d + 5) / 2, the product with w d. The sum is
        below the 2 d + 10 of `FirstLayer`.
        """
        of_filter = super(ConvolutionalLayer, self).error_bound()  # a class with slots is created again
        return of_filter.repeat(*[1] * (of_filter.ndim - 1), self.patches.n_positions)

    def _check_rows(self, rows: PreparedRows, validate_args: bool) -> None:
        """Raise an error unless the rows are images that are cut as this layer does."""
        if not isinstance(rows, PatchRows) or rows.patches != self.patches:
            raise ShapeError(
                f"This network reads images of {self.patches}; pass them through prepare() first."
            )
        if (rows.dtype, rows.device) != (self.weight.dtype, self.weight.device):
            raise DtypeError(
                f"Prepared rows must be {self.weight.dtype} on {self.weight.device}, got {rows.dtype} on "
                f"{rows.device}."
            )


@dataclass(eq=False, slots=True)
class AggregatedLayer(Layer):
    """Neurons that read random signs whose means are known (Eq. 16).

    Attributes
    ----------
    aggregation : Aggregation
        How the average over the signs is computed.
    """

    aggregation: Aggregation

    def means(self, below: Tensor, *, validate_args: bool = True) -> Tensor:
        """Return the mean sign of each neuron, (..., n, d) to (..., n, m), differentiable."""
        return self.aggregation(self.inputs(below), self.weight, validate_args=validate_args)

    def means_given(self, signs: Tensor) -> Tensor:
        """Return the means given the signs below, `erf(w . s / sqrt(2 d))`: shape (..., n, m)."""
        inputs = self.inputs(signs)
        return torch.erf((self.weight @ inputs.mT).mT / math.sqrt(2 * inputs.shape[-1]))

    def with_pullback(self, inputs: Tensor, *, constant: bool) -> tuple[Tensor, Pullback]:
        """Return the means, unchecked, and what maps a gradient of them to those of inputs and weights.

        Inputs (R, n, d + intercept) are the means below with their constant; `constant` as in `FirstLayer`.
        """
        means, pullback = self.aggregation.with_pullback(inputs.contiguous(), self.weight)
        if not constant:
            return means, lambda grad: pullback(grad.contiguous())
        return append_one(means), lambda grad: pullback(grad[..., :-1].contiguous())

    def error_bound(self, below: Tensor) -> Tensor:
        """Bound the error of the means, float64, shape (..., m), given the errors (..., d) of those below.

        Raises
        ------
        UncertifiedError
            If the aggregation is a random estimate.
        """
        weight = self.weight.detach()
        return propagate_error([weight], [self.aggregation.error_bound(weight)], below)


Layers = tuple[FirstLayer, *tuple[AggregatedLayer, ...]]


def stack_layers(
    weights: Iterable[Tensor], intercept: bool, aggregation: Aggregation, patches: PatchShape | None = None
) -> Layers:
    """Return weights, first layer first, as the layers of an aggregated network."""
    matrix, *rest = weights
    first = (
        FirstLayer(matrix, intercept) if patches is None else ConvolutionalLayer(matrix, intercept, patches)
    )
    return first, *[AggregatedLayer(weight, intercept, aggregation) for weight in rest]


def draw_signs(means: Tensor, generator: torch.Generator) -> Tensor:
    """Draw independent signs with these means, float64 like the uniform numbers they come from."""
    drawn = torch.rand(means.shape, generator=generator, dtype=torch.float64)
    return 2.0 * (drawn < (1.0 + means) / 2.0).double() - 1.0
