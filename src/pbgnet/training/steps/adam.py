"""Adam for many networks side by side, each with its own learning rate."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pbgnet.kernels import find_kernel

BETAS, EPSILON = (0.9, 0.999), 1e-8


class ReplicaAdam:
    """Adam (Kingma and Ba, 2015) on parameters whose first axis counts replicas.

    All operations are element-wise, so a replica takes the same steps as on its own, and nothing waits for
    the device. Parameters must be contiguous and are changed in place. The penalty pulls them towards their
    anchors, of shapes (R, m, d) or (1, m, d), each with its factor.
    """

    def __init__(
        self, parameters: Sequence[Tensor], anchors: Sequence[Tensor], factors: Sequence[float]
    ) -> None:
        self.parameters = [p.detach() for p in parameters]
        self.anchors = list(anchors)
        self.factors = list(factors)
        self.first = [torch.zeros_like(p) for p in self.parameters]
        self.second = [torch.zeros_like(p) for p in self.parameters]
        self._kernel = find_kernel("step", parameters[0].device)

    def step(
        self, gradients: Sequence[Tensor], rate: Tensor, scale: Tensor, pull: Tensor, n_steps: Tensor
    ) -> None:
        """Take step number `n_steps`, from 1, along `scale gradient + factor pull (parameter - anchor)`.

        A learning rate of 0 keeps a replica where it is.
        """
        for p, m, v, g, u, factor in zip(
            self.parameters, self.first, self.second, gradients, self.anchors, self.factors, strict=True
        ):
            self._kernel.adam_step(
                p, m, v, g.contiguous(), u, rate, scale, pull, factor, n_steps, BETAS, EPSILON
            )

    def take_moments(self, other: "ReplicaAdam", replicas: Tensor) -> None:
        """Continue from the state of some replicas of another optimiser."""
        for mine, theirs in zip([*self.first, *self.second], [*other.first, *other.second], strict=True):
            mine.copy_(theirs[replicas])
