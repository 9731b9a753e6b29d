r"""The betting bound on the mean of losses in [0, 1], rounded outward: sharper than Chernoff between 0 and 1.

If the mean is m, money staked on `(1 - L) / (1 - m)` row by row neither wins nor loses on average. So the
probability that the capital grows by a factor of 1 / delta is at most delta, and an m at which it would have
grown that much is refuted. `chernoff_bound` uses only the mean of the losses and must assume that they are 0
and 1. Here, losses that are close together let the capital grow faster. Proof: docs/theory/certificates.md,
section 5.

Each bet is the same for all rows, and several bets are averaged, so the order of the rows does not matter.
Bets that follow the losses, as in the paper, would depend on it.

References
----------
Waudby-Smith and Ramdas (2024), "Estimating means of bounded random variables by betting", JRSS-B;
Cover (1991), "Universal portfolios", for the average over constant bets.
"""

import functools
import math
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar
from torch import Tensor

from pbgnet.bounds.confidence import check_delta
from pbgnet.bounds.long_sums import exact_sum
from pbgnet.bounds.mixture import log_of_weights
from pbgnet.bounds.outward import ARITHMETIC_ERROR
from pbgnet.exceptions import DomainError, ShapeError
from pbgnet.validation import as_float64, check_interval, positive_int, positive_real

# Number of bets, and the factor between the best bet expected and the two ends of the grid. Measured over 33
# simulated settings, against the best bet in hindsight: the distance from the mean is 6.5 % larger if the
# losses of other rows are like those that come, 18 % if they are half as large and 14 % if they are twice as
# large; without other rows it is 24 % (docs/theory/certificates.md, section 5).
GRID_SIZE = 5
GRID_FACTOR = 1.5

# If nothing can be won, as with losses that are all 1, the search for the best bet ends here.
SMALLEST_BET = 1e-6

# Terms are added in blocks, in any order the library chooses, and the blocks without rounding.
BLOCK = 64
CHUNK = 256 * BLOCK

# Relative to the sum of absolute terms: 63 units of 2**-53 for the blocks and 12 for the terms (see
# `_log_wealth`), with room to spare up to 128.
SUM_ERROR = 2.0**-46

# The search stops at this relative width; the rest of the interval goes to the safe side.
SEARCH_WIDTH = 2.0**-44
LARGEST_BELOW_ONE = 1.0 - 2.0**-53


def betting_bound(
    losses: ArrayLike | Tensor,
    delta: float,
    bets: ArrayLike | Tensor,
    weights: ArrayLike | Tensor | None = None,
    *,
    numerical_error: float = 0.0,
) -> float:
    r"""Upper confidence limit of a mean, from n losses in [0, 1] that need not be 0 or 1.

    The largest m with

    .. math:: \sum_j w_j \prod_i \Bigl(1 - c_j + c_j \frac{1 - L_i}{1 - m}\Bigr) \le 1 / \delta.

    It holds with probability at least 1 - delta over n independent losses, and does not depend on their
    order.

    Parameters
    ----------
    losses : array_like, shape (n,)
        Losses of the held-out examples.
    delta : float
        Probability in (0, 1) that the bound may fail.
    bets : array_like, shape (J,)
        The c, shares of the capital in (0, 1], chosen without the certified examples; `betting_grid`
        proposes some.
    weights : array_like, shape (J,), optional
        Positive, with sum 1, and also chosen without the certified examples. Uniform by default.
    numerical_error : float, default=0
        How far each loss may be above the number passed. It is added to each loss, up to 1.

    Returns
    -------
    float
        Above the mean of the losses, at most 1. A bound of 1 says nothing.

    Notes
    -----
    A bet is a share c, not the paper's `lambda = c / (1 - m)`. To be safe for every m, a fixed lambda may be
    at most 1. The bound is then up to 3.5 % farther from the mean if the best bet is large (small n, losses
    close together), and the same otherwise. If all losses are 0, c = 1 gives the limit `1 - delta^(1/n)`,
    which cannot be improved.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.bounds import betting_bound, chernoff_bound
    >>> losses = np.tile([0.1, 0.15, 0.2, 0.25, 0.3], 100)
    >>> round(betting_bound(losses, 0.05, bets=[0.4, 0.6, 0.8]), 4)
    0.2095
    >>> round(float(chernoff_bound(losses.mean(), losses.size, 0.05)), 4)
    0.2461
    """
    counted = _counted(_check_losses("losses", losses, numerical_error))
    return _root(*counted, betting_budget(delta), *_check_bets(bets, weights))


