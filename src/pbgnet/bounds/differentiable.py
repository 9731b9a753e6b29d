"""The bounds on tensors, inside autograd: what training minimises.

Functions have the names of their certified counterparts in `pbgnet.bounds` and agree with them to about
1e-12, but are not rounded outward: train with these, certify with those. All compute in float64 and are
vectorised over replicas. With ``validate_args=False`` they never wait for the device, so they can be captured
in a CUDA graph.

References
----------
Letarte et al. (2019), Eqs. 18 and 19 and "Cost functions" of the appendix.
"""

import math
from typing import Any

import torch
from torch import Tensor

from pbgnet.autograd import first_order_only
from pbgnet.bounds.confidence import check_delta, check_sample_size, log_constant
from pbgnet.bounds.kl import kl_tensor
from pbgnet.exceptions import ShapeError
from pbgnet.validation import as_double, broadcast, check_interval

# Newton's method starts within a small factor of the root and converges monotonically (kl is convex in p).
# Measured over all scales, it has converged after 6 steps.
NEWTON_STEPS = 8

# Slopes in q grow like ln(1/q). Evaluated no closer to 0 and 1 than this, they stay finite.
SLOPE_BORDER = 1e-16

# Any larger budget gives 0 or 1 in float64, and an infinite one would lead to 0 * inf.
LARGEST_BUDGET = 1e6

LARGEST_BELOW_ONE = 1.0 - 2.0**-53
SMALLEST_NORMAL = torch.finfo(torch.float64).tiny


def kl_inverse_upper(q: Tensor, budget: Tensor, *, validate_args: bool = True) -> Tensor:
    """Differentiable `sup {p : kl(q || p) <= budget}`; the gradient is that of the implicit function.

    Parameters
    ----------
    q : Tensor, shape (...)
        Probabilities in [0, 1].
    budget : Tensor, shape (...)
        Positive budgets (at 0 the slope is infinite); shapes broadcast.
    validate_args : bool, default=True
        Check the ranges, which on a GPU waits for the device.

    Returns
    -------
    Tensor, float64, shape (...)

    Examples
    --------
    >>> import torch
    >>> from pbgnet.bounds import differentiable
    >>> budget = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    >>> p = differentiable.kl_inverse_upper(torch.tensor(0.0), budget)
    >>> p.backward()
    >>> p, budget.grad  # 1 - exp(-0.1) and exp(-0.1)
    (tensor(0.0952, dtype=torch.float64, grad_fn=<_KLInverseBackward>),
     tensor(0.9048, dtype=torch.float64))
    """
    return _kl_inverse("q", q, budget, True, validate_args)


def kl_inverse_lower(q: Tensor, budget: Tensor, *, validate_args: bool = True) -> Tensor:
    """Differentiable `inf {p : kl(q || p) <= budget}`; see `kl_inverse_upper`.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.bounds import differentiable
    >>> differentiable.kl_inverse_lower(torch.tensor(1.0), torch.tensor(0.1))  # exp(-0.1)
    tensor(0.9048, dtype=torch.float64)
    """
    return _kl_inverse("q", q, budget, False, validate_args)


def seeger_bound(
    risk: Tensor,
    divergence: Tensor,
    n: int,
    delta: float | Tensor,
    constant: str = "paper",
    *,
    validate_args: bool = True,
) -> Tensor:
    """Differentiable twin of `pbgnet.bounds.seeger_bound` (paper, Eq. 18).

    Examples
    --------
    >>> import torch
    >>> from pbgnet.bounds import differentiable
    >>> risk = torch.tensor([0.011, 0.5], requires_grad=True)
    >>> differentiable.seeger_bound(risk, torch.tensor(164.0), n=11377, delta=0.05 / 9).detach()
    tensor([0.0401, 0.5869], dtype=torch.float64)
    """
    size = _sample_size(n)
    log_factor = log_constant(size, constant).item()
    budget = _budget(divergence, log_factor, size, delta, validate_args)
    return _kl_inverse("risk", risk, budget, True, validate_args)


def catoni_bound(
    risk: Tensor,
    divergence: Tensor,
    n: int,
    delta: float | Tensor,
    c: Tensor,
    constant: str | None = None,
    *,
    validate_args: bool = True,
) -> Tensor:
    """Differentiable twin of `pbgnet.bounds.catoni_bound`, not cut at 1, so it keeps its slope.

    With ``constant="paper"`` and C learned along with the weights it is the paper's cost function
    (Eq. 19); with ``constant=None`` and C fixed it is Theorem 2.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.bounds import differentiable
    >>> c = torch.tensor(1.33, requires_grad=True)
    >>> differentiable.catoni_bound(torch.tensor(0.011), torch.tensor(164.0), 11377, 0.05 / 9, c).detach()
    tensor(0.0395, dtype=torch.float64)
    """
    size = _sample_size(n)
    # Theorem 2 has no constant; Theorem 3 pays one to hold for all C simultaneously.
    log_factor = 0.0 if constant is None else log_constant(size, constant).item()
    budget = _budget(divergence, log_factor, size, delta, validate_args)
    q, budget, c_ = broadcast(risk=as_double("risk", risk), budget=budget, c=as_double("c", c))
    if validate_args:
        check_interval("risk", q.detach(), 0.0, 1.0, advice="It is the mean of losses in [0, 1].")
        check_interval("c", c_.detach(), 0.0, open_low=True, open_high=True, advice="It weighs the risk.")
    return torch.expm1(-(c_ * q + budget)) / torch.expm1(-c_)


