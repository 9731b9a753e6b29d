"""Books of all kinds of columns, rows of codes, and what they give as dense rows."""

from typing import NamedTuple

import numpy as np
import pytest
import torch

from pbgnet.networks import BinnedRows
from pbgnet.preprocessing import BinnedTable, CodeBook
from pbgnet.preprocessing.binned import ColumnBook

NONE = -1


def column(n_steps=0, on=None, values=None, others=None, n_others=0):
    """A column of the book; as many codes as the longest of its lists."""
    size = max(len(x) for x in (on, values, others) if x is not None)
    names = ["value"] * (values is not None) + ["step"] * n_steps + ["other"] * n_others
    return ColumnBook(
        tuple(names),
        None if values is None else np.array(values, dtype=np.float64),
        n_steps,
        np.array([0] * size if on is None else on),
        np.array([NONE] * size if others is None else others),
    )


COLUMNS = {
    "steps": column(5, on=range(6)),
    "many steps": column(150, on=range(151)),
    "value": column(values=[-1.5, 0.0, 0.25, 3.0]),
    "both": column(3, on=range(4), values=[-1.0, 0.0, 0.5, 2.0]),
    "missing": column(
        4, on=[0, 1, 2, 3, 4, 2], values=[-2, -1, 0, 1, 2, 0], others=[NONE] * 5 + [0], n_others=1
    ),
    "categories": column(others=[0, 1, 2, 3, NONE], n_others=4),
    "pooled": column(others=[1, 0, 1, 1], n_others=3),
    "one code": column(2, on=[1]),
    "nothing on": column(2, on=[0, 0], others=[NONE, NONE], n_others=1),
    "out of order": column(6, on=[6, 0, 3, 3, 5, 1], values=[1, 2, 3, 4, 5, 6]),
    "no inputs": column(on=[0, 0, 0]),
}
BOOKS = {name: [name] for name in COLUMNS} | {
    "all": list(COLUMNS),
    "first nothing": ["nothing on", "both", "both"],
    "wide": ["many steps", "missing", "many steps", "categories"],
    "many columns": ["both", "categories", "steps"] * 14,
}


class Case(NamedTuple):
    """What a kernel takes, a gradient, and the dense rows (R or 1, n, d + 1) in float64, scaled."""

    weight: torch.Tensor
    codes: torch.Tensor
    inverse_length: torch.Tensor
    book: object
    grad: torch.Tensor
    dense: torch.Tensor

    def run(self, kernel):
        """Value and gradient."""
        value = kernel.first_product(self.weight, self.codes, self.inverse_length, self.book)
        rest = (self.weight, self.codes, self.inverse_length, self.book)
        return value, kernel.pull_back_first_product(self.grad, *rest)

    def exact(self):
        """The same by multiplication, in float64."""
        w, g = self.weight.double(), self.grad.double()
        return self.dense @ w.mT, g.mT @ self.dense

    def check(self, kernel, tolerance=None):
        """Compare a kernel with multiplication, in units of the sums of absolute values."""
        tolerance = tolerance or {torch.float32: 2e-6, torch.float64: 2e-14}[self.weight.dtype]
        sizes = (
            self.dense.abs() @ self.weight.double().abs().mT,
            self.grad.double().abs().mT @ self.dense.abs(),
        )
        for found, wanted, size in zip(self.run(kernel), self.exact(), sizes, strict=True):
            assert found.dtype == self.weight.dtype
            assert found.shape == wanted.shape
            assert found.is_contiguous()
            assert bool(((found.double() - wanted).abs() <= tolerance * (1 + size)).all())


def make(columns, *, n=9, m=5, R=2, shared=False, dtype=torch.float32, held=np.uint8, seed=0, device="cpu"):
    """A case with random codes of a book."""
    rng = np.random.default_rng(seed)
    book = CodeBook(list(columns))
    counts = np.diff(book.starts)
    n_tables = 1 if shared else R
    codes = (rng.random((n_tables * n, len(counts))) * counts).astype(held)
    table = BinnedTable(codes, book)
    rows = BinnedRows.of(table, unit=True, dtype=dtype, device=device)
    rows = rows.take(torch.arange(n_tables * n, device=device).view(n_tables, n))
    dense = np.concatenate([table.toarray(), np.ones((len(codes), 1))], axis=1)
    dense = torch.from_numpy(dense / np.linalg.norm(dense, axis=1, keepdims=True))
    dense = dense.view(n_tables, n, book.n_outputs + 1).to(device)
    shapes = (R, m, book.n_outputs + 1), (R, n, m)
    weight, grad = (torch.from_numpy(rng.normal(size=shape)).to(device, dtype) for shape in shapes)
    return Case(weight, rows.codes, rows.inverse_length, rows.book, grad, dense)


@pytest.fixture(params=list(BOOKS))
def columns(request):
    """The columns of one book after the other."""
    return [COLUMNS[name] for name in BOOKS[request.param]]


@pytest.fixture(scope="session")
def make_case():
    """The function that makes a case of columns."""
    return make


@pytest.fixture(scope="session")
def kinds():
    """All kinds of columns by name."""
    return COLUMNS
