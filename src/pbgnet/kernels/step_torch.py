"""The parts of a training step that go over all weights, in plain PyTorch: reference and fallback."""

import torch
from torch import Tensor

from pbgnet.bounds import differentiable

__all__ = ["adam_step", "seeger_slopes", "squared_distance"]


def squared_distance(weight: Tensor, anchor: Tensor) -> Tensor:
    """Return |w - u|^2 of each replica, float64, shape (R,).

    Parameters
    ----------
    weight : Tensor, shape (R, m, d)
    anchor : Tensor, shape (R, m, d) or (1, m, d)
    """
    return (weight.double() - anchor.double()).square().sum(dim=(-2, -1))


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
    n_steps: Tensor,
    betas: tuple[float, float],
    epsilon: float,
) -> None:
    """Take one step of Adam on `weight`, in place, along `scale gradient + pull (weight - anchor)`.

    Parameters
    ----------
    weight, first, second, gradient : Tensor, shape (R, m, d)
        Weights, their first and second moments, and the gradient of the loss.
    anchor : Tensor, shape (R, m, d) or (1, m, d)
    rate, scale, pull : Tensor, float64, shape (R,)
        Learning rate of each replica, and the weights of gradient and pull; a rate of 0 keeps the weights
        of a replica where they are, and leaves open what becomes of its moments.
    n_steps : Tensor, int64, shape (1,)
        Number of steps, this one included.
    """
    beta1, beta2 = betas
    steps = n_steps.double()
    correction1, correction2 = 1 - beta1**steps, 1 - beta2**steps
    by_loss, by_distance = (factor[:, None, None].to(weight.dtype) for factor in (scale, pull))
    g = by_loss * gradient + by_distance * (weight - anchor)
    first.lerp_(g, 1 - beta1)
    second.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    length = (rate / correction1)[:, None, None].to(weight.dtype)
    moved = weight - length * first / ((second / correction2.to(weight.dtype)).sqrt_().add_(epsilon))
    weight.copy_(torch.where(length == 0, weight, moved))  # also where a gradient is infinite


def seeger_slopes(loss: Tensor, penalty: Tensor, log_factor: float, n: int) -> tuple[Tensor, Tensor]:
    """Return the derivatives of `kl_inverse_upper(loss, (penalty + log_factor) / n)` by both.

    Parameters
    ----------
    loss, penalty : Tensor, float64, shape (R,)
    """
    loss, penalty = loss.detach().requires_grad_(), penalty.detach().requires_grad_()
    with torch.enable_grad():
        budget = (penalty + log_factor) / n
        bound = differentiable.kl_inverse_upper(loss.clamp(0.0, 1.0), budget, validate_args=False)
    by_loss, by_penalty = torch.autograd.grad(bound.sum(), [loss, penalty])
    return torch.where(loss.isnan(), loss.detach(), by_loss), by_penalty  # clamp has no slope at NaN
