"""Adam for many networks side by side, each with its own learning rate."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pbgnet.kernels import find_kernel

__all__ = ["ReplicaAdam"]


class ReplicaAdam:
    """Adam (Kingma and Ba, 2015) on parameters whose first axis counts replicas.

    Every operation is element by element, so a replica takes the steps it would take alone, and
    nothing waits for the device.

    Parameters
    ----------
    parameters : sequence of Tensor, shapes (R, m, d)
        Contiguous; changed in place.
    anchors : sequence of Tensor, shapes (R, m, d) or (1, m, d)
        Where the penalty pulls the parameters.
    factors : sequence of float
        How often each parameter counts in the penalty.
    betas : tuple of float, default=(0.9, 0.999)
    epsilon : float, default=1e-8
    """

    def __init__(
        self,
        parameters: Sequence[Tensor],
        anchors: Sequence[Tensor],
        factors: Sequence[float],
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
    ) -> None:
        self.parameters = [p.detach() for p in parameters]
        self.anchors = list(anchors)
        self.factors = list(factors)
        self.betas = betas
        self.epsilon = epsilon
        self.first = [torch.zeros_like(p) for p in self.parameters]
        self.second = [torch.zeros_like(p) for p in self.parameters]
        self._kernel = find_kernel("step", parameters[0].device)

    def step(
        self, gradients: Sequence[Tensor], rate: Tensor, scale: Tensor, pull: Tensor, n_steps: Tensor
    ) -> None:
        """Take one step along `scale gradient + factor pull (parameter - anchor)`.

        Parameters
        ----------
        gradients : sequence of Tensor, shapes (R, m, d)
        rate, scale, pull : Tensor, float64, shape (R,)
            A learning rate of 0 keeps a replica where it is.
        n_steps : Tensor, int64, shape (1,)
            The number of this step, 1 for the first; on the device.
        """
        for p, m, v, g, u, factor in zip(
            self.parameters, self.first, self.second, gradients, self.anchors, self.factors, strict=True
        ):
            self._kernel.adam_step(
                p, m, v, g.contiguous(), u, rate, scale, pull, factor, n_steps, self.betas, self.epsilon
            )

    def take_moments(self, other: "ReplicaAdam", replicas: Tensor) -> None:
        """Go on where some replicas of another optimiser are."""
        for mine, theirs in zip([*self.first, *self.second], [*other.first, *other.second], strict=True):
            mine.copy_(theirs[replicas])
