"""The aggregated network G: the average of binary activated networks with Gaussian weights.

References
----------
Letarte et al. (2019): Eq. 4 (first layer), Eq. 16 (layers above), Eq. 17 (divergence). With no
hidden layer it is the linear classifier of Germain, Lacasse, Laviolette, Marchand (2009).
"""

import math
from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from pbgnet.aggregation import Aggregation, make_aggregation, product_unit, propagate_error
from pbgnet.autograd import Pullback, full_precision
from pbgnet.bounds import tree_divergence
from pbgnet.exceptions import DomainError, DtypeError, ShapeError
from pbgnet.kernels import find_kernel
from pbgnet.networks.architecture import Architecture
from pbgnet.networks.initialisation import initial_weights
from pbgnet.networks.inputs import append_one, unit_rows
from pbgnet.networks.sign import SignNetwork
from pbgnet.networks.sparse import PreparedRows, SparseRows, first_product, first_product_with_pullback
from pbgnet.validation import check_finite

__all__ = ["AggregatedNetwork"]


class AggregatedNetwork(nn.Module):
    """The mean G(x) in [-1, 1] of the paper's tree network over Gaussian weights.

    The posterior is N(weights, I), the prior N(prior_weights, I). With one hidden layer G is the
    average of the plain sign network itself; with more it is that of the tree (paper, Section 4).

    Parameters
    ----------
    weights : sequence of Tensor, shapes (..., d_k, d_{k-1} + intercept)
        Posterior means, first layer first; copied. Leading axes are replicas: networks side by side.
    prior_weights : sequence of Tensor, optional
        Prior means, held as buffers; the given weights unless set. Leading axes broadcast.
    intercept : bool, default=True
        Whether the last column of each matrix weighs a constant input 1. An intercept is one more
        weight like the others, noise included, so the theory holds word for word.
    aggregation : str or Aggregation, default="fourier"
        How the layers above the first are computed.

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
    ) -> None:
        super().__init__()
        self.architecture = Architecture.of(weights, intercept)
        self.aggregation = make_aggregation(aggregation)
        self.weights = nn.ParameterList([nn.Parameter(weight.detach().clone()) for weight in weights])
        prior = list(weights if prior_weights is None else prior_weights)
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
        **options: Any,
    ) -> Self:
        """Make a network from its sizes; the first weights are also the prior.

        Parameters
        ----------
        n_features, hidden_layer_sizes, intercept
            The architecture; no hidden layers gives the linear classifier.
        aggregation : str or Aggregation
            How the layers above the first are computed.
        **options
            ``initialisation``, ``generator``, ``replicas``, ``dtype`` and ``device`` of
            `initial_weights`.
        """
        weights = initial_weights(n_features, hidden_layer_sizes, intercept=intercept, **options)
        return cls(weights, intercept=intercept, aggregation=aggregation)

    @property
    def prior_weights(self) -> list[Tensor]:
        """Prior means, first layer first."""
        return [self.get_buffer(f"prior_{k}") for k in range(self.architecture.n_layers)]

    def fix_prior(self) -> None:
        """Make the present weights the prior, as after pre-training."""
        self._hold_prior(list(self.weights))

    def prepare(self, x: Tensor) -> Tensor:
        """Bring examples of shape (..., n, d_0) to the form `output` works on, once for all epochs."""
        self.architecture.check_examples(x, like=self.weights[0])
        return unit_rows(x, self.architecture.intercept)

    def forward(self, x: Tensor) -> Tensor:
        """Return G(x) for examples of shape (..., n, d_0): shape (..., n), in [-1, 1]."""
        return self.output(self.prepare(x))

    def take(self, replicas: Tensor) -> Self:
        """Return a copy of some of the networks side by side: indices of shape (R,) in the first axis."""
        return type(self)(
            [weight.detach()[replicas] for weight in self.weights],
            [
                prior[replicas] if prior.ndim == weight.ndim and len(prior) > 1 else prior
                for prior, weight in zip(self.prior_weights, self.weights, strict=True)
            ],
            intercept=self.architecture.intercept,
            aggregation=self.aggregation,
        )

    @property
    def capturable(self) -> bool:
        """Whether `output` without checks never waits for a GPU, so that a CUDA graph can hold it."""
        return len(self.weights) == 1 or self.aggregation.capturable(self.weights[0].device)

    def generators(self) -> list[torch.Generator]:
        """Sources of the randomness in `output`; none for the exact methods."""
        return self.aggregation.generators()

    def output(self, rows: PreparedRows, *, validate_args: bool = True) -> Tensor:
        """Return G for prepared examples of shape (..., n, d_0 + intercept): shape (..., n).

        `validate_args=False` skips the checks of values, which on a GPU wait for the device.
        """
        first, *rest = self.weights
        self._check_rows(rows, validate_args)
        with full_precision(first.device):
            pre_activation = first_product(rows, first)
        if validate_args:
            check_finite("The first layer", pre_activation.detach(), "A smaller learning rate usually helps.")
        mean = torch.erf(pre_activation / math.sqrt(2))  # Eq. 4: the rows have length 1
        for weight in rest:
            inputs = append_one(mean) if self.architecture.intercept else mean
            mean = self.aggregation(inputs, weight, validate_args=validate_args)  # Eq. 16
        return mean[..., 0]

    @torch.no_grad()
    def output_with_pullback(
        self, rows: PreparedRows, weights: Sequence[Tensor] | None = None
    ) -> tuple[Tensor, Pullback]:
        """Return G, unchecked, and what maps a gradient of it to those of the weights.

        What training calls: the derivatives are written out, which saves the graph of autograd.

        Parameters
        ----------
        rows : PreparedRows, shape (R, n, d_0 + intercept) or (n, d_0 + intercept)
        weights : sequence of Tensor, shapes (R, m, d), optional
            Weights to use instead of the network's own.
        """
        first, *rest = (w.detach() for w in (self.weights if weights is None else weights))
        intercept, layers = self.architecture.intercept, find_kernel("layers", first.device)
        with full_precision(first.device):
            product, first_pullback = first_product_with_pullback(rows, first)
            inputs = mean = layers.first_means(product, intercept and bool(rest))
            pullbacks = []
            for k, weight in enumerate(rest):
                if k > 0:
                    inputs = append_one(mean) if intercept else mean.contiguous()
                mean, pullback = self.aggregation.with_pullback(inputs, weight)
                pullbacks.append(pullback)

        def pull_back(grad: Tensor) -> tuple[Tensor, ...]:
            gradients = []
            with torch.no_grad(), full_precision(first.device):
                in_mean = grad.unsqueeze(-1)
                for k, pullback in reversed(list(enumerate(pullbacks))):
                    in_mean, in_weight = pullback(in_mean.contiguous())
                    if k > 0 and intercept:
                        in_mean = in_mean[..., :-1]
                    gradients.append(in_weight)
                in_product = layers.pull_back_first_means(in_mean, product, intercept and bool(rest))
                gradients.append(first_pullback(in_product))
            return tuple(reversed(gradients))

        return mean[..., 0], pull_back

    def divergence(self, *, validate_args: bool = True) -> Tensor:
        """KL(posterior || prior) of the tree network (Eq. 17), float64, one per replica."""
        return tree_divergence(list(self.weights), self.prior_weights, validate_args=validate_args)

    def error_bound(self) -> Tensor:
        """Proved bound on |computed - exact| of the output for any example, one per replica.

        Truncation and rounding of all layers, in the precision of the weights.

        Raises
        ------
        UncertifiedError
            If the aggregation is a random estimate and there is a hidden layer.
        """
        first, *rest = (weight.detach() for weight in self.weights)
        errors = [self.aggregation.error_bound(weight) for weight in rest]
        total = propagate_error(rest, errors, _first_layer_rounding(first))[..., 0]
        return total.clamp_max(2.0)  # both outputs lie in [-1, 1]

    def sign_network(self) -> SignNetwork:
        """Return the plain network f with the posterior means as weights; the bounds do not cover it."""
        return SignNetwork(list(self.weights), intercept=self.architecture.intercept)

    def extra_repr(self) -> str:
        """Architecture and aggregation, for `repr`."""
        return f"{self.architecture}, aggregation={self.aggregation!r}"

    def _hold_prior(self, prior: Sequence[Tensor]) -> None:
        for k, weight in enumerate(prior):
            self.register_buffer(f"prior_{k}", weight.detach().clone())

    def _check_rows(self, rows: PreparedRows, validate_args: bool) -> None:
        """Raise unless the rows are what `prepare` makes of examples for this network."""
        first = self.weights[0]
        if not isinstance(rows, Tensor | SparseRows):
            raise DtypeError(f"Prepared rows must be a tensor or SparseRows, got {type(rows).__name__}.")
        if (rows.dtype, rows.device) != (first.dtype, first.device):
            raise DtypeError(
                f"Prepared rows must be {first.dtype} on {first.device}, got {rows.dtype} on {rows.device}."
            )
        if rows.shape[-1] != first.shape[-1]:
            raise ShapeError(
                f"Prepared rows of this network have {first.shape[-1]} columns, got {tuple(rows.shape)}; "
                "pass examples through prepare() first."
            )
        if validate_args and isinstance(rows, Tensor):
            lengths = torch.linalg.vector_norm(rows.detach(), dim=-1)
            if not bool(((lengths - 1).abs() < 1e-3).all()):
                raise DomainError("Rows must have length 1; pass examples through prepare() first.")

    def _check_prior(self, prior: Sequence[Tensor]) -> None:
        if len(prior) != self.architecture.n_layers:
            raise ShapeError(f"The prior has {len(prior)} layers, the network {self.architecture.n_layers}.")
        for k, (u, w) in enumerate(zip(prior, self.weights, strict=True), start=1):
            if not isinstance(u, Tensor) or u.dtype != w.dtype:
                kind = u.dtype if isinstance(u, Tensor) else type(u).__name__
                raise DtypeError(f"The prior of layer {k} must be {w.dtype}, as the weights; got {kind}.")
            fits = u.ndim >= 2 and u.shape[-2:] == w.shape[-2:] and u.ndim <= w.ndim
            if not fits or any(a not in (1, b) for a, b in zip(u.shape[::-1], w.shape[::-1], strict=False)):
                raise ShapeError(
                    f"The prior of layer {k} has shape {tuple(u.shape)}; it must be {tuple(w.shape)}, with "
                    "or without the replica axes."
                )


def _first_layer_rounding(weight: Tensor) -> Tensor:
    """Bound the rounding of erf(w . x / (sqrt(2) |x|)), float64, shape (..., m).

    Normalising a row and its product with w err by at most (2 d + 10) units relative to |w|, which
    the slope sqrt(2 / pi) carries over; erf and its argument add a few units.
    """
    length: Tensor = torch.linalg.vector_norm(weight, dim=-1, dtype=torch.float64)
    unit = product_unit(weight)
    rounding = unit * (math.sqrt(2 / math.pi) * (2 * weight.shape[-1] + 10) * length + 8)
    return rounding.clamp_max(2.0)  # both values lie in [-1, 1]
