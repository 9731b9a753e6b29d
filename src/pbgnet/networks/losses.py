"""Losses of a predictor with values in [-1, 1] against labels -1 and 1 (paper, Section 2)."""

from torch import Tensor

from pbgnet.networks.sign import sign

__all__ = ["linear_loss", "zero_one_loss"]


def linear_loss(output: Tensor, y: Tensor) -> Tensor:
    """Return `(1 - y G) / 2` per example: the chance that a network drawn from the posterior errs.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.networks import linear_loss
    >>> linear_loss(torch.tensor([1.0, 0.0, -0.5]), torch.tensor([1.0, 1.0, 1.0]))
    tensor([0.0000, 0.5000, 0.7500])
    """
    return (1 - y * output) / 2


def zero_one_loss(output: Tensor, y: Tensor) -> Tensor:
    """Return 1 where the sign of the output differs from y, else 0; at most twice the linear loss.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.networks import zero_one_loss
    >>> zero_one_loss(torch.tensor([1.0, 0.0, -0.5]), torch.tensor([1.0, 1.0, 1.0]))
    tensor([0., 1., 1.])
    """
    return (sign(output) != y).to(output.dtype)
