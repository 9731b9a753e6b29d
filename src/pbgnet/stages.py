"""What a long computation is doing, told to whoever listens; to nobody by default.

Libraries do not print. A program that shows people what is going on listens, as `pbgnet train` does, and what
takes its time announces itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Listener(Protocol):
    """Somebody who wants to know."""

    def begin(self, stage: str) -> None:
        """Hear that a stage begins, which ends the one before."""

    def remark(self, text: str) -> None:
        """Hear why something takes longer than usual."""

    def progress(self, done: int, total: int) -> None:
        """Hear how far a stage has come: rows done, of how many."""


_listener: ContextVar[Listener | None] = ContextVar("pbgnet_listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell a listener all that is announced inside a ``with`` statement, on the same thread.

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
    """Say that a stage begins: "preparing", "training" or "certifying"."""
    listener = _listener.get()
    if listener is not None:
        listener.begin(stage)


def remark(text: str) -> None:
    """Say why something takes longer than usual."""
    listener = _listener.get()
    if listener is not None:
        listener.remark(text)


def progress(done: int, total: int) -> None:
    """Say how far a stage has come: rows done, of how many. Those who walk through many rows say so often."""
    listener = _listener.get()
    if listener is not None:
        listener.progress(done, total)
