"""Aggregation by the paper's combinatorial sum over all sign vectors (Eqs. 9, 10 and 16).

Exact up to rounding, and exponential in the width: the reference for tests and small figures.
"""

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from pbgnet.aggregation.base import Aggregation, check_layer, product_unit
from pbgnet.exceptions import DtypeError, ShapeError, WidthLimitError
from pbgnet.validation import check_interval, check_kind, check_tensor, positive_int


@dataclass(frozen=True)
class Enumeration(Aggregation):
    """The sum over all 2^d sign vectors.

    Parameters
    ----------
    max_width : int, default=16
        Wider layers raise an error: time and memory double with every input.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.aggregation import Enumeration
    >>> Enumeration()(torch.zeros(1, 3), torch.ones(1, 3))  # signs that are fair coins
    tensor([[0.]])
    """

    name: ClassVar[str] = "enumeration"

    max_width: int = 16

    def __post_init__(self) -> None:
        positive_int("max_width", self.max_width)

    def _aggregate(self, mean: Tensor, weight: Tensor, validate_args: bool) -> Tensor:
        d = self._check_width(weight)
        signs = sign_vectors(d, dtype=mean.dtype, device=mean.device)
        neurons = torch.erf(weight @ signs.mT / math.sqrt(2 * d))  # shape: (..., m, 2^d)
        # A mean of numbers in [-1, 1], which rounding may push slightly beyond.
        return (_products(mean) @ neurons.mT).clamp(-1, 1)

    def error_bound(self, weight: Tensor) -> Tensor:
        """Only rounding: of the arguments of erf, of the probabilities, of the 2^d sums."""
        check_layer(weight)
        d = self._check_width(weight)
        unit = torch.finfo(weight.dtype).eps / 2
        spread = weight.detach().double().abs().sum(dim=-1) / math.sqrt(d)
        products = 2.0**d + math.sqrt(2 / math.pi) * (d + 2) * spread
        return product_unit(weight) * products + unit * (3 * d + 4 + 2 * spread)

    def _check_width(self, weight: Tensor) -> int:
        d = weight.shape[-1]
        if d > self.max_width:
            raise WidthLimitError(
                f"Enumeration would have to sum 2^{d} sign vectors; its limit is a width of "
                f"{self.max_width}. Use method='fourier', which is exact to a proved tolerance at any "
                "width."
            )
        return d


WIDEST_LISTED = 24
"""Most sign vectors that are listed one by one: 16 million."""


def sign_vectors(d: int, *, dtype: torch.dtype, device: torch.device | None = None) -> Tensor:
    """All 2^d sign vectors, shape (2^d, d), the last sign changing fastest.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.aggregation import sign_vectors
    >>> sign_vectors(2, dtype=torch.float64).tolist()
    [[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]
    """
    if positive_int("d", d) > WIDEST_LISTED:
        raise WidthLimitError(
            f"There are 2^{d} sign vectors of width {d}; only widths up to {WIDEST_LISTED} can be listed."
        )
    check_kind("dtype", dtype, torch.dtype)
    if not dtype.is_floating_point:
        raise DtypeError(f"dtype must be a floating-point type, such as torch.float64, got {dtype}.")
    check_kind("device", device, torch.device, str, type(None))
    return torch.tensor(list(itertools.product((-1.0, 1.0), repeat=d)), dtype=dtype, device=device)


def sign_probabilities(mean: Tensor) -> Tensor:
    """Probability of each sign vector, `Psi_s = prod_i (1 + s_i mean_i) / 2` (paper, Eq. 10).

    Parameters
    ----------
    mean : Tensor, shape (..., d)

    Returns
    -------
    Tensor, shape (..., 2^d)
        In the order of `sign_vectors`.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.aggregation import sign_probabilities
    >>> sign_probabilities(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.5000, 0.0000, 0.5000])
    """
    check_tensor("mean", mean)
    if mean.ndim == 0 or mean.shape[-1] > WIDEST_LISTED:
        raise ShapeError(
            f"mean must have shape (..., d) with d at most {WIDEST_LISTED}, got {tuple(mean.shape)}."
        )
    check_interval("mean", mean.detach(), -1.0, 1.0, advice="Its entries are means of signs.")
    return _products(mean)


def _products(mean: Tensor) -> Tensor:
    """Psi_s by doubling the number of vectors; no division, so safe at -1 and 1."""
    probability = torch.ones_like(mean[..., :1])
    for g in mean.unbind(dim=-1):
        pair = torch.stack([(1 - g) / 2, (1 + g) / 2], dim=-1)
        probability = (probability.unsqueeze(-1) * pair.unsqueeze(-2)).flatten(-2)
    return probability