def _sample_size(n: int) -> Tensor:
    size = check_sample_size(n)
    if size.ndim:
        raise ShapeError(f"n must be one number for all replicas, got shape {tuple(size.shape)}.")
    return size


def _one_delta(delta: float) -> float:
    share = check_delta(delta)
    if share.numel() != 1:
        raise ShapeError(f"delta must be one number, or a tensor of them, got shape {tuple(share.shape)}.")
    return share.item()


def _budget(
    divergence: Tensor, log_factor: float, n: Tensor, delta: float | Tensor, validate_args: bool
) -> Tensor:
    """Return (K + ln(factor / delta)) / n."""
    k = as_double("divergence", divergence)
    if validate_args:
        check_interval("divergence", k.detach(), 0.0, advice="A KL divergence is never negative.")
    if not isinstance(delta, Tensor):
        return (k + (log_factor - math.log(_one_delta(delta)))) / n.item()
    log_delta = torch.log(check_delta(delta) if validate_args else delta.double()).to(k.device)
    k, log_delta = broadcast(divergence=k, delta=log_delta)
    return (k + log_factor - log_delta) / n.item()


def _kl_inverse(name: str, q: Tensor, budget: Tensor, upper: bool, validate_args: bool) -> Tensor:
    arguments = {name: as_double(name, q), "budget": as_double("budget", budget)}
    q_, c = broadcast(**arguments)
    if validate_args:
        check_interval(name, q_.detach(), 0.0, 1.0, advice="It is a probability.")
        check_interval("budget", c.detach(), 0.0, open_low=True, advice="At 0 the slope is infinite.")
    root: Tensor = _KLInverse.apply(q_, c, upper)
    return root


class _KLInverse(torch.autograd.Function):
    """p(q, c) with kl(q || p) = c; dp/dc = 1 / kl_p and dp/dq = -kl_q / kl_p."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, c: Tensor, upper: bool) -> Tensor:
        p = _newton(q, c, upper)
        ctx.save_for_backward(q, p)
        return p

    @staticmethod
    @first_order_only
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None]:
        q, p = ctx.saved_tensors
        (grad,) = grad_outputs
        inverse_slope = _inverse_slope(q, p)
        inner_q = q.clamp(SLOPE_BORDER, 1.0 - SLOPE_BORDER)
        inner_p = p.clamp(SLOPE_BORDER, 1.0 - SLOPE_BORDER)
        dp_dq = (torch.logit(inner_p) - torch.logit(inner_q)) * inverse_slope
        # Where p equals q (an empty budget, or q at the end of the interval), p moves with q.
        dp_dq = torch.where(p == q, 1.0, dp_dq)
        return grad * dp_dq, grad * inverse_slope, None


def _inverse_slope(q: Tensor, p: Tensor) -> Tensor:
    """Return 1 / (d kl / dp) = p (1-p) / (p-q), and 0 where p equals q."""
    gap = torch.where(p == q, 1.0, p - q)
    return torch.where(p == q, 0.0, p * (1.0 - p) / gap)


def _newton(q: Tensor, c: Tensor, upper: bool) -> Tensor:
    """Solve kl(q || p) = c for p on one side of q."""
    c = c.clamp_max(LARGEST_BUDGET)
    low, high = (q, torch.ones_like(q)) if upper else (torch.zeros_like(q), q)
    p = _outer_start(q, c) if upper else 1.0 - _outer_start(1.0 - q, c)
    if not upper:
        p = torch.maximum(p, torch.exp(-(c + _entropy(q)) / q))  # keeps its digits near 0
    for _ in range(NEWTON_STEPS):
        inside = p.clamp(SMALLEST_NORMAL, LARGEST_BELOW_ONE)
        p = inside - (kl_tensor(q, inside) - c) * _inverse_slope(q, inside)
        p = torch.minimum(torch.maximum(p, low), high)
    end = high if upper else low
    return torch.where((q == end) | (c == LARGEST_BUDGET), end, p)


def _outer_start(q: Tensor, c: Tensor) -> Tensor:
    """Return the smallest of four elementary upper bounds on the upper inverse.

    From kl >= 2 (p-q)^2, kl >= (p-q)^2 / (2p), kl >= (p-q)^2 / (2 (1-q)) and
    kl >= -(1-q) ln(1-p) - entropy(q).
    """
    bounds = torch.stack(
        [
            q + torch.sqrt(c / 2.0),
            q + c + torch.sqrt(c * c + 2.0 * q * c),
            q + torch.sqrt(2.0 * (1.0 - q) * c),
            -torch.expm1(-(c + _entropy(q)) / (1.0 - q)),
        ]
    )
    return bounds.amin(dim=0).clamp_max(1.0)


def _entropy(q: Tensor) -> Tensor:
    return -torch.xlogy(q, q) - torch.xlogy(1.0 - q, 1.0 - q)