def betting_log_capital(
    losses: ArrayLike | Tensor,
    m: float,
    bets: ArrayLike | Tensor,
    weights: ArrayLike | Tensor | None = None,
    *,
    numerical_error: float = 0.0,
) -> float:
    """Lower limit of the logarithm of what the bets have made of 1, if the mean is m in (0, 1).

    If it is at least `betting_budget(delta)`, a mean of m or more is refuted with confidence 1 - delta. So a
    result of `betting_bound` can be checked without searching for it again. The parameters are those of
    `betting_bound`.

    Examples
    --------
    >>> from pbgnet.bounds import betting_bound, betting_budget, betting_log_capital
    >>> losses, bets = [0.1, 0.15, 0.2, 0.25, 0.3] * 100, [0.4, 0.6, 0.8]
    >>> bound = betting_bound(losses, 0.05, bets)
    >>> [betting_log_capital(losses, m, bets) >= betting_budget(0.05) for m in (bound, bound - 1e-6)]
    [True, False]
    """
    value = as_float64("m", m)
    if value.numel() != 1:
        raise ShapeError(f"m must be one number, got shape {tuple(value.shape)}.")
    check_interval("m", value, 0.0, 1.0, open_low=True, open_high=True, advice="It is the mean to be tested.")
    counted = _counted(_check_losses("losses", losses, numerical_error))
    return _log_wealth(float(value), *counted, *_check_bets(bets, weights))


def betting_budget(delta: float) -> float:
    """Return ln(1 / delta), rounded up: how far the logarithm of the capital has to grow."""
    return -math.log(_check_one_delta(delta)) * (1.0 + ARITHMETIC_ERROR)


