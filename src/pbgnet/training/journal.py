"""What a training writes down and shows, and whether somebody has asked it to stop."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from torch import Tensor

from pbgnet.training.history import History
from pbgnet.training.progress import Progress

__all__ = ["Journal"]


@dataclass
class Journal:
    """History, progress bar and interrupt of a training, shared by all its phases.

    Attributes
    ----------
    history : History
    progress : Progress
    interrupted : bool
        Set by the first keyboard interrupt: every phase then ends at once with the best weights it has.
    """

    history: History = field(default_factory=History)
    progress: Progress = field(default_factory=Progress)
    interrupted: bool = False

    def record(self, phase: str, step: int, total: int, **numbers: Tensor) -> None:
        """Write down the numbers of an epoch or iteration, each of shape (R,), and show them."""
        self.history.append(phase=phase, epoch=step, **numbers)
        self.progress.advance(phase, step, total, numbers["objective"])

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Turn a keyboard interrupt inside into a request to stop."""
        try:
            yield
        except KeyboardInterrupt:
            self.interrupted = True
