"""The plain binary activated network: one network, no aggregation, no certificate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from pbgnet.kernels import find_kernel
from pbgnet.networks.architecture import Architecture
from pbgnet.networks.inputs import PreparedRows, append_one
from pbgnet.networks.layers import Layer
from pbgnet.networks.patches import PatchRows, PatchShape
from pbgnet.validation import check_finite, check_tensor


def sign(a: Tensor) -> Tensor:
    """1 where a > 0, and -1 elsewhere, including 0 (paper, Section 2).

    Examples
    --------
    >>> import torch
    >>> from pbgnet.networks import sign
    >>> sign(torch.tensor([-2.0, 0.0, 3.0]))
    tensor([-1., -1.,  1.])
    """
    check_tensor("a", a)
    return (a > 0).to(a.dtype) * 2 - 1


class SignLayer(Layer):
    """Neurons that answer with the sign of `w . x`; the length of x does not matter."""

    __slots__ = ()

    def products(self, rows: PreparedRows) -> Tensor:
        """Return `w . x` of each neuron for rows with their constant: shape (..., n, m)."""
        return rows @ self.weight.mT if isinstance(rows, Tensor) else rows.times(self.weight)


@dataclass(eq=False, slots=True)
class SignConvolution(SignLayer):
    """Filters that answer with the sign of `w . x` at every patch x of an image."""

    patches: PatchShape

    @property
    def n_neurons(self) -> int:
        """Filters times positions."""
        return self.weight.shape[-2] * self.patches.n_positions

    def products(self, rows: PreparedRows) -> Tensor:
        """Return `w . x` of each neuron for images: shape (..., n, m)."""
        assert isinstance(rows, PatchRows)
        cut = rows.cut()  # shape: (..., n, P, inputs of a patch)
        return (cut @ self.weight.mT.unsqueeze(-3)).flatten(-2)


class SignNetwork(nn.Module):
    """The binary activated network itself.

    `f(x) = sgn(W_L sgn(... sgn(W_1 x)))` (paper, Eq. 1).

    The bounds of this package are about the aggregate, `AggregatedNetwork`, not about this network.

    Parameters
    ----------
    weights : sequence of Tensor, shapes (..., d_k, d_{k-1} + intercept)
    intercept : bool, default=True
        Whether the last column of each matrix is the weight of a constant input 1.
    patches : PatchShape, optional
        How the first layer cuts images; as for `AggregatedNetwork`.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.networks import SignNetwork
    >>> f = SignNetwork([torch.tensor([[1.0, -1.0]])], intercept=False)
    >>> f(torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
    tensor([ 1., -1.])
    """

    def __init__(
        self, weights: Sequence[Tensor], *, intercept: bool = True, patches: PatchShape | None = None
    ) -> None:
        super().__init__()
        self.architecture = Architecture.of(weights, intercept, patches=patches)
        for k, weight in enumerate(weights):
            check_finite(f"weights[{k}]", weight.detach())
            self.register_buffer(f"weight_{k}", weight.detach().clone())

    @property
    def weights(self) -> list[Tensor]:
        """The weight matrices, first layer first."""
        return [self.get_buffer(f"weight_{k}") for k in range(self.architecture.n_layers)]

    @property
    def layers(self) -> list[SignLayer]:
        """The layers, lowest first."""
        sizes = self.architecture
        layers = [SignLayer(weight, sizes.intercept) for weight in self.weights]
        if sizes.patches is not None:
            layers[0] = SignConvolution(self.weights[0], sizes.intercept, sizes.patches)
        return layers

    def prepare(self, x: Tensor) -> Tensor | PatchRows:
        """Bring examples of shape (..., n, d) to the form that `output` needs: with their constant."""
        self.architecture.check_examples(x, like=self.weights[0])
        check_finite("x", x, "Impute or drop such rows.")
        patches = self.architecture.patches
        if patches is not None:
            return PatchRows.of(x, patches)
        return append_one(x) if self.architecture.intercept else x

    def forward(self, x: Tensor) -> Tensor:
        """Answer examples of shape (..., n, d) with -1 or 1: shape (..., n) or (..., n, r)."""
        return self.output(self.prepare(x))

    def output(self, rows: PreparedRows) -> Tensor:
        """Answer prepared examples, including rows stored as codes; their lengths do not matter.

        Above the first layer, whose products are rounded, signs are those of exact sums: a row gets the same
        answer alone and among others (`pbgnet.kernels.bits`).

        Parameters
        ----------
        rows : PreparedRows, shape (..., n, d + intercept)
            From `prepare`, or `prepare_rows` without `unit`.
        """
        products = self.layers[0].products(rows).detach()
        *leading, n, m = products.shape
        # Examples may have leading axes that the weights do not have.
        weights = [w.expand(*leading, *w.shape[-2:]).reshape(-1, *w.shape[-2:]) for w in self.weights[1:]]
        flat = products.reshape(math.prod(leading), n, m)
        on: Tensor = find_kernel("bits", products.device).answers(flat, weights, self.architecture.intercept)
        signs = on.to(products.dtype) * 2 - 1
        return self.architecture.as_output(signs.reshape(*leading, n, self.architecture.n_outputs))

    def extra_repr(self) -> str:
        """Sizes and intercept, for `repr`."""
        return str(self.architecture)
