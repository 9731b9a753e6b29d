"""Full-batch L-BFGS for many independent problems at once.

The exact aggregate makes the objective deterministic, so a quasi-Newton method can finish what
Adam began. The line search only accepts finite values that decrease enough.

References
----------
Nocedal and Wright (2006), "Numerical Optimization", Algorithms 3.1 and 7.4.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["minimise_lbfgs"]

Evaluate = Callable[[Tensor], tuple[Tensor, Tensor]]

SUFFICIENT_DECREASE = 1e-4
SHORTEST_CUT, LONGEST_CUT = 0.1, 0.5
MAX_BACKTRACKS = 20
MEMORY = 12
# A problem is done after this many iterations in a row that gain less than the tolerance.
PATIENCE = 3


@dataclass(frozen=True)
class Pair:
    """A step of every problem, the change of its gradient, and the inverse of their product."""

    step: Tensor
    change: Tensor
    inverse: Tensor


def minimise_lbfgs(
    evaluate: Evaluate,
    x: Tensor,
    *,
    max_iterations: int = 100,
    tolerance: float = 1e-6,
    on_iteration: Callable[[int, Tensor, Tensor], None] = lambda iteration, x, value: None,
) -> Tensor:
    """Minimise R independent functions by L-BFGS with a backtracking line search.

    Parameters
    ----------
    evaluate : callable
        Maps points (R, D) to values (R,), float64, and gradients (R, D).
    x : Tensor, shape (R, D)
        Where to start.
    max_iterations : int, default=100
    tolerance : float, default=1e-6
        A problem ends after three iterations in a row with a relative decrease below it.
    on_iteration : callable
        Called with the iteration (from 1), the points and the values.

    Returns
    -------
    Tensor, shape (R, D)
        The best points; their values are never above those of the start.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.training.lbfgs import minimise_lbfgs
    >>> scale = torch.tensor([1.0, 100.0], dtype=torch.float64)
    >>> def evaluate(x):
    ...     return (scale * (x - 1) ** 2).sum(dim=1), 2 * scale * (x - 1)
    >>> minimise_lbfgs(evaluate, torch.zeros(1, 2, dtype=torch.float64))
    tensor([[1., 1.]], dtype=torch.float64)
    """
    value, gradient = evaluate(x)
    pairs: list[Pair] = []
    idle = torch.zeros_like(value, dtype=torch.long)
    for iteration in range(1, max_iterations + 1):
        active = idle < PATIENCE
        direction, slope = _descent(gradient, pairs)
        moved, new_value, new_gradient = _backtrack(evaluate, x, value, gradient, direction, slope, active)
        gain = (value - new_value) / value.abs().clamp_min(1e-12)
        idle = torch.where(gain > tolerance, 0, idle + 1)
        # Where no step was found the curvature misleads: forget it and start again from the gradient.
        pairs = _forget(pairs, gain <= 0)
        pairs = _remember(pairs, moved - x, new_gradient - gradient)
        x, value, gradient = moved, new_value, new_gradient
        on_iteration(iteration, x, value)
        if bool((idle >= PATIENCE).all()):
            break
    return x


def _descent(gradient: Tensor, pairs: list[Pair]) -> tuple[Tensor, Tensor]:
    """Return a direction for each problem and the slope along it, which is negative."""
    direction = _two_loops(gradient, pairs)
    slope = (gradient * direction).sum(dim=1, dtype=torch.float64)
    known = torch.zeros_like(slope, dtype=torch.bool)
    for pair in pairs:
        known |= pair.inverse > 0
    usable = known & (slope < 0) & torch.isfinite(slope)
    # Without curvature: down the gradient, by a length of at most 1.
    length = gradient.norm(dim=1, keepdim=True).clamp_min(1.0)
    plain = -gradient / length
    direction = torch.where(usable[:, None], direction, plain)
    return direction, torch.where(usable, slope, (gradient * plain).sum(dim=1, dtype=torch.float64))


def _backtrack(
    evaluate: Evaluate,
    x: Tensor,
    value: Tensor,
    gradient: Tensor,
    direction: Tensor,
    slope: Tensor,
    active: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Shorten the step of each problem until its value is finite and has decreased enough."""
    step = active.to(torch.float64)
    for _ in range(MAX_BACKTRACKS):
        trial = x + step[:, None].to(x.dtype) * direction
        new_value, new_gradient = evaluate(trial)
        finite = torch.isfinite(new_value) & torch.isfinite(new_gradient).all(dim=1)
        accepted = finite & (new_value <= value + SUFFICIENT_DECREASE * step * slope)
        if bool((accepted | ~active).all()):
            break
        # The parabola through value, slope and trial value has its minimum here.
        parabola = -slope * step / (2 * (new_value - value - slope * step))
        cut = torch.where(finite, parabola, SHORTEST_CUT).nan_to_num(LONGEST_CUT)
        step = torch.where(accepted, step, step * cut.clamp(SHORTEST_CUT, LONGEST_CUT))
    keep = accepted & active
    return (
        torch.where(keep[:, None], trial, x),
        torch.where(keep, new_value, value),
        torch.where(keep[:, None], new_gradient, gradient),
    )


def _remember(pairs: list[Pair], step: Tensor, change: Tensor) -> list[Pair]:
    """Add a pair; problems without positive curvature get one that changes nothing."""
    curvature = (step * change).sum(dim=1)
    usable = curvature > 1e-10 * step.norm(dim=1) * change.norm(dim=1)
    inverse = torch.where(usable, 1 / torch.where(usable, curvature, 1.0), 0.0)
    return [*pairs, Pair(step, change, inverse)][-MEMORY:]


def _forget(pairs: list[Pair], stuck: Tensor) -> list[Pair]:
    """Empty the memory of the problems that are stuck."""
    return [Pair(p.step, p.change, torch.where(stuck, 0.0, p.inverse)) for p in pairs]


def _two_loops(gradient: Tensor, pairs: list[Pair]) -> Tensor:
    """Multiply with the inverse Hessian that the pairs describe; one with inverse 0 changes nothing."""
    q = gradient
    alphas = []
    for p in reversed(pairs):
        alpha = p.inverse * (p.step * q).sum(dim=1)
        alphas.append(alpha)
        q = q - alpha[:, None] * p.change
    scale = torch.ones_like(gradient[:, 0])
    for p in pairs:  # the latest usable pair decides
        squared = p.change.square().sum(dim=1).clamp_min(torch.finfo(gradient.dtype).tiny)
        scale = torch.where(p.inverse > 0, (p.step * p.change).sum(dim=1) / squared, scale)
    r = scale[:, None] * q
    for p, alpha in zip(pairs, reversed(alphas), strict=True):
        beta = p.inverse * (p.change * r).sum(dim=1)
        r = r + (alpha - beta)[:, None] * p.step
    return -r
