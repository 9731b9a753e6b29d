"""What a command shows that goes through many rows: how far it is, and each kind of warning once."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pbgnet.cli.outcome import note
from pbgnet.exceptions import PBGNetWarning


@contextmanager
def row_progress(what: str, total: int | None = None, *, shown: bool) -> Iterator[Callable[[int], None]]:
    """Show how many rows are done, of how many where that is known, on a terminal only.

    Gives a function to be told the number of rows of each batch.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.completed:,.0f} {task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    disable = not (shown and console.is_terminal)
    with Progress(*columns, console=console, disable=disable, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda n_rows: bar.advance(task, n_rows)


@contextmanager
def warned_once(kind: type[PBGNetWarning]) -> Iterator[None]:
    """Tell the first warning of a kind, and at the end in how many more batches there was cause for one."""
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
        note(f"There are such cells in {count - 1} more batches of rows.")
