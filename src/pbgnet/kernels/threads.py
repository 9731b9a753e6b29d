"""Divides the work of a kernel between threads; the kernels release Python's lock while they run."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from itertools import pairwise
from typing import TypeVar

import torch

# Waking a thread costs about 50 microseconds: work below this many elementary operations (about 0.4 ns each)
# stays on the calling thread, and no thread is woken for less.
OPERATIONS_PER_THREAD = 1 << 20

LARGE_STEP = 1 << 28
"""From so many multiplications on, about 30 ms on one core, an operation is given all threads.

Where other programs kept both cores busy, steps of 0.03 to 200 million multiplications took 4 to 35 times as
long with two threads as with one, and steps of 1.6 billion 1.4 times. Two threads cannot gain more than
a factor of 2."""

Item = TypeVar("Item")
Found = TypeVar("Found")

_pool: ThreadPoolExecutor | None = None
_at_first: list[int] = []  # numbers of threads before each change that is in effect


def share(run: Callable[[int, int], object], n_blocks: int, operations: float) -> None:
    """Call `run(first, last)` for ranges that together cover all blocks, on as many threads as pay off.

    It uses no more threads than PyTorch (`torch.set_num_threads`). The result of a block must not depend on
    the thread that runs it.
    """
    if n_blocks == 0:
        return
    n_threads = min(n_blocks, int(operations // OPERATIONS_PER_THREAD))
    if n_threads > 1:
        n_threads = min(n_threads, torch.get_num_threads())
    if n_threads <= 1:
        run(0, n_blocks)
        return
    edges = [n_blocks * i // n_threads for i in range(n_threads + 1)]
    waiting: list[Future[object]] = [
        _threads().submit(run, first, last) for first, last in pairwise(edges[1:])
    ]
    run(edges[0], edges[1])
    for future in waiting:
        future.result()


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread for everything inside, PyTorch's and our own; then as many as before.

    For many small operations in a row. Threads wait for each other after every one of them, and if other
    programs keep the cores busy, each wait lasts until the system has given all threads a turn.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.kernels import one_thread
    >>> with one_thread():
    ...     torch.get_num_threads()
    1
    """
    with _threads_set(1):
        yield


@contextmanager
def threads_for(multiplications: float) -> Iterator[None]:
    """Use all threads for one operation of this many multiplications if it is large, and one otherwise.

    Also inside `one_thread`: large operations get as many threads as there were before.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.kernels import one_thread, threads_for
    >>> before = torch.get_num_threads()
    >>> with one_thread(), threads_for(1e10):
    ...     torch.get_num_threads() == before
    True
    """
    with _threads_set(_all_threads() if multiplications >= LARGE_STEP else 1):
        yield


def take_turns(
    work: Callable[[Iterator[Item]], Found], items: Sequence[Item], operations: float
) -> list[Found]:
    """Call `work` on as many threads as pay off; each takes one item after the other from the same pile.

    Inside, every operation has one thread, so the result of an item does not depend on the number of threads;
    it must not matter which thread takes it. Inside `one_thread` it uses all threads there were before. The
    results of the calls are returned in no particular order. If one fails, or is interrupted, the others end
    after their current item.
    """
    n_threads = max(1, min(len(items), _all_threads(), int(operations // OPERATIONS_PER_THREAD)))
    pile, grad_enabled = iter(items), torch.is_grad_enabled()

    def take() -> Found:
        try:
            return work(pile)
        except BaseException:
            for _ in pile:  # the others should stop too: the rest is no longer needed
                pass
            raise

    def alone() -> Found:
        torch.set_num_threads(1)  # of this thread, not of others
        with torch.set_grad_enabled(grad_enabled):
            return take()

    with one_thread():
        waiting = [_threads().submit(copy_context().run, alone) for _ in range(n_threads - 1)]
        try:
            found = [take()]
        finally:
            for future in waiting:
                future.exception()  # what they use must exist until they are done
        return found + [future.result() for future in waiting]


def _all_threads() -> int:
    """The number of threads before any change that is in effect."""
    return _at_first[0] if _at_first else torch.get_num_threads()


@contextmanager
def _threads_set(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    _at_first.append(before)
    torch.set_num_threads(count)
    try:
        yield
    finally:
        _at_first.pop()
        torch.set_num_threads(before)


def _threads() -> ThreadPoolExecutor:
    global _pool  # noqa: PLW0603 - one pool per process, made when first needed
    if _pool is None:
        _pool = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="pbgnet-kernel")
    return _pool


def _keep_to_one_thread() -> None:
    """A forked child has none of its parent's threads: neither ours nor those of PyTorch.

    PyTorch does not know this: it would hand them work in the child and wait forever. With one thread it does
    not.
    """
    global _pool  # noqa: PLW0603
    _pool = None
    torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_to_one_thread)
