"""The hand-written autograd function of the sampled layer; the arithmetic is in `pbgnet.kernels`."""

from typing import Any

import torch
from torch import Tensor

from pbgnet.autograd import first_order_only
from pbgnet.kernels import find_kernel


def sampled_mean(
    mean: Tensor, weight: Tensor, n_samples: int | tuple[int, ...], generator: torch.Generator
) -> Tensor:
    """Mean over drawn sign vectors, (R, n, d) and (R, m, d) to (R, n, m); differentiable where that is on.

    Values alone take a kernel of their own, which is faster than one that also prepares the gradients.
    """
    if torch.is_grad_enabled() and (mean.requires_grad or weight.requires_grad):
        value: Tensor = SampledMean.apply(mean, weight, n_samples, generator)
    else:
        value = find_kernel("monte_carlo", mean.device).evaluate(mean, weight, n_samples, generator)
    return value


class SampledMean(torch.autograd.Function):
    """Mean over T drawn sign vectors of erf(a . s / sqrt(2)), with a = w / sqrt(d).

    The gradient with respect to the weights is that of the sample mean (Eq. 15). The sample mean is piecewise
    constant in `mean`, so the score-function estimate is used there (Eq. 14, without the outer derivative of
    the layer below): `1/T sum_t s_k / (2 psi_{s_k}) erf(...)`, where `2 psi_{s_k} = 1 + s_k mean_k`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        mean: Tensor,
        weight: Tensor,
        n_samples: int | tuple[int, ...],
        generator: torch.Generator,
    ) -> Tensor:
        # shape: mean (R, n, d), weight (R, m, d) -> (R, n, m)
        ctx.kernel = find_kernel("monte_carlo", mean.device)
        value: Tensor
        value, kept = ctx.kernel.forward(mean, weight, n_samples, generator)
        ctx.save_for_backward(mean, weight, *kept)
        ctx.n_samples = n_samples
        return value

    @staticmethod
    @first_order_only
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None, None]:
        mean, weight, *kept = ctx.saved_tensors
        grad = grad_outputs[0].contiguous()
        grad_mean, grad_weight = ctx.kernel.backward(grad, mean, weight, ctx.n_samples, tuple(kept))
        return grad_mean, grad_weight, None, None
