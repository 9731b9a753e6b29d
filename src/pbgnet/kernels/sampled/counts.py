"""How many sign vectors a sampled layer draws: one number T for all replicas, or one for each."""

import functools

import torch
from torch import Tensor

SampleCounts = int | tuple[int, ...]
"""T, or the T of each replica."""


def most_samples(n_samples: SampleCounts) -> int:
    """Return the largest T."""
    return n_samples if isinstance(n_samples, int) else max(n_samples)


@functools.cache
def counts_on(device: torch.device, n_samples: SampleCounts) -> Tensor:
    """Return one number, or one for each replica, int32, on a device.

    It stays there: a CUDA graph may read it at any time.
    """
    counts = [n_samples] if isinstance(n_samples, int) else n_samples
    found = torch.tensor(counts, dtype=torch.int32).to(device)
    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()  # other threads use it in streams of their own
    return found
