"""Where batches of runs are trained: on this machine, or on a Ray cluster."""

import itertools
import os
import platform
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, Protocol

import torch

from pbgnet.exceptions import ClusterError, StudyStoppedError
from pbgnet.experiments.runs import Rows, RunSpec, train_batch
from pbgnet.experiments.studies.faults import stop_for, stopped
from pbgnet.experiments.studies.store import RunRecord

RowSource = Callable[[RunSpec], Rows]
"""Maps a run to the rows it is trained and tested on; must be picklable for a cluster."""

Batch = Sequence[RunSpec]

# Small networks leave a GPU idle between their kernels, so several batches share it, each in a process of its
# own: threads of one process wait for each other in Python and in the driver, longer than they compute.
PROCESSES_PER_GPU = 8
MEMORY_PER_PROCESS = 4 << 30


def execute(batch: Batch, source: RowSource, device: str) -> list[RunRecord]:
    """Train a batch and return its records; an error of the runs themselves is recorded.

    Raises
    ------
    StudyStoppedError
        If something around the runs failed: then there is nothing to record.
    """
    start, place = time.perf_counter(), torch.device(device)
    results: list[dict[str, dict[str, float]]] = [{} for _ in batch]
    error = ""
    try:
        with _own_stream(place):
            results = train_batch(batch, source, place)
    except Exception as problem:
        if stop := stop_for(problem, batch):
            raise stop from problem
        # The other batches continue; the store says what happened to this one.
        error = "".join(traceback.format_exception(problem, limit=-4)).strip()
    share = (time.perf_counter() - start) / len(batch)
    machine = machine_of(place)
    return [
        RunRecord(run, numbers, error, share, machine) for run, numbers in zip(batch, results, strict=True)
    ]


_of_thread = threading.local()


@contextmanager
def _own_stream(device: torch.device) -> Iterator[None]:
    """Work in the stream of this thread: the default one cannot be recorded in a graph."""
    if device.type != "cuda":
        yield
        return
    if getattr(_of_thread, "device", None) != device:
        _of_thread.device, _of_thread.stream = device, torch.cuda.Stream(device)
    with torch.cuda.device(device), torch.cuda.stream(_of_thread.stream):
        yield


class Engine(Protocol):
    """Trains batches on a kind of device and returns their records as they come."""

    @property
    def device(self) -> str:
        """What batches are trained on, such as "cpu" or "cuda"."""

    def train(self, batches: Iterable[Batch], source: RowSource) -> Iterator[list[RunRecord]]:
        """Yield the records of each batch, in the order in which they are done.

        Batches are requested when there is room to train them. If something around the runs fails,
        `StudyStoppedError` is raised, after any records that still came.
        """


@dataclass(frozen=True)
class LocalEngine:
    """Threads of this process on a CPU; on a GPU, processes that share it.

    Attributes
    ----------
    device : str
    n_workers : int, optional
        Batches at a time. By default 1 on a CPU; on a GPU one per core and per 4 GiB of its memory, but at
        most 8.

    Notes
    -----
    The processes import the program that starts them: a script that uses a GPU needs the usual
    ``if __name__ == "__main__":``. With NVIDIA's MPS (``nvidia-cuda-mps-control -d``) kernels of different
    processes run at the same time.
    """

    device: str = "cpu"
    n_workers: int | None = None

    def train(self, batches: Iterable[Batch], source: RowSource) -> Iterator[list[RunRecord]]:
        """Yield the records of each batch, in the order in which they are done."""
        device, waiting = torch.device(self.device), iter(batches)
        count = self.n_workers or _n_workers(device)
        with _pool(count, device) as pool:

            def submit(some: Iterator[Batch]) -> set[Future[list[RunRecord]]]:
                return {_begun(pool, batch, source, self.device) for batch in some}

            running = submit(itertools.islice(waiting, count))
            stop: StudyStoppedError | None = None
            while running:  # no more are submitted than can run, so an interrupt has little to wait for
                done, running = wait(running, return_when=FIRST_COMPLETED)
                stops = {future: problem for future in done if (problem := _stop_of(future))}
                stop = next(iter(stops.values()), stop)
                if stop is None:  # otherwise running batches finish, and no new one begins
                    running |= submit(itertools.islice(waiting, len(done)))
                for future in done - stops.keys():
                    yield future.result()
            if stop is not None:
                raise stop


