"""The binary relative entropy and its inverses, rounded outward.

`kl(q || p) = q ln(q/p) + (1-q) ln((1-q)/(1-p))` is the divergence between Bernoulli distributions with means
q and p (paper, below Eq. 2). A bound on a risk is the largest p that keeps it below a budget, so an inverse
that is too small by one unit in the last place is no longer a bound.

References
----------
Letarte, Germain, Guedj, Laviolette (2019), Theorem 1.
"""

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from pbgnet.bounds.outward import bisect_doubles
from pbgnet.validation import as_float64, broadcast, check_interval

FloatOrArray = np.float64 | NDArray[np.float64]

# Proved relative error of `kl_tensor` in float64: see `_bregman_term`, whose worst case is below
# 40 units in the last place at the border of its two branches.
KL_RELATIVE_ERROR = 2.0**-45

# Below this budget, products of the formula could become subnormal and lose their relative
# accuracy. Raising a smaller budget to it only moves the root outward.
SMALLEST_BUDGET = 2.0**-960

# Where `_bregman_term` switches between the series and the logarithm, and the number of terms that brings the
# series below 2**-58 there (its ratio is at most 0.0312).
SERIES_BORDER = 0.3
SERIES_TERMS = 11


def _bregman_term(a: Tensor, b: Tensor, difference: Tensor) -> Tensor:
    """Return `a ln(a/b) - a + b >= 0` with a small relative error, given `difference = b - a`.

    With x = (b-a)/a it equals a (x - log1p(x)). For small x the two terms cancel, so a series is used: with s
    = x/(2+x), `x - log1p(x) = x s - 2 s^3 (1/3 + s^2/5 + s^4/7 + ...)`.
    """
    x = difference / a
    s = x / (2.0 + x)
    square = s * s
    tail = torch.full_like(s, 1.0 / (2 * SERIES_TERMS + 1))
    for j in range(SERIES_TERMS - 1, 0, -1):
        tail = tail * square + 1.0 / (2 * j + 1)
    near = a * (x * s - 2.0 * s * square * tail)

    ratio = b / a
    safe_ratio = (ratio > 1e-290) & (ratio < 1e290)
    log_ratio = torch.where(safe_ratio, torch.log(ratio), torch.log(b) - torch.log(a))
    far = difference - a * log_ratio
    # a = 0 has its own limit, b; the branches above are 0/0 there.
    return torch.where(a == 0, b, torch.where(x.abs() <= SERIES_BORDER, near, far))


def kl_tensor(q: Tensor, p: Tensor) -> Tensor:
    """Binary relative entropy of float64 tensors, without checks; relative error 2**-45.

    The linear parts of the two terms cancel, which leaves a sum of two non-negative terms. So nothing
    cancels, however close q and p are.
    """
    d = p - q
    return _bregman_term(q, p, d) + _bregman_term(1.0 - q, 1.0 - p, -d)


def binary_kl(q: ArrayLike | Tensor, p: ArrayLike | Tensor) -> FloatOrArray:
    """Relative entropy kl(q || p) between Bernoulli distributions, with relative error at most 2**-45.

    Parameters
    ----------
    q, p : array_like, shape (...)
        Probabilities in [0, 1]; shapes broadcast.

    Returns
    -------
    float64 or ndarray
        In [0, inf]: infinite where p is 0 or 1 and q is not.

    Examples
    --------
    >>> from pbgnet.bounds import binary_kl
    >>> float(binary_kl(0.0, 0.5))  # ln 2
    0.693147180559945...
    >>> float(binary_kl(0.25, 0.25))
    0.0
    >>> float(binary_kl(0.25, 0.0))
    inf
    """
    q_, p_ = broadcast(q=as_float64("q", q), p=as_float64("p", p))
    check_interval("q", q_, 0.0, 1.0, advice="It is a probability.")
    check_interval("p", p_, 0.0, 1.0, advice="It is a probability.")
    return _numpy(kl_tensor(q_, p_))


def kl_inverse_upper(q: ArrayLike | Tensor, budget: ArrayLike | Tensor) -> FloatOrArray:
    """Return a double at or just above `sup {p : kl(q || p) <= budget}`, never below it.

    Parameters
    ----------
    q : array_like, shape (...)
        Probabilities in [0, 1].
    budget : array_like, shape (...)
        Budgets in [0, inf]; shapes broadcast.

    Notes
    -----
    The result is the smallest double whose relative entropy, minus its proved rounding error, is at least the
    budget: a few units in the last place above the root.

    Examples
    --------
    >>> from pbgnet.bounds import kl_inverse_upper
    >>> round(float(kl_inverse_upper(0.0, 0.1)), 12)  # 1 - exp(-0.1)
    0.095162581964
    >>> kl_inverse_upper([0.1, 1.0], 0.05).round(6)
    array([0.220079, 1.      ])
    """
    q_, c = _check_inverse_arguments(q, budget)
    return _numpy(_kl_inverse(q_, c, torch.ones_like(q_)))


def kl_inverse_lower(q: ArrayLike | Tensor, budget: ArrayLike | Tensor) -> FloatOrArray:
    """Return a double at or just below `inf {p : kl(q || p) <= budget}`, never above it.

    The mirror image of `kl_inverse_upper`; same parameters.

    Examples
    --------
    >>> from pbgnet.bounds import kl_inverse_lower
    >>> round(float(kl_inverse_lower(1.0, 0.1)), 12)  # exp(-0.1)
    0.904837418036
    """
    q_, c = _check_inverse_arguments(q, budget)
    return _numpy(_kl_inverse(q_, c, torch.zeros_like(q_)))


def _check_inverse_arguments(q: ArrayLike | Tensor, budget: ArrayLike | Tensor) -> tuple[Tensor, Tensor]:
    q_, c = broadcast(q=as_float64("q", q), budget=as_float64("budget", budget))
    check_interval("q", q_, 0.0, 1.0, advice="It is a probability.")
    check_interval("budget", c, 0.0, advice="It is a divergence per example.")
    return q_, c


def _kl_inverse(q: Tensor, c: Tensor, trivial: Tensor) -> Tensor:
    """Search between q and the trivial answer (1 from above, 0 from below)."""
    floor = c.clamp_min(SMALLEST_BUDGET)
    found = bisect_doubles(q, trivial, lambda p: kl_tensor(q, p) * (1.0 - KL_RELATIVE_ERROR) >= floor)
    return torch.where((c == 0) | (q == trivial), q, found)


def _numpy(value: Tensor) -> FloatOrArray:
    """Return a NumPy scalar for a 0-d tensor, else an array."""
    result: FloatOrArray = value.numpy()[()]
    return result
