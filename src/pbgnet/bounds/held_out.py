"""Bounds for a predictor fixed before the held-out examples were seen; rounded outward.

They need no prior and no divergence, and every PAC-Bayes bound is measured against them.

References
----------
Clopper and Pearson (1934); Langford (2005), "Tutorial on practical prediction theory for
classification"; Hoeffding (1963) for losses in [0, 1].
"""

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy import special
from torch import Tensor

from pbgnet.bounds.confidence import check_delta, check_sample_size
from pbgnet.bounds.kl import SMALLEST_BUDGET, FloatOrArray, kl_inverse_upper
from pbgnet.bounds.outward import ARITHMETIC_ERROR, bisect_doubles
from pbgnet.exceptions import DomainError
from pbgnet.validation import as_float64, broadcast, check_interval

# Relative error allowed for the incomplete beta function (measured against mpmath: below 1e-11).
BETA_RELATIVE_ERROR = 1e-9

# Below this probability the function loses its digits. Nothing is claimed there, and the bound is 1.
SMALLEST_DELTA = 1e-306


def clopper_pearson_bound(
    n_errors: ArrayLike | Tensor, n: ArrayLike | Tensor, delta: ArrayLike | Tensor
) -> FloatOrArray:
    """Exact upper confidence limit of an error rate, from a count of errors.

    The largest p for which at most `n_errors` errors in n independent trials still have
    probability delta. Exact for 0/1 losses; for other losses in [0, 1] use `chernoff_bound`.

    Parameters
    ----------
    n_errors : array_like of int, shape (...)
        Number of errors, between 0 and n.
    n : array_like of int, shape (...)
        Number of held-out examples.
    delta : array_like, shape (...)
        Probability in (0, 1) that the bound may fail.

    Examples
    --------
    >>> from pbgnet.bounds import clopper_pearson_bound
    >>> round(float(clopper_pearson_bound(0, 100, 0.05)), 6)  # 1 - 0.05 ** (1 / 100)
    0.029513
    """
    k, n_, delta_ = broadcast(
        n_errors=as_float64("n_errors", n_errors), n=check_sample_size(n), delta=check_delta(delta)
    )
    check_interval("n_errors", k, 0.0, advice="It counts errors.")
    if bool((k > n_).any()) or bool((k != k.floor()).any()):
        raise DomainError("n_errors must be whole numbers between 0 and n. Pass the count, not the rate.")

    possible = (k < n_) & (delta_ >= SMALLEST_DELTA)

    def certify(p: Tensor) -> Tensor:
        probability: Tensor = torch.as_tensor(count_probability(k.numpy(), n_.numpy(), p.numpy()))
        certified: Tensor = possible & (probability <= delta_)
        return certified

    value: FloatOrArray = bisect_doubles(k / n_, torch.ones_like(k), certify).numpy()[()]
    return value


def count_probability(n_errors: ArrayLike, n: ArrayLike, rate: ArrayLike) -> NDArray[np.float64]:
    """Return the probability of at most `n_errors` errors in n trials of error rate `rate`, rounded up.

    `clopper_pearson_bound` finds where it falls to delta. It decreases with n, and n need not be a whole
    number here, which helps a search for n. Nothing is checked.

    Examples
    --------
    >>> from pbgnet.bounds import count_probability
    >>> round(float(count_probability(0, 100, 0.03)), 6)  # 0.97 ** 100
    0.047553
    """
    k, trials = np.asarray(n_errors, dtype=np.float64), np.asarray(n, dtype=np.float64)
    # A complemented incomplete beta function; for k = n it is the constant 1.
    below = special.betaincc(k + 1.0, np.where(k < trials, trials - k, 1.0), rate)
    return np.asarray(np.where(k < trials, below * (1.0 + BETA_RELATIVE_ERROR), 1.0))


def chernoff_bound(
    risk: ArrayLike | Tensor, n: ArrayLike | Tensor, delta: ArrayLike | Tensor
) -> FloatOrArray:
    """Upper confidence limit of a risk, from the mean of n losses in [0, 1].

    The largest p with `kl(risk || p) <= ln(1 / delta) / n`.

    Parameters
    ----------
    risk : array_like, shape (...)
        Mean of the losses.
    n : array_like of int, shape (...)
        Number of held-out examples.
    delta : array_like, shape (...)
        Probability in (0, 1) that the bound may fail.

    Examples
    --------
    >>> from pbgnet.bounds import chernoff_bound
    >>> round(float(chernoff_bound(0.0, 100, 0.05)), 6)
    0.029513
    """
    q = as_float64("risk", risk)
    check_interval("risk", q, 0.0, 1.0, advice="It is the mean of losses in [0, 1].")
    q, n_, delta_ = broadcast(risk=q, n=check_sample_size(n), delta=check_delta(delta))
    budget = -torch.log(delta_) / n_ * (1.0 + ARITHMETIC_ERROR)
    return kl_inverse_upper(q, budget.clamp_min(SMALLEST_BUDGET))
