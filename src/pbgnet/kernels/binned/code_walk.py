"""The codes of a book in the order in which running sums over the steps reach them, for loops on CPUs."""

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

INPUTS = 128  # columns are taken together as long as they have no more inputs and codes than this


class CodeWalk(NamedTuple):
    """A `CodeBook` in the form that the loops need: columns in order, codes by the number of their steps.

    Attributes
    ----------
    starts : ndarray of int64, shape (c + 1,)
        Where the codes of each column begin.
    codes : ndarray of int64, shape (4 B,)
        For every code: itself; how many more steps it has than the one before; its other input, or -1; and,
        at both ends of a run of consecutive codes with one more step each, the even length of that run, else
        0.
    values : ndarray, shape (B,)
        Values of every code in the same order, in the type of the weights.
    columns : ndarray of int64, shape (c + 1, 5)
        Where the codes of each column begin; where its inputs begin; the input of its value, or -1; the input
        after the last of its steps that is ever on. The last row says where all of them end.
    groups : ndarray of int64
        Columns that begin a group of columns whose weights are transposed together, and c.
    """

    starts: NDArray[np.int64]
    codes: NDArray[np.int64]
    values: NDArray[Any]
    columns: NDArray[np.int64]
    groups: NDArray[np.int64]


@functools.lru_cache(maxsize=16)
def walk_of(book: Any, number: np.dtype[Any]) -> CodeWalk:
    """Return the walk of a `CodeBook` for weights of a type; cached while the book is in use."""
    starts = book.starts
    column_of = np.repeat(np.arange(book.n_columns), np.diff(starts))
    code = np.lexsort((book.steps_on, column_of))
    on, other = book.steps_on[code], book.other_output[code]
    more = np.diff(on, prepend=0)
    more[starts[:-1]] = on[starts[:-1]]
    inputs = np.cumsum([0, *(len(column.names) for column in book.columns)])
    columns = np.full((book.n_columns + 1, 5), -1)
    columns[:, 0], columns[:, 1] = starts, inputs
    columns[:-1, 2], columns[:-1, 3] = book.value_output, book.first_step
    columns[:-1, 4] = book.first_step + on[starts[1:] - 1]
    parts = (np.split(x, starts[1:-1]) for x in (code, more, other))
    runs = np.concatenate([_runs(*column) for column in zip(*parts, strict=True)])
    return CodeWalk(
        starts,
        np.stack([code, more, other, runs], axis=1).reshape(-1),
        book.value[code].astype(number),
        columns,
        _groups(starts, inputs),
    )


def _runs(code: NDArray[np.int64], more: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the lengths of the runs in a column, at both of their ends."""
    runs = np.zeros_like(code)
    follows = (more == 1) & (other < 0)
    first = 0
    while first < len(code):
        last = first
        while last < len(code) and follows[last] and code[last] - last == code[first] - first:
            last += 1
        length = (last - first) // 2 * 2
        if length:
            runs[first] = runs[first + length - 1] = length
        first += max(length, 1)
    return runs


def _groups(starts: NDArray[np.int64], inputs: NDArray[np.int64]) -> NDArray[np.int64]:
    groups = [0]
    for j in range(1, len(starts) - 1):
        if max(x[j + 1] - x[groups[-1]] for x in (starts, inputs)) > INPUTS:
            groups.append(j)
    return np.array([*groups, len(starts) - 1])
