"""What the figures were measured on: a figure without its machine says nothing."""

import datetime
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

import torch

import pbgnet

__all__ = ["describe"]

ROOT = Path(__file__).resolve().parents[1]


def describe(device: str) -> list[str]:
    """Return lines about date, machine, versions, threads and load."""
    lines = [
        f"Date: {datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC; commit {_commit()}",
        f"Processor: {_processor()}, {os.cpu_count()} cores",
        f"Versions: {', '.join(f'{name} {version}' for name, version in _versions().items())}",
        f"Threads: OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', 'unset')}; the tables say how many "
        "PyTorch and the kernels were given",
        f"Load average at the start: {_load()}",
    ]
    if torch.device(device).type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        gpu = f"GPU: {properties.name}, {properties.total_memory / 2**30:.0f} GiB, CUDA {torch.version.cuda}"
        lines.insert(2, gpu)
    return lines


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "pbgnet": pbgnet.__version__, "torch": torch.__version__}
    for package in ("numba", "triton"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _load() -> str:
    if not hasattr(os, "getloadavg"):
        return "unknown"
    return ", ".join(f"{load:.2f}" for load in os.getloadavg())


def _commit() -> str:
    """Return the commit that is checked out, and whether the sources differ from it."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    if not commit:
        return "unknown"
    return f"{commit} with local changes" if _git("status", "--porcelain", "--", "src") else commit


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
