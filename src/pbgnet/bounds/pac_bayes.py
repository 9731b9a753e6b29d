"""PAC-Bayes bounds on the risk of an aggregated predictor, in float64, rounded outward.

In each, `risk` is the empirical risk of the aggregate on the n certified examples (plus the
proved numerical error of its computation), and `divergence` is KL(posterior || prior).

References
----------
Letarte et al. (2019): Theorem 1 (Eq. 2), Theorem 2 (Eq. 3), Theorem 3 (Eqs. 18 and 19).
McAllester (2003), "PAC-Bayesian stochastic model selection".
"""

from dataclasses import dataclass

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from pbgnet.bounds.confidence import check_delta, check_sample_size, log_constant
from pbgnet.bounds.kl import SMALLEST_BUDGET, FloatOrArray, kl_inverse_upper
from pbgnet.bounds.outward import ARITHMETIC_ERROR
from pbgnet.validation import as_float64, broadcast, check_interval

# Catoni's bound holds for any C, so C* may be rounded; this keeps it away from 0/0.
SMALLEST_C = 2.0**-40


def seeger_bound(
    risk: ArrayLike | Tensor,
    divergence: ArrayLike | Tensor,
    n: ArrayLike | Tensor,
    delta: ArrayLike | Tensor,
    constant: str = "paper",
) -> FloatOrArray:
    """Bound of Seeger and Maurer: the largest p with `kl(risk || p) <= (K + ln(xi / delta)) / n`.

    With probability at least 1 - delta over the n examples it holds for all posteriors simultaneously (paper,
    Eqs. 2 and 18).

    Parameters
    ----------
    risk : array_like, shape (...)
        Empirical risk in [0, 1].
    divergence : array_like, shape (...)
        KL(posterior || prior) in nats, in [0, inf].
    n : array_like of int, shape (...)
        Number of certified examples.
    delta : array_like, shape (...)
        Probability in (0, 1) that the bound may fail.
    constant : {"paper", "maurer"}, default="paper"
        `2 sqrt(n)` as in the paper, or the exact constant, which is tighter and equally valid.

    Returns
    -------
    float64 or ndarray
        In [risk, 1]. A bound of 1 says nothing.

    Examples
    --------
    >>> from pbgnet.bounds import seeger_bound
    >>> round(float(seeger_bound(0.011, 164.0, n=11377, delta=0.05 / 9)), 5)
    0.04015
    >>> round(float(seeger_bound(0.011, 164.0, n=11377, delta=0.05 / 9, constant="maurer")), 5)
    0.04009
    """
    q, k, n_, delta_ = check_bound_arguments(risk, divergence, n, delta)
    return kl_inverse_upper(q, _kl_budget(k, n_, delta_, constant))


def catoni_bound(
    risk: ArrayLike | Tensor,
    divergence: ArrayLike | Tensor,
    n: ArrayLike | Tensor,
    delta: ArrayLike | Tensor,
    c: ArrayLike | Tensor,
    constant: str | None = None,
) -> FloatOrArray:
    """Catoni's bound for a given C (paper, Eq. 3).

    Parameters
    ----------
    risk, divergence, n, delta
        As in `seeger_bound`.
    c : array_like, shape (...)
        The positive trade-off C between risk and divergence.
    constant : {None, "paper", "maurer"}, default=None
        None is Theorem 2: C was fixed before the certified examples were seen. With a constant the bound
        holds for all C simultaneously (Theorem 3), so C may be chosen or learned on them.

    Examples
    --------
    >>> from pbgnet.bounds import catoni_bound
    >>> round(float(catoni_bound(0.011, 164.0, n=11377, delta=0.05 / 9, c=1.33)), 4)
    0.0395
    """
    q, k, n_, delta_ = check_bound_arguments(risk, divergence, n, delta)
    c_ = as_float64("c", c)
    check_interval("c", c_, 0.0, open_low=True, open_high=True, advice="It weighs the risk.")
    # Theorem 2 has no constant; Theorem 3 pays one to hold for all C simultaneously.
    budget = _budget(k, n_, delta_) if constant is None else _kl_budget(k, n_, delta_, constant)
    q, budget, c_ = broadcast(risk=q, budget=budget, c=c_)
    value: FloatOrArray = _catoni(q, budget, c_).numpy()[()]
    return value