def _begun(pool: Executor, batch: Batch, source: RowSource, device: str) -> Future[list[RunRecord]]:
    """Submit a batch; if a process has died since the last look, its future says so, as those of others."""
    try:
        return pool.submit(execute, batch, source, device)
    except BrokenProcessPool as problem:
        broken: Future[list[RunRecord]] = Future()
        broken.set_exception(problem)
        return broken


def _stop_of(future: Future[list[RunRecord]]) -> StudyStoppedError | None:
    problem = future.exception()
    if isinstance(problem, BrokenProcessPool):  # killed, most likely for lack of memory
        return stopped("A process that trained runs has died (use fewer --workers)", problem)
    return problem if isinstance(problem, StudyStoppedError) else None


def _n_workers(device: torch.device) -> int:
    if device.type != "cuda":
        return 1
    memory = torch.cuda.get_device_properties(device).total_memory
    return max(1, min(PROCESSES_PER_GPU, os.cpu_count() or 1, memory // MEMORY_PER_PROCESS))


def _pool(count: int, device: torch.device) -> Executor:
    if count == 1 or not _shares_by_processes(device):
        return ThreadPoolExecutor(count, thread_name_prefix="pbgnet-batch")
    # A process that has used CUDA cannot be forked.
    return ProcessPoolExecutor(count, get_context("spawn"), initializer=_begin_process)


def _shares_by_processes(device: torch.device) -> bool:
    return device.type == "cuda"


def _begin_process() -> None:
    torch.set_num_threads(1)


@dataclass(frozen=True)
class RayEngine:
    """A Ray cluster, or Ray on this machine; needs ``pip install ray``.

    Attributes
    ----------
    address : str, optional
        Address of the cluster. By default a local one is started, and stopped at the end. If this process is
        already connected to one, that is used.
    device : str
        Device of the workers, "cpu" or "cuda".
    batches_per_gpu : int
        Batches that share a GPU.
    """

    address: str | None = None
    device: str = "cpu"
    batches_per_gpu: int = PROCESSES_PER_GPU

    def train(self, batches: Iterable[Batch], source: RowSource) -> Iterator[list[RunRecord]]:
        """Yield the records of each batch, in the order in which they are done.

        All batches are requested at the beginning. A worker that dies counts as a failure of its runs, which
        may have killed it. A machine that is gone does not, and stops the study.
        """
        ray, ours = self._connect()
        resources: dict[str, Any] = {"num_cpus": 1, "max_retries": 0}
        if self.device.startswith("cuda"):
            resources["num_gpus"] = 1 / self.batches_per_gpu
        remote = ray.remote(**resources)(execute)
        running = {remote.remote(batch, source, self.device): batch for batch in batches}
        try:
            while running:
                (done, *_), _ = ray.wait(list(running), num_returns=1)
                batch = running.pop(done)
                try:
                    records: list[RunRecord] = ray.get(done)
                except ray.exceptions.WorkerCrashedError as error:
                    records = [RunRecord(run, error=f"{type(error).__name__}: {error}") for run in batch]
                except ray.exceptions.RayError as error:
                    cause = getattr(error, "cause", None)  # what the worker raised, if it did
                    stop = cause if isinstance(cause, StudyStoppedError) else None
                    raise stop or stopped("The Ray cluster failed", error) from error
                yield records
        finally:
            for waiting in running:  # an interrupt leaves nothing behind on the cluster
                ray.cancel(waiting, force=True)
            if ours:
                ray.shutdown()

    def _connect(self) -> tuple[Any, bool]:
        """Return Ray, and whether this call connected to it."""
        try:
            import ray
        except ImportError as error:
            raise ClusterError("Ray is not installed: pip install ray.") from error
        if ray.is_initialized():
            return ray, False
        try:
            _knock(self.address)
            ray.init(address=self.address or "local", log_to_driver=False, include_dashboard=False)
        except (OSError, RuntimeError, ValueError) as error:
            raise ClusterError(
                f"The Ray cluster at {self.address or 'this machine'} cannot be reached: {error}. "
                "Check --address, or leave it out to use this machine."
            ) from error
        return ray, True


def _knock(address: str | None) -> None:
    """Raise an error immediately if nothing listens at the address; Ray itself would try for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=10).close()


def machine_of(device: torch.device) -> str:
    """Return the kind of machine of a device; nothing that identifies it."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.machine()}, {os.cpu_count()} cores"
