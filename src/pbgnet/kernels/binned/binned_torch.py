"""The first layer on binned rows, in plain PyTorch: reference and fallback.

A row x is the sum of what the codes of its columns stand for, so its product with a weight vector w is
`w . x = sum_j T[code_j]`, where the table T contains the product of w with each code. Computing T takes one
pass over the weights, because the steps of a column are running sums; the product then takes one look-up per
cell. In the backward pass, gradients are added up per code, and running sums from the other end carry them to
the weights.
"""

from typing import Any

import torch
from torch import Tensor


def first_product(weight: Tensor, codes: Tensor, inverse_length: Tensor, book: Any) -> Tensor:
    """Return w . x of every row and neuron: shape (R, n, m).

    Parameters
    ----------
    weight : Tensor, shape (R, m, d + 1)
        The last column is the weight of the constant input 1.
    codes : Tensor of whole numbers, shape (R, n, c) or (1, n, c)
    inverse_length : Tensor, shape (R, n) or (1, n)
        The factor of each row: 1 / |x| with the constant, or 1.
    book : DeviceBook
        The meaning of the codes, see `pbgnet.networks.binned`.
    """
    return look_up(code_products(weight, book), book.offsets + codes.long(), inverse_length)


def look_up(table: Tensor, at: Tensor, inverse_length: Tensor) -> Tensor:
    """Add up the entries (R, B, m) of a table at (R, n, c) or (1, n, c), and scale: shape (R, n, m)."""
    n_replicas, _, m = table.shape
    _, n, c = at.shape
    flat = at.expand(n_replicas, n, c).reshape(n_replicas, n * c, 1).expand(-1, -1, m)
    return table.gather(1, flat).view(n_replicas, n, c, m).sum(2) * inverse_length[..., None]


def pull_back_first_product(
    grad: Tensor, weight: Tensor, codes: Tensor, inverse_length: Tensor, book: Any
) -> Tensor:
    """Return the gradient in the weights, (R, m, d + 1), for one in the product, (R, n, m)."""
    (n_replicas, n, m), c = grad.shape, codes.shape[-1]
    at = (book.offsets + codes.long()).expand(n_replicas, n, c).reshape(n_replicas, n * c, 1)
    scaled = (grad * inverse_length[..., None])[:, :, None].expand(-1, -1, c, -1)
    by_code = grad.new_zeros(n_replicas, book.n_codes, m)
    by_code.scatter_add_(1, at.expand(-1, -1, m), scaled.reshape(n_replicas, n * c, m))
    return pull_back_code_products(by_code, book)


def code_products(weight: Tensor, book: Any) -> Tensor:
    """Return the product of each neuron's weights with what each code stands for: shape (R, B, m).

    The constant input counts once per row: it is included in the codes of the first column.
    """
    by_input = weight.mT  # (R, d + 1, m)
    # Steps in a table (c, most steps); steps that a column does not have point to an input that is left out.
    padded = torch.constant_pad_nd(by_input, (0, 0, 0, 1))  # input d + 1 is nothing
    sums = torch.constant_pad_nd(padded[:, book.step_inputs].cumsum(2), (0, 0, 1, 0))  # (R, c, steps + 1, m)
    table: Tensor = sums[:, book.column_of, book.steps_on] + padded[:, book.other_input]
    table += book.value.to(weight.dtype)[:, None] * padded[:, book.value_input]
    table += book.first_column.to(weight.dtype)[:, None] * by_input[:, -1:]
    return table


def pull_back_code_products(by_code: Tensor, book: Any) -> Tensor:
    """Return the gradient of the weights, (R, m, d + 1), given that of the products with codes, (R, B, m)."""
    n_replicas, _, m = by_code.shape
    result = by_code.new_zeros(n_replicas, book.n_inputs + 2, m)  # the last is nothing
    result.index_add_(1, book.other_input, by_code)
    result.index_add_(1, book.value_input, book.value.to(by_code.dtype)[:, None] * by_code)
    c, most = book.step_inputs.shape
    cells = book.column_of * (most + 1) + book.steps_on
    by_steps = by_code.new_zeros(n_replicas, c * (most + 1), m).index_add_(1, cells, by_code)
    # A step is on in all codes with more steps than its own number.
    behind = by_steps.view(n_replicas, c, most + 1, m)[:, :, 1:].flip(2).cumsum(2).flip(2)
    result.index_add_(1, book.step_inputs.flatten(), behind.reshape(n_replicas, c * most, m))
    constant = (book.first_column.to(by_code.dtype)[:, None] * by_code).sum(1)
    return torch.cat([result[:, : book.n_inputs], constant[:, None]], dim=1).mT.contiguous()
