"""The Fourier layer in plain PyTorch: the reference, and the fallback on any device.

Memory is O(n m K) forward and backward: the product over the d inputs is accumulated, and the backward pass
divides it by one factor at a time, recomputed exactly as in the forward pass. A floating-point product has a
small *relative* error, so dividing by a small factor is safe.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from pbgnet.kernels.nodes import FourierNodes

# Inputs are processed together until their factors fill about this many complex numbers: small layers run as
# a few large operations, large ones loop, and memory stays O(n m K) plus this constant.
BLOCK_ELEMENTS = 1 << 17


def nodes_for(weight: Tensor, deviation: float, limit: int) -> FourierNodes:
    """Return the nodes for `deviation` standard deviations: step `2 pi / (A + z)`, count `z / step`.

    Parameters
    ----------
    weight : Tensor, shape (R, m, d)
        The neuron with the largest A = |a|_1 decides for its replica.
    deviation : float
        The z of ``docs/theory/aggregation.md``.
    limit : int
        Larger counts are cut. NaN passes through the step to the result.
    """
    if 0 in weight.shape:
        reach = weight.new_full((len(weight),), deviation, dtype=torch.float64)
    else:
        spread = weight.detach().abs().sum(dim=-1, dtype=torch.float64).amax(dim=-1)
        reach = spread / math.sqrt(weight.shape[-1]) + deviation
    return nodes_of_reach(reach, deviation, limit)


def nodes_of_reach(reach: Tensor, deviation: float, limit: int) -> FourierNodes:
    """Return the nodes if A + z, or a smaller sufficient number, is known: shape (...)."""
    count = (deviation * reach / (2 * math.pi)).nan_to_num(1.0, posinf=limit).ceil().clamp(1, limit)
    return FourierNodes(2 * math.pi / reach, count.long())


def forward(
    mean: Tensor, weight: Tensor, nodes: FourierNodes, keep_product: bool
) -> tuple[Tensor, Tensor | None]:
    """Return the layer (R, n, m), and for the backward pass the complex product, shape (R, n, m, K).

    Parameters
    ----------
    mean : Tensor, shape (R, n, d)
    weight : Tensor, shape (R, m, d)
    nodes : FourierNodes, shape (R,)
    keep_product : bool
        Whether a backward pass will follow.
    """
    a, t, c = _scaled(weight, nodes)
    product = torch.ones((), dtype=a.dtype.to_complex(), device=a.device)
    for block in _input_blocks(mean, a, t.shape[-1]):
        product = product * _product(_Factors(mean, a, t, block).value)
    return (c * product.imag).sum(dim=-1).clamp(-1, 1), product if keep_product else None


def backward(
    grad: Tensor, mean: Tensor, weight: Tensor, nodes: FourierNodes, product: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return the gradients in `mean` and `weight`."""
    assert product is not None
    a, t, c = _scaled(weight, nodes)
    weighted = product * (grad.unsqueeze(-1) * c)  # shape: (R, n, m, K)
    grad_mean, grad_a = torch.empty_like(mean), torch.empty_like(a)
    for block in _input_blocks(mean, a, t.shape[-1]):
        factors = _Factors(mean, a, t, block)
        others = weighted.unsqueeze(-2) / factors.value  # shape: (R, n, m, b, K)
        # d f_i / d g_i = 1j sin, d f_i / d a_i = t (-sin + 1j g_i cos); the imaginary part counts.
        grad_mean[..., block] = (others.real * factors.sin).sum(dim=(-3, -1))
        along = factors.cos * (others.real * factors.mean).sum(dim=-4, keepdim=True)
        across = factors.sin * others.imag.sum(dim=-4, keepdim=True)
        slopes = (along - across) * t[..., None, None, None, :]
        grad_a[..., block] = slopes.sum(dim=-1).squeeze(-3)
    return grad_mean, grad_a / math.sqrt(weight.shape[-1])


def _scaled(weight: Tensor, nodes: FourierNodes) -> tuple[Tensor, Tensor, Tensor]:
    """a = w / sqrt(d), t (R, K) and c (R, 1, 1, K)."""
    t, c = nodes.positions().to(weight.dtype), nodes.coefficients().to(weight.dtype)
    return weight / math.sqrt(weight.shape[-1]), t, c[..., None, None, :]


class _Factors:
    """The factors f_i(t_k) of a block of inputs; identical in the forward and the backward pass."""

    def __init__(self, mean: Tensor, a: Tensor, t: Tensor, block: slice) -> None:
        angle = a[..., block].unsqueeze(-1) * t[..., None, None, :]  # shape: (R, m, b, K)
        self.cos, self.sin = torch.cos(angle).unsqueeze(-4), torch.sin(angle).unsqueeze(-4)
        self.mean = mean[..., block].unsqueeze(-2).unsqueeze(-1)  # shape: (R, n, 1, b, 1)
        self.value = torch.complex(_away_from_zero(self.cos), self.mean * self.sin)


def _away_from_zero(x: Tensor) -> Tensor:
    """Replace an exact 0 by a negligible number that can be divided by.

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
