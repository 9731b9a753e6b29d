"""An ordinary multilayer perceptron with tanh activations: the paper's baseline, without a certificate."""

from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from pbgnet.autograd import Pullback
from pbgnet.networks.architecture import Architecture
from pbgnet.networks.initialisation import initial_weights
from pbgnet.networks.inputs import PreparedRows, append_one, first_product


class TanhNetwork(nn.Module):
    """A network with tanh activations, for comparison.

    `tanh(W_L tanh(... tanh(W_1 x)))` with intercepts, for replicas side by side.

    Parameters
    ----------
    weights : sequence of Tensor, shapes (..., d_k, d_{k-1} + 1)

    Examples
    --------
    >>> import torch
    >>> from pbgnet.networks import TanhNetwork
    >>> network = TanhNetwork([torch.tensor([[1.0, 0.0]])])
    >>> network(torch.tensor([[0.5]])).detach()
    tensor([0.4621])
    """

    def __init__(self, weights: Sequence[Tensor]) -> None:
        super().__init__()
        self.architecture = Architecture.of(weights, intercept=True)
        self.weights = nn.ParameterList([nn.Parameter(weight.detach().clone()) for weight in weights])

    @classmethod
    def initialise(cls, n_features: int, hidden_layer_sizes: Sequence[int] = (10,), **options: Any) -> Self:
        """Make a network from its sizes; options are those of `initial_weights`."""
        return cls(initial_weights(n_features, hidden_layer_sizes, **options))

    def forward(self, x: Tensor) -> Tensor:
        """Return outputs in [-1, 1] for examples of shape (..., n, d_0), as `AggregatedNetwork` does."""
        self.architecture.check_examples(x, like=self.weights[0])
        return self.output(append_one(x))

    def take(self, replicas: Tensor) -> Self:
        """Return a copy of some of the replicas: indices of shape (R,) in the first axis."""
        return type(self)([weight.detach()[replicas] for weight in self.weights])

    @property
    def capturable(self) -> bool:
        """Whether a CUDA graph can contain `output`."""
        return True

    def generators(self) -> list[torch.Generator]:
        """Sources of the randomness in `output`: none."""
        return []

    def output(self, rows: PreparedRows, *, validate_args: bool = True) -> Tensor:
        """Return outputs for examples with the constant 1 appended."""
        return self._forward(rows, list(self.weights))

    def output_with_pullback(
        self,
        rows: PreparedRows,
        weights: Sequence[Tensor] | None = None,
        replicas: slice | None = None,
    ) -> tuple[Tensor, Pullback]:
        """Return outputs and what maps a gradient of them to those of the weights, own or given."""
        leaves = [w.detach().requires_grad_() for w in (self.weights if weights is None else weights)]
        with torch.enable_grad():
            output = self._forward(rows, leaves)
        return output.detach(), lambda grad: torch.autograd.grad(output, leaves, grad)

    def _forward(self, rows: PreparedRows, weights: Sequence[Tensor]) -> Tensor:
        first, *rest = weights
        values = torch.tanh(first_product(rows, first))
        for weight in rest:
            values = torch.tanh(first_product(append_one(values), weight))
        return self.architecture.as_output(values)
