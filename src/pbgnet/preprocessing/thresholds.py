"""Where to cut a column of numbers into bins."""

import numpy as np
from numpy.typing import NDArray

# More bins make training slower on few rows, and do not improve it (docs/reference/tables.md).
FEWEST_BINS, ROWS_PER_BIN = 32, 16

# So few numbers are looked up one by one.
FEW_NUMBERS = 256

# Thresholds are sorted into so many cells, unless more than these share one.
N_CELLS, MOST_IN_CELL = 1 << 13, 4


def choose_thresholds(numbers: NDArray[np.float64], max_bins: int) -> NDArray[np.float64]:
    """Return increasing thresholds t, so that `number >= t` tells bins apart: at most `max_bins` bins.

    With few rows to fill them there are fewer bins. If there are few distinct numbers, thresholds are between
    all of them. Otherwise half of the thresholds are quantiles of the rows, and half quantiles of the
    distinct numbers: in a column of mostly zeros, quantiles of the rows would see little else.

    Parameters
    ----------
    numbers : ndarray of float64
        Finite, at least one.
    max_bins : int
        At least 2.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.preprocessing.thresholds import choose_thresholds
    >>> choose_thresholds(np.array([0.0, 0.0, 0.0, 1.0, 5.0]), 255)
    array([0.5, 3. ])
    """
    distinct, counts = np.unique(numbers, return_counts=True)
    n_gaps = distinct.size - 1
    max_bins = min(max_bins, max(FEWEST_BINS, numbers.size // ROWS_PER_BIN))
    if n_gaps < max_bins:
        gaps = np.arange(n_gaps)
    else:
        half = max(1, (max_bins - 1) // 2)
        shares = np.arange(1, half + 1) / (half + 1)
        # The gap g is above the first g + 1 distinct numbers.
        by_rows = np.searchsorted(np.cumsum(counts), shares * numbers.size)
        by_distinct = np.round(shares * n_gaps).astype(np.int64)
        gaps = np.unique(np.clip(np.concatenate([by_rows, by_distinct]), 0, n_gaps - 1))
    below, above = distinct[gaps], distinct[gaps + 1]
    middle = below / 2 + above / 2  # the sum itself could overflow
    return np.where((below < middle) & (middle <= above), middle, above)


def count_up_to(thresholds: NDArray[np.float64], numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many of increasing thresholds are at most each of the numbers, none of which is NaN.

    What `searchsorted` returns on the right side, in a part of the time where there are many numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.preprocessing.thresholds import count_up_to
    >>> count_up_to(np.array([1.0, 2.0]), np.array([0.5, 1.0, 7.0]))
    array([0, 1, 2])
    """
    if numbers.size < FEW_NUMBERS:
        return np.searchsorted(thresholds, numbers, side="right")
    found = _by_cells(thresholds, numbers) if numbers.size >= N_CELLS // 4 else None
    return _by_halves(thresholds, numbers) if found is None else found


def _by_cells(thresholds: NDArray[np.float64], numbers: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Count by cells of equal width; None where too many thresholds share one.

    Each step from a number to its cell keeps the order of numbers, rounded as it may be. So thresholds in
    cells below that of a number are below the number, and those in cells above it are above.
    """
    if thresholds.size < 2:
        return None
    low, high = float(thresholds[0]), float(thresholds[-1])
    scale = (N_CELLS - 1) / (high - low)
    if not 0.0 < scale < np.inf:
        return None

    def cells(some: NDArray[np.float64]) -> NDArray[np.int64]:
        return ((np.clip(some, low, high) - low) * scale).astype(np.int64)

    in_cell = np.bincount(cells(thresholds), minlength=N_CELLS)
    most = int(in_cell.max())
    if most > MOST_IN_CELL:
        return None
    found: NDArray[np.int64] = (np.cumsum(in_cell) - in_cell)[cells(numbers)]
    padded = np.append(thresholds, np.nan)
    for _ in range(most):
        found += padded[found] <= numbers
    return found


def _by_halves(thresholds: NDArray[np.float64], numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Count by halving the thresholds for all numbers at once: there is no branch to foretell."""
    n_halvings = thresholds.size.bit_length()
    padded = np.full((1 << n_halvings) - 1, np.inf)
    padded[: thresholds.size] = thresholds
    found = np.zeros(numbers.shape, dtype=np.int64)
    for k in reversed(range(n_halvings)):
        found += (padded[found + ((1 << k) - 1)] <= numbers).astype(np.int64) << k
    return np.minimum(found, thresholds.size)  # infinity is at most infinity
