"""Losses of a predictor with values in [-1, 1] against labels -1 and 1 (paper, Section 2)."""

from torch import Tensor

from pbgnet.exceptions import DomainError, ShapeError
from pbgnet.networks.sign_network import sign
from pbgnet.validation import check_finite, check_tensor


def linear_loss(output: Tensor, y: Tensor, *, validate_args: bool = True) -> Tensor:
    """Return `(1 - y G) / 2` per example: the probability that a network drawn from the posterior is wrong.

    With two or more hidden layers the network is one of the paper's trees.

    Parameters
    ----------
    output : Tensor, shape (..., n)
    y : Tensor, shape (n,) or (..., n)
        Labels -1 and 1.
    validate_args : bool, default=True
        Check the values, which on a GPU waits for the device.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.networks import linear_loss
    >>> linear_loss(torch.tensor([1.0, 0.0, -0.5]), torch.tensor([1.0, 1.0, 1.0]))
    tensor([0.0000, 0.5000, 0.7500])
    """
    _check(output, y, validate_args)
    return (1 - y * output) / 2


def zero_one_loss(output: Tensor, y: Tensor, *, validate_args: bool = True) -> Tensor:
    """Return 1 where the sign of the output differs from y, else 0; at most twice the linear loss.

    Parameters are those of `linear_loss`. The sign of 0 is -1.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.networks import zero_one_loss
    >>> zero_one_loss(torch.tensor([1.0, 0.0, -0.5]), torch.tensor([1.0, 1.0, 1.0]))
    tensor([0., 1., 1.])
    """
    _check(output, y, validate_args)
    return (sign(output) != y).to(output.dtype)


def _check(output: Tensor, y: Tensor, validate_args: bool) -> None:
    check_tensor("output", output)
    check_tensor("y", y)
    if y.ndim == 0 or y.ndim > output.ndim or output.shape[output.ndim - y.ndim :] != y.shape:
        raise ShapeError(
            f"Outputs of shape {tuple(output.shape)} and labels of shape {tuple(y.shape)} do not match."
        )
    if not validate_args:
        return
    check_finite("output", output.detach())
    if not bool((y.abs() == 1).all()):
        raise DomainError("Labels must be -1 and 1; map the two classes to them first.")
