"""Sums of losses and gradients that are the same to the last bit, however the work is divided.

A floating-point sum depends on the order of its terms, and so on the number of threads and workers. Here the
work is divided into pieces that only depend on the work itself. Each is computed on one thread, its share of
the mean is rounded to a multiple of `2^-b`, and these are added as whole numbers, whose sum does not depend
on the order.

**It cannot overflow.** A piece adds `round(s_k x_k 2^b)`, with the share `s_k` of its rows among all and
`|x_k| <= 2^(62 - b)`. The shares sum to 1, so the sum of K pieces is in absolute value at most
`2^62 (1 + 2^-51) + K / 2`, where the first bracket covers rounding a share and its product: below `2^63` for
up to `2^62` pieces. Partial sums are no larger.

**What it loses.** The error of a piece is half a unit, so the error of a mean over K pieces is at most
`K 2^-(b + 1)`: with gradients in single precision, b = 40, half of 10^-12 for each piece; with losses in
double precision, b = 50.

**What does not fit**, because it is larger than `2^(62 - b)` (4 million, or 4096) or not a number, makes all
sums of its replica NaN: its training has diverged.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from pbgnet.kernels import find_kernel, take_turns
from pbgnet.workers import current_workers

FRACTION_BITS = {torch.float32: 40, torch.float64: 50}
WHOLE_BITS = 62

Piece = TypeVar("Piece")


class ExactSum:
    """Sums of several tensors of shapes (R, ...), of these shapes and types, as whole numbers.

    For each replica, the number of values that did not fit is kept too.
    """

    def __init__(self, like: Sequence[Tensor]) -> None:
        self._like = list(like)
        n_replicas = len(like[0])
        sizes = [n_replicas, *(tensor.numel() for tensor in like)]
        self.units = torch.zeros(sum(sizes), dtype=torch.int64, device=like[0].device)
        self._lost, *sums = self.units.split(sizes)
        self._sums = [part.view(n_replicas, -1) for part in sums]
        self._kernel = find_kernel("step", like[0].device)

    def add(self, values: Sequence[Tensor], share: float) -> None:
        """Add a share of some values."""
        for total, value in zip(self._sums, values, strict=True):
            bits = FRACTION_BITS[value.dtype]
            limit = 2.0 ** (WHOLE_BITS - bits)
            flat = value.detach().reshape(total.shape).contiguous()
            self._kernel.add_fixed(total, flat, share, bits, limit, self._lost)

    def values(self) -> list[Tensor]:
        """Return the sums."""
        lost = self._lost[:, None] != 0
        return [
            total.to(like.dtype)
            .mul_(math.ldexp(1.0, -FRACTION_BITS[like.dtype]))
            .masked_fill_(lost, torch.nan)
            .view(like.shape)
            for total, like in zip(self._sums, self._like, strict=True)
        ]


def mean_of_pieces(
    compute: Callable[[Piece], Sequence[Tensor]],
    pieces: Sequence[tuple[Piece, float]],
    like: Sequence[Tensor],
    operations: float,
) -> list[Tensor]:
    """Return the mean of what is computed for pieces with shares, over all threads and workers.

    Parameters
    ----------
    compute : callable
        Maps a piece to tensors like those given; called on any thread, several at a time.
    pieces : sequence of (piece, share)
        The same for all workers; the shares add up to 1.
    like : sequence of Tensor, shapes (R, ...), float32 or float64
    operations : float
        Approximate number of operations for all pieces.
    """
    workers = current_workers()

    def add_up(pile: Iterator[tuple[Piece, float]]) -> ExactSum:
        total = ExactSum(like)
        for piece, share in pile:
            total.add(compute(piece), share)
        return total

    mine = pieces[workers.rank :: workers.size]
    on_cpu = like[0].device.type == "cpu"
    total, *others = take_turns(add_up, mine, operations) if on_cpu else [add_up(iter(mine))]
    for other in others:
        total.units += other.units
    workers.sum(total.units)
    return total.values()


def equal_pieces(n: int, size: int) -> list[tuple[slice, float]]:
    """Divide n rows into pieces of at most `size`, in order, with the share of the rows in each."""
    return [(slice(low, low + size), min(size, n - low) / n) for low in range(0, n, size)]
