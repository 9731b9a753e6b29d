"""The input layer sees an example's direction only: `w . x / |x|` (paper, Eq. 4)."""

import torch
from torch import Tensor

from pbgnet.exceptions import DomainError, DtypeError, ShapeError
from pbgnet.validation import check_finite

__all__ = ["append_one", "unit_rows"]


def append_one(values: Tensor) -> Tensor:
    """Append the constant input 1 that an intercept weighs: (..., n, d) -> (..., n, d + 1)."""
    return torch.constant_pad_nd(values, (0, 1), 1.0)


def unit_rows(x: Tensor, intercept: bool, *, validate_args: bool = True) -> Tensor:
    """Bring examples to the form the network works on: with the constant 1, of length 1.

    The result never changes during training, so it is computed once.

    Parameters
    ----------
    x : Tensor, shape (..., n, d)
        Examples, finite.
    intercept : bool
        Whether to append the constant 1 first; the length is then `sqrt(|x|^2 + 1)`.
    validate_args : bool, default=True
        Check the values, which on a GPU waits for the device.

    Returns
    -------
    Tensor, shape (..., n, d + intercept)

    Raises
    ------
    DomainError
        For NaN or infinity, and for a row of zeros where there is no intercept: it has no direction.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.networks import unit_rows
    >>> unit_rows(torch.tensor([[3.0, 4.0]]), intercept=False)
    tensor([[0.6000, 0.8000]])
    """
    if not isinstance(x, Tensor) or x.dtype not in (torch.float32, torch.float64):
        kind = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise DtypeError(f"Examples must be a float32 or float64 tensor of shape (..., n, d), got {kind}.")
    if x.ndim < 2 or x.shape[-1] == 0:
        raise ShapeError(f"Examples must have shape (..., n, d) with d >= 1, got {tuple(x.shape)}.")
    if validate_args:
        check_finite("x", x, "Impute or drop such rows.")
    rows = append_one(x) if intercept else x
    largest = rows.abs().amax(dim=-1, keepdim=True)
    if validate_args and bool((largest == 0).any()):
        raise DomainError("A row of zeros has no direction without an intercept; use intercept=True.")
    rows = rows / largest  # the squares below can neither overflow nor vanish
    unit: Tensor = rows / torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
    return unit
