"""A command as several workers on this machine: starting, watching and ending them."""

import contextlib
import functools
import io
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import IO, Any

import typer

from pbgnet.cli.outcome import ExitCode

GRACE = 15.0
"""Seconds that the other workers have to end on their own after one has ended: they may need to write."""

LOOK = 0.1
"""Seconds between two checks of the workers."""


def launchable(run: Callable[..., None]) -> Callable[..., None]:
    """Let a command with the option `workers` run as this many processes; only the first one prints."""

    @functools.wraps(run)
    def start(**options: Any) -> None:
        rank = os.environ.get("RANK")
        if rank is None and options["workers"] > 1:
            raise typer.Exit(launch([sys.executable, "-m", "pbgnet", *sys.argv[1:]], options["workers"]))
        with contextlib.nullcontext() if rank in (None, "0") else _silent(f"worker {rank}"):
            run(**options)

    return start


@contextlib.contextmanager
def _silent(name: str) -> Iterator[None]:
    """Print nothing, unless the command fails; then its output goes to standard error."""
    kept, failed = io.StringIO(), False
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(kept):
            yield
    except typer.Exit as ended:
        failed = ended.exit_code != 0
        raise
    except BaseException:
        failed = True
        raise
    finally:
        if failed:
            for line in kept.getvalue().splitlines():
                typer.echo(f"{name}: {line}", err=True)


def launch(command: list[str], n_workers: int) -> int:
    """Run a command as this many workers, with one thread each, until all have ended; return the exit code.

    If one of them fails, the others are ended. SIGTERM and Ctrl-C are passed on to all.
    """
    with contextlib.ExitStack() as stack:
        # The first has our own output; messages of the others are shown if the first does not show them.
        said = [None, *(stack.enter_context(tempfile.TemporaryFile()) for _ in range(n_workers - 1))]
        workers = [
            subprocess.Popen(command, env=environment, stderr=errors, start_new_session=True)
            for environment, errors in zip(_environments(n_workers), said, strict=True)
        ]
        stack.callback(_end, workers)
        for number in (signal.SIGTERM, signal.SIGINT):
            before = signal.signal(number, lambda which, frame: _pass_on(workers, which))
            stack.callback(signal.signal, number, before)
        failed = _watch(workers)
        if failed is None:
            return int(ExitCode.DONE)
        _wait(workers, GRACE)
        return _tell(workers, failed, said[failed])


def _environments(n_workers: int) -> Iterator[dict[str, str]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(n_workers)}
    for rank in range(n_workers):
        own = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        yield {"OMP_NUM_THREADS": "1", **os.environ, **meeting, **own}


def _watch(workers: list[subprocess.Popen[bytes]]) -> int | None:
    """Wait until a worker fails, and return its rank; or until all have ended."""
    while True:
        codes = [worker.poll() for worker in workers]
        failed = [rank for rank, code in enumerate(codes) if code]
        if failed:
            # A worker ended by a signal is the reason why others fail, even if these were seen first.
            return min(failed, key=lambda rank: ((codes[rank] or 0) > 0, rank))
        if None not in codes:
            return None
        time.sleep(LOOK)


def _wait(workers: list[subprocess.Popen[bytes]], seconds: float) -> None:
    until = time.monotonic() + seconds
    while any(worker.poll() is None for worker in workers) and time.monotonic() < until:
        time.sleep(LOOK)


def _end(workers: list[subprocess.Popen[bytes]]) -> None:
    """End the remaining workers: politely, then by force."""
    _pass_on(workers, signal.SIGTERM)
    _wait(workers, GRACE)
    for worker in workers:
        worker.kill()
        worker.wait()


def _pass_on(workers: list[subprocess.Popen[bytes]], number: int) -> None:
    for worker in workers:
        if worker.poll() is None:
            worker.send_signal(number)


def _tell(workers: list[subprocess.Popen[bytes]], failed: int, said: IO[bytes] | None) -> int:
    """Say which worker failed, and how, unless the first worker has said so itself; return the exit code."""
    code, first = workers[failed].returncode, workers[0].poll()
    if first == 0:  # it has written and printed everything
        return int(ExitCode.DONE)
    if code < 0:
        name = signal.Signals(-code).name
        typer.echo(
            f"Error: worker {failed} was killed by signal {-code} ({name}), and the other workers "
            "were stopped. With --checkpoint FOLDER, running the same command again resumes "
            "where they were.",
            err=True,
        )
        return 128 - code
    if said is not None and first != code:
        said.seek(0)
        typer.echo(said.read().decode(errors="replace"), err=True, nl=False)
        typer.echo(
            f"Error: worker {failed} exited with code {code}, and the other workers were stopped.", err=True
        )
    return int(code)
