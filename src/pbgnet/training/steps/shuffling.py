"""Permutations of very many rows, computed where needed: nothing of their length is stored or sorted.

A keyed bijection gives the row at every place of a permutation, the same on every device.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from pbgnet.kernels import find_kernel

# The odd constants of SplitMix64 (Steele, Lea and Flood, 2014), as signed integers.
STRIDE = 0x9E3779B97F4A7C15 - (1 << 64)
FACTORS = (0xBF58476D1CE4E5B9 - (1 << 64), 0x94D049BB133111EB - (1 << 64))


def scramble(x: Tensor) -> Tensor:
    """Map 64-bit integers one to one to others that look independent."""
    x = (x ^ _shift_right(x, 30)) * FACTORS[0]
    x = (x ^ _shift_right(x, 27)) * FACTORS[1]
    return x ^ _shift_right(x, 31)


def streams(seeds: Tensor, epoch: int) -> Tensor:
    """Return 64 random bits for each seed in an epoch."""
    return scramble(scramble(seeds + STRIDE) + epoch * 2 + 1)


def permuted(places: Tensor, keys: Tensor, counts: int | Tensor, most: int | None = None) -> Tensor:
    """Permute the numbers 0, ..., count - 1 at random, by a key.

    Parameters
    ----------
    places : Tensor of int64
        Numbers below the count.
    keys : Tensor of int64
        Random bits that distinguish permutations, broadcast against the places; `scramble` makes them from
        any numbers. Consecutive keys would give similar permutations.
    counts : int or Tensor of int64
        How many numbers are permuted; broadcasts too.
    most : int, optional
        The largest count, if they differ.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.training.steps.shuffling import permuted
    >>> permuted(torch.arange(7), torch.tensor(1), 7).sort().values
    tensor([0, 1, 2, 3, 4, 5, 6])
    """
    largest = int(counts) if most is None else most
    kernel = find_kernel("permute", places.device)
    found: Tensor = kernel.permuted(places, keys, torch.as_tensor(counts, device=places.device), largest)
    return found


def _shift_right(x: Tensor, bits: int) -> Tensor:
    """Shift the bits of signed integers like those of unsigned ones."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


@dataclass(frozen=True)
class RowBlocks:
    """Very many rows in consecutive blocks, each divided at random into the same folds.

    Attributes
    ----------
    n_rows, n_folds : int
    seed : int
        Seed of the folds, and of the order of the blocks.
    n_blocks : int
        Blocks of nearly equal size. One, if rows can be read equally fast at any place; more, if they come
        from a disk. Then an epoch visits the blocks in random order, and shuffles the rows of a few of them,
        `together`, among each other.
    together : int

    Examples
    --------
    >>> import torch
    >>> from pbgnet.training.steps.shuffling import RowBlocks
    >>> rows = RowBlocks(10, 5, seed=0)
    >>> torch.cat([rows.held(fold) for fold in range(5)]).sort().values.tolist() == list(range(10))
    True
    """

    n_rows: int
    n_folds: int
    seed: int
    n_blocks: int = 1
    together: int = 1

    @property
    def n_each(self) -> int:
        """Rows of a block outside a fold, the same number for every block and fold: a few are left out."""
        return self.n_rows // self.n_blocks - -(-self._longest // self.n_folds)

    @property
    def n_pool(self) -> int:
        """Rows outside a fold."""
        return self.n_each * self.n_blocks

    @property
    def _longest(self) -> int:
        return -(-self.n_rows // self.n_blocks)

    def held(self, fold: int, device: torch.device | str = "cpu") -> Tensor:
        """Return the rows of a fold, in the order of the table."""
        rows = []
        for block in range(self.n_blocks):
            first, end = (n * self.n_rows // self.n_blocks for n in (block, block + 1))
            count = end - first
            places = torch.arange(fold * count // self.n_folds, (fold + 1) * count // self.n_folds)
            keys = self._keys(torch.tensor(block, device=device))
            rows.append(first + permuted(places.to(device), keys, count, self._longest))
        return torch.cat(rows).sort().values

    def order(self, seeds: Tensor, without: Tensor, epoch: int, first: int, last: int) -> Tensor:
        """Return some of the rows of an epoch: those at places first, ..., last - 1, shape (R, last - first).

        Parameters
        ----------
        seeds : Tensor of int64, shape (R,)
            Seed of the order of each replica; blocks follow each other in the same order for all of them.
        without : Tensor of int64, shape (R,)
            The fold that each of them does not see.
        epoch, first, last : int
        """
        places = torch.arange(first, last, device=seeds.device)
        group_size = self.together * self.n_each
        group = torch.div(places, group_size, rounding_mode="floor")
        count = (self.n_pool - group * group_size).clamp(max=group_size)
        keys = scramble(streams(seeds, epoch)[:, None] + group * STRIDE)
        inside = permuted((places - group * group_size).expand(keys.shape), keys, count, group_size)
        block_of = torch.div(inside, self.n_each, rounding_mode="floor")
        block = self._block_order(epoch, seeds.device)[group * self.together + block_of]
        return self._rows(block, inside - block_of * self.n_each, without[:, None])

    def _block_order(self, epoch: int, device: torch.device) -> Tensor:
        blocks = torch.arange(self.n_blocks, device=device)
        return permuted(blocks, streams(torch.tensor(self.seed, device=device), epoch), self.n_blocks)

    def _rows(self, block: Tensor, place: Tensor, without: Tensor) -> Tensor:
        """Return the rows at places among those of a block that are outside a fold."""
        begin = torch.div(block * self.n_rows, self.n_blocks, rounding_mode="floor")
        end = torch.div((block + 1) * self.n_rows, self.n_blocks, rounding_mode="floor")
        count = end - begin
        gap = torch.div(without * count, self.n_folds, rounding_mode="floor")
        gap_end = torch.div((without + 1) * count, self.n_folds, rounding_mode="floor")
        place = torch.where(place < gap, place, place + (gap_end - gap))
        return begin + permuted(place, self._keys(block), count, self._longest)

    def _keys(self, block: Tensor) -> Tensor:
        return scramble(self.seed + (block + 1) * STRIDE)


@dataclass(frozen=True, eq=False)
class FoldPools:
    """The rows each of R replicas is trained on: all but those of one fold."""

    blocks: RowBlocks
    without: Tensor  # the fold of each replica, int64, shape (R,)

    def take(self, replicas: Tensor | slice) -> "FoldPools":
        """Return those of some replicas."""
        return FoldPools(self.blocks, self.without[replicas])
