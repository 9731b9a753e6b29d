"""How long a command takes and how much memory, with all processes it starts."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Footprint", "own_memory", "python", "run_measured", "watched"]

ROOT = Path(__file__).resolve().parents[1]

# Seconds between two looks at the memory.
EVERY = 0.1


@dataclass(frozen=True)
class Footprint:
    """What a command took.

    Attributes
    ----------
    seconds : float
        From its start to its end.
    own : float
        Most bytes of memory of its own, of all its processes together; pages of files that are mapped, which
        the system may drop at any time, do not count.
    resident : float
        Most bytes with the pages of mapped files.
    output : str
        What it wrote on standard output.
    """

    seconds: float
    own: float
    resident: float
    output: str


def run_measured(command: Sequence[str], *, n_threads: int) -> Footprint:
    """Run a command from the root of the checkout with so many threads per process, and watch its memory."""
    environment = os.environ | {"OMP_NUM_THREADS": str(n_threads), "PYTHONPATH": str(ROOT / "src")}
    start = time.perf_counter()
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        with _watching(process.pid) as peaks:
            output, errors = process.communicate()
        seconds = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(
            f"{' '.join(command)} failed with exit code {process.returncode}:\n{errors[-2000:]}"
        )
    return Footprint(seconds, peaks[0], peaks[1], output)


@contextmanager
def watched() -> Iterator[list[float]]:
    """Watch this process and those it starts; in the end the list has its most bytes, own and resident."""
    with _watching(os.getpid()) as peaks:
        yield peaks


def own_memory() -> float:
    """Return the bytes of memory of this process of its own, without pages of mapped files."""
    return _memory(os.getpid())[0]


def python(*arguments: object) -> list[str]:
    """Return the command that runs this Python with arguments."""
    return [sys.executable, *map(str, arguments)]


@contextmanager
def _watching(pid: int) -> Iterator[list[float]]:
    peaks, ended = [0.0, 0.0], threading.Event()
    watcher = threading.Thread(target=_watch, args=(pid, peaks, ended), daemon=True)
    watcher.start()
    try:
        yield peaks
    finally:
        ended.set()
        watcher.join()


def _watch(pid: int, peaks: list[float], ended: threading.Event) -> None:
    while not ended.wait(EVERY):
        found = [_memory(one) for one in _tree(pid)]
        for k in range(2):
            peaks[k] = max(peaks[k], sum(one[k] for one in found))


def _tree(pid: int) -> list[int]:
    """Return a process and all that descend from it."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(one for child in children for one in _tree(int(child)))]


def _memory(pid: int) -> tuple[float, float]:
    """Return bytes of a process of its own, and with mapped files; nothing for one that has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0, 0.0
    sizes = {line.split(":")[0]: 1024.0 * int(line.split()[1]) for line in lines if line.startswith("Rss")}
    own = sizes.get("RssAnon", 0.0) + sizes.get("RssShmem", 0.0)
    return own, own + sizes.get("RssFile", 0.0)
