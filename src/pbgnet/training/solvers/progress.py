"""A progress bar on terminals; nothing is shown elsewhere."""

import sys
from typing import Any, Self

from torch import Tensor


class Progress:
    """Shows phase, epoch and best objective unless `verbose` is 0; needs `rich`, and a terminal."""

    def __init__(self, verbose: int = 0) -> None:
        self._bar: Any = _make_bar() if verbose and sys.stderr.isatty() else None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, phase: str, step: int, total: int, objective: Tensor) -> None:
        """Show that `step` of `total` steps of a phase are done."""
        if self._bar is None:
            return
        if phase not in self._tasks:
            self._tasks[phase] = self._bar.add_task(phase, total=total)
        text = f"{phase}  {float(objective.min()):.4f}"
        self._bar.update(self._tasks[phase], completed=step, description=text)


def _make_bar() -> Any:
    """A bar of `rich` on standard error, or None if it is not installed."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar
    except ImportError:
        return None
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Bar(*columns, console=Console(stderr=True), transient=True)
