# ruff: noqa: N803
# mypy: disable-error-code="import-not-found, import-untyped, no-untyped-def, untyped-decorator"
# Triton's convention: capitals for what is fixed at compile time, and no types inside kernels.

"""The first layer on binned rows, in Triton: see `binned_torch` for what is computed.

In the forward pass, one kernel replaces the weights of a column's steps by their running sums, and lays them
out by input; a second one adds up what the codes of a row point to. In the backward pass, one kernel
multiplies the gradient with the rows, which it writes out from the codes a tile at a time, in registers. That
takes as many multiplications as dense rows, but none of their memory, and sums are in a fixed order: sums per
code would need atomic additions, whose order changes from run to run.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

# Tiles of the three kernels; there are fewer neurons if the layer has fewer.
NEURONS = 32
STEPS = 64  # inputs that are summed up at a time
ROWS, COLUMNS = 2, 16  # whose codes are looked up at a time
EXAMPLES = 32  # that are multiplied at a time
EXAMPLES_64, NEURONS_64 = 8, 8  # the same in double precision, where no matrix unit is used


def first_product(weight: Tensor, codes: Tensor, inverse_length: Tensor, book: Any) -> Tensor:
    """Return w . x of every row and neuron; see `binned_torch.first_product`."""
    (n_replicas, m, width), (n, c) = weight.shape, codes.shape[-2:]
    product = weight.new_empty(n_replicas, n, m)
    if product.numel() == 0:
        return product
    running = weight.new_empty(n_replicas, width, m)
    side = min(NEURONS, triton.next_power_of_2(m))
    n_blocks = triton.cdiv(m, side)
    _running_sums_kernel[(n_replicas * n_blocks * (c + 1),)](
        weight.contiguous(), running, book.spans, m, width, c + 1, n_blocks,
        BM=side, BT=STEPS, num_warps=4, num_stages=1,
    )  # fmt: skip
    row_blocks = triton.cdiv(n, ROWS)
    _look_up_kernel[(n_replicas * n_blocks * row_blocks,)](
        running, codes.contiguous(), inverse_length.contiguous(), product, book.offsets, book.last_step,
        book.other_input, book.value_input, book.value, n, m, c, width, *_per_replica(codes, inverse_length),
        row_blocks, n_blocks, BN=ROWS, BC=COLUMNS, BM=side, num_warps=4, num_stages=1,
    )  # fmt: skip
    return product


def pull_back_first_product(
    grad: Tensor, weight: Tensor, codes: Tensor, inverse_length: Tensor, book: Any
) -> Tensor:
    """Return the gradient in the weights; see `binned_torch.pull_back_first_product`."""
    (n_replicas, m, width), (n, c) = weight.shape, codes.shape[-2:]
    result = torch.empty(weight.shape, dtype=weight.dtype, device=weight.device)
    if grad.numel() == 0:
        return result.zero_()
    single = weight.dtype == torch.float32
    side, examples = (NEURONS, EXAMPLES) if single else (NEURONS_64, EXAMPLES_64)
    n_stretches, n_blocks = len(book.stretches), triton.cdiv(m, side)
    _pull_back_kernel[(n_replicas * n_blocks * n_stretches,)](
        grad.contiguous(), codes.contiguous(), inverse_length.contiguous(), result, book.stretches,
        book.spans, book.offsets, book.steps_on, book.other_input, book.value_input, book.value, n, m, c,
        width, *_per_replica(codes, inverse_length), n_stretches, n_blocks,
        MATRIX=single, BN=examples, BM=side, BT=book.stretch, num_warps=4, num_stages=1,
    )  # fmt: skip
    return result


def _per_replica(codes: Tensor, inverse_length: Tensor) -> tuple[int, int]:
    """How many rows further the next replica has its codes, and its lengths: none where they are shared."""
    return tuple(0 if len(tensor) == 1 else tensor.shape[1] for tensor in (codes, inverse_length))  # type: ignore[return-value]


_SIZES = ["n", "m", "c", "width", "n_spans", "n_blocks", "row_blocks", "n_stretches", "codes_r", "lengths_r"]


@triton.jit(do_not_specialize=_SIZES)
def _running_sums_kernel(
    weight, running, spans, m, width, n_spans, n_blocks, BM: tl.constexpr, BT: tl.constexpr
):
    """One column, or the constant after the last, and one block of neurons; running is (R, width, m).

    Steps get the sum of their column's weights up to and including their own, other inputs their weight.
    """
    program = tl.program_id(0).to(tl.int64)
    column, rest = program % n_spans, program // n_spans
    block, replica = rest % n_blocks, rest // n_blocks
    begin, end = tl.load(spans + 4 * column), tl.load(spans + 4 * column + 1)
    first_step, behind_steps = tl.load(spans + 4 * column + 2), tl.load(spans + 4 * column + 3)
    k = block * BM + tl.arange(0, BM)
    weight += replica * m * width
    running += replica * m * width
    total = tl.zeros((BM,), dtype=weight.dtype.element_ty)
    for start in range(begin, end, BT):
        t = start + tl.arange(0, BT)
        inside = (k < m)[:, None] & (t < end)[None, :]
        w = tl.load(weight + k[:, None] * width + t[None, :], mask=inside, other=0.0)
        is_step = (t >= first_step) & (t < behind_steps)
        steps = tl.where(is_step[None, :], w, 0.0)
        sums = total[:, None] + tl.cumsum(steps, axis=1)
        total += tl.sum(steps, axis=1)
        found = tl.where(is_step[None, :], sums, w)
        tl.store(running + t[None, :] * m + k[:, None], found, mask=inside)


@triton.jit(do_not_specialize=_SIZES)
def _look_up_kernel(
    running, codes, inverse_length, product, offsets, last_step, other_input, value_input, value,
    n, m, c, width, codes_r, lengths_r, row_blocks, n_blocks,
    BN: tl.constexpr, BC: tl.constexpr, BM: tl.constexpr,
):  # fmt: skip
    """One block of rows and one of neurons."""
    program = tl.program_id(0).to(tl.int64)
    row_block, rest = program % row_blocks, program // row_blocks
    block, replica = rest % n_blocks, rest // n_blocks
    x, k = row_block * BN + tl.arange(0, BN), block * BM + tl.arange(0, BM)
    running += replica * m * width
    constant = tl.load(running + (width - 1) * m + k, mask=k < m, other=0.0)
    total = tl.zeros((BN, BM), dtype=running.dtype.element_ty) + constant[None, :]
    for start in range(0, c, BC):
        j = start + tl.arange(0, BC)
        cell = (x < n)[:, None] & (j < c)[None, :]
        code = tl.load(codes + (replica * codes_r + x)[:, None] * c + j[None, :], mask=cell, other=0)
        b = tl.load(offsets + j, mask=j < c, other=0)[None, :] + code.to(tl.int64)
        v = tl.load(value + b, mask=cell, other=0.0).to(running.dtype.element_ty)
        by_step = _weights_at(running, tl.load(last_step + b, mask=cell, other=width), k, m, width)
        by_other = _weights_at(running, tl.load(other_input + b, mask=cell, other=width), k, m, width)
        by_value = _weights_at(running, tl.load(value_input + b, mask=cell, other=width), k, m, width)
        total += tl.sum(by_step + by_other + v[:, :, None] * by_value, axis=1)
    scale = tl.load(inverse_length + replica * lengths_r + x, mask=x < n, other=0.0)
    to = product + (replica * n + x)[:, None] * m + k[None, :]
    tl.store(to, total * scale[:, None], mask=(x < n)[:, None] & (k < m)[None, :])


@triton.jit
def _weights_at(running, place, k, m, width):
    """Rows of the running sums at places (BN, BC), 0 where a place is none: shape (BN, BC, BM)."""
    inside = (place < width)[:, :, None] & (k < m)[None, None, :]
    return tl.load(running + place[:, :, None] * m + k[None, None, :], mask=inside, other=0.0)


@triton.jit(do_not_specialize=_SIZES)
def _pull_back_kernel(
    grad, codes, inverse_length, result, stretches, spans, offsets, steps_on, other_input, value_input, value,
    n, m, c, width, codes_r, lengths_r, n_stretches, n_blocks,
    MATRIX: tl.constexpr, BN: tl.constexpr, BM: tl.constexpr, BT: tl.constexpr,
):  # fmt: skip
    """One stretch of inputs of a column, and one block of neurons."""
    program = tl.program_id(0).to(tl.int64)
    stretch, rest = program % n_stretches, program // n_stretches
    block, replica = rest % n_blocks, rest // n_blocks
    column, begin = tl.load(stretches + 2 * stretch), tl.load(stretches + 2 * stretch + 1)
    end, first_step = tl.load(spans + 4 * column + 1), tl.load(spans + 4 * column + 2)
    constant = column == c  # behind the columns; the codes of the first one stand in for its own
    j = tl.where(constant, 0, column)
    offset = tl.load(offsets + j)
    t, k = begin + tl.arange(0, BT), block * BM + tl.arange(0, BM)
    total = tl.zeros((BT, BM), dtype=result.dtype.element_ty)
    for start in range(0, n, BN):
        x = start + tl.arange(0, BN)
        code = tl.load(codes + (replica * codes_r + x) * c + j, mask=x < n, other=0)
        b = offset + code.to(tl.int64)
        on = first_step + tl.load(steps_on + b)
        v = tl.load(value + b).to(result.dtype.element_ty)
        is_one = (t >= first_step)[:, None] & (t[:, None] < on[None, :])
        is_one = is_one | (t[:, None] == tl.load(other_input + b)[None, :])
        is_one = is_one | (t == width - 1)[:, None]
        is_value = t[:, None] == tl.load(value_input + b)[None, :]
        rows = tl.where(is_value, v[None, :], tl.where(is_one, 1.0, 0.0).to(result.dtype.element_ty))
        scale = tl.load(inverse_length + replica * lengths_r + x, mask=x < n, other=0.0)
        inside = (x < n)[:, None] & (k < m)[None, :]
        slope = tl.load(grad + (replica * n + x)[:, None] * m + k[None, :], mask=inside, other=0.0)
        slope *= scale[:, None]
        if MATRIX:
            total = tl.dot(rows, slope, total, input_precision="tf32x3")
        else:
            total += tl.sum(rows[:, :, None] * slope[None, :, :], axis=1)
    to = result + (replica * m + k)[None, :] * width + t[:, None]
    tl.store(to, total, mask=(t < end)[:, None] & (k < m)[None, :])
