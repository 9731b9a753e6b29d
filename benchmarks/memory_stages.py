"""Where a command needs its memory: ``python -m benchmarks.memory_stages train DATA --target ... --out ...``.

Runs pbgnet in this process with the arguments given and looks every few milliseconds at the memory of its
own, at what the C library and Arrow have handed out, and at the function at work. Each line says that memory
has changed by more than a step since the line before.
"""

import ctypes
import os
import sys
import threading
import time
from types import FrameType
from typing import TextIO

from benchmarks.footprint import own_memory
from pbgnet.cli import main as command

__all__ = ["watch_stages"]

# Seconds between two looks, and the change that is worth a line.
EVERY = 0.02
STEP = 25e6

# How many functions of the stack are named, from the innermost.
NAMED = 4


FIELDS = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"


class _Allocated(ctypes.Structure):
    """What mallinfo2 of the GNU C library returns."""

    _fields_ = [(name, ctypes.c_size_t) for name in FIELDS.split()]


def watch_stages(out: TextIO) -> None:
    """Write lines from now on, from a thread that ends with the process."""
    main = threading.main_thread().ident
    threading.Thread(target=_watch, args=(main, out), daemon=True).start()


def _watch(main: int, out: TextIO) -> None:
    start, shown = time.perf_counter(), 0.0
    out.write("seconds   own MB  handed out  by Arrow  where\n")
    while True:
        time.sleep(EVERY)
        own = own_memory()
        if abs(own - shown) < STEP:
            continue
        shown = own
        cells = f"{time.perf_counter() - start:7.1f} {1e-6 * own:8.0f} {1e-6 * _by_library():11.0f}"
        out.write(f"{cells} {1e-6 * _by_arrow():9.0f}  {_place(sys._current_frames().get(main))}\n")
        out.flush()


def _by_library() -> float:
    """Return the bytes that the C library has handed out; 0 where it does not say."""
    ask = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if ask is None:
        return 0.0
    ask.restype = _Allocated
    found = ask()
    return float(found.uordblks + found.hblkhd)


def _by_arrow() -> float:
    arrow = sys.modules.get("pyarrow")
    return float(getattr(arrow, "total_allocated_bytes", int)())


def _place(frame: FrameType | None) -> str:
    """Name the innermost functions of pbgnet."""
    names: list[str] = []
    while frame is not None and len(names) < NAMED:
        path = frame.f_code.co_filename
        if f"{os.sep}pbgnet{os.sep}" in path:
            names.append(f"{os.path.basename(path)}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back
    return " < ".join(names)


def main() -> None:
    """Run the command, and write the lines on standard error."""
    watch_stages(sys.stderr)
    sys.argv[0] = "pbgnet"
    command()


if __name__ == "__main__":
    main()
