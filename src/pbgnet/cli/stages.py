"""Progress of a command for people at a terminal: a line for each stage, with the seconds so far."""

import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from pbgnet.cli.outcome import note
from pbgnet.exceptions import PBGNetWarning

PATIENCE = 1.0
"""Seconds between two updates about a stage."""


class Stages:
    """Stages of a long command, shown on standard error; see `pbgnet.stages`.

    Silent unless `shown`, and if standard error is not a terminal, like the progress bars of training.

    Attributes
    ----------
    seconds : dict of str to float
        How long each finished stage took.
    """

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown and sys.stderr.isatty()
        self._start = self._begun = time.perf_counter()
        self._name = ""
        self._remarks: set[str] = set()
        self._told = self._start  # when progress was last shown
        self._line = 0  # length of the progress line on the terminal
        self.seconds: dict[str, float] = {}

    def begin(self, stage: str) -> None:
        """End the previous stage, and show that another begins."""
        now = time.perf_counter()
        if self._name:
            self.seconds[self._name] = self.seconds.get(self._name, 0.0) + now - self._begun
        self._name, self._begun = stage, now
        self._tell(stage)

    def end(self) -> None:
        """End the last stage."""
        self.begin("done")

    def remark(self, text: str) -> None:
        """Show why something takes longer, once."""
        if text not in self._remarks:
            self._remarks.add(text)
            self._tell(f"  {text}")

    def progress(self, done: int, total: int) -> None:
        """Show the progress of the stage, in a line that the next one overwrites."""
        now = time.perf_counter()
        if not self._shown or now - self._told < PATIENCE:
            return
        self._told = now
        line = f"{now - self._start:7.1f} s    {self._name}: {done:,} of {total:,} rows"
        typer.echo(f"\r{line:<{self._line}}", err=True, nl=False)
        self._line = len(line)

    def _tell(self, text: str) -> None:
        if self._shown:
            line = f"{time.perf_counter() - self._start:7.1f} s  {text}"
            typer.echo(f"\r{line:<{self._line}}" if self._line else line, err=True)
            self._line = 0


@contextmanager
def warned_once(kind: type[PBGNetWarning]) -> Iterator[None]:
    """Show the first warning of a kind, and at the end in how many more batches it occurred."""
    count = 0
    with warnings.catch_warnings():
        show = warnings.showwarning

        def show_first(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            nonlocal count
            count += issubclass(category, kind)
            if count <= 1 or not issubclass(category, kind):
                show(message, category, *place, **more)

        warnings.showwarning = show_first
        yield
    if count > 1:
        note(f"The same applies to {count - 1} more batches of rows.")
