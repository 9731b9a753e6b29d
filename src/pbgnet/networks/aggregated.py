"""The aggregated network G: the average of binary activated networks with Gaussian weights.

References
----------
Letarte et al. (2019): Eq. 4 (first layer), Eq. 16 (layers above), Eq. 17 (divergence). With no
hidden layer it is the linear classifier of Germain, Lacasse, Laviolette, Marchand (2009).
"""

from collections.abc import Iterable, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from pbgnet.aggregation import Aggregation, make_aggregation
from pbgnet.autograd import Pullback, full_precision
from pbgnet.bounds import tree_divergence
from pbgnet.exceptions import DtypeError, ShapeError
from pbgnet.networks.architecture import Architecture
from pbgnet.networks.initialisation import initial_weights
from pbgnet.networks.inputs import PreparedRows, unit_rows
from pbgnet.networks.layers import Layers, stack_layers
from pbgnet.networks.patches import PatchRows, PatchShape
from pbgnet.networks.sign_network import SignNetwork
from pbgnet.validation import check_layers


class AggregatedNetwork(nn.Module):
    """The mean G(x) in [-1, 1] of the paper's tree network over Gaussian weights.

    The posterior is N(weights, I), the prior N(prior_weights, I). With one hidden layer G is the average of
    the plain sign network itself; with more it is that of the tree (paper, Section 4). With r > 1 neurons in
    the last layer there are r such trees above the same hidden layers. Everything said about the output of
    shape (..., n) then holds for each of the outputs of shape (..., n, r).

    Parameters
    ----------
    weights : sequence of Tensor, shapes (..., d_k, d_{k-1} + intercept)
        Posterior means, first layer first; copied. Leading axes are replicas: networks side by side.
    prior_weights : sequence of Tensor, optional
        Prior means, held as buffers; by default the given weights. Leading axes broadcast.
    intercept : bool, default=True
        Whether the last column of each matrix is the weight of a constant input 1. An intercept is a weight
        like the others, noise included, so the theory holds word for word.
    aggregation : str or Aggregation, default="fourier"
        How the layers above the first are computed.
    members : bool, default=False
        Whether the last leading axis counts members. One of these networks is drawn first, so G is the mean
        of their outputs, and the divergence the mean of their divergences (docs/theory/members.md).
    patches : PatchShape, optional
        How the first layer cuts images. Its weights (..., filters, inputs of a patch + 1) are then the means
        of a neuron at every position (docs/theory/convolution.md).

    Attributes
    ----------
    weights : ParameterList
    architecture : Architecture

    Examples
    --------
    >>> import torch
    >>> from pbgnet.networks import AggregatedNetwork
    >>> generator = torch.Generator().manual_seed(0)
    >>> network = AggregatedNetwork.initialise(4, (3,), generator=generator)
    >>> network
    AggregatedNetwork(
      4-3-1, intercept=True, aggregation=Fourier(tolerance=None, adaptive=False, most_nodes=None)
      (weights): ParameterList(...
    )
    >>> network(torch.ones(2, 4)).shape, network.divergence().item()
    (torch.Size([2]), 0.0)
    """

    def __init__(
        self,
        weights: Sequence[Tensor],
        prior_weights: Sequence[Tensor] | None = None,
        *,
        intercept: bool = True,
        aggregation: str | Aggregation = "fourier",
        members: bool = False,
        patches: PatchShape | None = None,
    ) -> None:
        super().__init__()
        self.architecture = Architecture.of(weights, intercept, members, patches)
        self.aggregation = make_aggregation(aggregation)
        self.weights = nn.ParameterList([nn.Parameter(weight.detach().clone()) for weight in weights])
        prior = weights if prior_weights is None else prior_weights
        check_layers("prior_weights", prior)
        self._check_prior(prior)
        self._hold_prior(prior)

    @classmethod
    def initialise(
        cls,
        n_features: int,
        hidden_layer_sizes: Sequence[int] = (10,),
        *,
        intercept: bool = True,
        aggregation: str | Aggregation = "fourier",
        patches: PatchShape | None = None,
        **options: Any,
    ) -> Self:
        """Make a network from its sizes; the first weights are also the prior.

        Parameters
        ----------
        n_features, hidden_layer_sizes, intercept
            The architecture; no hidden layers gives the linear classifier.
        aggregation : str or Aggregation
            How the layers above the first are computed.
        patches : PatchShape, optional
            How the first layer cuts images; its hidden layer size is then filters times positions.
        **options
            ``n_outputs``, ``initialisation``, ``generator``, ``replicas``, ``dtype`` and ``device`` of
            `initial_weights`.
        """
        weights = initial_weights(
            n_features, hidden_layer_sizes, intercept=intercept, patches=patches, **options
        )
        return cls(weights, intercept=intercept, aggregation=aggregation, patches=patches)

    @property
    def prior_weights(self) -> list[Tensor]:
        """Prior means, first layer first."""
        return [self.get_buffer(f"prior_{k}") for k in range(self.architecture.n_layers)]

    @property
    def layers(self) -> Layers:
        """The layers: the first, and the aggregated ones above it."""
        return self._stack(self.weights, self.aggregation)

    def fix_prior(self) -> None:
        """Make the current weights the prior, as after pre-training."""
        self._hold_prior(list(self.weights))

    def prepare(self, x: Tensor) -> Tensor | PatchRows:
        """Bring examples of shape (..., n, d_0) to the form that `output` needs, once for all epochs."""
        self.architecture.check_examples(x, like=self.weights[0])
        patches = self.architecture.patches
        return unit_rows(x, self.architecture.intercept) if patches is None else PatchRows.of(x, patches)

    def forward(self, x: Tensor) -> Tensor:
        """Return G(x) for examples of shape (..., n, d_0): shape (..., n) or (..., n, r), in [-1, 1]."""
        return self.output(self.prepare(x))

    def take(self, replicas: Tensor) -> Self:
        """Return a copy of some of the replicas: indices of shape (R,) in the first axis."""
        return type(self)(
            [weight.detach()[replicas] for weight in self.weights],
            [
                prior[replicas] if prior.ndim == weight.ndim and len(prior) > 1 else prior
                for prior, weight in zip(self.prior_weights, self.weights, strict=True)
            ],
            intercept=self.architecture.intercept,
            aggregation=self.aggregation.take(replicas),
            members=self.architecture.n_members is not None,
            patches=self.architecture.patches,
        )

    @property
    def capturable(self) -> bool:
        """Whether `output` without checks never waits for a GPU, so that a CUDA graph can contain it."""
        return len(self.weights) == 1 or self.aggregation.capturable(self.weights[0].device)

    def generators(self) -> list[torch.Generator]:
        """Sources of the randomness in `output`; none for the exact methods."""
        return self.aggregation.generators()

    def output(self, rows: PreparedRows, *, validate_args: bool = True) -> Tensor:
        """Return G for prepared examples of shape (..., n, d_0 + intercept): shape (..., n) or (..., n, r).

        `validate_args=False` skips the checks of values, which wait for the device on a GPU.
        """
        first, *rest = self.layers
        values = first.means(rows, validate_args=validate_args)
        for layer in rest:
            values = layer.means(values, validate_args=validate_args)
        if self.architecture.n_members is not None:
            values = values.mean(dim=-3)
        return self.architecture.as_output(values)

    def output_with_pullback(
        self,
        rows: PreparedRows,
        weights: Sequence[Tensor] | None = None,
        replicas: slice | None = None,
    ) -> tuple[Tensor, Pullback]:
        """Return G, unchecked, and what maps a gradient of it to those of the weights; not for members.

        Training calls it. The derivatives are written out, which avoids an autograd graph.

        Parameters
        ----------
        rows : PreparedRows, shape (R, n, d_0 + intercept) or (n, d_0 + intercept)
        weights : sequence of Tensor, shapes (R, m, d), optional
            Weights to use instead of the network's own.
        replicas : slice, optional
            Which of the replicas they are of; all unless given.
        """
        given, intercept = self.weights if weights is None else weights, self.architecture.intercept
        aggregation = self.aggregation if replicas is None else self.aggregation.take(replicas)
        # Detaching costs more than checking, and what training passes does not need it.
        detached = [w.detach() if w.requires_grad else w for w in given]
        first, *rest = self._stack(detached, aggregation)
        device, pullbacks = first.weight.device, []
        with torch.no_grad(), full_precision(device):
            values, pull_back_first = first.with_pullback(rows, constant=intercept and bool(rest))
            for k, layer in enumerate(rest, start=1):
                values, pullback = layer.with_pullback(values, constant=intercept and k < len(rest))
                pullbacks.append(pullback)
            output = self.architecture.as_output(values)

        def pull_back(grad: Tensor) -> tuple[Tensor, ...]:
            gradients = []
            with torch.no_grad(), full_precision(device):
                grad = self.architecture.from_output(grad)
                for pullback in reversed(pullbacks):
                    grad, in_weight = pullback(grad)
                    gradients.append(in_weight)
                gradients.append(pull_back_first(grad))
            return tuple(reversed(gradients))

        return output, pull_back

    def divergence(self, *, validate_args: bool = True) -> Tensor:
        """KL(posterior || prior) of the tree network (Eq. 17), a mean over outputs: float64, shape (...).

        For members it is the mean of their divergences: one of them is drawn, with the same probabilities in
        both.
        """
        positions = self.architecture.n_positions
        own = tree_divergence(
            list(self.weights), self.prior_weights, n_positions=positions, validate_args=validate_args
        )
        return self.architecture.mean_of_members(own)

    def error_bound(self) -> Tensor:
        """Proved bound on `|computed - exact|` of each output for any example: shape (...) or (..., r).

        Truncation and rounding of all layers, in the precision of the weights.

        Raises
        ------
        UncertifiedError
            If the aggregation is a random estimate and there is a hidden layer.
        """
        first, *rest = self.layers
        error = first.error_bound()
        for layer in rest:
            error = layer.error_bound(error)
        error = error.clamp_max(2.0)  # both outputs are in [-1, 1]
        if self.architecture.n_members is not None:  # rounding a mean of M numbers: at most M units
            unit = torch.finfo(self.weights[0].dtype).eps
            error = error.mean(dim=-2) + (self.architecture.n_members + 2) * unit
        return self.architecture.as_output(error).clamp_max(2.0)

    def sign_network(self) -> SignNetwork:
        """Return the plain network f with the posterior means as weights; the bounds do not cover it.

        For members, each becomes a network of its own, side by side.
        """
        sizes = self.architecture
        return SignNetwork(list(self.weights), intercept=sizes.intercept, patches=sizes.patches)

    def extra_repr(self) -> str:
        """Architecture and aggregation, for `repr`."""
        return f"{self.architecture}, aggregation={self.aggregation!r}"

    def _stack(self, weights: Iterable[Tensor], aggregation: Aggregation) -> Layers:
        sizes = self.architecture
        return stack_layers(weights, sizes.intercept, aggregation, sizes.patches)

    def _hold_prior(self, prior: Sequence[Tensor]) -> None:
        for k, weight in enumerate(prior):
            self.register_buffer(f"prior_{k}", weight.detach().clone())

    def _check_prior(self, prior: Sequence[Tensor]) -> None:
        if len(prior) != self.architecture.n_layers:
            raise ShapeError(f"The prior has {len(prior)} layers, the network {self.architecture.n_layers}.")
        for k, (u, w) in enumerate(zip(prior, self.weights, strict=True), start=1):
            if not isinstance(u, Tensor) or u.dtype != w.dtype:
                kind = u.dtype if isinstance(u, Tensor) else type(u).__name__
                raise DtypeError(f"The prior of layer {k} must be {w.dtype} like the weights; got {kind}.")
            fits = u.ndim >= 2 and u.shape[-2:] == w.shape[-2:] and u.ndim <= w.ndim
            if not fits or any(a not in (1, b) for a, b in zip(u.shape[::-1], w.shape[::-1], strict=False)):
                raise ShapeError(
                    f"The prior of layer {k} has shape {tuple(u.shape)}; it must be {tuple(w.shape)}, with "
                    "or without the replica axes."
                )
