"""What a training records and shows, and whether it was asked to stop."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from torch import Tensor

from pbgnet.training.solvers.progress import Progress
from pbgnet.workers import current_workers


@dataclass
class History:
    """The history of a training: one record per epoch or iteration, for all replicas.

    Numbers and texts describe the epoch as a whole; tensors of shape (R,) describe each replica.
    """

    records: list[dict[str, float | int | str | Tensor]] = field(default_factory=list)

    def append(self, **record: float | int | str | Tensor) -> None:
        """Add a record; tensors are detached and moved to the CPU."""
        self.records.append(
            {key: v.detach().cpu() if isinstance(v, Tensor) else v for key, v in record.items()}
        )

    def take(self, replicas: Tensor) -> None:
        """Continue with some replicas, or with copies of them: indices of shape (R,)."""
        index = replicas.cpu()
        self.records = [
            {key: v[index] if isinstance(v, Tensor) else v for key, v in record.items()}
            for record in self.records
        ]

    def of_replica(self, replica: int) -> list[dict[str, float | int | str]]:
        """Return the records of one replica as plain numbers."""
        return [
            {key: v[replica].item() if isinstance(v, Tensor) else v for key, v in record.items()}
            for record in self.records
        ]


@dataclass
class Journal:
    """History, progress bar and interrupt of a training, shared by all its phases.

    Attributes
    ----------
    history : History
    progress : Progress
    interrupted : bool
        Set by the first keyboard interrupt: every phase then ends immediately with the best weights it has.
    """

    history: History = field(default_factory=History)
    progress: Progress = field(default_factory=Progress)
    interrupted: bool = False

    def record(self, phase: str, step: int, total: int, **numbers: Tensor) -> None:
        """Record the numbers of an epoch or iteration, each of shape (R,), and show them."""
        self.history.append(phase=phase, epoch=step, **numbers)
        self.progress.advance(phase, step, total, numbers["objective"])

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Turn a keyboard interrupt inside into a request to stop; not with several workers."""
        try:
            yield
        except KeyboardInterrupt:
            if current_workers().size > 1:
                raise
            self.interrupted = True
