"""Answers to many rows, a part at a time, shared between threads and workers."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from pbgnet.kernels.threads import take_turns
from pbgnet.workers import current_workers


def compute_rows(compute: Callable[[slice], Tensor], n: int, size: int, operations: float) -> Tensor:
    """Return what is computed of n rows, on a CPU, at most `size` of them at a time.

    The parts are the same for any number of threads and workers, and each is computed on one thread. A worker
    computes a contiguous range of them; all workers have to ask, and all know all rows in the end.

    Parameters
    ----------
    compute : callable
        Maps a slice of rows to a tensor with as many; on any thread, several at a time.
    n, size : int
        There must be a row.
    operations : float
        About how many all rows take.
    """
    workers = current_workers()
    parts = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    # A worker without a part of its own computes the first, which tells the shape of a row.
    mine = [(place, parts[place]) for place in workers.span(len(parts))] or [(-1, parts[0])]
    found: dict[int, Tensor] = {}

    def answer(pile: Iterator[tuple[int, slice]]) -> None:
        for place, rows in pile:
            found[place] = compute(rows)

    take_turns(answer, mine, operations)
    shape_only = found.pop(-1, None)
    if shape_only is not None:
        return workers.gather_rows(shape_only[:0])
    return workers.gather_rows(torch.cat([found[place] for place in sorted(found)]))
