"""The input layer only sees an example's direction: `w . x / |x|` (paper, Eq. 4)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from pbgnet.exceptions import DomainError, ShapeError
from pbgnet.networks.binned import BinnedRows, DeviceBook
from pbgnet.networks.patches import PatchRows, PatchShape
from pbgnet.networks.sparse import SparseRows
from pbgnet.preprocessing import BinnedTable, CodeBook
from pbgnet.validation import check_finite, refuse_masked

PreparedRows = Tensor | SparseRows | BinnedRows | PatchRows

DENSE_OUTPUTS = 16
"""Up to this many outputs per column, a CPU multiplies faster than it looks up codes."""

DENSE_NUMBERS = {"cpu": 1 << 26, "cuda": 1 << 30}
"""Most numbers that are written out; a GPU always multiplies faster than it looks up."""

# Rows of a binned table that are written out at a time.
BLOCK_ROWS = 4096


def append_one(values: Tensor) -> Tensor:
    """Append the constant input 1 of an intercept: (..., n, d) -> (..., n, d + 1)."""
    return torch.constant_pad_nd(values, (0, 1), 1.0)


def prepare_rows(
    x: Any,
    *,
    unit: bool,
    intercept: bool,
    dtype: torch.dtype,
    device: torch.device | str,
    patches: PatchShape | None = None,
) -> PreparedRows:
    """Prepare an array, sparse matrix or binned table of shape (n, d) for the first layer of a network.

    Parameters
    ----------
    x : ndarray, scipy sparse array or matrix, or BinnedTable
    unit : bool
        Whether to scale rows to length 1, in float64 before rounding to `dtype`.
    intercept : bool
        Whether to append the constant 1.
    dtype : torch.dtype
    device : torch.device or str
    patches : PatchShape, optional
        How images are cut; each patch gets its own constant and length.
    """
    if patches is not None:
        return PatchRows.of(_dense(x.toarray() if hasattr(x, "toarray") else x), patches).to(device, dtype)
    if isinstance(x, BinnedTable):
        if intercept and _better_as_codes(x, torch.device(device)):
            return BinnedRows.of(x, unit=unit, dtype=dtype, device=device)
        return _written_out(x, unit=unit, intercept=intercept, dtype=dtype, device=device)
    if sparse.issparse(x):
        return SparseRows(x, intercept=intercept, unit=unit, dtype=dtype, device=device)
    return _dense_rows(x, unit, intercept).to(device, dtype)


def _dense_rows(x: Any, unit: bool, intercept: bool) -> Tensor:
    rows = _dense(x)
    if unit:
        return unit_rows(rows, intercept)
    return append_one(rows) if intercept else rows


def _written_out(
    table: BinnedTable, *, unit: bool, intercept: bool, dtype: torch.dtype, device: torch.device | str
) -> Tensor:
    """Prepare a binned table densely, block by block: all in float64 would take several times as much."""
    n_rows, n_outputs = table.shape
    rows = torch.empty(n_rows, n_outputs + intercept, dtype=dtype, device=device)
    for start in range(0, n_rows, BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        rows[block] = _dense_rows(table[block].toarray(), unit, intercept).to(device, dtype)
    return rows


def as_part_of(part: Tensor | BinnedRows, whole: Tensor | BinnedRows) -> tuple[Tensor | BinnedRows, float]:
    """Scale rows to the lengths they have as a part of others, times a factor that makes their mean 1.

    A network that reads such a part is one that reads the whole, with weights 0 for all other inputs and its
    own weights times the factor for these.

    Parameters
    ----------
    part, whole : Tensor or BinnedRows, shapes (n, d) and (n, D)
        The same examples, prepared with a constant and scaled to length 1.

    Returns
    -------
    rows : Tensor or BinnedRows, shape (n, d)
    factor : float
    """
    share = _constants(whole) / _constants(part)
    factor = 1.0 / float(share.double().mean())
    share = share * factor
    if isinstance(part, BinnedRows):
        return BinnedRows(part.codes, part.inverse_length * share, part.book), factor
    return part * share[:, None], factor


def with_strong_values(rows: Tensor | BinnedRows, book: CodeBook) -> tuple[Tensor | BinnedRows, Tensor]:
    """Multiply the value of each column by the square root of the number of its steps.

    A value is one input and its steps are many. Adam moves every weight by about the same amount, so it would
    learn from the steps many times faster; with this factor both count about equally. Lengths stay as they
    are: a network that reads such rows is one that reads the original rows, with weights times the factors.

    Parameters
    ----------
    rows : Tensor or BinnedRows, shape (n, d)
        Prepared with a constant.
    book : CodeBook
        The code book of the original rows.

    Returns
    -------
    rows : Tensor or BinnedRows, shape (n, d)
    factors : Tensor, shape (d,)
        The factor of each input.
    """
    factors = np.sqrt(np.maximum(book.n_steps, 1))
    of_inputs, valued = np.ones(rows.shape[-1]), book.value_output >= 0
    of_inputs[book.value_output[valued]] = factors[valued]
    inputs = torch.from_numpy(of_inputs).to(rows.device, rows.dtype)
    if isinstance(rows, BinnedRows):
        strong = DeviceBook.of(book.with_values_times(factors), rows.device)
        return BinnedRows(rows.codes, rows.inverse_length, strong), inputs
    return rows * inputs, inputs


def _constants(rows: Tensor | BinnedRows) -> Tensor:
    """What remains of the constant 1 after scaling rows to length 1."""
    return rows.inverse_length if isinstance(rows, BinnedRows) else rows[:, -1]


def _dense(x: Any) -> Tensor:
    refuse_masked("x", x)
    array = np.asarray(x, dtype=np.float64)
    return torch.from_numpy(array if array.flags.writeable else array.copy())  # PyTorch warns about others


def _better_as_codes(table: BinnedTable, device: torch.device) -> bool:
    """Whether rows are stored as codes; docs/results/speed.md has the measurements."""
    n_rows, n_outputs = table.shape
    if n_rows * n_outputs > DENSE_NUMBERS.get(device.type, DENSE_NUMBERS["cpu"]):
        return True
    return device.type != "cuda" and n_outputs > DENSE_OUTPUTS * table.book.n_columns


def unit_rows(x: Tensor, intercept: bool) -> Tensor:
    """Bring examples to the form the network needs: with the constant 1, then scaled to length 1.

    The result never changes during training, so it is computed once.
    """
    if x.ndim < 2 or x.shape[-1] == 0:
        raise ShapeError(f"Examples must have shape (..., n, d) with d >= 1, got {tuple(x.shape)}.")
    check_finite("x", x, "Impute or drop such rows.")
    rows = append_one(x) if intercept else x
    largest = rows.abs().amax(dim=-1, keepdim=True)
    if bool((largest == 0).any()):
        raise DomainError("A row of zeros has no direction without an intercept; use intercept=True.")
    rows = rows / largest  # so the squares below can neither overflow nor underflow
    unit: Tensor = rows / torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
    return unit


def first_product(rows: PreparedRows, weight: Tensor) -> Tensor:
    """Multiply prepared examples with the weights (..., m, d) of the first layer: shape (..., n, m)."""
    if isinstance(rows, Tensor):
        # In this order both the product and its gradient with respect to the weights run along contiguous
        # rows. For ten neurons that is two to four times as fast as rows @ weight.mT.
        return (weight @ rows.mT).mT
    return rows.times(weight)


def first_product_with_pullback(
    rows: PreparedRows, weight: Tensor
) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Return `first_product`, and what maps its gradient (..., n, m) to that of the weights."""
    if isinstance(rows, Tensor):
        return (weight @ rows.mT).mT, lambda grad: grad.mT @ rows
    if isinstance(rows, BinnedRows | PatchRows):
        return rows.times_with_pullback(weight)
    leaf = weight.detach().requires_grad_()
    with torch.enable_grad():
        product = rows.times(leaf)
    return product.detach(), lambda grad: torch.autograd.grad(product, leaf, grad)[0]
