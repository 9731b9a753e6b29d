# mypy: disable-error-code="no-untyped-def, call-arg, var-annotated, unreachable"
# Compiled functions have no types, and intrinsic ones other arguments than they show.

"""The first layer on binned rows, for CPUs: see `binned_torch` for what is computed.

A block is one replica and as many neurons as a vector holds. Its weights are transposed, group by group of
columns, so that each input has its own vector, and the table gets one per code; then all sums run in
registers. Threads share the blocks; within one, sums are formed in a fixed order. The argument `pieces` says
how long vectors are, see `numba_vectors`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbgnet.kernels.binned.code_walk import walk_of
from pbgnet.kernels.binned.numba_vectors import (
    NARROW,
    PIECE,
    WIDE,
    entry,
    expect,
    load,
    spread,
    store,
    turn_tile,
)
from pbgnet.kernels.numba_compiler import compiled
from pbgnet.kernels.threads import share

LINE = 64  # bytes of a line of the cache
AHEAD = 32  # how many numbers ahead weights are prefetched


def first_product(weight: Tensor, codes: Tensor, inverse_length: Tensor, book: Any) -> Tensor:
    """Return w . x of every row and neuron; see `binned_torch.first_product`."""
    n_replicas, m, _ = weight.shape
    product = torch.empty(n_replicas, codes.shape[-2], m, dtype=weight.dtype)
    arrays = _arrays(weight, codes, inverse_length, product)
    _share(_first_product, weight, codes, *arrays, *walk_of(book.book, arrays[0].dtype))
    return product


def pull_back_first_product(
    grad: Tensor, weight: Tensor, codes: Tensor, inverse_length: Tensor, book: Any
) -> Tensor:
    """Return the gradient in the weights; see `binned_torch.pull_back_first_product`."""
    result = torch.empty(weight.shape, dtype=weight.dtype)
    arrays = _arrays(grad, codes, inverse_length, result)
    _share(_pull_back, weight, codes, *arrays, *walk_of(book.book, arrays[0].dtype))
    return result


def _arrays(*tensors: Tensor) -> list[NDArray[Any]]:
    return [tensor.detach().contiguous().numpy() for tensor in tensors]


def _share(kernel: Callable[..., None], weight: Tensor, codes: Tensor, *arrays: Any) -> None:
    """Run a kernel on all neurons: in wide vectors, and the remaining few in narrow ones."""
    (n_replicas, m, d), (n, c) = weight.shape, codes.shape[-2:]
    wide, narrow = (len(pieces) * PIECE // weight.element_size() for pieces in (WIDE, NARROW))
    left = m % wide if m % wide <= narrow else 0
    for pieces, lanes, low, high in ((WIDE, wide, 0, m - left), (NARROW, narrow, m - left, m)):
        n_blocks = n_replicas * -(-(high - low) // lanes)
        run = partial(kernel, pieces, low, high, *arrays)
        share(run, n_blocks, n_blocks * lanes * (d + n * c) / 4)


@compiled
def _first_product(
    pieces, low_neuron, high_neuron, weight, codes, inverse_length, product, starts, walk, value, columns,
    groups, first, last,
):  # fmt: skip
    lanes = len(pieces) * PIECE // weight.itemsize
    (_, n, c), m, d = codes.shape, weight.shape[1], weight.shape[2]
    per_replica = -(-(high_neuron - low_neuron) // lanes)
    shared = codes.shape[0] == 1
    flat_weight, flat_codes, scale = weight.reshape(-1), codes.reshape(-1), inverse_length.reshape(-1)
    to = product.reshape(-1)
    by_input = _scratch(pieces, _most_inputs(columns, groups) + lanes, to)
    table, part = _scratch(pieces, starts[c], to), _scratch(pieces, 1, to)
    for block in range(first, last):
        r, low = block // per_replica, low_neuron + (block % per_replica) * lanes
        count = min(lanes, high_neuron - low)
        start = (r * m + low) * d
        for g in range(len(groups) - 1):
            j, end = groups[g], groups[g + 1]
            _turn(pieces, flat_weight, start, count, d, columns[j, 1], columns[end, 1], by_input)
            _fill_table(pieces, by_input, table, walk, value, columns, j, end)
        _turn(pieces, flat_weight, start, count, d, d - 1, d, by_input)
        constant = load(by_input, 0, pieces)
        row = 0 if shared else r * n
        at, place = row * c, r * n * m + low
        for i in range(row, row + n):
            total = constant
            for j in range(c):
                b = entry(starts, j) + np.int64(entry(flat_codes, at + j))
                total = total + load(table, b * lanes, pieces)
            at += c
            total = total * spread(entry(scale, i), pieces)
            if count == lanes:
                store(to, place, total)
            else:
                store(part, 0, total)
                for k in range(count):
                    to[place + k] = part[k]
            place += m


@compiled
def _most_inputs(columns, groups):
    most = 1
    for g in range(len(groups) - 1):
        most = max(most, columns[groups[g + 1], 1] - columns[groups[g], 1])
    return most


@compiled
def _scratch(pieces, n_vectors, like):
    """Return an array of this many vectors, aligned with a cache line."""
    lanes, of_line = len(pieces) * PIECE // like.itemsize, LINE // like.itemsize
    room = np.empty(n_vectors * lanes + of_line, dtype=like.dtype)
    begin = (-room.ctypes.data % LINE) // like.itemsize
    return room[begin : begin + n_vectors * lanes]


@compiled
def _turn(pieces, weight, start, count, d, first, last, by_input):
    """Write the weights of some inputs and neurons, beginning at `start`, so that every input has a row."""
    lanes = len(pieces) * PIECE // weight.itemsize
    t = first
    while t < last and t + lanes <= d:  # into inputs that belong to the next columns, where these are
        for k in range(count):
            expect(weight, start + k * d + t + AHEAD)
        turn_tile(pieces, weight, start + t, d, count - 1, by_input, (t - first) * lanes, lanes, lanes - 1)
        t += lanes
    while t < last:
        for k in range(count):
            by_input[(t - first) * lanes + k] = weight[start + k * d + t]
        t += 1


@compiled
def _turn_back(pieces, by_input, weight, start, count, d, first, last):
    """The reverse of `_turn`; what it writes for inputs of the next columns is overwritten with these."""
    lanes = len(pieces) * PIECE // weight.itemsize
    t = first
    while t < last and t + lanes <= d:
        for k in range(count):
            expect(weight, start + k * d + t + AHEAD)
        turn_tile(pieces, by_input, (t - first) * lanes, lanes, lanes - 1, weight, start + t, d, count - 1)
        t += lanes
    while t < last:
        for k in range(count):
            weight[start + k * d + t] = by_input[(t - first) * lanes + k]
        t += 1


@compiled
def _fill_table(pieces, by_input, table, walk, value, columns, low_column, high_column):
    """Fill in the products with the codes of some columns."""
    lanes = len(pieces) * PIECE // table.itemsize
    zero = spread(table.dtype.type(0), pieces)
    first_input = columns[low_column, 1]
    for j in range(low_column, high_column):
        of_value = columns[j, 2]
        slope = load(by_input, (of_value - first_input) * lanes, pieces) if of_value >= 0 else zero
        step = (columns[j, 3] - first_input) * lanes
        sums = zero
        at = columns[j, 0]
        while at < columns[j + 1, 0]:
            more, other, run = entry(walk, 4 * at + 1), entry(walk, 4 * at + 2), entry(walk, 4 * at + 3)
            place = entry(walk, 4 * at) * lanes
            while run > 0:
                one = load(by_input, step, pieces)
                after = sums + (one + load(by_input, step + lanes, pieces))
                store(table, place, sums + one + spread(entry(value, at), pieces) * slope)
                store(table, place + lanes, after + spread(entry(value, at + 1), pieces) * slope)
                sums = after
                step += 2 * lanes
                place += 2 * lanes
                at += 2
                run -= 2
                more = -1
            if more < 0:
                continue
            while more > 0:
                sums = sums + load(by_input, step, pieces)
                step += lanes
                more -= 1
            product = sums + spread(entry(value, at), pieces) * slope
            if other >= 0:
                product = product + load(by_input, (other - first_input) * lanes, pieces)
            store(table, place, product)
            at += 1


@compiled
def _pull_back(
    pieces, low_neuron, high_neuron, grad, codes, inverse_length, result, starts, walk, value, columns,
    groups, first, last,
):  # fmt: skip
    lanes = len(pieces) * PIECE // grad.itemsize
    (_, n, c), m, d = codes.shape, result.shape[1], result.shape[2]
    per_replica = -(-(high_neuron - low_neuron) // lanes)
    shared = codes.shape[0] == 1
    flat_grad, flat_codes, scale = grad.reshape(-1), codes.reshape(-1), inverse_length.reshape(-1)
    to = result.reshape(-1)
    by_input = _scratch(pieces, _most_inputs(columns, groups) + lanes, to)
    table, part = _scratch(pieces, starts[c], to), _scratch(pieces, 1, to)
    table[:] = 0  # and again after every block
    part[:] = 0
    for block in range(first, last):
        r, low = block // per_replica, low_neuron + (block % per_replica) * lanes
        count = min(lanes, high_neuron - low)
        start = (r * m + low) * d
        constant = spread(to.dtype.type(0), pieces)
        row = 0 if shared else r * n
        at, place = row * c, r * n * m + low
        for i in range(row, row + n):
            if count == lanes:
                slope = load(flat_grad, place, pieces)
            else:
                for k in range(count):
                    part[k] = flat_grad[place + k]
                slope = load(part, 0, pieces)
            slope = slope * spread(entry(scale, i), pieces)
            constant = constant + slope
            for j in range(c):
                b = (entry(starts, j) + np.int64(entry(flat_codes, at + j))) * lanes
                store(table, b, load(table, b, pieces) + slope)
            at += c
            place += m
        for g in range(len(groups) - 1):
            j, end = groups[g], groups[g + 1]
            _empty_table(pieces, table, by_input, walk, value, columns, j, end)
            _turn_back(pieces, by_input, to, start, count, d, columns[j, 1], columns[end, 1])
        store(by_input, 0, constant)
        _turn_back(pieces, by_input, to, start, count, d, d - 1, d)


@compiled
def _empty_table(pieces, table, by_input, walk, value, columns, low_column, high_column):
    """Carry the gradients of the products with the codes of some columns over to their inputs."""
    lanes = len(pieces) * PIECE // table.itemsize
    zero = spread(table.dtype.type(0), pieces)
    first_input = columns[low_column, 1]
    for j in range(low_column, high_column):
        step = (columns[j, 4] - first_input) * lanes
        for t in range(step, (columns[j + 1, 1] - first_input) * lanes, lanes):  # never on, and others
            store(by_input, t, zero)
        in_value = zero
        sums = zero
        at = columns[j + 1, 0] - 1
        while at >= columns[j, 0]:
            more, other, run = entry(walk, 4 * at + 1), entry(walk, 4 * at + 2), entry(walk, 4 * at + 3)
            place = entry(walk, 4 * at) * lanes
            while run > 0:
                one, next_one = load(table, place, pieces), load(table, place - lanes, pieces)
                store(table, place, zero)
                store(table, place - lanes, zero)
                step -= 2 * lanes
                store(by_input, step + lanes, sums + one)
                sums = sums + (one + next_one)
                store(by_input, step, sums)
                by_value = (
                    spread(entry(value, at), pieces) * one + spread(entry(value, at - 1), pieces) * next_one
                )
                in_value = in_value + by_value
                place -= 2 * lanes
                at -= 2
                run -= 2
                more = -1
            if more < 0:
                continue
            slope = load(table, place, pieces)
            store(table, place, zero)
            sums = sums + slope
            in_value = in_value + spread(entry(value, at), pieces) * slope
            if other >= 0:
                to = (other - first_input) * lanes
                store(by_input, to, load(by_input, to, pieces) + slope)
            while more > 0:
                step -= lanes
                store(by_input, step, sums)
                more -= 1
            at -= 1
        if columns[j, 2] >= 0:
            store(by_input, (columns[j, 2] - first_input) * lanes, in_value)
