"""From the start of Python to a certificate on MNIST 1 against 7, in a process of its own.

The protocol is that of the tests: 11 377 rows at random for training, delta shared by nine architectures,
the paper's constant.
"""

import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Outcome", "find_data", "prepare", "run_once"]

ROOT = Path(__file__).resolve().parents[1]
N_TRAIN = 11377
SPLIT_SEED = 1


class Outcome(NamedTuple):
    """Seconds to the certificate, its bound, and the seconds spent on imports and on reading the rows."""

    seconds: float
    bound: float
    starting: float


def find_data() -> Path | None:
    """Return the folder with the MNIST files: in PBGNET_DATA, or in shared/data beside the checkout."""
    folder = Path(os.environ.get("PBGNET_DATA", ROOT.parent / "shared" / "data")) / "mnist"
    return folder if any(folder.glob("*.gz")) else None


def prepare(folder: Path, path: Path) -> None:
    """Write the training rows to an .npz file."""
    parts = sorted(folder.glob("*.gz"), reverse=True)  # the training files first
    images = np.concatenate([_read_idx(part) for part in parts if "images" in part.name])
    digits = np.concatenate([_read_idx(part) for part in parts if "labels" in part.name])
    chosen = np.isin(digits, (1, 7))
    x, y = images[chosen] / 255.0, digits[chosen]
    train = np.random.default_rng(SPLIT_SEED).permutation(len(y))[:N_TRAIN]
    np.savez(path, x=x[train], y=y[train])


def run_once(path: Path, n_threads: int, cache: Path | None = None, *, small: bool = False) -> Outcome:
    """Train in a new process and time it from its start to the certificate.

    Parameters
    ----------
    path : Path
        File written by `prepare`.
    n_threads : int
    cache : Path, optional
        Where Numba keeps its machine code, if not where it usually does; an empty folder makes it compile
        everything.
    small : bool
        Train on a few rows only, to see that it works.
    """
    environment = os.environ | {"OMP_NUM_THREADS": str(n_threads)}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    command = [sys.executable, "-m", "benchmarks.time_to_bound", str(path), *(["small"] if small else [])]
    start = time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        seconds = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(f"Training in a process of its own failed with exit code {process.returncode}.")
    return Outcome(seconds=seconds, **json.loads(line))


def _read_idx(path: Path) -> np.ndarray[Any, np.dtype[np.uint8]]:
    raw = gzip.decompress(path.read_bytes())
    if "images" in path.name:
        return np.frombuffer(raw, np.uint8, offset=16).reshape(-1, 784)
    return np.frombuffer(raw, np.uint8, offset=8)


def _main(path: str, small: bool) -> None:
    start = time.perf_counter()
    from pbgnet.estimators import PBGNetClassifier

    with np.load(path) as file:
        x, y = (file[name][: 400 if small else None] for name in ("x", "y"))
    starting = time.perf_counter() - start
    classifier = PBGNetClassifier(
        algorithm="pbgnet", certificate="seeger", n_priors=9, constant="paper", random_state=0, device="cpu"
    ).fit(x, y)
    record = {"bound": float(classifier.certificate_.linear_loss.value), "starting": starting}
    print(json.dumps(record), flush=True)


if __name__ == "__main__":
    _main(sys.argv[1], "small" in sys.argv[2:])
