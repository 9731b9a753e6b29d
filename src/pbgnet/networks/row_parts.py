"""Answers to many rows, a part at a time, shared between threads and workers."""

from collections.abc import Callable, Iterator

from torch import Tensor

from pbgnet.kernels import one_thread, take_turns
from pbgnet.workers import current_workers


def compute_rows(compute: Callable[[slice], Tensor], n: int, size: int, operations: float) -> Tensor:
    """Return what is computed for n rows, on a CPU, at most `size` of them at a time.

    The parts are the same for any number of threads and workers, and each is computed on one thread. A worker
    computes a contiguous range of them. All workers must call this, and all receive the results for all rows.

    Parameters
    ----------
    compute : callable
        Maps a slice of rows to a tensor of the same length; called on any thread, several at a time.
    n, size : int
        n must be at least 1.
    operations : float
        Approximate number of operations for all rows.
    """
    workers = current_workers()
    parts = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    places = workers.span(len(parts))
    first = parts[places[0] if places else 0]  # always computed, because it gives the shape of a row
    last = parts[places[-1]].stop if places else first.start
    with one_thread():
        head = compute(first)
    # Copied and released immediately. Small results that stay between large ones that go would hold hundreds
    # of times their own memory, because the allocator cannot reuse what is between them.
    found = head.new_empty(last - first.start, *head.shape[1:])
    found[: len(head)] = head[: len(found)]

    def answer(pile: Iterator[slice]) -> None:
        for rows in pile:
            found[rows.start - first.start : rows.stop - first.start] = compute(rows)

    take_turns(answer, [parts[place] for place in places[1:]], operations)
    return workers.gather_rows(found)
