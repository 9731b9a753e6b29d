"""Peak memory of one layer in a process of its own: ``python -m benchmarks.layer_memory 4000 numba``."""

import resource
import subprocess
import sys
from pathlib import Path

__all__ = ["peak_of_layer"]

ROOT = Path(__file__).resolve().parents[1]
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak_of_layer(width: int, backend: str) -> float:
    """Return the bytes that value and gradients of a layer of this width take above the bare process."""
    command = [sys.executable, "-m", "benchmarks.layer_memory", str(width), backend]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def _peak() -> int:
    """Return the largest resident size so far in bytes.

    Where Linux tells the mark of this program alone, that is taken: the one of `getrusage` begins with
    the size of the process that started this one.
    """
    mark = _status("VmHWM")
    if mark:
        return mark
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _forget_peak() -> None:
    """Let the mark start from the present size, where the system allows it; imports leave a higher one."""
    try:
        CLEAR.write_text("5")
    except OSError:
        return


def _status(field: str) -> int:
    try:
        lines = STATUS.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:")), 0)


def _main(width: int, backend: str) -> None:
    import torch

    from benchmarks.workloads import BATCH, layer_run, make_layer
    from pbgnet.aggregation import Fourier
    from pbgnet.kernels import use_backend

    torch.set_num_threads(1)
    with use_backend(backend):
        layer_run(Fourier(), make_layer(BATCH, 3, 1))()
        run = layer_run(Fourier(), make_layer(BATCH, width, 1))
        _forget_peak()
        before = _peak()
        run()
        print(_peak() - before)


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2])
