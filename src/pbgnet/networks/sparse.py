"""Prepared examples that are mostly zeros: the first layer multiplies them without filling them in."""

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from pbgnet.autograd import first_order_only
from pbgnet.exceptions import DomainError

__all__ = ["PreparedRows", "SparseRows", "first_product", "first_product_with_pullback"]


class SparseRows:
    """Examples in compressed rows, prepared for the first layer of a network.

    Parameters
    ----------
    matrix : scipy sparse array or matrix, shape (n, d)
        Examples, finite.
    intercept : bool
        Whether to append the constant 1.
    unit : bool, default=True
        Whether to bring the rows to length 1 after that, as the aggregated network needs it.
    dtype : torch.dtype
    device : torch.device or str, default="cpu"

    Examples
    --------
    >>> import torch
    >>> from scipy.sparse import csr_array
    >>> from pbgnet.networks import SparseRows
    >>> rows = SparseRows(csr_array([[3.0, 0.0, 4.0]]), intercept=False, dtype=torch.float64)
    >>> rows.times(torch.eye(3, dtype=torch.float64))
    tensor([[0.6000, 0.0000, 0.8000]], dtype=torch.float64)
    """

    def __init__(
        self,
        matrix: Any,
        *,
        intercept: bool,
        unit: bool = True,
        dtype: torch.dtype,
        device: torch.device | str = "cpu",
    ) -> None:
        csr = sparse.csr_array(matrix, dtype=np.float64, copy=True)
        if not np.isfinite(csr.data).all():
            raise DomainError("The sparse examples hold NaN or infinity. Impute or drop such rows.")
        if intercept:
            csr = sparse.hstack([csr, np.ones((csr.shape[0], 1))], format="csr")
        if unit:
            lengths = sparse.linalg.norm(csr, axis=1)
            if (lengths == 0).any():
                raise DomainError("A row of zeros has no direction without an intercept; use intercept=True.")
            csr.data /= np.repeat(lengths, np.diff(csr.indptr))
        self._scipy = csr
        self._place(dtype, device)

    def _place(self, dtype: torch.dtype, device: torch.device | str) -> None:
        self._matrix = _to_torch(self._scipy, dtype, device)
        self._transposed = _to_torch(self._scipy.T.tocsr(), dtype, device)
        self.dtype, self.device = dtype, self._matrix.device  # "cuda" has become "cuda:0"

    def __len__(self) -> int:
        return int(self._scipy.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of examples and of inputs, the constant included."""
        return tuple(self._scipy.shape)

    def take(self, rows: Tensor | slice) -> Self:
        """Return some of the rows, shape (b,) of indices or a slice."""
        part = object.__new__(type(self))
        index = rows if isinstance(rows, slice) else rows.cpu().numpy()
        part._scipy = self._scipy[index]
        part._place(self.dtype, self.device)
        return part

    def dense(self, rows: Tensor) -> Tensor:
        """Return some of the rows with their zeros filled in: indices (b,) to a tensor (b, d).

        A mini-batch of each of R networks is small, and its product is faster dense.
        """
        starts, columns, values = (
            self._matrix.crow_indices(),
            self._matrix.col_indices(),
            self._matrix.values(),
        )
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


PreparedRows = Tensor | SparseRows


def first_product(rows: PreparedRows, weight: Tensor) -> Tensor:
    """Multiply prepared examples with the weights (..., m, d) of the first layer: shape (..., n, m)."""
    if isinstance(rows, Tensor):
        # In this order both the product and its gradient in the weights run along contiguous rows; for ten
        # neurons that is two to four times faster than rows @ weight.mT.
        return (weight @ rows.mT).mT
    return rows.times(weight)


def first_product_with_pullback(
    rows: PreparedRows, weight: Tensor
) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Return `first_product`, and what maps a gradient of it (..., n, m) to that of the weights."""
    if isinstance(rows, Tensor):
        return first_product(rows, weight), lambda grad: grad.mT @ rows
    leaf = weight.detach().requires_grad_()
    with torch.enable_grad():
        product = first_product(rows, leaf)
    return product.detach(), lambda grad: torch.autograd.grad(product, leaf, grad)[0]


class _SparseProduct(torch.autograd.Function):
    """matrix @ weight.T with the gradient in the weight alone."""

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
        # PyTorch says once per process that its CSR layout is a beta, and some versions that invariants
        # are not checked although they are here; only products are used.
        warnings.filterwarnings("ignore", message="Sparse (CSR tensor support|invariant checks)")
        return torch.sparse_csr_tensor(
            torch.from_numpy(csr.indptr.astype(np.int64)),
            torch.from_numpy(csr.indices.astype(np.int64)),
            torch.from_numpy(csr.data).to(dtype),
            csr.shape,
            device=device,
            check_invariants=True,
        )
