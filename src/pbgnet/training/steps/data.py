"""Prepared examples and their signs, and the ways in which training iterates over them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from pbgnet.networks import BinnedRows, PatchRows, PatchShape, PreparedRows, prepare_rows
from pbgnet.training.steps.augmentation import AugmentedImages
from pbgnet.training.steps.shuffling import STRIDE, FoldPools, permuted, scramble, streams

SORTED_ROWS = 1 << 17
"""From this many rows on, the order of an epoch is not sorted but computed place by place."""

STRETCH_PLACES = {"cpu": 1 << 17, "cuda": 1 << 24}
"""Places of an epoch, over all replicas, whose rows are computed at a time."""


@dataclass(frozen=True)
class TrainingData:
    """Examples prepared by a network, and their labels.

    Attributes
    ----------
    rows : PreparedRows, shape (n, d)
    y : Tensor, shape (n,) or (n, r)
        Signs -1 and 1 that the outputs should have.
    weight : Tensor, shape (n,), or None
        Factor of the loss of each example; the linear loss ignores it.
    pools : Tensor, int64, shape (R, p), or None
        The examples of each of R replicas, if they have different ones from the same table. Then everything
        below is about these p examples.
    """

    rows: PreparedRows
    y: Tensor
    weight: Tensor | None = None
    pools: Tensor | None = None

    @classmethod
    def of(
        cls,
        x: Any,
        y: Any,
        *,
        unit: bool,
        device: torch.device | str,
        weight: Any = None,
        patches: PatchShape | None = None,
    ) -> Self:
        """Prepare rows of any kind and signs -1 and 1 for training in float32, with intercept."""
        rows = prepare_rows(x, unit=unit, intercept=True, dtype=torch.float32, device=device, patches=patches)
        signs = torch.as_tensor(y, dtype=torch.float32, device=device)
        return cls(rows, signs, None if weight is None else torch.as_tensor(weight).to(signs))

    @property
    def patches(self) -> PatchShape | None:
        """How images are cut."""
        return self.rows.patches if isinstance(self.rows, PatchRows) else None

    def __len__(self) -> int:
        return self.rows.shape[-2] if self.pools is None else self.pools.shape[1]

    def of_replicas(self, replicas: Tensor) -> "TrainingData":
        """Return the examples of some replicas; all have the same ones unless there are pools."""
        return self if self.pools is None else replace(self, pools=self.pools[replicas])

    def take(self, index: Tensor | slice) -> "TrainingData":
        """Return some of the examples: indices of shape (b,) or a slice."""
        if self.pools is not None:
            return replace(self, pools=self.pools[:, index])
        rows = self.rows[index] if isinstance(self.rows, Tensor) else self.rows.take(index)
        return TrainingData(rows, self.y[index], None if self.weight is None else self.weight[index])

    def shares(self, fraction: float, seed: int | Sequence[int]) -> tuple["TrainingData", "TrainingData"]:
        """Split at random; the first part has a fraction of the examples. A single example is both parts.

        With pools there is a seed for each replica.
        """
        if len(self) < 2:
            return self, self
        count = min(max(1, round(fraction * len(self))), len(self) - 1)
        if self.pools is None:
            order = torch.from_numpy(np.random.default_rng(seed).permutation(len(self))).to(self.y.device)
            return self.take(order[:count]), self.take(order[count:])
        assert not isinstance(seed, int)
        orders = np.stack([np.random.default_rng(one).permutation(len(self)) for one in seed])
        shuffled = self.pools.gather(1, torch.from_numpy(orders).to(self.pools.device))
        return replace(self, pools=shuffled[:, :count]), replace(self, pools=shuffled[:, count:])

    def chunks(self, size: int) -> Iterator["TrainingData"]:
        """Iterate over all examples in order, `size` at a time; those of pools have shape (R, size, d)."""
        if size >= len(self) and self.pools is None:
            yield self
            return
        for start in range(0, len(self), size):
            part = self.take(slice(start, start + size))
            yield part if part.pools is None else TrainingData(*_gathered(self.rows, self.y, part.pools))


@dataclass(frozen=True)
class Batches:
    """Mini-batches for R replicas, each shuffled by its own seed.

    An epoch is `n // size` full batches of a new permutation (all rows in one batch if there are fewer). The
    rows left over differ from epoch to epoch. The permutation only depends on seed and epoch: a replica sees
    the same batches alone, among others, on a CPU and on a GPU.

    From `SORTED_ROWS` rows on, and for pools of very many rows, places are mapped one by one
    (`pbgnet.training.steps.shuffling`), for several steps at a time; fewer rows are sorted by random keys.
    """

    data: TrainingData
    batch_size: int
    seeds: Tensor  # int64, shape (R,), on the device of the data
    # The rows each replica is trained on, listed, int64 of shape (R, p), or by their fold; by default all.
    pools: Tensor | FoldPools | None = None
    augmented: AugmentedImages | None = None  # shown instead of the rows of the data

    @property
    def n_rows(self) -> int:
        """Number of rows each replica is trained on."""
        if isinstance(self.pools, FoldPools):
            return self.pools.blocks.n_pool
        return len(self.data) if self.pools is None else self.pools.shape[1]

    @property
    def size(self) -> int:
        """Number of examples in a batch."""
        return min(self.batch_size, self.n_rows)

    def __len__(self) -> int:
        return self.n_rows // self.size

    def begin(self, epoch: int) -> None:
        """Begin an epoch."""
        if self.augmented is not None:
            self.augmented.begin(epoch)

    @property
    def stretch(self) -> int:
        """Number of steps whose rows are best computed at a time."""
        if not self._is_mapped:
            return len(self)
        places = STRETCH_PLACES["cuda" if self.seeds.is_cuda else "cpu"]
        return min(len(self), max(1, places // (len(self.seeds) * self.size)))

    def order(self, epoch: int, first: int = 0, last: int | None = None) -> Tensor:
        """Return the rows of some batches of an epoch, by default all, shape (batches, R, size)."""
        last = len(self) if last is None else last
        begin, end = first * self.size, last * self.size
        if isinstance(self.pools, FoldPools):
            order = self.pools.blocks.order(self.seeds, self.pools.without, epoch, begin, end)
        elif self._is_mapped:
            places = torch.arange(begin, end, device=self.seeds.device)
            order = permuted(places, streams(self.seeds, epoch)[:, None], self.n_rows)
        else:
            order = _sorting(_random_keys(self.seeds, epoch, self.n_rows))[:, begin:end]
        if isinstance(self.pools, Tensor):
            order = self.pools.gather(1, order)
        return order.reshape(len(self.seeds), last - first, self.size).transpose(0, 1).contiguous()

    @property
    def _is_mapped(self) -> bool:
        return isinstance(self.pools, FoldPools) or self.n_rows >= SORTED_ROWS

    def at(self, index: Tensor) -> tuple[PreparedRows, Tensor]:
        """Return rows (R, b, d) and signs (R, b) or (R, b, r) of indices (R, b); no rows are sparse then."""
        return _gathered(
            self.data.rows if self.augmented is None else self.augmented.rows, self.data.y, index
        )

    def weights_at(self, index: Tensor) -> Tensor | None:
        """Return the weights (R, b) of indices (R, b), if examples have weights."""
        return None if self.data.weight is None else self.data.weight[index]

    def take(self, replicas: Tensor) -> "Batches":
        """Return the batches of some replicas."""
        pools = self.pools.take(replicas) if isinstance(self.pools, FoldPools) else self.pools
        pools = pools[replicas] if isinstance(pools, Tensor) else pools
        return Batches(self.data, self.batch_size, self.seeds[replicas], pools, self.augmented)


def _gathered(rows: PreparedRows, y: Tensor, index: Tensor) -> tuple[PreparedRows, Tensor]:
    if isinstance(rows, BinnedRows | PatchRows):
        return rows.take(index), y[index]
    flat = index.flatten()
    batch = rows.index_select(0, flat) if isinstance(rows, Tensor) else rows.dense(flat)
    signs = y.index_select(0, flat)
    return batch.view(*index.shape, rows.shape[-1]), signs.view(*index.shape, *y.shape[1:])


def _random_keys(seeds: Tensor, epoch: int, n: int) -> Tensor:
    """Return 64 random bits per replica and row, shape (R, n), from a counter: stateless, on any device."""
    counters = torch.arange(1, n + 1, device=seeds.device) * STRIDE  # wraps around on purpose
    return scramble(streams(seeds, epoch)[:, None] + counters)


def _sorting(keys: Tensor) -> Tensor:
    """Return the places that sort each row of keys, all different; on CPUs NumPy is several times as fast."""
    return torch.argsort(keys, dim=1) if keys.is_cuda else torch.from_numpy(np.argsort(keys.numpy(), axis=1))
