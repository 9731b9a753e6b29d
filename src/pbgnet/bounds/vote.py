"""The error rate of the vote `sgn G` without the factor 2, rounded outward.

Draw T networks from the posterior and let the loss be 1 if at most k of them are right. Where the vote is
wrong, a single network is right with probability at most 1/2, so this loss has mean at least
`q = P(Bin(T, 1/2) <= k)`. Markov's inequality turns a bound B on its mean, with divergence `T K`, into the
bound `B / q` on the error rate. T = 1, k = 0 is the paper's factor 2. Proof: docs/theory/certificates.md,
section 4.

With several classes, a voter is one output of a network. Where the vote is wrong, it is right with
probability at most `1 - D / 2`, where D is the distance of the code. Then `q = P(Bin(T, 1 - D / 2) <= k)`
(docs/theory/outputs.md).
"""

import functools
import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from torch import Tensor

from pbgnet.bounds.confidence import check_count
from pbgnet.bounds.held_out import BETA_RELATIVE_ERROR
from pbgnet.bounds.kl import FloatOrArray
from pbgnet.bounds.mixture import catoni_mixture_bound
from pbgnet.bounds.pac_bayes import seeger_bound
from pbgnet.exceptions import DomainError, ShapeError
from pbgnet.validation import as_float64, check_interval, positive_int

# The binomial tails were compared with high-precision ones up to this T.
LARGEST_VOTE = 5000


def check_vote(n_networks: object, n_right: object) -> tuple[int, int]:
    """Return (T, k) as ints with `1 <= T <= 5000` and `0 <= k < T`."""
    total = positive_int("n_networks", n_networks)
    if total > LARGEST_VOTE:
        raise DomainError(f"n_networks must be at most {LARGEST_VOTE}, got {total}; draw fewer networks.")
    advice = "It is the largest number of right networks out of n_networks that still counts as a loss."
    return total, check_count("n_right", n_right, total - 1, advice)


def vote_losses(margins: ArrayLike | Tensor, n_networks: int, n_right: int) -> NDArray[np.float64]:
    """Return, for each row, the probability that at most k of T networks drawn from the posterior are right.

    With two or more hidden layers the networks are the paper's trees.

    Parameters
    ----------
    margins : array_like, shape (...)
        `y G(x)` in [-1, 1]: a network is right with probability `(1 + y G(x)) / 2`.
    n_networks, n_right : int
        T >= 1 and 0 <= k < T.

    Returns
    -------
    ndarray, shape (...)
        `P(Bin(T, (1 + margin) / 2) <= k)`, up to the error of `vote_loss_error`.

    Examples
    --------
    >>> from pbgnet.bounds import vote_losses
    >>> vote_losses([1.0, 0.5, 0.0, -1.0], n_networks=3, n_right=1)
    array([0.     , 0.15625, 0.5    , 1.     ])
    """
    total, right = check_vote(n_networks, n_right)
    m = as_float64("margins", margins)
    check_interval("margins", m, -1.0, 1.0, advice="It is the label, -1 or 1, times the output of the vote.")
    # As a function of the probability of being wrong, small losses keep their digits.
    return np.asarray(special.betainc(total - right, right + 1, (1.0 - m.numpy()) / 2.0), dtype=np.float64)


def vote_loss_error(n_networks: int, n_right: int, margin_error: float = 0.0) -> float:
    """Bound the error of `vote_losses` if each margin has an error of at most `margin_error`.

    Add it to the mean of the losses before bounding that.

    Parameters
    ----------
    n_networks, n_right : int
        T and k.
    margin_error : float, default=0.0
        Proved error of the outputs G, e.g. that of `AggregatedNetwork.error_bound`.

    Returns
    -------
    float
        The largest slope `T/2 C(T-1, k) p^k (1-p)^(T-1-k)`, at `p = k / (T-1)`, times the error of the
        margin, plus the rounding of the losses and of their mean over up to a million rows. At most 1.

    Examples
    --------
    >>> from pbgnet.bounds import vote_loss_error
    >>> round(vote_loss_error(1, 0, margin_error=1e-4), 8)  # the linear loss has slope 1/2
    5e-05
    """
    total, right = check_vote(n_networks, n_right)
    return min(1.0, _margin_slope(total, right) * _check_margin_error(margin_error) + BETA_RELATIVE_ERROR)


def check_distance(distance: object) -> Fraction:
    """Return the distance of a code as an exact number in (0, 1]."""
    if isinstance(distance, bool) or not isinstance(distance, int | Fraction) or not 0 < distance <= 1:
        raise DomainError(f"distance must be 1 or a Fraction between 0 and 1, got {distance!r:.60}.")
    return Fraction(distance)


