"""Answers to many rows, a part at a time, shared between threads and workers."""

from collections.abc import Callable, Iterator

from torch import Tensor

from pbgnet.kernels import take_turns
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
    mine = [parts[place] for place in workers.span(len(parts))]
    begin, end = (mine[0].start, mine[-1].stop) if mine else (0, 0)
    (first,) = take_turns(lambda pile: next(compute(rows) for rows in pile), (mine or parts)[:1], 0.0)
    # All room at once: many small results, kept between what every part needs, would leave holes in memory
    # that nothing fits into.
    result = first.new_empty(end - begin, *first.shape[1:])

    def answer(pile: Iterator[slice]) -> None:
        for rows in pile:
            result[rows.start - begin : rows.stop - begin] = compute(rows)

    if mine:
        result[: len(first)] = first
        take_turns(answer, mine[1:], operations)
    return workers.gather_rows(result)