@dataclass(frozen=True)
class CatoniOptimum:
    """Catoni's bound at the C for which it is smallest.

    Attributes
    ----------
    bound : float64 or ndarray
        The value of the bound; equal to `seeger_bound` by Theorem 3.
    c : float64 or ndarray
        The minimiser; infinite where the risk is 0 or the bound is 1.
    """

    bound: FloatOrArray
    c: FloatOrArray


def catoni_optimal(
    risk: ArrayLike | Tensor,
    divergence: ArrayLike | Tensor,
    n: ArrayLike | Tensor,
    delta: ArrayLike | Tensor,
    constant: str = "paper",
) -> CatoniOptimum:
    """Minimise Catoni's bound over all C > 0 (paper, Eq. 19).

    Parameters are those of `seeger_bound`.

    Notes
    -----
    The minimiser is `C* = ln(p (1-q) / (q (1-p)))` with q the risk and p the value of the bound.
    (The paper's Lemma 4 prints it with the opposite sign.)

    Examples
    --------
    >>> from pbgnet.bounds import catoni_optimal
    >>> best = catoni_optimal(0.011, 164.0, n=11377, delta=0.05 / 9)
    >>> round(float(best.bound), 4), round(float(best.c), 2)
    (0.0401, 1.32)
    """
    q, k, n_, delta_ = check_bound_arguments(risk, divergence, n, delta)
    budget = _kl_budget(k, n_, delta_, constant)
    p = torch.as_tensor(kl_inverse_upper(q, budget), dtype=torch.float64)
    c = (torch.logit(p) - torch.logit(q)).clamp_min(SMALLEST_C)
    c = torch.where((q == 0) | (p == 1), torch.inf, c)
    return CatoniOptimum(bound=_catoni(q, budget, c).numpy()[()], c=c.numpy()[()])


def mcallester_bound(
    risk: ArrayLike | Tensor,
    divergence: ArrayLike | Tensor,
    n: ArrayLike | Tensor,
    delta: ArrayLike | Tensor,
    constant: str = "paper",
) -> FloatOrArray:
    """McAllester's bound `risk + sqrt((K + ln(xi / delta)) / (2 n))`, for comparison.

    It follows from `seeger_bound` by Pinsker's inequality and is never smaller. Parameters are
    those of `seeger_bound`.

    Examples
    --------
    >>> from pbgnet.bounds import mcallester_bound
    >>> round(float(mcallester_bound(0.011, 164.0, n=11377, delta=0.05 / 9)), 4)
    0.0986
    """
    q, k, n_, delta_ = check_bound_arguments(risk, divergence, n, delta)
    value = (q + torch.sqrt(_kl_budget(k, n_, delta_, constant) / 2.0)) * (1.0 + ARITHMETIC_ERROR)
    result: FloatOrArray = value.clamp_max(1.0).numpy()[()]
    return result


def check_bound_arguments(
    risk: ArrayLike | Tensor, divergence: ArrayLike | Tensor, n: ArrayLike | Tensor, delta: ArrayLike | Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the four arguments of every PAC-Bayes bound as float64 tensors of one shape."""
    q = as_float64("risk", risk)
    check_interval("risk", q, 0.0, 1.0, advice="It is the mean of losses in [0, 1].")
    k = as_float64("divergence", divergence)
    check_interval("divergence", k, 0.0, advice="A KL divergence is never negative.")
    q, k, n_, delta_ = broadcast(risk=q, divergence=k, n=check_sample_size(n), delta=check_delta(delta))
    return q, k, n_, delta_


def _kl_budget(k: Tensor, n: Tensor, delta: Tensor, constant: str) -> Tensor:
    """Return (K + ln(constant / delta)) / n rounded up."""
    return _budget(k + log_constant(n, constant), n, delta)


def _budget(k: Tensor, n: Tensor, delta: Tensor) -> Tensor:
    """Return (K + ln(1 / delta)) / n rounded up: both summands are non-negative."""
    return ((k - torch.log(delta)) / n * (1.0 + ARITHMETIC_ERROR)).clamp_min(SMALLEST_BUDGET)


def _catoni(q: Tensor, budget: Tensor, c: Tensor) -> Tensor:
    """(1 - exp(-C q - budget)) / (1 - exp(-C)) rounded up and cut at 1; C may be infinite."""
    exponent = torch.where(q == 0, 0.0, c * q) + budget
    value = torch.expm1(-exponent) / torch.expm1(-c)
    return (value * (1.0 + ARITHMETIC_ERROR)).clamp_max(1.0)
