"""Layers of a sign network above the first, on CPUs: signs are bits, and a byte of them is looked up.

Weights are real numbers, so bits are not enough to compute `w . s`. But the eight signs of a byte have only
256 combinations, and the sum of their eight weights is in a table (`_tables`): an eighth of the additions, no
multiplication, and the neurons side by side in vectors. If all weights of each neuron have the same absolute
value, as in networks with binary weights, a sum is a count: XOR and popcount, on 64 signs at a time. The
weights decide which of the two is used.

Answers are those of `bits_torch`, which also handles the few rows whose sums leave a sign in doubt.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbgnet.kernels.bits import bits_torch
from pbgnet.kernels.numba_compiler import compiled, compiled_in_order
from pbgnet.kernels.threads import share

FEW_ROWS = 256  # for fewer rows, making tables does not pay off
MOST_ENTRIES = 1 << 22  # largest tables of a layer, 32 MB
ROWS_PER_BLOCK = 1024
WORD = 8  # bytes


def answers(first: Tensor, weights: Sequence[Tensor], intercept: bool) -> Tensor:
    """Return whether each neuron of the last layer answers 1; see `bits_torch.answers`."""
    n_replicas, n, d = first.shape
    if n <= FEW_ROWS or not weights:
        return bits_torch.answers(first, weights, intercept)
    bits = _no_bits(n_replicas, n, d)
    _share(_pack, n_replicas, n, d, first.detach().contiguous().numpy(), bits)
    for weight in weights:
        bits, d = _layer(bits, weight.detach(), d, intercept), weight.shape[-2]
    return torch.from_numpy(_unpacked(bits, d))


def _layer(bits: NDArray[np.uint8], weight: Tensor, d: int, intercept: bool) -> NDArray[np.uint8]:
    """Return the signs of a layer for those of the layer below, both as bits, shape (R, n, bytes)."""
    (n_replicas, n, _), m = bits.shape, weight.shape[-2]
    found = _no_bits(n_replicas, n, m)
    wide = weight.double().numpy()
    if (np.abs(wide) == np.abs(wide[..., :1])).all():
        own = _no_bits(n_replicas, m, d)
        _pack(np.ascontiguousarray(wide[..., :d]), own, 0, n_replicas * _blocks(m))
        # A neuron whose weights are all 0 never answers 1: no row disagrees with it in fewer than 0 inputs.
        inputs = np.where(wide[..., 0] == 0, 0, d + intercept).astype(np.int64)
        against = (wide[..., -1] <= 0).astype(np.int64) * intercept
        words = (bits.view(np.uint64), own.view(np.uint64))
        _share(_count, n_replicas, n, m * words[0].shape[-1], *words, inputs, against, found)
        return found
    limit = bits_torch.doubt(weight).numpy()
    if m * -(-d // 8) * 256 > MOST_ENTRIES or not np.isfinite(limit).all():  # where sums may overflow
        for start in range(0, n, ROWS_PER_BLOCK):
            rows = np.s_[:, start : start + ROWS_PER_BLOCK]
            found[rows] = _by_reference(bits[rows], weight, d, intercept)
        return found
    base, tables = _tables(wide, d)
    unsure = np.zeros((n_replicas, n), dtype=np.bool_)
    _share(_look_up, n_replicas, n, m * tables.shape[1], bits, base, tables, limit, found, unsure)
    for r in np.flatnonzero(unsure.any(axis=1)).tolist():
        found[r, unsure[r]] = _by_reference(bits[r : r + 1, unsure[r]], weight[r : r + 1], d, intercept)[0]
    return found


def _tables(wide: NDArray[np.float64], d: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum of weights where all signs are -1, (R, m), and what bytes add to it, (R, B, 256, m)."""
    n_replicas, m, _ = wide.shape
    n_bytes = -(-d // 8)
    padded = np.zeros((n_replicas, 8 * n_bytes, m))
    padded[:, :d] = wide[..., :d].swapaxes(1, 2)
    of_bit = 2.0 * padded.reshape(n_replicas, n_bytes, 8, m)
    tables = np.zeros((n_replicas, n_bytes, 256, m))
    for k in range(8):  # the values from 2**k on are those before, with bit k as well
        tables[:, :, 1 << k : 2 << k] = tables[:, :, : 1 << k] + of_bit[:, :, k : k + 1]
    return wide[..., d:].sum(-1) - wide[..., :d].sum(-1), tables


def _by_reference(bits: NDArray[np.uint8], weight: Tensor, d: int, intercept: bool) -> NDArray[np.uint8]:
    """Return what `_layer` does, as the reference finds it."""
    on = bits_torch.layer(torch.from_numpy(_unpacked(bits, d)), weight, intercept)
    packed = np.packbits(on.numpy(), axis=-1, bitorder="little")
    found = _no_bits(*on.shape)
    found[..., : packed.shape[-1]] = packed
    return found


def _no_bits(n_replicas: int, n: int, d: int) -> NDArray[np.uint8]:
    """Return place for d signs of each row, in whole words."""
    return np.zeros((n_replicas, n, -(-d // (8 * WORD)) * WORD), dtype=np.uint8)


def _unpacked(bits: NDArray[np.uint8], d: int) -> NDArray[np.bool_]:
    return np.unpackbits(bits, axis=-1, count=d, bitorder="little").view(np.bool_)


def _blocks(n: int) -> int:
    return -(-n // ROWS_PER_BLOCK)


def _share(run: Callable[..., None], n_replicas: int, n: int, per_row: int, *arrays: Any) -> None:
    share(partial(run, *arrays), n_replicas * _blocks(n), float(n_replicas * n * per_row))


@compiled_in_order
def _pack(product, bits, first, last):  # type: ignore[no-untyped-def]
    """Write which products are above 0, blocks first .. last - 1 of (replica, rows)."""
    _, n, d = product.shape
    row_blocks = -(-n // ROWS_PER_BLOCK)
    for block in range(first, last):
        r, rows = divmod(block, row_blocks)
        for i in range(rows * ROWS_PER_BLOCK, min(n, (rows + 1) * ROWS_PER_BLOCK)):
            for b in range(-(-d // 8)):
                byte = 0
                for k in range(min(8, d - 8 * b)):
                    byte |= (product[r, i, 8 * b + k] > 0) << k
                bits[r, i, b] = byte


@compiled
def _look_up(bits, base, tables, limit, found, unsure, first, last):  # type: ignore[no-untyped-def]
    """Add up what the bytes of each row stand for, and write the signs; mark rows with a sign in doubt."""
    n, m, n_bytes = bits.shape[1], base.shape[1], tables.shape[1]
    row_blocks = -(-n // ROWS_PER_BLOCK)
    total = np.empty(m)
    for block in range(first, last):
        r, rows = divmod(block, row_blocks)
        for i in range(rows * ROWS_PER_BLOCK, min(n, (rows + 1) * ROWS_PER_BLOCK)):
            for j in range(m):
                total[j] = base[r, j]
            for b in range(n_bytes):
                entries = tables[r, b, bits[r, i, b]]
                for j in range(m):
                    total[j] += entries[j]
            in_doubt = False
            for j in range(m):
                if total[j] > 0:
                    found[r, i, j >> 3] |= np.uint8(1 << (j & 7))
                in_doubt |= (abs(total[j]) <= limit[r, j]) & (limit[r, j] > 0)
            unsure[r, i] = in_doubt


@compiled_in_order
def _count(words, own, inputs, against, found, first, last):  # type: ignore[no-untyped-def]
    """Count the signs that differ from those of the weights, and write whether they are the smaller part."""
    n, m = words.shape[1], own.shape[1]
    row_blocks = -(-n // ROWS_PER_BLOCK)
    for block in range(first, last):
        r, rows = divmod(block, row_blocks)
        for i in range(rows * ROWS_PER_BLOCK, min(n, (rows + 1) * ROWS_PER_BLOCK)):
            for j in range(m):
                differ = against[r, j]
                for k in range(words.shape[2]):
                    differ += _popcount(words[r, i, k] ^ own[r, j, k])
                if 2 * differ < inputs[r, j]:
                    found[r, i, j >> 3] |= np.uint8(1 << (j & 7))


@compiled_in_order
def _popcount(word):  # type: ignore[no-untyped-def]
    """Count the bits of a word; compilers know this form, and use the instruction."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
