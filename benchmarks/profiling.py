"""Which kernels a call spends its time in."""

from typing import NamedTuple

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.timing import Arm

__all__ = ["Kernel", "top_kernels"]

LONGEST_NAME = 70


class Kernel(NamedTuple):
    """Name, calls and seconds per unit of an arm, and share of the whole."""

    name: str
    n_calls: float
    seconds: float
    share: float


def top_kernels(arm: Arm, device: str, n_kernels: int = 15) -> list[Kernel]:
    """Return the kernels that take most of an arm's time; on a CPU, PyTorch's operations."""
    on_gpu = torch.device(device).type == "cuda"
    for _ in range(2):
        arm.run()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with profile(activities=activities) as recorded:
        arm.run()
        if on_gpu:
            torch.cuda.synchronize(device)
    found = []
    for event in recorded.key_averages():
        if on_gpu and event.device_type.name != "CUDA":  # it would count a kernel again
            continue
        seconds = (event.self_device_time_total if on_gpu else event.self_cpu_time_total) / 1e6 / arm.n_units
        found.append((event.key.replace("|", "/")[:LONGEST_NAME], event.count / arm.n_units, seconds))
    total = sum(seconds for *_, seconds in found) or 1.0
    found.sort(key=lambda kernel: -kernel[2])
    return [Kernel(name, calls, seconds, seconds / total) for name, calls, seconds in found[:n_kernels]]
