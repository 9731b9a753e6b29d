"""Catoni's bound averaged over several C, rounded outward: a kl theorem without its sqrt(n).

For one C the deviation `exp(n [-ln(1 - p (1 - exp(-C))) - C risk])` has mean at most 1, and so does every
average of such terms. Instead of the constant xi(n) of `seeger_bound`, the average pays for not knowing the
best C. Proof: docs/theory/certificates.md, section 2.

References
----------
Letarte et al. (2019), Theorem 2; Catoni (2007), "PAC-Bayesian supervised classification".
"""

import math

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from pbgnet.bounds.kl import FloatOrArray, kl_inverse_upper
from pbgnet.bounds.outward import ARITHMETIC_ERROR, bisect_doubles
from pbgnet.bounds.pac_bayes import check_bound_arguments
from pbgnet.exceptions import DomainError, ShapeError
from pbgnet.validation import as_float64, check_interval, positive_int, positive_real

# Number of C, and the factor between the best C expected and the two ends of the grid. Measured over 107
# simulated settings, against the best single C: 1.0 % is lost if risk and divergence were estimated
# correctly, and 2.1 % if both are wrong by a factor of 2; `seeger_bound` loses 11 %. More points change
# nothing; a wider grid pays off if estimates are wrong by a factor of 4 or more
# (docs/theory/certificates.md).
GRID_SIZE = 5
GRID_FACTOR = 1.5

# If the best C is 0 or infinite (almost no budget, or a risk of 0), the grid ends here.
SMALLEST_C, LARGEST_C = 1e-6, 30.0

# How far the sum of the weights may be from 1. They are then divided by their sum.
WEIGHT_TOLERANCE = 1e-9

FIXED_GRID = tuple(2.0**k for k in range(-6, 4))
"""Trade-offs C of the mixture if there are no prior rows to choose them on. They are part of the certificate
format: `verify` accepts no others.
"""


def catoni_mixture_bound(
    risk: ArrayLike | Tensor,
    divergence: ArrayLike | Tensor,
    n: ArrayLike | Tensor,
    delta: ArrayLike | Tensor,
    c: ArrayLike | Tensor,
    weights: ArrayLike | Tensor | None = None,
) -> FloatOrArray:
    r"""Catoni's bound for several C at once, fixed before the certified examples were seen.

    The largest p with

    .. math:: \sum_j w_j \exp\bigl(n [-\ln(1 - p (1 - e^{-C_j})) - C_j \hat L]\bigr) \le e^K / \delta.

    With probability at least 1 - delta over the n examples it holds for all posteriors simultaneously.

    Parameters
    ----------
    risk, divergence, n, delta
        As in `seeger_bound`; shapes broadcast.
    c : array_like, shape (J,)
        Positive trade-offs C, chosen without the certified examples; `catoni_grid` proposes some.
    weights : array_like, shape (J,), optional
        Positive, with sum 1, and also chosen without the certified examples. Uniform by default.

    Returns
    -------
    float64 or ndarray
        In [risk, 1]. A bound of 1 says nothing.

    Notes
    -----
    It is between the best of the J bounds `catoni_bound(..., c=C_j)` at delta, which would require knowing
    the best C, and the best of them at `w_j delta`, a union bound.

    Examples
    --------
    >>> from pbgnet.bounds import catoni_mixture_bound, seeger_bound
    >>> round(float(catoni_mixture_bound(0.004, 1.5, n=5000, delta=0.05, c=[0.3, 0.6, 1.2])), 5)
    0.00766
    >>> round(float(seeger_bound(0.004, 1.5, n=5000, delta=0.05, constant="maurer")), 5)
    0.00905
    """
    q, k, n_, delta_ = check_bound_arguments(risk, divergence, n, delta)
    c_, log_weights = _check_grid(c, weights)
    result: FloatOrArray = mixture_root(q, k, n_, delta_, c_, log_weights).numpy()[()]
    return result


def catoni_grid(
    risk: float,
    divergence: float,
    n: int,
    delta: float,
    size: int = GRID_SIZE,
    factor: float = GRID_FACTOR,
) -> NDArray[np.float64]:
    """Return a geometric grid of C for `catoni_mixture_bound`, around the best C expected.

    The best C for a risk q and a bound p is `ln(p (1-q) / (q (1-p)))` (paper, Lemma 4 with its sign
    corrected). The grid goes from the best C divided by `factor` to the best C times `factor`.

    Parameters
    ----------
    risk, divergence : float
        What is expected on the certified examples, **estimated without them**: on prior rows.
    n : int
        Number of examples that will be certified.
    delta : float
        Probability that the bound may fail.
    size : int, default=5
        Number of C.
    factor : float, default=1.5
        At least 1. The default suits estimates wrong by up to a factor of 2; use 2 or 3 for worse ones.

    Returns
    -------
    ndarray, shape (size,)
        Increasing, positive.

    Examples
    --------
    >>> from pbgnet.bounds import catoni_grid
    >>> catoni_grid(0.004, 1.5, n=5000, delta=0.05, size=3).round(3)
    array([0.42 , 0.63 , 0.945])
    """
    q, k, n_, delta_ = check_bound_arguments(risk, divergence, n, delta)
    if q.ndim:
        raise ShapeError(f"A grid is made for one risk, divergence, n and delta; got shape {tuple(q.shape)}.")
    ratio = positive_real("factor", factor)
    if ratio < 1.0:
        raise DomainError(
            f"factor must be at least 1, got {factor!r}. It says how far the grid extends in both directions."
        )
    return np.asarray(grids(q, k, n_, delta_, positive_int("size", size, LARGEST_GRID), ratio).numpy())


