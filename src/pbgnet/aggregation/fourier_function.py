"""The hand-written autograd function of the Fourier sum; the arithmetic is in `pbgnet.kernels`."""

from typing import Any

import torch
from torch import Tensor

from pbgnet.aggregation.base import one_replica_axis
from pbgnet.autograd import first_order_only
from pbgnet.kernels import FourierNodes, find_kernel


def fourier_sum(mean: Tensor, weight: Tensor, nodes: FourierNodes) -> Tensor:
    """`(2/pi) sum_k Im phi(t_k) / (k + 1/2)` with phi(t) = exp(-t^2/2) prod_i f_i(t).

    The factors are f_i = cos(a_i t) + 1j g_i sin(a_i t), for means g and a = w / sqrt(d). The value is cut to
    [-1, 1], the range of the exact one; the gradient is not cut.

    Parameters
    ----------
    mean : Tensor, shape (..., n, d)
    weight : Tensor, shape (..., m, d)
        With the same leading axes.
    nodes : FourierNodes, shape (...)

    Returns
    -------
    Tensor, shape (..., n, m)
    """
    replicas = mean.shape[:-2]
    g, w = one_replica_axis(mean), one_replica_axis(weight)
    if torch.is_grad_enabled() and (g.requires_grad or w.requires_grad):
        value: Tensor = FourierSum.apply(g, w, nodes.reshape((-1,)))
    else:
        value, _ = find_kernel("fourier", g.device).forward(g, w, nodes.reshape((-1,)), keep_product=False)
    return value.reshape(*replicas, *value.shape[-2:])


class FourierSum(torch.autograd.Function):
    """`fourier_sum` for contiguous tensors with one axis of replicas."""

    @staticmethod
    def forward(ctx: Any, mean: Tensor, weight: Tensor, nodes: FourierNodes) -> Tensor:
        # shape: mean (R, n, d), weight (R, m, d) -> (R, n, m)
        ctx.kernel = find_kernel("fourier", mean.device)
        value: Tensor
        value, product = ctx.kernel.forward(mean, weight, nodes, keep_product=True)
        ctx.save_for_backward(mean, weight, product)
        ctx.nodes = nodes
        return value

    @staticmethod
    @first_order_only
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None]:
        mean, weight, product = ctx.saved_tensors
        grad = grad_outputs[0].contiguous()
        grad_mean, grad_weight = ctx.kernel.backward(grad, mean, weight, ctx.nodes, product)
        return grad_mean, grad_weight, None
