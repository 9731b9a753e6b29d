"""Checkpoints of a long training in a folder, so that an interrupted training can resume.

A training is a sequence of phases, each a run of Adam or L-BFGS, in the same order whenever the same fit is
started again. Each phase has a file with its current state, and in the end its result. A fit that starts
again skips the finished phases and resumes in the middle of the unfinished one. All steps are determined by
the saved state, so the weights are those of an uninterrupted fit, to the last bit.
"""

import signal
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

import pbgnet
from pbgnet.exceptions import DamagedFileError, OptionError, TrainingStoppedError, WorkerLostError
from pbgnet.files import as_path, replace_file
from pbgnet.networks import BinnedRows
from pbgnet.training.solvers.problem import Problem
from pbgnet.workers import current_workers

State = dict[str, Any]
"""Tensors, numbers, texts, and lists and dictionaries of them."""

VERSION = 1

EVERY = 120.0
"""Seconds between two checkpoints of a phase."""


class Phase:
    """One phase of a training with its saved state; a fit without checkpoints saves nothing."""

    def __init__(self, keeper: "Checkpoints | None" = None, path: Path = Path(), key: str = "") -> None:
        self._keeper, self._path, self._key = keeper, path, key
        self._begun = time.monotonic()
        self.found: State | None = None if keeper is None else _read(path, key)

    @property
    def is_done(self) -> bool:
        """Whether an earlier fit has finished this phase."""
        return self.found is not None and bool(self.found["done"])

    def pass_by(self, read: Callable[[], State]) -> None:
        """Save the state of the phase, if it is time to; called only when no work is half done.

        Raises `TrainingStoppedError` if the fit was asked to stop.
        """
        keeper = self._keeper
        if keeper is None:
            return
        if keeper.stop_requested or time.monotonic() - keeper.written >= keeper.every:
            self._write(read(), done=False)
        if keeper.stop_requested:
            raise keeper.stopped()

    def finish(self, read: Callable[[], State]) -> None:
        """Save the result of the phase, unless repeating it is as fast."""
        if self._keeper is not None and time.monotonic() - self._begun >= self._keeper.every / 10:
            self._write(read(), done=True)

    @contextmanager
    def kept_if_lost(self, read: Callable[[], State]) -> Iterator[None]:
        """Save the state of the phase if another worker is lost.

        What is done inside must not change anything before it has all its sums.
        """
        try:
            yield
        except WorkerLostError as error:
            if self._keeper is None:
                raise
            self._write(read(), done=False)
            if self._keeper.stop_requested:  # like the other worker, which has left a moment earlier
                raise self._keeper.stopped() from error
            raise

    def _write(self, state: State, *, done: bool) -> None:
        assert self._keeper is not None
        if current_workers().is_first:
            with replace_file(self._path) as temporary:
                torch.save({**state, "done": done, "key": self._key, "version": VERSION}, temporary)
        self._keeper.written = time.monotonic()


class Checkpoints:
    """The phases of one fit, in a folder.

    Attributes
    ----------
    folder : Path
    every : float
        Seconds between two checkpoints.
    written : float
        When a checkpoint was last written.
    stop_requested : bool
        Whether the fit should stop at the next point where no work is half done.
    """

    def __init__(self, folder: Path, every: float) -> None:
        self.folder, self.every = folder, every
        self.written, self.stop_requested = time.monotonic(), False
        self._n_phases = 0

    def next_phase(self, key: str) -> Phase:
        """Begin the next phase of the fit; its key distinguishes it from others."""
        path = self.folder / f"training-{self._n_phases}.pt"
        self._n_phases += 1
        phase = Phase(self, path, key)
        digest = zlib.crc32(path.read_bytes()) if phase.found is not None else None
        current_workers().check_alike({f"the checkpoint {path.name}": str(digest)})
        return phase

    def stopped(self) -> TrainingStoppedError:
        """Return the error to raise if the fit is asked to stop."""
        return TrainingStoppedError(
            f"Training was asked to stop. Its state is saved in {self.folder}; started again with "
            "the same rows and settings, it resumes from there."
        )

    def remove(self) -> None:
        """Remove all checkpoints: the fit is done."""
        for path in self.folder.glob("training-*.pt"):
            path.unlink()
        if not any(self.folder.iterdir()):
            self.folder.rmdir()


_current: ContextVar[Checkpoints | None] = ContextVar("pbgnet_checkpoints", default=None)


