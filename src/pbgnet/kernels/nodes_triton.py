# ruff: noqa: N803
# mypy: disable-error-code="import-not-found, import-untyped, no-untyped-def, untyped-decorator"
# Triton's convention: capitals for what is fixed at compile time, and no types inside kernels.

"""The nodes of a Fourier layer from its weights, in one kernel."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pbgnet.kernels import fourier_torch
from pbgnet.kernels.nodes import FourierNodes

# Layers with more weights than this are spread over the device by PyTorch to find their nodes; below, one
# program per replica does all of it.
NODES_BY_ONE_PROGRAM = 1 << 16


def nodes_for(weight: Tensor, deviation: float, limit: int) -> FourierNodes:
    """Return the nodes of a layer; see `fourier_torch.nodes_for`."""
    n_replicas, m, d = weight.shape
    if not 0 < m * d <= NODES_BY_ONE_PROGRAM or n_replicas == 0:
        return fourier_torch.nodes_for(weight, deviation, limit)
    step = weight.new_empty(n_replicas, dtype=torch.float64)
    count = weight.new_empty(n_replicas, dtype=torch.int64)
    side_d = min(128, triton.next_power_of_2(d))
    side_m = min(1024 // side_d, triton.next_power_of_2(m))
    _nodes_kernel[(n_replicas,)](
        weight.contiguous(), step, count, m, d, DEVIATION=float(deviation), LIMIT=float(limit), BM=side_m,
        BD=side_d, num_warps=4, enable_fp_fusion=True,
    )  # fmt: skip
    return FourierNodes(step, count)


@triton.jit(do_not_specialize=["m", "d"])
def _nodes_kernel(
    weight, step, count, m, d,
    DEVIATION: tl.constexpr, LIMIT: tl.constexpr, BM: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    """Step and number of the nodes of one replica, from the largest sum of absolute weights."""
    replica = tl.program_id(0).to(tl.int64)
    weight += replica * m * d
    largest = tl.zeros((BM,), dtype=tl.float64)
    everything = tl.zeros((BM,), dtype=tl.float64)  # not a number as soon as one weight is
    for row in range(0, m, BM):
        j = row + tl.arange(0, BM)
        sums = tl.zeros((BM,), dtype=tl.float64)
        for column in range(0, d, BD):
            i = column + tl.arange(0, BD)
            cells = j[:, None] * d + i[None, :]
            w = tl.load(weight + cells, mask=(j < m)[:, None] & (i < d)[None, :], other=0.0)
            sums += tl.sum(tl.abs(w).to(tl.float64), axis=1)
        everything += sums
        largest = tl.where(sums > largest, sums, largest)
    total = tl.sum(everything, axis=0)
    spread = tl.where(total != total, total, tl.max(largest, axis=0))
    zero = tl.full((), 0.0, tl.float64)
    reach = spread / tl.sqrt(zero + d) + DEVIATION
    tl.store(step + replica, 6.283185307179586 / reach)
    wanted = DEVIATION * reach / 6.283185307179586
    wanted = tl.where(wanted != wanted, 1.0, tl.where(wanted > LIMIT, LIMIT, tl.ceil(wanted)))
    tl.store(count + replica, tl.where(wanted < 1.0, 1.0, wanted).to(tl.int64))