def _counted(losses: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the different losses in ascending order, and how often each occurs."""
    distinct, repeats = np.unique(losses, return_counts=True)
    return distinct, repeats.astype(np.float64)


def _root(
    distinct: NDArray[np.float64],
    counts: NDArray[np.float64],
    budget: float,
    bets: list[float],
    log_weights: list[float],
) -> float:
    """Return the m at which the logarithm of the capital reaches the budget, rounded up.

    It is a double at which that logarithm, minus its rounding error, is at least the budget, or 1. The
    capital increases with m, so every larger m is refuted too; the search does not rely on this.
    """
    size = int(counts.sum())

    @functools.cache
    def surplus(m: float) -> float:
        return _log_wealth(m, distinct, counts, bets, log_weights) - budget

    mean = min(exact_sum(distinct * counts) / size, LARGEST_BELOW_ONE)
    spread = float(np.average(np.square(distinct - mean), weights=counts))
    rate = budget / size
    step = max(math.sqrt(2.0 * rate * spread) + rate, 2.0**-53)  # Bernstein's, or nearly
    low, high = 0.0, mean  # nothing can be won at m = 0
    while surplus(high) < 0.0:
        if high == LARGEST_BELOW_ONE:
            return 1.0
        low, high, step = high, min(high + step, LARGEST_BELOW_ONE), 2.0 * step
    # SciPy keeps the function in a reference cycle, which must not keep the losses alive.
    near = float(brentq(_at, low, high, args=(surplus,), xtol=math.ulp(0.0), rtol=SEARCH_WIDTH))
    root, width = near, SEARCH_WIDTH
    while surplus(root) < 0.0:
        root, width = min(near * (1.0 + width), high), 2.0 * width
    return root


def _at(m: float, function: Callable[[float], float]) -> float:
    return function(m)


def _log_wealth(
    m: float,
    losses: NDArray[np.float64],
    counts: NDArray[np.float64],
    bets: list[float],
    log_weights: list[float],
) -> float:
    """Lower limit of the logarithm of the capital at m < 1, for losses in increasing order.

    Notes
    -----
    With `x = c (m - L) / (1 - m)` a term is ln(1 + x). The four operations leave x with a relative error
    of 4 units of 2**-53. Above -1/2 this is at most 8 units of ln(1 + x), and log1p adds 2. Below,
    where 1 + x would cancel, `(1 - c) + c (1 - L) / (1 - m)` is a sum of positive numbers, accurate to
    5 units, and its logarithm is at least ln 2 in size, so the term is accurate to 10 as well. The
    number of equal losses adds 1, and the sum of the blocks 1.
    """
    sums: list[list[float]] = [[] for _ in bets]
    sizes: list[list[float]] = [[] for _ in bets]
    for start in range(0, losses.size, CHUNK):
        part = slice(start, start + CHUNK)
        ratio = (m - losses[part]) / (1.0 - m)
        rest = (1.0 - losses[part]) / (1.0 - m)
        for j, bet in enumerate(bets):
            terms = bet * ratio
            near = int(np.count_nonzero(terms > -0.5))  # a prefix: the losses increase
            np.log1p(terms[:near], out=terms[:near])
            with np.errstate(divide="ignore"):  # everything was staked on a row that lost it all
                terms[near:] = np.log((1.0 - bet) + bet * rest[near:])
            terms *= counts[part]
            blocks = np.arange(0, terms.size, BLOCK)
            sums[j] += np.add.reduceat(terms, blocks).tolist()
            sizes[j] += np.add.reduceat(np.abs(terms), blocks).tolist()
    exponents = [
        math.fsum(sums[j]) + log_weight - SUM_ERROR * (math.fsum(sizes[j]) - log_weight)
        for j, log_weight in enumerate(log_weights)
    ]
    value = float(torch.logsumexp(torch.tensor(exponents, dtype=torch.float64), dim=0))
    return value - ARITHMETIC_ERROR * (abs(value) + len(bets))


def betting_grid(
    losses: ArrayLike | Tensor | None,
    n: int,
    delta: float,
    size: int = GRID_SIZE,
    factor: float = GRID_FACTOR,
) -> NDArray[np.float64]:
    """Return a geometric grid of bets for `betting_bound`, around the best bet expected.

    Parameters
    ----------
    losses : array_like, shape (n_0,), or None
        Losses of examples other than the certified ones: of prior rows. Without any, the grid spans all bets
        that may turn out best, and costs about three times as much.
    n : int
        Number of examples that will be certified.
    delta : float
        Probability that the bound may fail.
    size : int, default=5
        Number of bets, if losses are given.
    factor : float, default=1.5
        At least 1. The grid goes from the best bet divided by `factor` to the best bet times `factor`, and
        not beyond 1. The default suits losses that are wrong by up to a factor of 2; use 2 or 3 for worse
        ones.

    Returns
    -------
    ndarray, shape (size,), or as many as are needed to span all bets
        In (0, 1], non-decreasing.

    Examples
    --------
    >>> from pbgnet.bounds import betting_grid
    >>> betting_grid([0.1, 0.15, 0.2, 0.25, 0.3] * 20, n=500, delta=0.05, size=3).round(3)
    array([0.396, 0.595, 0.892])
    >>> betting_grid(None, n=500, delta=0.05).round(3)
    array([0.109, 0.19 , 0.331, 0.575, 1.   ])
    """
    count, number = positive_int("n", n), positive_int("size", size)
    ratio = positive_real("factor", factor)
    if ratio < 1.0:
        raise DomainError(
            f"factor must be at least 1, got {factor!r}. It says how far the grid extends in both directions."
        )
    cost = -math.log(_check_one_delta(delta))
    if losses is None:
        smallest = min(math.sqrt(2.0 * cost / count), 0.5)
        return np.geomspace(smallest, 1.0, 1 + math.ceil(-math.log2(smallest)))
    # Add one loss of 1: without it, everything might be staked on there being none.
    counted = _counted(np.append(_check_losses("losses", losses), 1.0))
    # The average pays less than ln(size) for not knowing the best bet; the square root accounts for that.
    budget = (cost + math.log(number) / 2.0) * int(counted[1].sum()) / count
    found = minimize_scalar(
        lambda log_bet: _root(*counted, budget, [math.exp(log_bet)], [0.0]),
        bounds=(math.log(SMALLEST_BET), 0.0),
        method="bounded",
        options={"xatol": 0.01},
    )
    exponents = (2.0 * np.arange(number) - (number - 1)) / max(1, number - 1)  # -1 to 1
    return np.asarray(np.minimum(math.exp(found.x) * ratio**exponents, 1.0))


def _check_losses(name: str, losses: ArrayLike | Tensor, numerical_error: float = 0.0) -> NDArray[np.float64]:
    """Return at least one loss in [0, 1] as a float64 array, with its error added to each."""
    value = as_float64(name, losses)
    if value.ndim != 1 or value.numel() == 0:
        raise ShapeError(f"{name} must be a list of at least one loss, got shape {tuple(value.shape)}.")
    check_interval(name, value, 0.0, 1.0, advice="Divide the losses by the largest possible one.")
    error = as_float64("numerical_error", numerical_error)
    check_interval("numerical_error", error, 0.0, advice="It is an upper limit on an error.")
    if error.ndim:
        raise ShapeError(f"numerical_error must be one number, got shape {tuple(error.shape)}.")
    checked = np.asarray(value.numpy())
    return np.minimum(np.nextafter(checked + error.item(), 2.0), 1.0) if error.item() else checked


def _check_one_delta(delta: float) -> float:
    value = check_delta(delta)
    if value.ndim:
        raise ShapeError(f"delta must be one number, got shape {tuple(value.shape)}.")
    return float(value)


def _check_bets(
    bets: ArrayLike | Tensor, weights: ArrayLike | Tensor | None
) -> tuple[list[float], list[float]]:
    """Return the bets and the logarithms of their weights."""
    c = as_float64("bets", bets)
    if c.ndim > 1 or c.numel() == 0:
        raise ShapeError(f"bets must be a list of at least one share, got shape {tuple(c.shape)}.")
    c = c.reshape(-1)
    check_interval("bets", c, 0.0, 1.0, open_low=True, advice="They are shares of the capital.")
    return c.tolist(), log_of_weights(weights, c.numel(), "bets").tolist()
