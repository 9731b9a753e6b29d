"""What confidence costs: the constants of the kl theorem, and sharing delta between priors.

References
----------
Letarte et al. (2019), Theorem 1 and "Hyperparameter choices" of the appendix; Maurer (2004),
"A note on the PAC Bayesian theorem".
"""

import functools
import math
from enum import StrEnum
from itertools import pairwise
from numbers import Integral

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from pbgnet.bounds.long_sums import BLOCK, exact_sum_of_blocks
from pbgnet.bounds.outward import ARITHMETIC_ERROR
from pbgnet.exceptions import DomainError, DtypeError, ShapeError
from pbgnet.validation import as_float64, check_interval, check_name, positive_int

# Up to this n, xi(n) is summed term by term. Beyond, its closed-form upper bound is within a relative 4e-4 of
# it (the bound on the risk moves by less than 1e-10).
LARGEST_SUMMED_N = 10_000_000


class Constant(StrEnum):
    """The factor by which the kl theorem pays for the random sample."""

    PAPER = "paper"
    """`2 sqrt(n)`, as in the paper's Theorem 1."""

    MAURER = "maurer"
    """Maurer's exact sum xi(n), about `sqrt(pi n / 2)`: half a nat less, and equally valid."""


def check_delta(delta: ArrayLike | Tensor) -> Tensor:
    """Return delta as a float64 tensor in (0, 1)."""
    value = as_float64("delta", delta)
    check_interval(
        "delta",
        value,
        0.0,
        1.0,
        open_low=True,
        open_high=True,
        advice="It is the probability that the bound fails, such as 0.05 for 95 % confidence.",
    )
    return value


def check_sample_size(n: ArrayLike | Tensor) -> Tensor:
    """Return the number of examples as a float64 tensor of whole numbers >= 1."""
    value = as_float64("n", n)
    check_interval("n", value, 1.0, open_high=True, advice="It is the number of certified rows.")
    if bool((value != value.floor()).any()):
        raise DomainError(f"n must be a whole number of certified rows, got {n!r}.")
    return value


def check_count(name: str, value: object, largest: int, advice: str) -> int:
    """Return a whole number between 0 and `largest` as an int."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise DtypeError(f"{name} must be a whole number, got {value!r} of type {type(value).__name__}.")
    if not 0 <= int(value) <= largest:
        raise DomainError(f"{name} must lie between 0 and {largest}, got {value!r}. {advice}")
    return int(value)


def log_constant(n: Tensor, constant: str) -> Tensor:
    """Logarithm of the confidence constant for sample sizes `n` (a float64 tensor, already checked)."""
    name = Constant(check_name("constant", constant, [member.value for member in Constant]))
    if name is Constant.PAPER:
        return math.log(2.0) + 0.5 * torch.log(n)
    values = [maurer_xi(int(size)) for size in n.flatten().tolist()]
    return torch.tensor(values, dtype=torch.float64).reshape(n.shape).log()


def maurer_xi(n: int) -> float:
    """Maurer's constant `xi(n) = sum_k C(n,k) (k/n)^k (1-k/n)^(n-k)`, rounded up.

    It bounds `E exp(n kl(mean of n losses || true mean))` for independent losses in [0, 1], and
    lies between sqrt(n) and 2 sqrt(n).

    Notes
    -----
    Each term is a binomial probability at its own mean, where Stirling's formula with its
    remainder `r` reads `exp(r(n) - r(k) - r(n-k)) sqrt(n / (2 pi k (n-k)))`: no large logarithms
    are subtracted. For n above ten million it returns `2 + exp(1/(12 n)) sqrt(pi n / 2)`, an upper
    bound because r > 0 is below 1/(12 n) and the sum lies below its integral.

    Examples
    --------
    >>> from pbgnet.bounds import maurer_xi
    >>> round(maurer_xi(1), 12), round(maurer_xi(2), 12)
    (2.0, 2.5)
    """
    return _xi(positive_int("n", n))


@functools.lru_cache(maxsize=1024)
def _xi(n: int) -> float:
    if n > LARGEST_SUMMED_N:
        value = 2.0 + math.exp(1.0 / (12.0 * n)) * math.sqrt(math.pi / 2.0) * math.sqrt(n)
    else:
        edges = [*range(1, n, BLOCK), n]
        value = 2.0 + exact_sum_of_blocks(_xi_terms(n, first, end) for first, end in pairwise(edges))
    return value * (1.0 + ARITHMETIC_ERROR)


def _xi_terms(n: int, first: int, end: int) -> NDArray[np.float64]:
    """Return the terms k = first, ..., end - 1 of the sum, for 0 < k < n."""
    k = np.arange(first, end, dtype=np.float64)
    (last,) = _stirling_remainder(np.array([float(n)]))
    remainder = last - _stirling_remainder(k) - _stirling_remainder(n - k)
    return np.asarray(np.exp(remainder) * np.sqrt(n / (2.0 * np.pi * k * (n - k))))


def _stirling_remainder(k: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ln k! - ln(sqrt(2 pi k) (k/e)^k) for whole k >= 1."""
    table = [
        math.log(math.factorial(j)) - 0.5 * math.log(2 * math.pi * j) - j * (math.log(j) - 1.0)
        for j in range(1, 16)
    ]
    inverse = 1.0 / k
    square = inverse * inverse
    series = inverse * (
        1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))
    )
    small = k <= len(table)
    series[small] = np.array(table)[k[small].astype(np.int64) - 1]
    return np.asarray(series)


def split_delta(delta: float, n_priors: int) -> float:
    """Share a failure probability between priors, so that their bounds hold together.

    For one prior, a PAC-Bayes bound holds for every posterior simultaneously, so learning rate, optimiser,
    number of epochs and restarts cost nothing. Each further *prior* that could have been selected (another
    width or depth, another seed of a random prior, another pre-training) costs a share.

    Parameters
    ----------
    delta : float
        Total failure probability, in (0, 1).
    n_priors : int
        Number of priors to choose from, at least 1.

    Returns
    -------
    float
        `delta / n_priors`, rounded down.

    Examples
    --------
    >>> from pbgnet.bounds import split_delta
    >>> split_delta(0.05, 1)
    0.05
    >>> round(split_delta(0.05, 9), 6)  # the paper's nine architectures
    0.005556
    """
    share = check_delta(delta)
    if share.ndim:
        raise ShapeError(f"delta must be one number, got shape {tuple(share.shape)}.")
    total = share.item()
    count = positive_int("n_priors", n_priors)
    return total if count == 1 else math.nextafter(total / count, 0.0)
