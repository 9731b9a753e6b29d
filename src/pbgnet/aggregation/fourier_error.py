"""How far the truncated Fourier sum can be from the exact layer, and which nodes keep it close.

The derivation and proofs are in ``docs/theory/aggregation.md``; names follow its letters. With
`a = w / sqrt(d)` the neuron is `E sgn(X)`, `X = a . s + e`, `e ~ N(0, 1)`, and for a step h and
K nodes

    |sum - exact| <= 2 max(P(X >= 2 pi / h), P(X <= -2 pi / h)) + E1((K h)^2 / 2) / pi.
"""

import functools
import math

import numpy as np
import torch
from scipy import optimize, special
from torch import Tensor

from pbgnet.aggregation.base import check_layer, one_replica_axis
from pbgnet.exceptions import DomainError, ShapeError
from pbgnet.kernels import FourierNodes, find_kernel, nodes_of_reach
from pbgnet.validation import as_double, as_float64, check_interval, check_tensor, positive_int, positive_real

# Room for the rounding of the error bounds themselves.
SLACK = 1.0 + 1e-9

SMALLEST_TOLERANCE = 1e-100

# Weights that need more nodes than this are useless for learning and would exhaust the memory. If values are
# not checked, the number is cut much earlier, so that a diverging replica does not hold up the others.
MAX_NODES = 1 << 16
MAX_NODES_UNCHECKED = 1 << 12


def fourier_error_bound(
    weight: Tensor, step: float | Tensor, n_nodes: int | Tensor, mean: Tensor | None = None
) -> Tensor:
    r"""Proved bound on the truncation error of the Fourier sum, per neuron.

    .. math:: |\hat F - F| \le 2\,Q(2\pi/h - A) + \frac1\pi E_1\left((Kh)^2/2\right)

    with :math:`A = \|a\|_1`. It holds for all means. If the means are given, the first term may be replaced
    by the sub-Gaussian tail of X around its own mean, and the smaller one counts. The same bound holds for
    the derivative with respect to every mean.

    Parameters
    ----------
    weight : Tensor, shape (..., m, d)
    step : float or Tensor, shape (...)
        The distance h > 0 between nodes; one per replica, or one for all.
    n_nodes : int or Tensor, shape (...)
        The number K >= 1 of nodes; one per replica, or one for all.
    mean : Tensor, shape (..., n, d), optional
        Means of the signs for which the bound must hold.

    Returns
    -------
    Tensor, float64, shape (..., m)

    Examples
    --------
    >>> import math, torch
    >>> from pbgnet.aggregation import fourier_error_bound
    >>> weight = torch.ones(1, 4, dtype=torch.float64)  # A = 2
    >>> bounds = [float(fourier_error_bound(weight, 2 * math.pi / (2 + z), 15)) for z in (4, 5, 6)]
    >>> print(*(f"{bound:.0e}" for bound in bounds))
    6e-05 6e-07 2e-09
    """
    check_layer(weight)
    h = as_float64("step", step).to(weight.device)
    check_interval("step", h, 0.0, open_low=True, open_high=True, advice="It is the distance between nodes.")
    K: int | Tensor = (
        as_double("n_nodes", n_nodes).detach()
        if isinstance(n_nodes, Tensor)
        else positive_int("n_nodes", n_nodes)
    )
    r = (2 * math.pi / h).unsqueeze(-1)  # shape: (..., 1), against one entry per neuron
    spread = _spread(weight)
    outside = _normal_tail(r - spread)
    if mean is not None:
        centre, scale = _centre_and_scale(weight, mean)
        outside = torch.minimum(outside, torch.exp(-((r - centre).clamp_min(0) / scale).square() / 2))
    tail = _exponential_integral((K * h).square() / 2).unsqueeze(-1) / math.pi
    return (2 * outside + tail) * SLACK


def fourier_rounding_bound(weight: Tensor, nodes: FourierNodes) -> Tensor:
    """Bound the rounding error of the Fourier sum in the precision of `weight`, per neuron.

    Each of the d factors carries at most `6 |a_i| t + 5` units from its angle and its cosine and sine, each
    product adds 3, and the weighted sum its own (``docs/theory/aggregation.md``).

    Returns
    -------
    Tensor, float64, shape (..., m)
    """
    check_layer(weight)
    unit = torch.finfo(weight.dtype).eps / 2
    t, c = nodes.positions(), nodes.coefficients()
    by_spread = 6 * (c * t).sum(dim=-1)
    fixed = c * (4 * t.square() + 10 * weight.shape[-1] + nodes.count.unsqueeze(-1) + 8)
    fixed = fixed.sum(dim=-1)
    return unit * (by_spread.unsqueeze(-1) * _spread(weight) + fixed.unsqueeze(-1)) * SLACK


