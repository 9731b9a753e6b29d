"""The nodes of the Fourier sum: where the characteristic function of a layer is evaluated."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class FourierNodes:
    """Nodes `t_k = (k + 1/2) step`, k = 0 .. count - 1, of each replica.

    A replica has its own step and its own number of nodes, so its value never depends on the other networks.

    Attributes
    ----------
    step : Tensor, float64, shape (...)
    count : Tensor, int64, shape (...)
        On the device of the layer, like `step`: the kernels read it there without waiting.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.aggregation import FourierNodes
    >>> FourierNodes(torch.tensor(0.5, dtype=torch.float64), torch.tensor(3)).positions()
    tensor([0.2500, 0.7500, 1.2500], dtype=torch.float64)
    """

    step: Tensor
    count: Tensor

    @property
    def largest_count(self) -> int:
        """The largest number of nodes of any replica; waits for the device."""
        return int(self.count.max()) if self.count.numel() else 0

    def positions(self) -> Tensor:
        """Return the nodes t_k, float64, shape (..., K) with K the largest count."""
        return self.step.unsqueeze(-1) * (self._indices() + 0.5)

    def coefficients(self) -> Tensor:
        """Return `(2 / pi) exp(-t_k^2 / 2) / (k + 1/2)`, and 0 beyond a replica's own count."""
        k = self._indices()
        values = (2 / math.pi) * torch.exp(-self.positions().square() / 2) / (k + 0.5)
        return torch.where(k < self.count.unsqueeze(-1), values, 0.0)

    def reshape(self, replicas: tuple[int, ...]) -> "FourierNodes":
        """Return the same nodes with other axes of replicas; (-1,) makes one of them."""
        return FourierNodes(self.step.reshape(replicas), self.count.reshape(replicas))

    def _indices(self) -> Tensor:
        return torch.arange(self.largest_count, dtype=torch.float64, device=self.step.device)
