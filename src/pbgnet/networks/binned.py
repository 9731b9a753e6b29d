"""Prepared examples stored as codes: the first layer looks up sums of weights instead of multiplying."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from pbgnet.autograd import first_order_only
from pbgnet.kernels import find_kernel
from pbgnet.preprocessing import BinnedTable, CodeBook


@dataclass(frozen=True, eq=False)
class DeviceBook:
    """A `CodeBook` as tensors on a device, and as arrays for loops on a CPU.

    Inputs are numbered like the columns of the weights: d of them and the constant; d + 1 means none.

    Attributes
    ----------
    book : CodeBook
    n_codes, n_inputs : int
        B and d.
    offsets : Tensor of int64, shape (c,)
        Where the codes of each column begin.
    column_of, steps_on, other_input, value_input : Tensor of int64, shape (B,)
        Column of each code; how many of its steps are 1; the other input that is 1, and the input of the
        value.
    value, first_column : Tensor of float64, shape (B,)
        Value of each code; 1 for the codes of the first column, else 0.
    step_inputs : Tensor of int64, shape (c, most steps)
        The inputs that are the steps of each column.
    last_step : Tensor of int64, shape (B,)
        The input of the last step that is 1, for each code.
    spans : Tensor of int64, shape (c + 1, 4)
        Where the inputs of each column begin and end, and where its steps do; last those of the constant.
    stretches : Tensor of int64, shape (S, 2)
        All inputs in stretches of at most `stretch` within one column: the column, and the first input.
    """

    book: CodeBook
    n_codes: int
    n_inputs: int
    offsets: Tensor
    column_of: Tensor
    steps_on: Tensor
    other_input: Tensor
    value_input: Tensor
    value: Tensor
    first_column: Tensor
    step_inputs: Tensor
    last_step: Tensor
    spans: Tensor
    stretches: Tensor
    stretch: ClassVar[int] = 32

    @classmethod
    def of(cls, book: CodeBook, device: torch.device | str) -> Self:
        """Bring a book to a device."""
        nothing = book.n_outputs + 1
        column_of = np.repeat(np.arange(book.n_columns), np.diff(book.starts))
        steps = np.arange(int(book.n_steps.max(initial=0)))
        step_inputs = np.where(steps < book.n_steps[:, None], book.first_step[:, None] + steps, nothing)
        last_step = np.where(book.steps_on > 0, book.first_step[column_of] + book.steps_on - 1, nothing)
        spans = _spans(book)
        stretches = [
            (column, start)
            for column, (begin, end) in enumerate(spans[:, :2].tolist())
            for start in range(begin, end, cls.stretch)
        ]

        def on_device(array: Any) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        return cls(
            book=book,
            n_codes=book.n_codes,
            n_inputs=book.n_outputs,
            offsets=on_device(book.starts[:-1]),
            column_of=on_device(column_of),
            steps_on=on_device(book.steps_on),
            other_input=on_device(np.where(book.other_output >= 0, book.other_output, nothing)),
            value_input=on_device(
                np.where(book.value_output[column_of] >= 0, book.value_output[column_of], nothing)
            ),
            value=on_device(book.value),
            first_column=on_device((column_of == 0).astype(np.float64)),
            step_inputs=on_device(step_inputs),
            last_step=on_device(last_step),
            spans=on_device(spans),
            stretches=on_device(np.array(stretches, dtype=np.int64)),
        )


class BinnedRows:
    """Examples as codes, prepared for the first layer as by `prepare_rows`, with a constant.

    Attributes
    ----------
    codes : Tensor of whole numbers, shape (..., n, c)
    inverse_length : Tensor, shape (..., n)
        1 over the length of each row, constant included; 1 if lengths do not matter.
    book : DeviceBook
    """

    def __init__(self, codes: Tensor, inverse_length: Tensor, book: DeviceBook) -> None:
        self.codes, self.inverse_length, self.book = codes, inverse_length, book

    @classmethod
    def of(cls, table: BinnedTable, *, unit: bool, dtype: torch.dtype, device: torch.device | str) -> Self:
        """Prepare the rows of a table, with the constant input 1."""
        book = table.book
        length = np.ones(len(table))
        if unit:  # column by column: numbers for all cells would take many times their codes
            for column, start in zip(table.codes.T, book.starts[:-1], strict=True):
                length += book.squares[start + column.astype(np.int64)]
            length = np.sqrt(length)
        held = np.ascontiguousarray(table.codes).astype(_held(table.codes), copy=False)
        codes = torch.from_numpy(held if held.flags.writeable else held.copy())  # PyTorch warns about others
        inverse = torch.from_numpy(1.0 / length).to(device, dtype)
        return cls(codes.to(device), inverse, DeviceBook.of(book, device))

    @property
    def shape(self) -> tuple[int, ...]:
        """Leading axes, rows, and inputs with the constant."""
        return (*self.codes.shape[:-1], self.book.n_inputs + 1)

    @property
    def dtype(self) -> torch.dtype:
        """The type of the products."""
        return self.inverse_length.dtype

    @property
    def device(self) -> torch.device:
        """The device of the rows."""
        return self.codes.device

    def __len__(self) -> int:
        return self.codes.shape[0]

    def take(self, rows: Tensor | slice) -> "BinnedRows":
        """Return some of the rows: indices of any shape, or a slice."""
        return BinnedRows(self.codes[rows], self.inverse_length[rows], self.book)

    def times(self, weight: Tensor) -> Tensor:
        """Multiply with the weights (..., m, d + 1) of the first layer; shape (..., n, m), differentiable."""
        *replicas, m, d = weight.shape
        product: Tensor = _BinnedProduct.apply(self, weight.reshape(-1, m, d))
        return product.reshape(*replicas, *product.shape[1:])

    def times_with_pullback(self, weight: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """Return the product with weights (R, m, d + 1), and what maps its gradient to theirs."""
        kernel = find_kernel("binned", weight.device)
        codes, inverse_length = self._with_replicas()
        product = kernel.first_product(weight, codes, inverse_length, self.book)

        def pull_back(grad: Tensor) -> Tensor:
            result: Tensor = kernel.pull_back_first_product(grad, weight, codes, inverse_length, self.book)
            return result

        return product, pull_back

    def _with_replicas(self) -> tuple[Tensor, Tensor]:
        """Codes (R or 1, n, c) and scales (R or 1, n)."""
        *replicas, n, c = self.codes.shape
        size = math.prod(replicas)
        return self.codes.reshape(size, n, c), self.inverse_length.reshape(size, n)


class _BinnedProduct(torch.autograd.Function):
    """The product of rows and weights, with a gradient with respect to the weights only."""

    @staticmethod
    def forward(ctx: Any, rows: BinnedRows, weight: Tensor) -> Tensor:
        product, ctx.pull_back = rows.times_with_pullback(weight)
        return product

    @staticmethod
    @first_order_only
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[None, Tensor]:
        return None, ctx.pull_back(grad_outputs[0].contiguous())


def _spans(book: CodeBook) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Where the inputs and the steps of each column begin and end, and those of the constant."""
    edges = np.cumsum([0, *(len(column.names) for column in book.columns), 1])
    first_step = np.append(book.first_step, book.n_outputs + 1)
    n_steps = np.append(book.n_steps, 0)
    return np.stack([edges[:-1], edges[1:], first_step, first_step + n_steps], axis=1)


def _held(codes: np.ndarray[Any, Any]) -> str:
    return {1: "uint8", 2: "int32", 4: "int64"}[codes.dtype.itemsize]
