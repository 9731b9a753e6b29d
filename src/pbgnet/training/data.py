"""Prepared examples and labels, and the ways training walks through them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from pbgnet.networks import SparseRows, append_one, unit_rows

__all__ = ["Batches", "TrainingData", "prepare_rows"]


def prepare_rows(
    x: Any, *, unit: bool, intercept: bool, dtype: torch.dtype, device: torch.device | str
) -> Tensor | SparseRows:
    """Prepare an array or sparse matrix of shape (n, d) for the first layer of a network.

    Parameters
    ----------
    x : ndarray or scipy sparse array or matrix
    unit : bool
        Whether to bring rows to length 1, in float64 before rounding to `dtype`.
    intercept : bool
        Whether to append the constant 1.
    """
    if sparse.issparse(x):
        return SparseRows(x, intercept=intercept, unit=unit, dtype=dtype, device=device)
    rows = torch.as_tensor(np.asarray(x, dtype=np.float64))
    if unit:
        rows = unit_rows(rows, intercept)
    elif intercept:
        rows = append_one(rows)
    return rows.to(device, dtype)


@dataclass(frozen=True)
class TrainingData:
    """Examples prepared by a network, and their labels.

    Attributes
    ----------
    rows : Tensor, shape (n, d), or SparseRows
    y : Tensor, shape (n,)
        Labels -1 and 1.
    """

    rows: Tensor | SparseRows
    y: Tensor

    def __len__(self) -> int:
        return len(self.y)

    def take(self, index: Tensor | slice) -> "TrainingData":
        """Return some of the examples: indices of shape (b,) or a slice."""
        rows = self.rows.take(index) if isinstance(self.rows, SparseRows) else self.rows[index]
        return TrainingData(rows, self.y[index])

    def chunks(self, size: int) -> Iterator["TrainingData"]:
        """Walk through all examples in order, `size` at a time."""
        if size >= len(self):
            yield self
            return
        for start in range(0, len(self), size):
            yield self.take(slice(start, start + size))


class Batches:
    """Mini-batches for R replicas, each shuffled by its own generator.

    An epoch is `n // batch_size` full batches of a new permutation (all rows in one batch if there
    are fewer); the rows left over are others in every epoch. A replica sees the batches it would
    see if it were trained alone.

    Parameters
    ----------
    data : TrainingData
    batch_size : int
    generators : sequence of torch.Generator
        One per replica, on the CPU.
    """

    def __init__(self, data: TrainingData, batch_size: int, generators: Sequence[torch.Generator]) -> None:
        self.data = data
        self.batch_size = min(batch_size, len(data))
        self.generators = generators

    def __len__(self) -> int:
        return len(self.data) // self.batch_size

    def epoch(self) -> Iterator[tuple[Tensor | list[SparseRows], Tensor]]:
        """Yield rows (R, b, d), or a list of R sparse ones, and labels (R, b)."""
        n, device = len(self.data), self.data.y.device
        order = torch.stack([torch.randperm(n, generator=g) for g in self.generators])
        used = order[:, : len(self) * self.batch_size].to(device)
        for index in used.split(self.batch_size, dim=1):
            rows = self.data.rows
            if isinstance(rows, SparseRows):
                yield [rows.take(replica) for replica in index], self.data.y[index]
            else:
                yield rows[index], self.data.y[index]