def choose_nodes(
    weight: Tensor,
    tolerance: float,
    mean: Tensor | None = None,
    *,
    validate_args: bool = True,
    limit: int | None = None,
) -> FourierNodes:
    """Choose step and number of nodes so that `fourier_error_bound` stays below the tolerance.

    Parameters
    ----------
    weight : Tensor, shape (..., m, d)
        The neurons share their nodes within a replica; the neuron with the widest range decides.
    tolerance : float
        Largest truncation error, positive.
    mean : Tensor, shape (..., n, d), optional
        Use these means too: fewer nodes for wide layers, valid only for these means.
    validate_args : bool, default=True
        Raise an error for weights that would need too many nodes, which on a GPU waits for the device.
        Otherwise the number of nodes is cut for such weights only.
    limit : int, optional
        Where to cut it.

    Returns
    -------
    FourierNodes

    Examples
    --------
    >>> import torch
    >>> from pbgnet.aggregation import choose_nodes, fourier_error_bound
    >>> weight = torch.ones(1, 100, dtype=torch.float64)
    >>> nodes = choose_nodes(weight, 1e-6)
    >>> nodes.count, bool(fourier_error_bound(weight, nodes.step, nodes.count) <= 1e-6)
    (tensor(12), True)
    """
    z = _deviation(check_tolerance(tolerance))
    check_tensor("weight", weight)
    if weight.ndim < 2:
        raise ShapeError(f"weight must have shape (..., m, d), got {tuple(weight.shape)}.")
    if limit is None:
        limit = MAX_NODES if validate_args else MAX_NODES_UNCHECKED
    positive_int("limit", limit)
    if mean is None or 0 in weight.shape:
        kernel = find_kernel("fourier", weight.device)
        found: FourierNodes = kernel.nodes_for(one_replica_axis(weight.detach()), z, limit)
        nodes = found if weight.ndim == 3 else found.reshape(weight.shape[:-2])
    else:
        centre, scale = _centre_and_scale(weight, mean)
        around = centre + scale * math.sqrt(-2 * math.log(_normal_tail_scalar(z)))
        nodes = nodes_of_reach(torch.minimum(_spread(weight) + z, around).amax(dim=-1), z, limit)
    if validate_args and not bool((nodes.count < MAX_NODES).all()):
        raise DomainError(
            f"Weights with a spread of {float(2 * math.pi / nodes.step.min()):.3g} would need "
            f"more than {MAX_NODES} Fourier nodes. Such neurons are step functions; the learning "
            "rate is probably too high."
        )
    return nodes


def check_tolerance(tolerance: object) -> float:
    """Return a tolerance as a float, if double precision can distinguish it from 0."""
    value = positive_real("tolerance", tolerance)
    if value < SMALLEST_TOLERANCE:
        raise DomainError(
            f"tolerance must be at least {SMALLEST_TOLERANCE:g}, got {value:g}; rounding errors "
            "are far larger than that."
        )
    return value


@functools.lru_cache(maxsize=256)
def _deviation(tolerance: float) -> float:
    """Return the z at which 2 Q(z) + E1(z^2 / 2) / pi reaches the tolerance, rounded up."""

    def excess(z: float) -> float:
        return 2 * _normal_tail_scalar(z) + float(special.exp1(z * z / 2)) / math.pi - tolerance / SLACK**2

    if excess(1e-3) <= 0:  # a tolerance above any possible error
        return 1e-3
    root = float(optimize.brentq(excess, 1e-3, 38.0))
    return root * (1 + 1e-9)


def _spread(weight: Tensor) -> Tensor:
    """A = |a|_1, float64, shape (..., m)."""
    return weight.detach().double().abs().sum(dim=-1) / math.sqrt(weight.shape[-1])


def _centre_and_scale(weight: Tensor, mean: Tensor) -> tuple[Tensor, Tensor]:
    """Largest |E X| over the examples, and the sub-Gaussian scale of X - E X; shape (..., m) each."""
    if not isinstance(mean, Tensor) or mean.ndim < 2 or mean.shape[-1] != weight.shape[-1]:
        shape = tuple(mean.shape) if isinstance(mean, Tensor) else type(mean).__name__
        raise ShapeError(f"mean must have shape (..., n, {weight.shape[-1]}), got {shape}.")
    check_tensor("mean", mean)
    check_interval("mean", mean.detach(), -1.0, 1.0, advice="Its entries are means of signs.")
    a = weight.detach().double() / math.sqrt(weight.shape[-1])
    centres = (mean.detach().double() @ a.mT).abs()
    centre = centres.amax(dim=-2) if centres.shape[-2] else a.new_zeros(())
    return centre, torch.sqrt(1 + a.square().sum(dim=-1))


def _normal_tail(x: Tensor) -> Tensor:
    """Q(x) = P(N(0, 1) >= x)."""
    return torch.erfc(x / math.sqrt(2)) / 2


def _normal_tail_scalar(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


def _exponential_integral(x: Tensor) -> Tensor:
    """E1 through SciPy, since PyTorch has none."""
    return torch.as_tensor(np.asarray(special.exp1(x.cpu().numpy())), device=x.device)
