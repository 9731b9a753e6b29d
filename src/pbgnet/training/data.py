"""Prepared examples and labels, and the ways training walks through them."""

from collections.abc import Iterator
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


@dataclass(frozen=True)
class Batches:
    """Mini-batches for R replicas, each shuffled by its own seed.

    An epoch is `n // size` full batches of a new permutation (all rows in one batch if there are
    fewer); the rows left over are others in every epoch. The permutation is a function of seed and
    epoch alone: a replica sees the same batches alone, among others, on a CPU and on a GPU.

    Attributes
    ----------
    data : TrainingData
    batch_size : int
    seeds : Tensor, int64, shape (R,)
        On the device of the data.
    """

    data: TrainingData
    batch_size: int
    seeds: Tensor

    @property
    def size(self) -> int:
        """Number of examples in a batch."""
        return min(self.batch_size, len(self.data))

    def __len__(self) -> int:
        return len(self.data) // self.size

    def order(self, epoch: int) -> Tensor:
        """Return the rows of all batches of an epoch, shape (len(self), R, size)."""
        keys = _random_keys(self.seeds, epoch, len(self.data))
        order = torch.argsort(keys, dim=1, stable=True)[:, : len(self) * self.size]
        return order.reshape(len(self.seeds), len(self), self.size).transpose(0, 1).contiguous()

    def at(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rows (R, b, d) and labels (R, b) of indices (R, b); sparse rows are filled in."""
        rows, flat = self.data.rows, index.flatten()
        batch = rows.dense(flat) if isinstance(rows, SparseRows) else rows.index_select(0, flat)
        y = self.data.y.index_select(0, flat)
        return batch.view(*index.shape, rows.shape[-1]), y.view(index.shape)

    def take(self, replicas: Tensor) -> "Batches":
        """Return the batches of some replicas."""
        return Batches(self.data, self.batch_size, self.seeds[replicas])


# The odd constants of SplitMix64 (Steele, Lea and Flood, 2014), as signed integers.
STRIDE = 0x9E3779B97F4A7C15 - (1 << 64)
FACTORS = (0xBF58476D1CE4E5B9 - (1 << 64), 0x94D049BB133111EB - (1 << 64))


def _random_keys(seeds: Tensor, epoch: int, n: int) -> Tensor:
    """Return 64 random bits per replica and row, shape (R, n), from a counter: no state, any device."""
    streams = _scramble(_scramble(seeds + STRIDE) + epoch * 2 + 1)
    counters = torch.arange(1, n + 1, device=seeds.device) * STRIDE  # wraps around, as it should
    return _scramble(streams[:, None] + counters)


def _scramble(x: Tensor) -> Tensor:
    """Map 64-bit integers one to one to others that look independent."""
    x = (x ^ _shift_right(x, 30)) * FACTORS[0]
    x = (x ^ _shift_right(x, 27)) * FACTORS[1]
    return x ^ _shift_right(x, 31)


def _shift_right(x: Tensor, bits: int) -> Tensor:
    """Shift the bits of signed integers as those of unsigned ones."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)
