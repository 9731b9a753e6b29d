"""From outputs to answers: the one rule by which what a network returns becomes a class."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def class_indices(output: NDArray[Any]) -> NDArray[np.int64]:
    """Return 1 where the output is above 0, the second class, else 0, also at a tie: shape (n,) to (n,)."""
    return (output > 0).astype(np.int64)


def vote_shares(output: NDArray[Any]) -> NDArray[np.float64]:
    """Return (1 - G) / 2 and (1 + G) / 2, the share of the vote for each class: shape (n,) to (n, 2)."""
    second = (1.0 + output) / 2.0
    return np.stack([1.0 - second, second], axis=1)
