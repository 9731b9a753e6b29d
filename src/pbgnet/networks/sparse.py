"""Prepared examples that are mostly zeros: the first layer multiplies them without writing out zeros."""

import warnings
from typing import Any, Self

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from pbgnet.autograd import first_order_only
from pbgnet.exceptions import DomainError


class SparseRows:
    """Examples in compressed rows, shape (n, d), prepared for the first layer as by `prepare_rows`."""

    shape: tuple[int, int]  # the constant included
    dtype: torch.dtype
    device: torch.device

    def __init__(
        self, matrix: Any, *, intercept: bool, unit: bool, dtype: torch.dtype, device: torch.device | str
    ) -> None:
        csr = sparse.csr_array(matrix, dtype=np.float64, copy=True)
        csr.sum_duplicates()  # an entry stored in parts is their sum, and only the sum must be finite
        if not np.isfinite(csr.data).all():
            raise DomainError("The sparse examples hold NaN or infinity. Impute or drop such rows.")
        if intercept:
            csr = sparse.hstack([csr, np.ones((csr.shape[0], 1))], format="csr")
        if unit:
            entries = np.diff(csr.indptr)
            largest = abs(csr).max(axis=1).toarray().ravel()
            if (largest == 0).any():
                raise DomainError("A row of zeros has no direction without an intercept; use intercept=True.")
            csr.data /= np.repeat(largest, entries)  # so the squares below can neither overflow nor underflow
            csr.data /= np.repeat(sparse.linalg.norm(csr, axis=1), entries)
        self._scipy = csr
        self._place(dtype, device)

    def __len__(self) -> int:
        return self.shape[0]

    def _place(self, dtype: torch.dtype, device: torch.device | str) -> None:
        self._matrix = _to_torch(self._scipy, dtype, device)
        self._transposed = _to_torch(self._scipy.T.tocsr(), dtype, device)
        self.shape, self.dtype = self._scipy.shape, dtype
        self.device = self._matrix.device  # "cuda" has become "cuda:0"

    def take(self, rows: Tensor | slice) -> Self:
        """Return some of the rows, shape (b,) of indices or a slice."""
        part = object.__new__(type(self))
        index = rows if isinstance(rows, slice) else rows.cpu().numpy()
        part._scipy = self._scipy[index]
        part._place(self.dtype, self.device)
        return part

    def dense(self, rows: Tensor) -> Tensor:
        """Return some of the rows as a dense tensor: indices (b,) to a tensor (b, d).

        A mini-batch for each of R networks is small, and a dense product is faster.
        """
        matrix = self._matrix
        starts, columns, values = matrix.crow_indices(), matrix.col_indices(), matrix.values()
        first = starts[rows]
        lengths = starts[rows + 1] - first
        of_row = torch.repeat_interleave(torch.arange(len(rows), device=self.device), lengths)
        within = torch.arange(len(of_row), device=self.device) - (lengths.cumsum(0) - lengths)[of_row]
        source = first[of_row] + within
        filled = values.new_zeros(len(rows), self.shape[1])
        filled[of_row, columns[source]] = values[source]
        return filled

    def times(self, weight: Tensor) -> Tensor:
        """Multiply with the weights (..., m, d) of the first layer; shape (..., n, m), differentiable."""
        *replicas, m, d = weight.shape
        product: Tensor = _SparseProduct.apply(self._matrix, self._transposed, weight.reshape(-1, d))
        return product.mT.reshape(*replicas, m, len(self)).mT


class _SparseProduct(torch.autograd.Function):
    """matrix @ weight.T, with a gradient with respect to the weight only."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transposed: Tensor, weight: Tensor) -> Tensor:
        ctx.transposed = transposed
        return matrix @ weight.mT.contiguous()

    @staticmethod
    @first_order_only
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[None, None, Tensor]:
        return None, None, (ctx.transposed @ grad_outputs[0].contiguous()).mT


def _to_torch(csr: Any, dtype: torch.dtype, device: torch.device | str) -> Tensor:
    with warnings.catch_warnings():
        # PyTorch says once per process that its CSR layout is in beta, and some versions that invariants are
        # not checked, although they are here. Only products are used.
        warnings.filterwarnings("ignore", message="Sparse (CSR tensor support|invariant checks)")
        return torch.sparse_csr_tensor(
            torch.from_numpy(csr.indptr.astype(np.int64)),
            torch.from_numpy(csr.indices.astype(np.int64)),
            torch.from_numpy(csr.data).to(dtype),
            csr.shape,
            device=device,
            check_invariants=True,
        )
