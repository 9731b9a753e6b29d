"""The parts of a training step that go over all weights, in plain PyTorch: reference and fallback."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from pbgnet.bounds import differentiable


def squared_distance(weight: Tensor, anchor: Tensor) -> Tensor:
    """Return |w - u|^2 of each replica, float64, shape (R,).

    Parameters
    ----------
    weight : Tensor, shape (R, m, d)
    anchor : Tensor, shape (R, m, d) or (1, m, d)
    """
    return (weight.double() - anchor.double()).square().sum(dim=(-2, -1))


def penalty(weights: Sequence[Tensor], anchors: Sequence[Tensor], factors: Sequence[float]) -> Tensor:
    """Return `1/2 sum_k factor_k |W_k - U_k|^2` of each replica, float64, shape (R,).

    Parameters
    ----------
    weights : sequence of Tensor, shapes (R, m, d)
    anchors : sequence of Tensor, shapes (R, m, d) or (1, m, d)
    factors : sequence of float
    """
    return add_distances(squared_distance, weights, anchors, factors)


def add_distances(
    distance: Callable[[Tensor, Tensor], Tensor],
    weights: Sequence[Tensor],
    anchors: Sequence[Tensor],
    factors: Sequence[float],
) -> Tensor:
    """Return the penalty, given a function for the squared distance of one layer."""
    first, *rest = (
        distance(weight, anchor) * (0.5 * factor)
        for weight, anchor, factor in zip(weights, anchors, factors, strict=True)
    )
    return sum(rest, start=first)


@torch.no_grad()
def adam_step(
    weight: Tensor,
    first: Tensor,
    second: Tensor,
    gradient: Tensor,
    anchor: Tensor,
    rate: Tensor,
    scale: Tensor,
    pull: Tensor,
    factor: float,
    n_steps: Tensor,
    betas: tuple[float, float],
    epsilon: float,
) -> None:
    """Take one step of Adam on `weight`, in place, along `scale gradient + factor pull (weight - anchor)`.

    Parameters
    ----------
    weight, first, second, gradient : Tensor, shape (R, m, d)
        Weights, their first and second moments, and the gradient of the loss.
    anchor : Tensor, shape (R, m, d) or (1, m, d)
    rate, scale, pull : Tensor, float64, shape (R,)
        Learning rate of each replica, and the weights of gradient and pull. A rate of 0 leaves the weights of
        a replica unchanged; its moments are then undefined.
    factor : float
        How often the layer counts in the penalty.
    n_steps : Tensor, int64, shape (1,)
        Number of steps, this one included.
    """
    beta1, beta2 = betas
    steps = n_steps.double()
    correction1, correction2 = 1 - beta1**steps, 1 - beta2**steps
    by_loss, by_distance = (each[:, None, None].to(weight.dtype) for each in (scale, factor * pull))
    g = by_loss * gradient + by_distance * (weight - anchor)
    first.lerp_(g, 1 - beta1)
    second.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    length = (rate / correction1)[:, None, None].to(weight.dtype)
    moved = weight - length * first / ((second / correction2.to(weight.dtype)).sqrt_().add_(epsilon))
    weight.copy_(torch.where(length == 0, weight, moved))  # also where a gradient is infinite


def seeger_bound(loss: Tensor, penalty: Tensor, log_factor: float, n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return `kl_inverse_upper(clamp(loss, 0, 1), (penalty + log_factor) / n)` and its derivatives.

    Outside [0, 1], where the loss is cut, its derivative is 0.

    Parameters
    ----------
    loss, penalty : Tensor, float64, shape (R,)

    Returns
    -------
    bound, by_loss, by_penalty : Tensor, float64, shape (R,)
    """
    loss, penalty = loss.detach().requires_grad_(), penalty.detach().requires_grad_()
    with torch.enable_grad():
        budget = (penalty + log_factor) / n
        bound = differentiable.kl_inverse_upper(loss.clamp(0.0, 1.0), budget, validate_args=False)
    by_loss, by_penalty = torch.autograd.grad(bound.sum(), [loss, penalty])
    by_loss = torch.where(loss.isnan(), loss.detach(), by_loss)  # clamp has no slope at NaN
    return bound.detach(), by_loss, by_penalty


def catoni_slopes(
    loss: Tensor, penalty: Tensor, log_c: Tensor, log_factor: float, n: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the derivatives of `(1 - exp(-C loss - (penalty + log_factor) / n)) / (1 - exp(-C))`.

    With B the bound they are `(C, 1/n) exp(-(C loss + budget)) / (1 - exp(-C))`, and in ln C
    `C (loss exp(-(C loss + budget)) - B exp(-C)) / (1 - exp(-C))`.

    Parameters
    ----------
    loss, penalty, log_c : Tensor, float64, shape (R,)

    Returns
    -------
    by_loss, by_penalty, by_log_c : Tensor, float64, shape (R,)
    """
    c = log_c.exp()
    exponent = c * loss + (penalty + log_factor) / n
    rest = -torch.expm1(-c)  # 1 - exp(-C)
    share = torch.exp(-exponent) / rest
    bound = -torch.expm1(-exponent) / rest
    return c * share, share / n, c * (loss * share - bound * torch.exp(-c) / rest)


def add_fixed(
    total: Tensor, values: Tensor, share: float, fraction_bits: int, limit: float, lost: Tensor
) -> None:
    """Add a share of some values to sums that are stored as whole numbers, in place.

    A sum is in units of `2^-fraction_bits`; what is added is rounded to the nearest unit. If a value is
    larger than the limit, or not a number, nothing is added and its replica is counted as lost.

    Parameters
    ----------
    total : Tensor, int64, contiguous, shape (R, D)
    values : Tensor, contiguous, shape (R, D)
    lost : Tensor, int64, shape (R,)
    """
    fits = values.abs() <= limit
    units = (torch.where(fits, values, 0.0).double() * (share * 2.0**fraction_bits)).round()
    total += units.long()
    lost += (~fits).sum(dim=1)