@contextmanager
def checkpointing(folder: Any, *, every: float = EVERY, remove: bool = True) -> Iterator[Checkpoints]:
    """Save the progress of the fit inside a ``with`` statement in a folder, and resume from what is there.

    Checkpoints are written at regular intervals, when SIGTERM asks the process to end, and when another
    worker is lost. They are removed once the fit is done. Only one fit at a time can use a folder; its
    workers share it.

    Parameters
    ----------
    folder : path
        Created if it does not exist.
    every : float
        Seconds between two checkpoints.
    remove : bool
        Whether checkpoints are removed once the fit is done. Otherwise call `remove` of the object that the
        statement gives, when the result is safe.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet import PBGDClassifier
    >>> from pbgnet.training import checkpointing
    >>> x = np.random.default_rng(0).normal(size=(200, 3))
    >>> folder = getfixture("tmp_path") / "checkpoint"
    >>> with checkpointing(folder):
    ...     model = PBGDClassifier(random_state=0).fit(x, x[:, 0] > 0)
    >>> folder.exists()
    False
    """
    path = as_path(folder)
    path.mkdir(parents=True, exist_ok=True)
    checkpoints = Checkpoints(path, every)

    def stop(number: int, frame: object) -> None:
        checkpoints.stop_requested = True

    in_main_thread = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, stop) if in_main_thread else None
    token = _current.set(checkpoints)
    try:
        yield checkpoints
    finally:
        _current.reset(token)
        if in_main_thread:
            signal.signal(signal.SIGTERM, before)
    if remove and current_workers().is_first:
        checkpoints.remove()


def begin_phase(kind: str, problem: Problem, settings: object) -> Phase:
    """Begin a phase of the fit, with the saved state of an earlier one."""
    checkpoints = _current.get()
    if checkpoints is None:
        return Phase()
    objective, criterion = problem.objective, problem.criterion
    given = [*problem.network.weights, *objective.anchors, *objective.learned(), *criterion.learned()]
    given += [problem.seeds, problem.learning_rate, *_tensors(vars(objective))]
    pools = problem.pools
    given += [] if pools is None else [pools] if isinstance(pools, Tensor) else _tensors(vars(pools))
    data, rows, network = problem.data, problem.data.rows, problem.network
    fixed = [*_tensors(vars(data)), *(() if isinstance(rows, Tensor) else _tensors(vars(rows)))]
    fixed += _tensors(vars(rows.book)) if isinstance(rows, BinnedRows) else []
    digests = [*map(_check_sum, given), *map(_remembered_sum, fixed)]
    words = [pbgnet.__version__, kind, problem.seeds.device.type, settings]
    words += [type(network).__name__, getattr(network, "aggregation", None)]
    words += [type(objective).__name__, _plain(vars(objective)), type(criterion).__name__]
    words += [problem.rules, problem.augmentation, getattr(pools, "blocks", None)]
    return checkpoints.next_phase(" ".join(map(str, (*words, *digests))))


@torch.no_grad()
def copy_all(targets: Sequence[Tensor], kept: Sequence[Tensor]) -> None:
    """Copy saved values to where they belong."""
    for target, tensor in zip(targets, kept, strict=True):
        target.copy_(tensor)


def on_device(state: Any, device: torch.device) -> Any:
    """Return saved values with their tensors on a device; records of the past stay where they are."""
    if isinstance(state, Tensor):
        return state.to(device)
    if isinstance(state, dict):
        return {name: one if name == "records" else on_device(one, device) for name, one in state.items()}
    return [on_device(value, device) for value in state] if isinstance(state, list) else state


def _tensors(attributes: dict[str, Any]) -> Sequence[Tensor]:
    return [value for value in attributes.values() if isinstance(value, Tensor)]


def _plain(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers and texts among the attributes of an object."""
    return {name: value for name, value in attributes.items() if isinstance(value, int | float | str)}


_sums = WeakTensorKeyDictionary()


def _remembered_sum(tensor: Tensor) -> int:
    """Return the checksum of rows or labels, which are large and never change."""
    if tensor not in _sums:
        _sums[tensor] = _check_sum(tensor)
    return int(_sums[tensor])


def _check_sum(tensor: Tensor) -> int:
    return zlib.crc32(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)


def _read(path: Path, key: str) -> State | None:
    if not path.exists():
        return None
    try:
        state: State = torch.load(path, map_location="cpu", weights_only=True)
        version, theirs = state["version"], state["key"]
    except Exception as error:  # a truncated or changed file can raise anything
        raise DamagedFileError(
            f"{path} is not a readable checkpoint; remove the folder to train from the beginning."
        ) from error
    if (version, theirs) != (VERSION, key):
        raise OptionError(
            f"The checkpoint {path} belongs to another training, with other rows, settings or "
            "another version. Choose another folder, or remove this one to train from the "
            "beginning."
        )
    return state
