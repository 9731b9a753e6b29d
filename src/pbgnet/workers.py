"""Several processes that compute one thing together, on one machine or several; a single one by default.

Every worker runs the same program on the same rows. Expensive work is divided between them, and the results
are added up, or concatenated, so that every worker has all of them. Sums are of whole numbers, which do not
depend on the order, so the result does not depend on the number of workers.

Workers are processes started by `torchrun`, Ray Train or
``pbgnet train --workers``. They communicate through `torch.distributed`: gloo on CPUs, NCCL on GPUs.
"""

import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed

import pbgnet
from pbgnet.exceptions import WorkerLostError, WorkersDifferError

PATIENCE = 60.0
"""Seconds that a worker waits for the others in a sum; a dead worker is usually noticed immediately."""

MEETING_PATIENCE = 600.0
"""Seconds that a worker waits for the others at the beginning, while some may still be starting."""

PREPARING_PATIENCE = 3600.0
"""Seconds that a worker waits before facts are compared, while others may still be reading their table."""

LAST_WORDS = 5.0
"""Seconds that the remaining workers give each other to report that they are alive."""


@dataclass(frozen=True)
class Workers:
    """The workers of a computation, as one of them sees them.

    Attributes
    ----------
    rank : int
        The number of this worker, from 0.
    size : int
        The number of workers.
    local_rank : int
        The number of this worker among those of its machine.
    group : object, optional
        The process group of `torch.distributed`; None for a single worker.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    group: Any = None

    @property
    def is_first(self) -> bool:
        """Whether this is the worker that prints and writes."""
        return self.rank == 0

    def span(self, n: int) -> range:
        """Return this worker's part of n items: contiguous, and about as long as the other parts."""
        return range(n * self.rank // self.size, n * (self.rank + 1) // self.size)

    def sum(self, numbers: Tensor) -> Tensor:
        """Add up whole numbers, an int64 tensor, over all workers; in place."""
        if self.size > 1:
            self._together(lambda: distributed.all_reduce(numbers, group=self.group))
        return numbers

    def gather_rows(self, rows: Tensor) -> Tensor:
        """Return the rows of all workers, one after the other; their numbers may differ."""
        if self.size == 1:
            return rows
        lengths = [torch.zeros(1, dtype=torch.int64, device=rows.device) for _ in range(self.size)]
        own = torch.full_like(lengths[0], len(rows))
        self._together(lambda: distributed.all_gather(lengths, own, group=self.group))
        counts = [int(length) for length in lengths]
        # All messages have the same length: that of the longest.
        padded = rows.new_zeros(max(counts), *rows.shape[1:])
        padded[: len(rows)] = rows
        parts = [torch.empty_like(padded) for _ in range(self.size)]
        self._together(lambda: distributed.all_gather(parts, padded, group=self.group))
        return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)])

    def barrier(self, patience: float = PATIENCE) -> None:
        """Wait until all workers are here; late ones may take this many seconds."""
        if self.size > 1:
            limit = timedelta(seconds=patience)
            self._together(
                lambda: distributed.monitored_barrier(group=self.group, timeout=limit, wait_all_ranks=True)
            )

    def check_alike(self, facts: Mapping[str, str]) -> None:
        """Raise `WorkersDifferError` unless the facts, by name, are the same for all workers.

        It waits for workers that are late.
        """
        if self.size == 1:
            return
        self.barrier(PREPARING_PATIENCE)
        told = json.dumps(dict(facts)).encode()
        lines = self.gather_rows(torch.tensor([[len(told)]], dtype=torch.int64))[:, 0].tolist()
        everything = self.gather_rows(torch.frombuffer(bytearray(told), dtype=torch.uint8)).numpy().tobytes()
        first: dict[str, str] | None = None
        for rank, length in enumerate(lines):
            theirs, everything = json.loads(everything[:length]), everything[length:]
            first = theirs if first is None else first
            for name in {**first, **theirs}:
                if first.get(name) != theirs.get(name):
                    raise WorkersDifferError(
                        f"Worker {rank} differs from worker 0 in {name}: {theirs.get(name)!s:.80} instead of "
                        f"{first.get(name)!s:.80}. All workers must use the same versions, settings and rows."
                    )

    def _together(self, communicate: Callable[[], object]) -> None:
        try:
            communicate()
        except RuntimeError as error:
            names = self._missing()
            who = f"Worker {names[0]} has" if len(names) == 1 else "Another worker has"
            if len(names) > 1:
                who = f"Workers {', '.join(map(str, names))} have"
            raise WorkerLostError(
                f"{who} died or cannot be reached, and worker {self.rank} of {self.size} cannot "
                "continue alone. Start all workers again; with a checkpoint, they resume where they "
                "were."
            ) from error

    def _missing(self) -> list[int]:
        """Return which workers no longer answer, as far as that can be found out."""
        if self.size == 2:
            return [1 - self.rank]
        store = distributed.distributed_c10d._get_default_store()
        missing: list[int] = []
        try:
            store.set(f"pbgnet is left: {self.rank}", "yes")
            # Neighbours that wait for this worker, and not for the lost one, learn about it in this way.
            with suppress(RuntimeError, ValueError):
                distributed.destroy_process_group(self.group)
            for rank in set(range(self.size)) - {self.rank}:
                try:
                    limit = LAST_WORDS if not missing else 0.1
                    store.wait([f"pbgnet is left: {rank}"], timedelta(seconds=limit))
                except distributed.DistStoreError:
                    missing.append(rank)
        except RuntimeError:  # the first worker keeps the store, unless something else does
            return [0]
        return missing


