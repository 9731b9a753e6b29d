# mypy: disable-error-code="import-not-found, import-untyped"

"""The sampled layer in Triton for up to `MOST_INPUTS` inputs in float32: value and slopes from one draw.

Tensor cores multiply weights by the flips of signs, and what comes of it by the flips again: so all
derivatives of the outputs come with their values, and signs are drawn once. The backward pass multiplies.

Products are in float16. Flips are exact there, two float16 numbers hold 22 binary digits of a weight, and
what is summed for the slopes is rounded to 11 digits, which is nothing beside what samples leave to chance.
"""

import functools
from typing import NamedTuple

import torch
import triton
from torch import Tensor

from pbgnet.kernels.sampled import narrow_kernels_triton as kernels
from pbgnet.kernels.sampled.counts import SampleCounts, counts_on, most_samples
from pbgnet.kernels.sampled.flips_triton import ways_to_flip

MOST_INPUTS = 128
# Slopes of so many numbers are kept for the backward pass: 1 GiB, both kinds together.
MOST_SLOPES = 1 << 27

MOST_NEURONS, MOST_SAMPLES = 128, 64
# There are about as many programs as have this many warps together. Where that takes it, the samples of an
# example are divided into shares of so many tiles or more: each has slopes of its own, which are added up.
WARPS, FEWEST_TILES = 132 * 24, 8


class Tile(NamedTuple):
    """What a program takes at a time: powers of two, at least 16, or one neuron.

    With few registers for each thread, more programs share a multiprocessor.
    """

    neurons: int
    inputs: int
    samples: int
    n_warps: int
    n_registers: int | None = None


class Slopes(NamedTuple):
    """Derivatives of every output, shapes (shares, R, n, m, inputs of a tile), to be summed over shares."""

    by_mean: Tensor
    by_weight: Tensor


class Division(NamedTuple):
    """How the work of a layer is shared between programs."""

    n_groups: int
    n_shares: int
    n_chunks: int
    per_chunk: int


def fits(mean: Tensor) -> bool:
    """Whether this module can compute a layer of these means."""
    return mean.dtype == torch.float32 and mean.shape[-1] <= MOST_INPUTS


def slopes_fit(mean: Tensor, weight: Tensor) -> bool:
    """Whether it can also keep the slopes."""
    return fits(mean) and mean.numel() * weight.shape[1] <= MOST_SLOPES


def evaluate(mean: Tensor, weight: Tensor, seed: Tensor, n_samples: SampleCounts) -> Tensor:
    """Mean over n_samples drawn sign vectors s of erf(w . s / sqrt(2 d)).

    Parameters
    ----------
    mean : Tensor, float32, contiguous, shape (R, n, d)
    weight : Tensor, float32, contiguous, shape (R, m, d)
    seed : Tensor, int64, one element
        Read on the device.
    n_samples : int or tuple of int
        One number, or one for each replica.

    Returns
    -------
    Tensor, shape (R, n, m)
    """
    return _sampled(mean, weight, seed, n_samples, with_slopes=False)[0]


def evaluate_with_slopes(
    mean: Tensor, weight: Tensor, seed: Tensor, n_samples: SampleCounts
) -> tuple[Tensor, Slopes]:
    """The layer and the derivatives of its outputs, for `pull_back`."""
    return _sampled(mean, weight, seed, n_samples, with_slopes=True)


def pull_back(grad: Tensor, mean: Tensor, weight: Tensor, slopes: Slopes) -> tuple[Tensor, Tensor]:
    """Gradients in mean and weight for the gradient `grad` (R, n, m) of the layer."""
    (n_replicas, n, d), m = mean.shape, weight.shape[1]
    if grad.numel() == 0:
        return torch.zeros_like(mean), torch.zeros_like(weight)
    for_mean, for_weight = torch.empty_like(mean), torch.empty_like(weight)
    n_shares, width = slopes.by_mean.shape[0], slopes.by_mean.shape[-1]
    kernels.pull_back_kernel[(n_replicas * (n + m),)](
        grad.contiguous(), *slopes, for_mean, for_weight, n_replicas, n, m, d, n_shares,
        BR=2048 // width, BD=width,
    )  # fmt: skip
    return for_mean, for_weight


