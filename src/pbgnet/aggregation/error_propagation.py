"""How errors of the layers add up to an error of the network's output."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from pbgnet.exceptions import ShapeError
from pbgnet.validation import as_double, check_finite, check_interval, check_layers


def propagate_error(weights: Sequence[Tensor], layer_errors: Sequence[Tensor], input_error: Tensor) -> Tensor:
    r"""Carry errors on the means of one layer through the aggregated layers above it.

    The exact layer is linear in each single mean, with a slope of at most
    :math:`\mathrm{erf}(|a_{ji}| / \sqrt2) \le \sqrt{2/\pi}\,|a_{ji}|`. So errors `e_i` on the means
    below and a layer's own error `eps_j` give at most `eps_j + sum_i erf(|a_ji| / sqrt 2) e_i` above.

    Parameters
    ----------
    weights : sequence of Tensor, shapes (..., m, d)
        Weights of the aggregated layers, lowest first (without the network's first, linear layer).
        A matrix with one column more than there are neurons below has an intercept, whose
        constant input has no error.
    layer_errors : sequence of Tensor, shapes (..., m)
        Each layer's own error, from `Aggregation.error_bound`.
    input_error : Tensor, shape (..., d)
        Errors on the means that enter the lowest of these layers.

    Returns
    -------
    Tensor, float64, shape (..., m)
        Bound on the error of each neuron of the last layer.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.aggregation import Fourier, propagate_error
    >>> weights = [torch.ones(3, 4, dtype=torch.float64), torch.ones(1, 3, dtype=torch.float64)]
    >>> errors = [Fourier(1e-10).error_bound(weight) for weight in weights]
    >>> bool(propagate_error(weights, errors, torch.zeros(4)) < 3e-10)
    True
    """
    check_layers("weights", weights)
    check_layers("layer_errors", layer_errors)
    if len(weights) != len(layer_errors):
        raise ShapeError(
            f"There must be one error for each of the {len(weights)} layers, got {len(layer_errors)}."
        )
    error = as_double("input_error", input_error)
    check_interval("input_error", error, 0.0, open_high=True)
    for k, (weight, own) in enumerate(zip(weights, layer_errors, strict=True)):
        check_finite(f"weights[{k}]", weight.detach())
        check_interval(f"layer_errors[{k}]", own.double(), 0.0, open_high=True)
        if weight.ndim < 2:
            raise ShapeError(f"Layer {k} has weights of shape {tuple(weight.shape)}, not (..., m, d).")
        if own.shape[-1:] != weight.shape[-2:-1]:
            raise ShapeError(f"Layer {k} has {weight.shape[-2]} neurons but {tuple(own.shape)} errors.")
        d, width = weight.shape[-1], error.shape[-1] if error.ndim else 0
        if d not in (width, width + 1):
            raise ShapeError(f"Layer {k} takes {d} inputs but there are {width} errors below it.")
        slopes = torch.erf(weight.detach().double().abs()[..., :width] / math.sqrt(2 * d))
        error = own.double() + (slopes @ error.unsqueeze(-1)).squeeze(-1)
    return error
