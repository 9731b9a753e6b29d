"""What a command is doing, for people at a terminal: a line as each stage begins, with the seconds so far."""

import sys
import time

import typer


class Stages:
    """Stages of a long command, told on standard error; see `pbgnet.stages`.

    Silent unless `shown`, and where standard error is no terminal, as the bars of training are.

    Attributes
    ----------
    seconds : dict of str to float
        How long each stage took that has ended.
    """

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown and sys.stderr.isatty()
        self._start = self._begun = time.perf_counter()
        self._name = ""
        self._remarks: set[str] = set()
        self.seconds: dict[str, float] = {}

    def begin(self, stage: str) -> None:
        """End the stage before, and tell that another begins."""
        now = time.perf_counter()
        if self._name:
            self.seconds[self._name] = self.seconds.get(self._name, 0.0) + now - self._begun
        self._name, self._begun = stage, now
        self._tell(stage)

    def end(self) -> None:
        """End the last stage."""
        self.begin("done")

    def remark(self, text: str) -> None:
        """Tell why something takes longer, once."""
        if text not in self._remarks:
            self._remarks.add(text)
            self._tell(f"  {text}")

    def _tell(self, text: str) -> None:
        if self._shown:
            typer.echo(f"{time.perf_counter() - self._start:7.1f} s  {text}", err=True)
