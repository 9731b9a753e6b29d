"""Adam for many networks side by side, each with its own learning rate."""

from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["ReplicaAdam"]


class ReplicaAdam:
    """Adam (Kingma and Ba, 2015) on parameters whose first axis counts replicas.

    Every operation is element by element, so a replica takes the steps it would take alone.

    Parameters
    ----------
    parameters : sequence of Tensor, shapes (R, ...)
    betas : tuple of float, default=(0.9, 0.999)
    epsilon : float, default=1e-8
    """

    def __init__(
        self,
        parameters: Sequence[Tensor],
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
    ) -> None:
        self.parameters = list(parameters)
        self.betas = betas
        self.epsilon = epsilon
        self.n_steps = 0
        self._first = [torch.zeros_like(p) for p in self.parameters]
        self._second = [torch.zeros_like(p) for p in self.parameters]

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor], learning_rate: Tensor) -> None:
        """Take one step; `learning_rate` has shape (R,), and 0 keeps a replica where it is."""
        self.n_steps += 1
        beta1, beta2 = self.betas
        correction1, correction2 = 1 - beta1**self.n_steps, 1 - beta2**self.n_steps
        for p, g, m, v in zip(self.parameters, gradients, self._first, self._second, strict=True):
            m.lerp_(g, 1 - beta1)
            v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
            rate = (learning_rate / correction1).to(p.dtype).reshape(-1, *[1] * (p.ndim - 1))
            p.sub_(rate * m / ((v / correction2).sqrt_().add_(self.epsilon)))
