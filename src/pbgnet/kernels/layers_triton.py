# ruff: noqa: N803
# mypy: disable-error-code="import-not-found, import-untyped, no-untyped-def, untyped-decorator"
# Triton's convention: capitals for what is fixed at compile time, and no types inside kernels.

"""What surrounds the aggregated layers, in one kernel each: small networks wait for kernel launches."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pbgnet.kernels.layers_torch import log_loss, softmax_loss  # noqa: F401 - a few operations each

BLOCK = 512

_HALF_ROOT = tl.constexpr(0.70710678118654752)  # 1 / sqrt(2)
_SLOPE = tl.constexpr(0.79788456080286536)  # sqrt(2 / pi)


def first_means(product: Tensor, intercept: bool) -> Tensor:
    """Return the means of the first layer, with the constant 1; see `layers_torch.first_means`."""
    n_replicas, n, m = product.shape
    width = m + intercept
    mean = product.new_empty(n_replicas, n, width)
    if mean.numel():
        _means_kernel[(triton.cdiv(mean.numel(), BLOCK),)](
            product, mean, mean.numel(), n, m, width, *product.stride(), BLOCK=BLOCK, num_warps=4,
        )  # fmt: skip
    return mean


def pull_back_first_means(grad: Tensor, product: Tensor, intercept: bool) -> Tensor:
    """Return the gradient in `product`, laid out as it is; see `layers_torch.pull_back_first_means`."""
    _, n, m = product.shape
    result = torch.empty_like(product)
    if product.numel():
        _pull_back_kernel[(triton.cdiv(product.numel(), BLOCK),)](
            grad.contiguous(), product, result, product.numel(), n, m, m + intercept, *product.stride(),
            *result.stride(), BLOCK=BLOCK, num_warps=4,
        )  # fmt: skip
    return result


def linear_loss(output: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean linear loss and its derivative; see `layers_torch.linear_loss`."""
    if output.ndim == 3:  # several outputs of an example count like further examples
        loss, slope = linear_loss(output.flatten(1), y.flatten(-2))
        return loss, slope.view(output.shape)
    n_replicas, n = output.shape
    loss = output.new_empty(n_replicas, dtype=torch.float64)
    slope = output.new_empty(n_replicas, n)
    if output.numel():
        block = min(1024, triton.next_power_of_2(n))
        _loss_kernel[(n_replicas,)](
            output, y, loss, slope, n, *output.stride(), y.stride(0) if y.ndim == 2 else 0, y.stride(-1),
            BLOCK=block, num_warps=max(1, min(4, block // 128)),
        )  # fmt: skip
    return loss, slope


_SIZES = ["size", "n", "m", "width", "by_r", "by_n", "by_m", "to_r", "to_n", "to_m", "y_r", "y_n"]


@triton.jit(do_not_specialize=_SIZES)
def _means_kernel(product, mean, size, n, m, width, by_r, by_n, by_m, BLOCK: tl.constexpr):
    cell = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    j, rest = cell % width, cell // width
    x, r = rest % n, rest // n
    value = tl.load(product + r * by_r + x * by_n + j * by_m, mask=(cell < size) & (j < m), other=0.0)
    tl.store(mean + cell, tl.where(j < m, tl.erf(value * _HALF_ROOT), 1.0), mask=cell < size)


@triton.jit(do_not_specialize=_SIZES)
def _pull_back_kernel(
    grad, product, result, size, n, m, width, by_r, by_n, by_m, to_r, to_n, to_m, BLOCK: tl.constexpr
):
    cell = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = cell < size
    x, rest = cell % n, cell // n  # the product lies transposed: examples are neighbours
    j, r = rest % m, rest // m
    a = tl.load(product + r * by_r + x * by_n + j * by_m, mask=inside, other=0.0)
    g = tl.load(grad + (r * n + x) * width + j, mask=inside, other=0.0)
    tl.store(result + r * to_r + x * to_n + j * to_m, g * (tl.exp(-0.5 * a * a) * _SLOPE), mask=inside)


@triton.jit(do_not_specialize=_SIZES)
def _loss_kernel(output, y, loss, slope, n, by_r, by_n, y_r, y_n, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    agreement = tl.zeros((BLOCK,), dtype=tl.float64)
    for start in range(0, n, BLOCK):
        x = start + tl.arange(0, BLOCK)
        label = tl.load(y + r * y_r + x * y_n, mask=x < n, other=0.0)
        value = tl.load(output + r * by_r + x * by_n, mask=x < n, other=0.0)
        agreement += (label * value).to(tl.float64)
        tl.store(slope + r * n + x, label * -0.5 / n, mask=x < n)
    tl.store(loss + r, 0.5 - 0.5 * (tl.sum(agreement, axis=0) / n))