def vote_quantile(
    n_networks: int, n_right: int, margin_error: float = 0.0, distance: Fraction | int = 1
) -> float:
    """Return the smallest loss a row can have if the vote is wrong, rounded down.

    Parameters
    ----------
    n_networks, n_right : int
        T and k.
    margin_error : float, default=0.0
        The error of the outputs of the deployed classifier. Its vote may be wrong where the exact margin is
        as large as that.
    distance : Fraction or int, default=1
        D: the smallest share of outputs in which two classes differ; 1 for two classes.

    Returns
    -------
    float
        `q = P(Bin(T, 1 - D/2) <= k)` from whole numbers, minus the slope of the loss times the error.

    Examples
    --------
    >>> from pbgnet.bounds import vote_quantile
    >>> vote_quantile(1, 0), vote_quantile(3, 2), vote_quantile(5, 3)
    (0.5, 0.875, 0.8125)
    """
    total, right = check_vote(n_networks, n_right)
    q, error = _tail(total, right, check_distance(distance)), _check_margin_error(margin_error)
    if error == 0.0:
        return q
    return max(0.0, math.nextafter(q - math.nextafter(_margin_slope(total, right) * error, 1.0), 0.0))


def vote_bound(
    risk: ArrayLike | Tensor,
    divergence: ArrayLike | Tensor,
    n: ArrayLike | Tensor,
    delta: ArrayLike | Tensor,
    n_networks: int,
    n_right: int,
    c: ArrayLike | Tensor | None = None,
    weights: ArrayLike | Tensor | None = None,
    *,
    margin_error: float = 0.0,
    distance: Fraction | int = 1,
) -> FloatOrArray:
    """Bound the error rate of the vote through T networks, of which at most k are right.

    `min(1, B / q)`: B bounds the mean of `vote_losses` with divergence `T K`.

    Parameters
    ----------
    risk : array_like, shape (...)
        Mean of `vote_losses` on the n certified examples, plus `vote_loss_error`.
    divergence : array_like, shape (...)
        Divergence K of *one* network; it is multiplied by T here.
    n, delta
        As in `seeger_bound`; shapes broadcast.
    n_networks, n_right : int
        T and k, fixed before the certified examples were seen (`choose_vote`).
    c, weights : array_like, shape (J,), optional
        If given, B is `catoni_mixture_bound`; otherwise `seeger_bound` with Maurer's constant.
    margin_error, distance
        As in `vote_quantile`.

    Examples
    --------
    >>> from pbgnet.bounds import seeger_bound, vote_bound
    >>> round(float(vote_bound(0.004, 1.5, 5000, 0.05, n_networks=1, n_right=0)), 5)
    0.0181
    >>> round(float(2 * seeger_bound(0.004, 1.5, 5000, 0.05, constant="maurer")), 5)
    0.0181
    >>> round(float(vote_bound(0.004, 1.5, 5000, 0.05, n_networks=5, n_right=4)), 5)
    0.01139
    """
    total, right = check_vote(n_networks, n_right)
    k = as_float64("divergence", divergence)
    check_interval("divergence", k, 0.0, advice="A KL divergence is never negative.")
    # The budget of either bound is raised for rounding; that of T K is covered too.
    if c is None:
        if weights is not None:
            raise DomainError("weights belong to the trade-offs C of a mixture: pass c as well.")
        bound = seeger_bound(risk, total * k, n, delta, constant="maurer")
    else:
        bound = catoni_mixture_bound(risk, total * k, n, delta, c, weights)
    return divide_up(bound, vote_quantile(total, right, margin_error, distance))


def divide_up(bound: FloatOrArray, quantile: float) -> FloatOrArray:
    """Return `min(1, bound / quantile)`, rounded up."""
    if quantile == 0.0:
        return np.ones_like(bound)[()]
    ratio = np.asarray(bound, dtype=np.float64) / quantile
    exact = math.frexp(quantile)[0] == 0.5  # for a power of two
    result: FloatOrArray = np.minimum(ratio if exact else np.nextafter(ratio, np.inf), 1.0)[()]
    return result


@functools.lru_cache(maxsize=4096)
def _tail(total: int, right: int, distance: Fraction) -> float:
    """P(Bin(T, 1 - D/2) <= k) from whole numbers, rounded down."""
    wrong = Fraction(distance) / 2
    a, b = wrong.numerator, wrong.denominator
    term = count = a**total  # terms C(T, j) (b - a)^j a^(T - j), starting at j = 0
    for j in range(right):
        term = term * ((total - j) * (b - a)) // ((j + 1) * a)
        count += term
    exact = Fraction(count, b**total)
    nearest = count / b**total
    return nearest if nearest <= exact else math.nextafter(nearest, 0.0)


def _margin_slope(total: int, right: int) -> float:
    """Largest slope of the loss in the margin, rounded up."""
    others = total - 1
    log_slope = math.lgamma(total) - math.lgamma(right + 1) - math.lgamma(total - right)
    if 0 < right < others:
        log_slope += right * math.log(right / others) + (others - right) * math.log1p(-right / others)
    # lgamma of 5000 is 4e4, so its last digits are worth 1e-11.
    return total / 2.0 * math.exp(log_slope) * (1.0 + BETA_RELATIVE_ERROR)


def _check_margin_error(margin_error: float) -> float:
    error = as_float64("margin_error", margin_error)
    if error.ndim:
        raise ShapeError(f"margin_error must be one number, got shape {tuple(error.shape)}.")
    check_interval("margin_error", error, 0.0, open_high=True, advice="It is the proved error of G.")
    return error.item()
