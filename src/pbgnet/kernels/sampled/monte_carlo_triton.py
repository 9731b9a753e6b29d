"""The sampled layer in Triton: narrow layers in one pass, all others in two.

Two layers with the same seed would see the same random numbers: each call draws a seed of its own.
"""

import torch
from torch import Tensor

from pbgnet.kernels.sampled import narrow_triton, wide_triton
from pbgnet.kernels.sampled.counts import SampleCounts
from pbgnet.kernels.sampled.narrow_triton import Slopes


def evaluate(mean: Tensor, weight: Tensor, n_samples: SampleCounts, generator: torch.Generator) -> Tensor:
    """Return the sampled layer (R, n, m)."""
    evaluation = narrow_triton.evaluate if narrow_triton.fits(mean) else wide_triton.evaluate
    return evaluation(mean, weight, _new_seed(generator, mean.device), n_samples)


def forward(
    mean: Tensor, weight: Tensor, n_samples: SampleCounts, generator: torch.Generator
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return the sampled layer (R, n, m), and slopes or a seed to draw from again, for the backward pass."""
    seed = _new_seed(generator, mean.device)
    if narrow_triton.slopes_fit(mean, weight):
        return narrow_triton.evaluate_with_slopes(mean, weight, seed, n_samples)
    return wide_triton.evaluate(mean, weight, seed, n_samples), (seed,)


def backward(
    grad: Tensor, mean: Tensor, weight: Tensor, n_samples: SampleCounts, kept: tuple[Tensor, ...]
) -> tuple[Tensor, Tensor]:
    """Return the estimated gradients in `mean` and `weight`."""
    if len(kept) == 1:
        return wide_triton.differentiate(grad, mean, weight, *kept, n_samples)
    return narrow_triton.pull_back(grad, mean, weight, Slopes(*kept))


def _new_seed(generator: torch.Generator, device: torch.device) -> Tensor:
    ends = torch.iinfo(torch.int64)
    return torch.randint(ends.min, ends.max, (1,), generator=generator, device=device)
