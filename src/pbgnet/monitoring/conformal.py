r"""Conformal p-values of binned values, and bets against their being uniform.

If reference rows and new rows are exchangeable, the place of a new value among all earlier ones, with ties
broken at random, is uniform and independent of the earlier places (Vovk et al. 2003), for any distribution
and any bins that were fixed beforehand. A bet divides [0, 1] into cells and pays in each cell the recent
share of places there, times the number of cells. For a uniform place this has mean 1. The bet wins if places
concentrate in some cells: if values come that were rare, or no longer those that were frequent.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

N_CELLS = 8
"""Cells of [0, 1] in which places are counted."""

MEMORIES = (100.0, 1000.0)
"""After this many rows, the weight of a place has fallen to 1 / e: one bet for each."""

PRIOR_WEIGHT = 2.0
"""Number of places that each cell is assumed to have had at first, so a bet does not rely on few places."""

CHUNK = 1 << 14


def conformal_places(
    codes: NDArray[np.int64], counts: NDArray[np.int64], lots: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the place of each value among all before it, in [0, 1], and the counts afterwards.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Bin of each new value.
    counts : ndarray of int, shape (C,)
        Number of earlier values in each bin, of reference rows and new rows.
    lots : ndarray, shape (n,)
        Uniform in [0, 1) and independent of everything else; they break ties.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.monitoring.conformal import conformal_places
    >>> places, counts = conformal_places(np.array([1, 1]), np.array([8, 0]), np.array([0.5, 0.5]))
    >>> places.round(3), counts
    (array([0.056, 0.1  ]), array([8, 2]))
    """
    places = np.empty(len(codes))
    for start in range(0, len(codes), CHUNK):
        part = codes[start : start + CHUNK]
        ones = np.zeros((len(part), counts.size), dtype=np.int64)
        ones[np.arange(len(part)), part] = 1
        until = counts + np.cumsum(ones, axis=0)
        equal = until[np.arange(len(part)), part]
        total = until.sum(axis=1)
        above = total - np.cumsum(until, axis=1)[np.arange(len(part)), part]
        places[start : start + len(part)] = (above + lots[start : start + len(part)] * equal) / total
        counts = until[-1]
    return places, counts


def place_log_factors(
    places: NDArray[np.float64], recent: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the logarithms of the factors of all bets, rounded down, and the recent places afterwards.

    Parameters
    ----------
    places : ndarray, shape (n,)
    recent : ndarray, shape (M, K)
        The weight of each cell before the first place, for each of `MEMORIES`: older places count less.

    Returns
    -------
    log_factors : ndarray, shape (n, M)
    recent : ndarray, shape (M, K)
    """
    cells = np.minimum((places * N_CELLS).astype(np.int64), N_CELLS - 1)
    ones = np.zeros((len(cells), N_CELLS))
    ones[np.arange(len(cells)), cells] = 1.0
    log_factors, after = np.empty((len(cells), len(MEMORIES))), np.empty_like(recent)
    for k, memory in enumerate(MEMORIES):
        keep = np.exp(-1.0 / memory)
        until, _ = lfilter([1.0], [1.0, -keep], ones, axis=0, zi=keep * recent[k][None])
        before = np.vstack([recent[k][None], until[:-1]])
        share = (PRIOR_WEIGHT + before) / (N_CELLS * PRIOR_WEIGHT + before.sum(axis=1, keepdims=True))
        # As computed, the shares may sum to slightly more than 1.
        log_factors[:, k] = np.log(N_CELLS * share[np.arange(len(cells)), cells]) - 2.0**-44
        after[k] = until[-1]
    return log_factors, after
