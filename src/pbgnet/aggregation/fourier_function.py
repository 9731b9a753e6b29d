"""The hand-written autograd function of the Fourier sum, in plain PyTorch.

Memory is O(n m K) forward and backward: the product over the d inputs is accumulated, and the
backward pass divides it by one factor at a time, recomputed exactly as in the forward pass. A
floating-point product is *relatively* accurate, so dividing by a small factor is safe.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from pbgnet.aggregation.fourier_error import FourierNodes
from pbgnet.autograd import first_order_only

__all__ = ["FourierSum"]

# Inputs are taken together until their factors fill about this many complex numbers: small layers
# run as a few large operations, large ones loop, and memory stays O(n m K) plus this constant.
BLOCK_ELEMENTS = 1 << 17


class FourierSum(torch.autograd.Function):
    """`(2/pi) sum_k Im phi(t_k) / (k + 1/2)` with phi(t) = exp(-t^2/2) prod_i f_i(t).

    The factors are f_i = cos(a_i t) + 1j g_i sin(a_i t), for means g and scaled weights
    a = w / sqrt(d). The value is cut to [-1, 1], where the exact one lies; the gradient is not cut.
    """

    @staticmethod
    def forward(ctx: Any, mean: Tensor, a: Tensor, nodes: FourierNodes) -> Tensor:
        # shape: mean (..., n, d), a (..., m, d) -> (..., n, m)
        t = nodes.positions().to(a.dtype)
        product = torch.ones((), dtype=a.dtype.to_complex(), device=a.device)
        for block in _input_blocks(mean, a, nodes.n_nodes):
            product = product * _product(_Factors(mean, a, t, block).value)
        ctx.save_for_backward(mean, a, product)
        ctx.nodes = nodes
        c = nodes.coefficients().to(a.dtype)[..., None, None, :]
        return (c * product.imag).sum(dim=-1).clamp(-1, 1)

    @staticmethod
    @first_order_only
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None]:
        mean, a, product = ctx.saved_tensors
        nodes: FourierNodes = ctx.nodes
        t = nodes.positions().to(a.dtype)
        c = nodes.coefficients().to(a.dtype)[..., None, None, :]
        weighted = product * (grad_outputs[0].unsqueeze(-1) * c)  # shape: (..., n, m, K)
        grad_mean, grad_a = torch.empty_like(mean), torch.empty_like(a)
        for block in _input_blocks(mean, a, nodes.n_nodes):
            factors = _Factors(mean, a, t, block)
            others = weighted.unsqueeze(-2) / factors.value  # shape: (..., n, m, b, K)
            # d f_i / d g_i = 1j sin, d f_i / d a_i = t (-sin + 1j g_i cos); the imaginary part counts.
            grad_mean[..., block] = (others.real * factors.sin).sum(dim=(-3, -1))
            along = factors.cos * (others.real * factors.mean).sum(dim=-4, keepdim=True)
            across = factors.sin * others.imag.sum(dim=-4, keepdim=True)
            slopes = (along - across) * t[..., None, None, None, :]
            grad_a[..., block] = slopes.sum(dim=-1).squeeze(-3)
        return grad_mean, grad_a, None


class _Factors:
    """The factors f_i(t_k) of a block of inputs; identical in the forward and the backward pass."""

    def __init__(self, mean: Tensor, a: Tensor, t: Tensor, block: slice) -> None:
        angle = a[..., block].unsqueeze(-1) * t[..., None, None, :]  # shape: (..., m, b, K)
        self.cos, self.sin = torch.cos(angle).unsqueeze(-4), torch.sin(angle).unsqueeze(-4)
        self.mean = mean[..., block].unsqueeze(-2).unsqueeze(-1)  # shape: (..., n, 1, b, 1)
        self.value = torch.complex(_away_from_zero(self.cos), self.mean * self.sin)


def _away_from_zero(x: Tensor) -> Tensor:
    """Replace an exact 0 by a number so small that it changes nothing but can be divided by.

    The cosine of a floating-point number is never exactly 0, but a device may round it so.
    """
    tiny = math.sqrt(torch.finfo(x.dtype).tiny)
    return torch.where(x == 0, tiny, x)


def _product(factors: Tensor) -> Tensor:
    """Multiply over the second last axis by halving it (few, large operations)."""
    while (b := factors.shape[-2]) > 1:
        half = b // 2
        paired = factors[..., :half, :] * factors[..., half : 2 * half, :]
        factors = paired if b % 2 == 0 else torch.cat([paired, factors[..., 2 * half :, :]], dim=-2)
    return factors[..., 0, :]


def _input_blocks(mean: Tensor, a: Tensor, n_nodes: int) -> Iterator[slice]:
    d = mean.shape[-1]
    per_input = math.prod(mean.shape[:-1]) * a.shape[-2] * n_nodes
    size = min(d, max(1, BLOCK_ELEMENTS // max(1, per_input)))
    for start in range(0, d, size):
        yield slice(start, min(start + size, d))