def _sampled(
    mean: Tensor, weight: Tensor, seed: Tensor, n_samples: SampleCounts, *, with_slopes: bool
) -> tuple[Tensor, Slopes]:
    (n_replicas, n, d), m = mean.shape, weight.shape[1]
    if n_replicas * n * m == 0:
        empty = mean.new_zeros(n_replicas, n, m)
        return empty, Slopes(empty, empty)
    most = most_samples(n_samples)
    tile = choose_tile(m, d, most, mean.device, with_slopes=with_slopes)
    work = divide(n_replicas, n, m, most, tile)
    value = mean.new_empty(work.n_shares, n_replicas, n, m)
    size = (work.n_shares, n_replicas, n, m, tile.inputs) if with_slopes else (0,)
    slopes = Slopes(mean.new_empty(size), mean.new_empty(size))
    results = (ways_to_flip(mean.device, _half()), seed, value, *slopes)
    counts = counts_on(mean.device, n_samples)
    sizes = (counts, len(counts), n_replicas, n, m, d)
    grid = (n_replicas * work.n_groups * work.n_shares * work.n_chunks,)
    options = {
        "SLOPES": with_slopes, "BD": tile.inputs, "BT": tile.samples, "num_warps": tile.n_warps,
        "num_stages": 1, "maxnreg": tile.n_registers, "enable_fp_fusion": True,
    }  # fmt: skip
    if tile.neurons == 1:
        kernels.neuron_kernel[grid](mean, weight, *results, *sizes, *work[1:], **options)
    else:
        halves = _halves(weight, tile)
        kernels.layer_kernel[grid](mean, *halves, *results, *sizes, *work, BM=tile.neurons, **options)
    return value[0] if work.n_shares == 1 else value.sum(dim=0).clamp_(-1.0, 1.0), slopes


def choose_tile(m: int, d: int, n_samples: int, device: torch.device, *, with_slopes: bool) -> Tile:
    """The tile for a layer of m neurons with d inputs; the numbers are those that were fastest on an H200."""
    inputs = max(16, int(triton.next_power_of_2(d)))
    samples = max(16, min(int(triton.next_power_of_2(n_samples)), MOST_SAMPLES))
    few_warps = min(inputs // 16, 4)
    if m == 1:
        return Tile(1, inputs, samples, few_warps, 160 if inputs == MOST_INPUTS else None)
    neurons = max(16, min(int(triton.next_power_of_2(m)), most_neurons(device)))
    n_registers = 128 if neurons < (64 if with_slopes else 128) else None
    return Tile(neurons, inputs, samples, max(neurons // 16, few_warps), n_registers)


def divide(n_replicas: int, n: int, m: int, n_samples: int, tile: Tile) -> Division:
    """Examples, and then samples, are divided until there are programs enough."""
    n_groups = triton.cdiv(m, tile.neurons)
    n_wanted = max(1, WARPS // (tile.n_warps * n_replicas * n_groups))
    per_chunk = triton.cdiv(n, n_wanted)
    n_chunks = triton.cdiv(n, per_chunk)
    n_tiles = triton.cdiv(n_samples, tile.samples)
    return Division(n_groups, max(1, min(n_wanted // n_chunks, n_tiles // FEWEST_TILES)), n_chunks, per_chunk)


@functools.cache
def most_neurons(device: torch.device) -> int:
    """How many neurons a program can take: 128 of them with 128 inputs need 128 KiB of shared memory."""
    if device.type != "cuda":
        return MOST_NEURONS
    room = getattr(torch.cuda.get_device_properties(device), "shared_memory_per_block_optin", 0)
    return MOST_NEURONS if room >= 140_000 else 64


def _half() -> torch.dtype:
    return torch.float32 if kernels.INTERPRETED.value else torch.float16


def _halves(weight: Tensor, tile: Tile) -> tuple[Tensor, Tensor]:
    """The weights as `layer_kernel` multiplies them, and their scale."""
    n_replicas, m, d = weight.shape
    halves = weight.new_empty(2, n_replicas, m, tile.inputs, dtype=_half())
    scale = weight.new_empty(n_replicas, m)
    kernels.halves_kernel[(n_replicas * m,)](
        weight, halves, scale, n_replicas * m, d, BD=tile.inputs, num_warps=1
    )
    return halves, scale
