"""Which number of networks T and threshold k to use in `vote_bound`.

The choice is free as long as it does not use the certified rows: margins and divergence must come from prior
rows, preferably from rows the prior was not trained on.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy import special
from torch import Tensor

from pbgnet.bounds.mixture import GRID_SIZE, catoni_grid, grids, mixture_root
from pbgnet.bounds.pac_bayes import check_bound_arguments, seeger_bound
from pbgnet.bounds.vote import check_distance, check_vote, vote_bound, vote_losses, vote_quantile
from pbgnet.exceptions import DomainError, ShapeError
from pbgnet.validation import as_float64

# Up to a dozen networks, all numbers can win. Beyond that, a sparse list costs less than 1 % of the bound
# (measured against all T and k). Hundreds win only if the divergence is almost 0.
_MANY = (14, 16, 18, 21, 24, 28, 33, 39, 46, 55, 66, 80, 100, 150, 220, 330, 500, 1000, 2200, 5000)
_NETWORKS = (*range(1, 13), *_MANY)

# Thresholds k from about q = 1/2 on (below, the bound is more than doubled) until q is so close to 1 that a
# larger k only adds to the loss; for large T, every third of a standard deviation.
_DEVIATIONS = np.arange(0.0, 3.9, 0.3)


def _thresholds(total: int, right: float) -> list[int]:
    middle, spread = total * right - 0.5, math.sqrt(total * right * (1.0 - right))
    near = {math.ceil(middle + spread * deviation) for deviation in _DEVIATIONS}
    return sorted(k for k in near if k < total)


@functools.lru_cache(maxsize=64)
def vote_grid(distance: Fraction | int = 1) -> tuple[tuple[int, int], ...]:
    """Return the pairs (T, k) that `choose_vote` compares, for a code of distance D."""
    right = float(1 - check_distance(distance) / 2)
    return tuple((T, k) for T in _NETWORKS for k in _thresholds(T, right))


# Before the losses are averaged, each margin is divided linearly between two points of a grid, so the linear
# loss stays exact. The losses on the grid are computed once.
_CELLS = 1024


@dataclass(frozen=True)
class VoteChoice:
    """A number of networks and a threshold for `vote_bound`.

    Attributes
    ----------
    n_networks, n_right : int
        T and k.
    expected_risk : float
        Mean vote loss on the given margins; the risk for which to choose the C of a mixture.
    expected_bound : float
        Bound on the error rate of the vote if the certified rows turn out the same.
    """

    n_networks: int
    n_right: int
    expected_risk: float
    expected_bound: float


def choose_vote(
    margins: ArrayLike | Tensor,
    divergence: float,
    n: int,
    delta: float,
    *,
    mixture: bool = False,
    distance: Fraction | int = 1,
    candidates: Sequence[tuple[int, int]] | None = None,
) -> VoteChoice:
    """Choose (T, k) for margins and a divergence that were measured without the certified rows.

    Parameters
    ----------
    margins : array_like, shape (m,)
        `y G(x)` in [-1, 1] on rows that will not be certified.
    divergence : float
        Expected divergence K of one network. It counts T times, so choose it too large rather than too small.
    n : int
        Number of rows that will be certified.
    delta : float
        Probability that the bound may fail.
    mixture : bool, default=False
        Choose for `catoni_mixture_bound` on its own `catoni_grid` instead of `seeger_bound`.
    distance : Fraction or int, default=1
        D, as in `vote_quantile`.
    candidates : sequence of (int, int), optional
        The pairs (T, k) to compare; by default those of `vote_grid`.

    Returns
    -------
    VoteChoice

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.bounds import choose_vote
    >>> margins = np.repeat([0.999, -0.9], [995, 5])  # saturated, half a per cent wrong
    >>> choice = choose_vote(margins, divergence=1.0, n=5000, delta=0.05)
    >>> choice.n_networks, choice.n_right, round(choice.expected_bound, 4)
    (8, 6, 0.0132)
    >>> doubled = choose_vote(margins, divergence=1.0, n=5000, delta=0.05, candidates=[(1, 0)])
    >>> round(doubled.expected_bound, 4)
    0.0213
    """
    share = check_distance(distance)
    pairs = tuple(check_vote(*pair) for pair in (vote_grid(share) if candidates is None else candidates))
    if not pairs:
        raise DomainError("candidates must hold at least one pair (T, k).")
    m = as_float64("margins", margins)
    if m.ndim != 1 or m.numel() == 0:
        raise ShapeError(f"margins must be a list of at least one number, got shape {tuple(m.shape)}.")
    _, k, _, _ = arguments = check_bound_arguments(0.0, divergence, n, delta)
    if k.ndim:
        raise ShapeError("divergence, n and delta must be one number each.")
    linear_losses = vote_losses(m, 1, 0)  # checks the margins
    risks = _loss_table(pairs) @ _shares(linear_losses)
    bounds = _expected_bounds(np.minimum(risks, 1.0), arguments, pairs, mixture, share)
    best = pairs[int(np.argmin(bounds))]
    risk = float(np.mean(vote_losses(m, *best)))
    c = catoni_grid(risk, best[0] * divergence, n, delta) if mixture else None
    bound = float(vote_bound(risk, divergence, n, delta, *best, c, distance=share))
    return VoteChoice(*best, expected_risk=risk, expected_bound=bound)


def _expected_bounds(
    risks: NDArray[np.float64],
    arguments: tuple[Tensor, Tensor, Tensor, Tensor],
    pairs: tuple[tuple[int, int], ...],
    mixture: bool,
    distance: Fraction,
) -> NDArray[np.float64]:
    """Return the value of `vote_bound` for each pair, not rounded outward: it only serves to compare."""
    _, k, n, delta = arguments
    total = torch.tensor([pair[0] for pair in pairs], dtype=torch.float64)
    q, k, n, delta = check_bound_arguments(risks, total * k, n, delta)
    if mixture:
        c = grids(q, k, n, delta)
        uniform = torch.full((GRID_SIZE,), -math.log(GRID_SIZE), dtype=torch.float64)
        bounds = mixture_root(q, k, n, delta, c, uniform).numpy()
    else:
        bounds = np.asarray(seeger_bound(q, k, n, delta, constant="maurer"))
    quantiles = np.maximum([vote_quantile(*pair, distance=distance) for pair in pairs], np.finfo(float).tiny)
    return np.asarray(np.minimum(bounds / quantiles, 1.0))


def _shares(wrong: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of the rows at each point of the grid of probabilities of being wrong."""
    place = wrong * _CELLS
    left = np.floor(place).astype(np.intp)
    np.minimum(left, _CELLS - 1, out=left)
    place -= left  # in place: there may be millions of rows
    above = np.bincount(left + 1, place, minlength=_CELLS + 1)
    below = np.bincount(left, 1.0 - place, minlength=_CELLS + 1)
    return np.asarray((above + below) / wrong.size)


@functools.lru_cache(maxsize=8)
def _loss_table(pairs: tuple[tuple[int, int], ...]) -> NDArray[np.float64]:
    total, right = np.array(pairs, dtype=np.float64).T[:, :, None]
    return np.asarray(special.betainc(total - right, right + 1.0, np.linspace(0.0, 1.0, _CELLS + 1)))