LARGEST_GRID = 10**6
"""Most parameters of a mixture; more would gain nothing."""


def grids(
    q: Tensor, k: Tensor, n: Tensor, delta: Tensor, size: int = GRID_SIZE, factor: float = GRID_FACTOR
) -> Tensor:
    """Return one grid for each entry of float64 tensors that are already checked, shape (..., size)."""
    # Add half an error: without any error the best C would be infinite.
    q = (n * q + 0.5) / (n + 1.0)
    # The mixture pays less than ln(size) for not knowing the best C; the square root accounts for that.
    p = torch.as_tensor(kl_inverse_upper(q, (k - torch.log(delta) + math.log(size) / 2.0) / n))
    best = (torch.logit(p) - torch.logit(q)).clamp(SMALLEST_C, LARGEST_C)
    exponents = (2.0 * torch.arange(size, dtype=torch.float64) - (size - 1)) / max(1, size - 1)  # -1 to 1
    return best[..., None] * factor**exponents


def _check_grid(c: ArrayLike | Tensor, weights: ArrayLike | Tensor | None) -> tuple[Tensor, Tensor]:
    """Return C and the logarithms of the weights, both float64 of shape (J,)."""
    c_ = as_float64("c", c)
    if c_.ndim > 1 or c_.numel() == 0:
        raise ShapeError(f"c must be a list of at least one trade-off, got shape {tuple(c_.shape)}.")
    c_ = c_.reshape(-1)
    check_interval("c", c_, 0.0, open_low=True, open_high=True, advice="It weighs the risk.")
    return c_, log_of_weights(weights, c_.numel(), "C")


def log_of_weights(weights: ArrayLike | Tensor | None, count: int, what: str) -> Tensor:
    """Return the logarithms of the weights of a mixture, float64 of shape (count,); uniform by default."""
    if weights is None:
        return torch.full((count,), -math.log(count), dtype=torch.float64)
    w = as_float64("weights", weights)
    if w.numel() != count or w.ndim > 1:
        raise ShapeError(
            f"weights must have one entry for each of the {count} {what}, got shape {tuple(w.shape)}."
        )
    check_interval("weights", w, 0.0, open_low=True, open_high=True, advice="Leave out entries of weight 0.")
    total = math.fsum(w.reshape(-1).tolist())
    if abs(total - 1.0) > WEIGHT_TOLERANCE:
        raise DomainError(f"weights must sum to 1, got {total!r}. Divide them by their sum.")
    return torch.log(w.reshape(-1)) - math.log(total)


def mixture_root(q: Tensor, k: Tensor, n: Tensor, delta: Tensor, c: Tensor, log_weights: Tensor) -> Tensor:
    """Return the root of the mixture, rounded up, for float64 tensors that are already checked.

    Parameters
    ----------
    q, k, n, delta : Tensor, shape (...)
    c : Tensor, shape (J,) or (..., J)
    log_weights : Tensor, shape (J,)

    Notes
    -----
    A candidate p is above the root if the logarithm of the sum, minus its rounding error, is at least the
    budget. With `x_j = p (1 - exp(-C_j))`, both `-ln(1 - x_j)` and `C_j L` are accurate to a few units, so
    the error of their difference is at most `ARITHMETIC_ERROR` times their *sum*. The logarithm of the sum of
    J exponentials adds less than `ARITHMETIC_ERROR` times J plus the largest exponent. Subnormal products may
    lose 2**-1075 each; even for 2**1024 examples that is less than a unit.
    """
    budget = (k - torch.log(delta)) * (1.0 + ARITHMETIC_ERROR)
    size = n[..., None]
    cost = c * q[..., None]
    share, rest = -torch.expm1(-c), torch.exp(-c)

    def certify(p: Tensor) -> Tensor:
        p_ = p[..., None]
        x = p_ * share
        # Near 1 the two terms of (1 - p) + p exp(-C) are positive, so nothing cancels.
        gain = -torch.where(x < 0.5, torch.log1p(-x), torch.log((1.0 - p_) + p_ * rest))
        error = ARITHMETIC_ERROR * (size * (gain + cost) + log_weights.abs())
        exponent = size * (gain - cost) + log_weights - error
        total = torch.logsumexp(exponent, dim=-1)  # NaN after an overflow, which certifies nothing
        certified: Tensor = total - ARITHMETIC_ERROR * (total.abs() + c.shape[-1]) >= budget
        return certified

    return bisect_doubles(q, torch.ones_like(q), certify)
