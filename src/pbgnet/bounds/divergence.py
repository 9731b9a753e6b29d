"""The divergence between posterior and prior of the paper's tree network (Eq. 17)."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from pbgnet.exceptions import DomainError, ShapeError
from pbgnet.validation import as_double, broadcast, check_finite, check_kind, check_layers, positive_int


def tree_divergence(
    weights: Sequence[Tensor],
    prior_weights: Sequence[Tensor],
    *,
    n_positions: int = 1,
    validate_args: bool = True,
) -> Tensor:
    r"""KL divergence between the Gaussian posterior and prior over the tree's weights (paper, Eq. 17).

    .. math:: K(\theta, \mu) = \tfrac12 \sum_{k=1}^{L} d^\dagger_{k+1} \|W_k - U_k\|_F^2,
              \qquad d^\dagger_{k+1} = d_{k+1} \cdots d_L,\ d^\dagger_{L+1} = 1

    The factors count how often the tree repeats each row of weights. An intercept is one more column of its
    matrix; its constant input has no subtree, so it does not change any factor.

    With r output neurons there are r trees, and the mean of their divergences is returned. A voter draws one
    of the outputs, uniformly under posterior and prior alike, and then its tree. So the chain rule gives
    `KL = KL(uniform || uniform) + 1/r sum_j KL(Q_j || P_j)`, where the first term is 0. Hidden layers count
    as for one output, because all trees repeat them equally often.

    A first layer may be a convolution: each of its filters is the mean of a neuron at every position, and
    each neuron draws its own weights. So the first layer counts once per position.

    Parameters
    ----------
    weights : sequence of Tensor, shapes (..., d_k, d_{k-1}) or, with intercepts, (..., d_k, d_{k-1} + 1)
        Posterior means, first layer first. Leading axes are replicas.
    prior_weights : sequence of Tensor
        Prior means of the same shapes; leading axes broadcast.
    n_positions : int, default=1
        Number of neurons that share the mean of each row of the first weights.
    validate_args : bool, default=True
        Check that everything is finite, which on a GPU waits for the device.

    Returns
    -------
    Tensor, float64, shape (...)
        One divergence per replica, in nats; differentiable.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.bounds import tree_divergence
    >>> weights = [torch.ones(3, 2), torch.ones(1, 3)]
    >>> prior = [torch.zeros(3, 2), torch.zeros(1, 3)]
    >>> tree_divergence(weights, prior)  # (1 * 6 + 3) / 2
    tensor(4.5000, dtype=torch.float64)
    """
    posterior, prior = _as_layers("weights", weights), _as_layers("prior_weights", prior_weights)
    _check_shapes(posterior, prior, positive_int("n_positions", n_positions))
    if validate_args:
        for k, (w, u) in enumerate(zip(posterior, prior, strict=True), start=1):
            check_finite(f"weights of layer {k}", w.detach(), "Training has probably diverged.")
            check_finite(f"prior_weights of layer {k}", u.detach())
    factors = tree_factors([weight.shape[-2] for weight in posterior], n_positions)
    halves = {
        f"layer {k}": 0.5 * factor * (w - u).square().sum(dim=(-2, -1))
        for k, (factor, w, u) in enumerate(zip(factors, posterior, prior, strict=True), start=1)
    }
    return torch.stack(broadcast(**halves)).sum(dim=0)


def tree_factors(n_neurons: Sequence[int], n_positions: int = 1) -> list[float]:
    """Return how often a tree repeats each layer, for d_1, ..., d_L neurons, as a mean over trees.

    If the first layer is a convolution, its number is that of the filters, each of them at all positions.

    Examples
    --------
    >>> from pbgnet.bounds import tree_factors
    >>> tree_factors([5, 3, 1]), tree_factors([5, 3, 4])
    ([3.0, 1.0, 1.0], [3.0, 1.0, 0.25])
    """
    check_kind("n_neurons", n_neurons, list, tuple)
    sizes = [positive_int("n_neurons", size) for size in n_neurons]
    try:
        positions = [positive_int("n_positions", n_positions), *[1] * len(sizes)]
        return [positions[k] * math.prod(sizes[k + 1 :]) / sizes[-1] for k in range(len(sizes))]
    except OverflowError as error:
        raise DomainError(
            f"A tree of {len(sizes)} layers repeats more weights than can be counted."
        ) from error


def _as_layers(name: str, tensors: Sequence[Tensor] | Tensor) -> list[Tensor]:
    """Return the layers in float64, in which differences of float32 weights and their squares are exact."""
    check_layers(name, tensors)
    return [as_double(f"{name} of layer {k}", tensor) for k, tensor in enumerate(tensors, start=1)]


def _check_shapes(weights: Sequence[Tensor], prior_weights: Sequence[Tensor], n_positions: int) -> None:
    if not weights or len(weights) != len(prior_weights):
        raise ShapeError(
            f"Posterior and prior need the same number of layers, at least one; got {len(weights)} and "
            f"{len(prior_weights)}."
        )
    for k, (w, u) in enumerate(zip(weights, prior_weights, strict=True), start=1):
        if w.ndim < 2 or u.ndim < 2 or w.shape[-2:] != u.shape[-2:]:
            raise ShapeError(
                f"Layer {k} has weights of shape {tuple(w.shape)} and a prior of shape {tuple(u.shape)}; "
                "both must end in the same two axes (neurons, inputs)."
            )
        if 0 in w.shape[-2:]:
            raise ShapeError(f"Layer {k} has weights of shape {tuple(w.shape)}: no neurons or no inputs.")
        broadcast(weights=w[..., 0, 0], prior_weights=u[..., 0, 0])
    for k in range(1, len(weights)):
        below, inputs = weights[k - 1].shape[-2] * (n_positions if k == 1 else 1), weights[k].shape[-1]
        if inputs not in (below, below + 1):
            raise ShapeError(
                f"Layer {k + 1} takes {inputs} inputs but layer {k} has {below} neurons; expected {below}, "
                f"or {below + 1} with an intercept. Layers are listed from the input to the output."
            )
