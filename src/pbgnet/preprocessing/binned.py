"""Tables stored as one small whole number per cell, and the meaning of each of these codes.

A number becomes the bin it falls into, a text its category. What a column contributes to a row only depends
on its code. So a table takes one byte per cell for any number of outputs, and a first layer needs one look-up
per cell (`pbgnet.networks.BinnedRows`).
"""

import functools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.exceptions import ShapeError
from pbgnet.preprocessing.code_files import gather_codes

NO_OUTPUT = -1


@dataclass(frozen=True, eq=False)
class ColumnBook:
    """The meaning of the codes 0, ..., C - 1 of one column.

    Attributes
    ----------
    names : tuple of str
        Names of the outputs: the value, if there is one; the steps; the others.
    values : ndarray of float64, shape (C,), or None
        The first output for each code, if the column has a value.
    n_steps : int
        Number of step outputs.
    steps_on : ndarray of int64, shape (C,)
        How many of them are 1 for each code: always the first ones.
    others : ndarray of int64, shape (C,)
        Which of the other outputs is 1 for each code, counted from 0; -1 for none.
    """

    names: tuple[str, ...]
    values: NDArray[np.float64] | None
    n_steps: int
    steps_on: NDArray[np.int64]
    others: NDArray[np.int64]

    @property
    def n_codes(self) -> int:
        """The number C of codes."""
        return self.steps_on.size


class CodeBook:
    """The meaning of the codes of all columns, in arrays over all codes, one column after the other.

    Parameters
    ----------
    columns : sequence of ColumnBook

    Attributes
    ----------
    n_outputs : int
    starts : ndarray of int64, shape (c + 1,)
        Where the codes of each column begin.
    value : ndarray of float64, shape (B,)
        The value of each code, 0 if its column has none.
    value_output : ndarray of int64, shape (c,)
        The output with the value of a column; -1 for none.
    first_step, n_steps : ndarray of int64, shape (c,)
        The outputs with the steps of a column: the first, and how many follow.
    steps_on : ndarray of int64, shape (B,)
        How many steps of its column are 1 for each code.
    other_output : ndarray of int64, shape (B,)
        The other output that is 1 for each code; -1 for none.
    """

    def __init__(self, columns: list[ColumnBook]) -> None:
        self.columns = tuple(columns)
        counts = [column.n_codes for column in columns]
        widths = np.array([len(column.names) for column in columns], dtype=np.int64)
        first_output = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
        self.n_outputs = int(first_output[-1])
        self.starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        with_value = np.array([column.values is not None for column in columns])
        self.value_output = np.where(with_value, first_output[:-1], NO_OUTPUT)
        self.first_step = first_output[:-1] + with_value
        self.n_steps = np.array([column.n_steps for column in columns], dtype=np.int64)
        self.value = _joined([_or_zeros(column) for column in columns], np.float64)
        self.steps_on = _joined([column.steps_on for column in columns], np.int64)
        others = [
            np.where(column.others >= 0, first + column.n_steps + column.others, NO_OUTPUT)
            for first, column in zip(self.first_step, columns, strict=True)
        ]
        self.other_output = _joined(others, np.int64)

    @property
    def n_columns(self) -> int:
        """The number c of columns."""
        return len(self.columns)

    @property
    def n_codes(self) -> int:
        """The number B of codes of all columns."""
        return int(self.starts[-1])

    @functools.cached_property
    def squares(self) -> NDArray[np.float64]:
        """What each code contributes to the squared length of a row, shape (B,)."""
        return np.asarray(self.value**2 + self.steps_on + (self.other_output >= 0))

    def with_values_times(self, factors: NDArray[np.float64]) -> "CodeBook":
        """Return a book whose values are multiplied by one factor per column, shape (c,)."""
        return CodeBook(
            [
                column if column.values is None else replace(column, values=column.values * factor)
                for column, factor in zip(self.columns, factors, strict=True)
            ]
        )

    @property
    def outputs_without_steps(self) -> NDArray[np.int64]:
        """The outputs that are not steps, in order: all outputs of numbers without steps."""
        is_step = np.zeros(self.n_outputs, dtype=bool)
        for first, count in zip(self.first_step, self.n_steps, strict=True):
            is_step[first : first + count] = True
        return np.flatnonzero(~is_step)

    def dense(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Write out the outputs of codes (n, c): float64, shape (n, n_outputs)."""
        out = np.zeros((len(codes), self.n_outputs))
        rows = np.arange(len(codes))
        for j in range(self.n_columns):
            at = self.starts[j] + codes[:, j].astype(np.int64)
            if self.value_output[j] >= 0:
                out[:, self.value_output[j]] = self.value[at]
            steps = np.arange(self.n_steps[j])
            out[:, self.first_step[j] + steps] = steps < self.steps_on[at][:, None]
            other = self.other_output[at]
            out[rows[other >= 0], other[other >= 0]] = 1.0
        return out


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """Rows of a table as codes, with the book that gives their meaning.

    It behaves like a matrix of numbers where needed: it has a shape, returns rows, and can be written out.

    Attributes
    ----------
    codes : ndarray of uint8 or uint16, shape (n, c)
        Mapped from a file if there are too many for memory.
    book : CodeBook
    folder : path or None
        Where to put files of rows gathered from mapped codes.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.preprocessing import TablePreprocessor
    >>> table = TablePreprocessor(numbers="steps").fit(np.array([[1.0], [2.0], [4.0]])).encode([[3.5], [0.0]])
    >>> table.shape, table.codes.nbytes, table.toarray().tolist()
    ((2, 2), 2, [[1.0, 1.0], [0.0, 0.0]])
    """

    codes: NDArray[Any]
    book: CodeBook
    folder: Path | None = None

    def __post_init__(self) -> None:
        if self.codes.ndim != 2 or self.codes.shape[1] != self.book.n_columns:
            raise ShapeError(
                f"Expected codes for {self.book.n_columns} columns, got shape {self.codes.shape}."
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and outputs."""
        return len(self.codes), self.book.n_outputs

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> "BinnedTable":
        return BinnedTable(gather_codes(self.codes, rows, self.folder), self.book, self.folder)

    def with_book(self, book: CodeBook) -> "BinnedTable":
        """Return the same codes with another book of the same number of columns."""
        return BinnedTable(self.codes, book, self.folder)

    def toarray(self) -> NDArray[np.float64]:
        """Write out all outputs as float64."""
        return self.book.dense(self.codes)


def _or_zeros(column: ColumnBook) -> NDArray[np.float64]:
    return np.zeros(column.n_codes) if column.values is None else column.values


def _joined(parts: list[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype=dtype)
