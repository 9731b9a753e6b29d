"""The plain binary activated network: one network, no aggregation, no certificate."""

from collections.abc import Sequence

from torch import Tensor, nn

from pbgnet.networks.architecture import Architecture
from pbgnet.networks.inputs import append_one
from pbgnet.validation import check_finite

__all__ = ["SignNetwork", "sign"]


def sign(a: Tensor) -> Tensor:
    """1 where a > 0, else -1, also at 0 (paper, Section 2).

    Examples
    --------
    >>> import torch
    >>> from pbgnet.networks import sign
    >>> sign(torch.tensor([-2.0, 0.0, 3.0]))
    tensor([-1., -1.,  1.])
    """
    return (a > 0).to(a.dtype) * 2 - 1


class SignNetwork(nn.Module):
    """The BAM network `f(x) = sgn(W_L sgn(... sgn(W_1 x)))` (paper, Eq. 1).

    The bounds of this package speak of the aggregate, `AggregatedNetwork`, and not of this network.

    Parameters
    ----------
    weights : sequence of Tensor, shapes (..., d_k, d_{k-1} + intercept)
    intercept : bool, default=True
        Whether the last column of each matrix weighs a constant input 1.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.networks import SignNetwork
    >>> f = SignNetwork([torch.tensor([[1.0, -1.0]])], intercept=False)
    >>> f(torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
    tensor([ 1., -1.])
    """

    def __init__(self, weights: Sequence[Tensor], *, intercept: bool = True) -> None:
        super().__init__()
        self.architecture = Architecture.of(weights, intercept)
        for k, weight in enumerate(weights):
            check_finite(f"weights[{k}]", weight.detach())
            self.register_buffer(f"weight_{k}", weight.detach().clone())

    @property
    def weights(self) -> list[Tensor]:
        """The weight matrices, first layer first."""
        return [self.get_buffer(f"weight_{k}") for k in range(self.architecture.n_layers)]

    def forward(self, x: Tensor) -> Tensor:
        """Classify examples of shape (..., n, d) as -1 or 1: shape (..., n)."""
        self.architecture.check_examples(x, like=self.weights[0])
        check_finite("x", x, "Impute or drop such rows.")
        values = x
        for weight in self.weights:
            inputs = append_one(values) if self.architecture.intercept else values
            values = sign(inputs @ weight.mT)
        return values[..., 0]

    def extra_repr(self) -> str:
        """Sizes and intercept, for `repr`."""
        return str(self.architecture)
