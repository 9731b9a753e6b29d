"""Progress of a long computation, reported to a listener; to nobody by default.

Libraries do not print. A program that shows progress, such as `pbgnet train`, registers a listener, and long
computations report to it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Listener(Protocol):
    """An object that wants to be informed."""

    def begin(self, stage: str) -> None:
        """Called when a stage begins, which ends the previous one."""

    def remark(self, text: str) -> None:
        """Called with the reason why something takes longer than usual."""

    def progress(self, done: int, total: int) -> None:
        """Called with the progress of a stage: rows done, out of how many."""


_listener: ContextVar[Listener | None] = ContextVar("pbgnet_listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell a listener everything that is reported inside a ``with`` statement, on the same thread.

    Examples
    --------
    >>> from pbgnet.stages import announce, listening
    >>> class Printer:
    ...     def begin(self, stage):
    ...         print(stage)
    >>> with listening(Printer()):
    ...     announce("training")
    training
    >>> announce("certifying")  # nobody listens
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def announce(stage: str) -> None:
    """Report that a stage begins: "preparing", "training" or "certifying"."""
    listener = _listener.get()
    if listener is not None:
        listener.begin(stage)


def remark(text: str) -> None:
    """Report why something takes longer than usual."""
    listener = _listener.get()
    if listener is not None:
        listener.remark(text)


def progress(done: int, total: int) -> None:
    """Report the progress of a stage: rows done, out of how many. Loops over many rows call it often."""
    listener = _listener.get()
    if listener is not None:
        listener.progress(done, total)
