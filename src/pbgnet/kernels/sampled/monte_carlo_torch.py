"""The sampled layer in plain PyTorch: the paper's Eqs. 14 and 15."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from pbgnet.kernels.sampled.counts import SampleCounts, counts_on, most_samples

# Samples are handled in chunks of about this many numbers; only the signs, one byte each, are kept.
CHUNK_ELEMENTS = 1 << 20


def evaluate(mean: Tensor, weight: Tensor, n_samples: SampleCounts, generator: torch.Generator) -> Tensor:
    """Return the sampled layer (R, n, m)."""
    return forward(mean, weight, n_samples, generator)[0]


def forward(
    mean: Tensor, weight: Tensor, n_samples: SampleCounts, generator: torch.Generator
) -> tuple[Tensor, tuple[Tensor]]:
    """Return the sampled layer (R, n, m), and the signs that were drawn, for the backward pass."""
    signs = draw_signs(mean, most_samples(n_samples), generator)
    a = weight / math.sqrt(weight.shape[-1])
    total = torch.zeros(*mean.shape[:-1], a.shape[-2], dtype=mean.dtype, device=mean.device)
    for s, counted in _sign_chunks(signs, a, n_samples):
        total += counted(torch.erf(_pre_activation(s, a) / math.sqrt(2))).sum(dim=-2)
    return _divided(total, n_samples), (signs,)


def backward(
    grad: Tensor, mean: Tensor, weight: Tensor, n_samples: SampleCounts, kept: tuple[Tensor]
) -> tuple[Tensor, Tensor]:
    """Return the estimated gradients in `mean` and `weight`."""
    a = weight / math.sqrt(weight.shape[-1])
    grad = _divided(grad, n_samples)  # shape: (R, n, m)
    grad_mean, grad_a = torch.zeros_like(mean), torch.zeros_like(a)
    for s, counted in _sign_chunks(*kept, a, n_samples):
        u = _pre_activation(s, a)  # shape: (R, n, t, m)
        score = s / (1 + s * mean.unsqueeze(-2))
        vote = counted(torch.erf(u / math.sqrt(2))) @ grad.unsqueeze(-1)  # shape: (R, n, t, 1)
        grad_mean += (score * vote).sum(dim=-2)
        slope = math.sqrt(2 / math.pi) * counted(torch.exp(-u.square() / 2)) * grad.unsqueeze(-2)
        grad_a += slope.flatten(-3, -2).mT @ s.flatten(-3, -2)
    return grad_mean, grad_a / math.sqrt(weight.shape[-1])


def draw_signs(mean: Tensor, n_samples: int, generator: torch.Generator) -> Tensor:
    """Draw sign vectors with the given means; True stands for +1.

    Parameters
    ----------
    mean : Tensor, shape (..., n, d)

    Returns
    -------
    Tensor, bool, shape (..., n, T, d)
    """
    # float64 uniforms also for float32 means: with 24 random bits a sign of probability 2^-25 would
    # come up twice too often, and Eq. 14 divides by that probability.
    probability = ((1.0 + mean.detach().double()) / 2.0).unsqueeze(-2)
    shape = (*mean.shape[:-1], n_samples, mean.shape[-1])
    signs = torch.empty(shape, dtype=torch.bool, device=mean.device)
    for part in _chunks(n_samples, mean.numel()):
        block = signs[..., part, :]
        uniform = torch.rand(block.shape, generator=generator, dtype=torch.float64, device=mean.device)
        torch.gt(probability, uniform, out=block)
    return signs


def _pre_activation(s: Tensor, a: Tensor) -> Tensor:
    """a . s for each example and sample: (..., n, t, d) x (..., m, d) -> (..., n, t, m)."""
    return s @ a.mT.unsqueeze(-3)


def _divided(total: Tensor, n_samples: SampleCounts) -> Tensor:
    """Divide sums over samples, shape (R, n, m), by the number of samples."""
    return total / (
        n_samples if isinstance(n_samples, int) else counts_on(total.device, n_samples)[:, None, None]
    )


def _sign_chunks(
    signs: Tensor, a: Tensor, n_samples: SampleCounts
) -> Iterator[tuple[Tensor, Callable[[Tensor], Tensor]]]:
    """Yield the drawn signs as -1 and 1, some samples at a time, for n x max(m, d) numbers per sample.

    With them comes what keeps the samples that count, of numbers (R, n, t, m): all, unless replicas have
    different T.
    """
    per_sample = math.prod(signs.shape[:-2]) * max(a.shape[-2:])
    for part in _chunks(signs.shape[-2], per_sample):
        yield signs[..., part, :].to(a.dtype) * 2 - 1, _counting(part, n_samples, signs.device)


def _counting(part: slice, n_samples: SampleCounts, device: torch.device) -> Callable[[Tensor], Tensor]:
    if isinstance(n_samples, int):
        return lambda numbers: numbers
    t = torch.arange(part.start, part.stop, device=device)
    counts = (t < counts_on(device, n_samples)[:, None])[:, None, :, None]
    return lambda numbers: numbers * counts


def _chunks(n_samples: int, per_sample: int) -> Iterator[slice]:
    size = max(1, CHUNK_ELEMENTS // max(1, per_sample))
    for start in range(0, n_samples, size):
        yield slice(start, min(start + size, n_samples))
