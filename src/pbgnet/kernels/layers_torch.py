"""What stands around the aggregated layers, in plain PyTorch: the first layer's means, and the loss."""

import math

import torch
from torch import Tensor

# Below this chance of being right the log loss goes on as its tangent: float32 has lost the digits of G.
SMALLEST_CHANCE = 1e-6


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


def log_loss(output: Tensor, y: Tensor, weight: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the mean of `-ln((1 + y G) / 2)` of each replica, float64, and its derivative in every G.

    The logarithm of the chance that a drawn network is right; unlike the linear loss it does not give up
    on examples that are answered wrongly. Parameters and returns are those of `linear_loss`; the loss of an
    example is multiplied by its weight, of the shape of y, where there is one.
    """
    chance = 0.5 + 0.5 * (y * output)
    cut = chance.clamp_min(SMALLEST_CHANCE)
    loss = (cut - chance) / SMALLEST_CHANCE - cut.log()
    slope = y * (-0.5 / output.shape[-1]) / cut
    if weight is not None:
        loss, slope = loss * weight, slope * weight
    return loss.mean(dim=-1, dtype=torch.float64), slope
