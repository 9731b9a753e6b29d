"""Which of the replicas trained side by side is the best."""

import torch
from torch import Tensor

from pbgnet.exceptions import DomainError


def best_replica(values: Tensor) -> int:
    """Return the replica with the smallest value, shape (R,); one that diverged is never the best."""
    if bool(values.isnan().all()):
        raise DomainError(
            "Training has diverged: the loss is not a number. A smaller learning_rate usually helps."
        )
    return int(nan_last(values).argmin())


def nan_last(values: Tensor) -> Tensor:
    """Return the values with infinity instead of NaN."""
    return values.nan_to_num(nan=torch.inf)
