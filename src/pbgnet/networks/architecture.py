"""The sizes of a network, derived from its weight matrices and checked in one place."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pbgnet.exceptions import DtypeError, OptionError, ShapeError
from pbgnet.networks.patches import PatchShape
from pbgnet.validation import check_kind, check_layers


@dataclass(frozen=True)
class Architecture:
    """What is fixed about a network: its sizes, its intercepts, and the number of replicas.

    Attributes
    ----------
    n_features : int
        Number d_0 of inputs, without the constant.
    hidden_layer_sizes : tuple of int
        Numbers d_1, ..., d_{L-1} of hidden neurons; empty for a linear classifier. For a convolution the
        first is filters times positions.
    intercept : bool
        Whether each layer has a constant input.
    replicas : tuple of int
        Leading axes of the weights, without that of the members; empty for a single network.
    n_outputs : int
        Number r of output neurons, all above the same hidden layers.
    n_members : int or None
        Number of networks whose mean is the output; None for a network without an axis for members.
    patches : PatchShape or None
        How the first layer cuts images; None if it reads whole rows.
    """

    n_features: int
    hidden_layer_sizes: tuple[int, ...]
    intercept: bool
    replicas: tuple[int, ...]
    n_outputs: int = 1
    n_members: int | None = None
    patches: PatchShape | None = None

    @property
    def leading(self) -> tuple[int, ...]:
        """The leading axes of the weights: replicas, then members."""
        return self.replicas if self.n_members is None else (*self.replicas, self.n_members)

    @property
    def n_positions(self) -> int:
        """Number of neurons that share the mean of one row of the first weights."""
        return 1 if self.patches is None else self.patches.n_positions

    @property
    def n_layers(self) -> int:
        """The number L of weight matrices."""
        return len(self.hidden_layer_sizes) + 1

    @classmethod
    def of(
        cls,
        weights: Sequence[Tensor] | Tensor,
        intercept: bool,
        members: bool = False,
        patches: PatchShape | None = None,
    ) -> "Architecture":
        """Derive the architecture from weight matrices of shapes (..., d_k, d_{k-1} + intercept).

        With `members`, the last of the leading axes counts networks whose mean is the output. With `patches`,
        the first matrix has one filter per row.
        """
        check_layers("weights", weights)
        check_kind("intercept", intercept, bool)
        if not weights:
            raise ShapeError("A network needs at least one weight matrix.")
        for k, weight in enumerate(weights, start=1):
            if weight.ndim < 2 or weight.shape[:-2] != weights[0].shape[:-2]:
                raise ShapeError(
                    f"Layer {k} has weights of shape {tuple(weight.shape)}; all layers need the axes "
                    f"(neurons, inputs) behind the same replica axes {tuple(weights[0].shape[:-2])}."
                )
            if weight.dtype not in (torch.float32, torch.float64) or weight.dtype != weights[0].dtype:
                raise DtypeError(
                    f"All weights must be float32, or all float64; layer {k} has {weight.dtype}, layer 1 "
                    f"{weights[0].dtype}."
                )
        n_neurons = [weight.shape[-2] for weight in weights]
        if patches is not None:
            _check_patches(patches, weights, intercept)
            n_neurons[0] *= patches.n_positions
        for k in range(1, len(weights)):
            expected, found = n_neurons[k - 1] + intercept, weights[k].shape[-1]
            if found != expected:
                raise ShapeError(
                    f"Layer {k + 1} takes {found} inputs, but the {n_neurons[k - 1]} neurons below "
                    f"it{' and the intercept' if intercept else ''} make {expected}."
                )
        if weights[-1].shape[-2] == 0:
            raise ShapeError("The last layer has no neurons; it needs one for each output.")
        leading = tuple(weights[0].shape[:-2])
        if members and (not leading or leading[-1] == 0):
            raise ShapeError(
                f"An ensemble needs a member axis of length at least one; the leading axes are {leading}."
            )
        n_features = weights[0].shape[-1] - intercept if patches is None else patches.n_features
        if n_features < 1:
            raise ShapeError("The first layer has no inputs besides the intercept.")
        return cls(
            n_features=n_features,
            hidden_layer_sizes=tuple(n_neurons[:-1]),
            intercept=intercept,
            replicas=leading[:-1] if members else leading,
            n_outputs=weights[-1].shape[-2],
            n_members=leading[-1] if members else None,
            patches=patches,
        )

    def as_output(self, values: Tensor) -> Tensor:
        """Return values (..., r) of the last layer as users see them: a single output has no axis."""
        return values[..., 0] if self.n_outputs == 1 else values

    def mean_of_members(self, values: Tensor) -> Tensor:
        """Return the mean of values (..., M) over the members, the last axis; unchanged without members."""
        return values if self.n_members is None else values.mean(dim=-1)

    def from_output(self, values: Tensor) -> Tensor:
        """Restore the axis (..., r) of the last layer in outputs, or in a gradient of them."""
        return values.unsqueeze(-1) if self.n_outputs == 1 else values

    def check_examples(self, x: Tensor, like: Tensor) -> None:
        """Raise an error unless `x` has examples for this network, of the type and device of `like`."""
        if not isinstance(x, Tensor) or x.dtype != like.dtype or x.device != like.device:
            kind = f"{x.dtype} on {x.device}" if isinstance(x, Tensor) else type(x).__name__
            raise DtypeError(
                f"Examples must be a tensor of {like.dtype} on {like.device}, like the weights; got {kind}."
            )
        if x.ndim < 2 or x.shape[-1] != self.n_features:
            raise ShapeError(
                f"This network takes examples of shape (..., n, {self.n_features}), got {tuple(x.shape)}."
            )
        try:
            torch.broadcast_shapes(x.shape[:-2], self.leading)
        except RuntimeError as error:
            raise ShapeError(
                f"The leading axes of the examples {tuple(x.shape)} do not broadcast with the replicas "
                f"{self.leading}."
            ) from error

    def __str__(self) -> str:
        sizes = "-".join(map(str, (self.n_features, *self.hidden_layer_sizes, self.n_outputs)))
        members = f", members={self.n_members}" if self.n_members is not None else ""
        replicas = f", replicas={self.replicas}" if self.replicas else ""
        images = "" if self.patches is None else f", images of {self.patches}"
        return f"{sizes}, intercept={self.intercept}{members}{replicas}{images}"


def _check_patches(patches: PatchShape, weights: Sequence[Tensor] | Tensor, intercept: bool) -> None:
    check_kind("patches", patches, PatchShape)
    if not intercept:
        raise OptionError("A patch of zeros has no direction without an intercept; use intercept=True.")
    found, expected = weights[0].shape[-1], patches.n_inputs + 1
    if found != expected:
        raise ShapeError(
            f"A filter for patches of {patches.n_inputs} numbers and the intercept has {expected} weights, "
            f"got {found}."
        )
    if len(weights) == 1 and patches.n_positions > 1:
        raise ShapeError("A convolution needs a layer above it, which reads all positions.")