ALONE = Workers()

_current: ContextVar[Workers] = ContextVar("pbgnet_workers", default=ALONE)


def current_workers() -> Workers:
    """Return the joined workers, or the single one."""
    return _current.get()


@contextmanager
def joined() -> Iterator[Workers]:
    """Share everything computed inside a ``with`` statement with the other workers.

    These are the processes that `torchrun` or Ray Train started together with this one, according to the
    environment or an existing process group. Without either, there is a single worker. All must do the same
    inside.

    Raises
    ------
    WorkersDifferError
        If they run different versions.
    WorkerLostError
        Also later, from anything that is computed together, if a worker has died.

    Examples
    --------
    >>> from pbgnet.workers import joined
    >>> with joined() as workers:
    ...     workers.rank, workers.size
    (0, 1)
    """
    ours = not distributed.is_initialized()
    if ours and int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield ALONE
        return
    if ours:
        _meet()
    group = distributed.new_group(timeout=timedelta(seconds=PATIENCE), backend=_backend())
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    workers = Workers(distributed.get_rank(), distributed.get_world_size(), local_rank, group)
    token = _current.set(workers)
    # A group that is left until the process ends can abort it.
    try:
        workers.check_alike(_versions())
        yield workers
    finally:
        _current.reset(token)
        # If a worker is lost, its group may already be gone.
        with suppress(RuntimeError, ValueError, AssertionError):
            distributed.destroy_process_group(None if ours else group)


def _meet() -> None:
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    try:
        distributed.init_process_group(_backend(), timeout=timedelta(seconds=MEETING_PATIENCE))
    except (RuntimeError, ValueError) as error:
        rank, size = os.environ.get("RANK", "?"), os.environ["WORLD_SIZE"]
        raise WorkerLostError(
            f"Worker {rank} of {size} could not connect to the others: "
            f"{str(error).splitlines()[0]:.200}. Start the workers with torchrun, Ray Train or "
            "pbgnet train --workers, which tell each of them where to connect."
        ) from error


def _backend() -> str:
    return "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"


def _versions() -> dict[str, str]:
    return {
        "the version of pbgnet": pbgnet.__version__,
        "the version of torch": torch.__version__,
        "the version of numpy": np.__version__,
        "the version of Python": platform.python_version(),
        "the kind of processor": f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}",
    }
