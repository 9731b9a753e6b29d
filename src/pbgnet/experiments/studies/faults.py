"""Distinguishes failures of a run from those around it: data, disk, memory, software, device.

A run that fails on its own will fail again, and is recorded. A failure around it would affect every run and
says nothing about them, so the study stops.
"""

from collections.abc import Callable, Sequence

from pbgnet.exceptions import DamagedFileError, MissingDataError, StudyStoppedError
from pbgnet.experiments.runs import RunSpec
from pbgnet.training.steps import is_out_of_memory

DEVICE_MESSAGES = ("CUDA error", "CUDA driver error")


def _is_of_the_device(problem: Exception) -> bool:
    """Whether a GPU is lost to this process: after such an error, all its work there fails."""
    return isinstance(problem, RuntimeError) and any(words in str(problem) for words in DEVICE_MESSAGES)


# The first that matches, with its message.
FAULTS: tuple[tuple[Callable[[Exception], bool], str], ...] = (
    (is_out_of_memory, "Memory ran out (use fewer --workers)"),
    (lambda problem: isinstance(problem, MissingDataError | DamagedFileError), "The data is not available"),
    (lambda problem: isinstance(problem, OSError), "A file or the network failed"),
    (lambda problem: isinstance(problem, ImportError), "Software is missing"),
    (_is_of_the_device, "The device failed"),
)


def stop_for(problem: Exception, batch: Sequence[RunSpec]) -> StudyStoppedError | None:
    """Return the error that stops a study if something around a batch failed, rather than its runs."""
    for fits, words in FAULTS:
        if fits(problem):
            run = batch[0]
            return stopped(f"{words}, training {run.architecture} on {run.dataset}", problem)
    return None


def stopped(words: str, problem: Exception) -> StudyStoppedError:
    """Return the error that says what happened, and that nothing is lost."""
    reason = f"{type(problem).__name__}: {problem}".rstrip(".")
    return StudyStoppedError(
        f"{words}: {reason}. The study was stopped, and no run is recorded as failed because "
        "of this. Fix the problem and start the study again; it resumes where it stopped."
    )
