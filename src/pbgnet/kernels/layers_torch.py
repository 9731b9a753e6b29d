"""What stands around the aggregated layers, in plain PyTorch: the first layer's means, and the loss."""

import math

import torch
from torch import Tensor


def first_means(product: Tensor, intercept: bool) -> Tensor:
    """Return `erf(w . x / sqrt(2))` (Eq. 4: rows have length 1), and the constant 1 where asked for.

    Parameters
    ----------
    product : Tensor, shape (R, n, m)
        The w . x of every example and neuron.
    intercept : bool

    Returns
    -------
    Tensor, contiguous, shape (R, n, m + intercept)
    """
    mean = torch.erf(product / math.sqrt(2))
    return torch.constant_pad_nd(mean, (0, 1), 1.0) if intercept else mean.contiguous()


def pull_back_first_means(grad: Tensor, product: Tensor, intercept: bool) -> Tensor:
    """Return the gradient in `product`, shape (R, n, m), for one in the means, (R, n, m + intercept)."""
    in_mean = grad[..., :-1] if intercept else grad
    return in_mean * (torch.exp(-0.5 * product.square()) * math.sqrt(2 / math.pi))


def linear_loss(output: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean of `(1 - y G) / 2` of each replica, float64, and its derivative in every G.

    Parameters
    ----------
    output : Tensor, shape (R, n)
    y : Tensor, shape (R, n) or (n,)

    Returns
    -------
    loss : Tensor, float64, shape (R,)
    slope : Tensor, shape (R, n)
    """
    agreement = (y * output).mean(dim=-1, dtype=torch.float64)
    slope = (y * (-0.5 / output.shape[-1])).expand_as(output)
    return 0.5 - 0.5 * agreement, slope
