"""What training minimises, as a function of two numbers: the empirical loss and a penalty.

The bound is not linear in the loss, so its gradient on a mini-batch is biased. Training on
mini-batches therefore freezes its two partial derivatives at a running average of the loss, and
descends `slope_loss * batch_loss + slope_penalty * penalty`; full-batch training uses the value.

References
----------
Letarte et al. (2019): Eq. 5 (PBGD), Eqs. 18 and 19, "Cost functions" of the appendix.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pbgnet.bounds import differentiable, tree_divergence

__all__ = ["Catoni", "FixedTradeOff", "LinearLoss", "Objective", "Seeger", "squared_norm"]


def squared_norm(weights: Sequence[Tensor]) -> Tensor:
    """Half the squared length of all weights, float64, one per replica."""
    return torch.stack([0.5 * w.square().sum(dim=(-2, -1), dtype=torch.float64) for w in weights]).sum(dim=0)


class Objective(ABC):
    """A function of loss and penalty, both of shape (R,), one value per replica."""

    @abstractmethod
    def penalty(self, weights: Sequence[Tensor]) -> Tensor:
        """Return the penalty on the weights, float64, shape (R,)."""

    @abstractmethod
    def value(self, loss: Tensor, penalty: Tensor) -> Tensor:
        """Return the objective, float64, shape (R,)."""

    def learned(self) -> list[Tensor]:
        """Return parameters of the objective itself that are learned along with the weights."""
        return []

    def slopes(self, loss: Tensor, penalty: Tensor) -> tuple[Tensor, Tensor]:
        """Return the partial derivatives by loss and by penalty, each of shape (R,)."""
        loss, penalty = loss.detach().requires_grad_(), penalty.detach().requires_grad_()
        with torch.enable_grad():
            total = self.value(loss, penalty).sum()
        by_loss, by_penalty = torch.autograd.grad(total, [loss, penalty])
        return by_loss, by_penalty


@dataclass(frozen=True)
class LinearLoss(Objective):
    """Empirical linear loss with weight decay: `loss + rho / 2 |theta|^2`.

    Attributes
    ----------
    weight_decay : Tensor, shape (R,)
        The rho of each replica.
    """

    weight_decay: Tensor

    def penalty(self, weights: Sequence[Tensor]) -> Tensor:
        """Half the squared length of the weights."""
        return squared_norm(weights)

    def value(self, loss: Tensor, penalty: Tensor) -> Tensor:
        """Loss plus decay."""
        return loss + self.weight_decay.to(penalty) * penalty


@dataclass(frozen=True)
class _Divergence(Objective):
    """Objectives whose penalty is the divergence from a prior (Eq. 17)."""

    prior_weights: Sequence[Tensor]
    n: int
    delta: float

    def penalty(self, weights: Sequence[Tensor]) -> Tensor:
        """KL(posterior || prior) of the tree."""
        return tree_divergence(weights, self.prior_weights, validate_args=False)


@dataclass(frozen=True)
class Seeger(_Divergence):
    """The kl bound itself (Eq. 18).

    Attributes
    ----------
    prior_weights : sequence of Tensor
    n : int
        Number of examples the bound counts.
    delta : float
        Its failure probability.
    constant : {"paper", "maurer"}
    """

    constant: str = "maurer"

    def value(self, loss: Tensor, penalty: Tensor) -> Tensor:
        """The bound."""
        loss = loss.clamp(0.0, 1.0)
        return differentiable.seeger_bound(
            loss, penalty, self.n, self.delta, self.constant, validate_args=False
        )


@dataclass(frozen=True)
class FixedTradeOff(_Divergence):
    """`C loss + divergence / n`: what minimising Catoni's bound for a fixed C amounts to (Eq. 5).

    Attributes
    ----------
    prior_weights, n, delta
        As in `Seeger`.
    c : Tensor, shape (R,)
        The C of each replica.
    """

    c: Tensor

    def value(self, loss: Tensor, penalty: Tensor) -> Tensor:
        """Loss and divergence, weighted."""
        return self.c * loss + penalty / self.n


@dataclass(frozen=True)
class Catoni(_Divergence):
    """Catoni's bound with a C per replica that is learned along with the weights (Eq. 19).

    Attributes
    ----------
    prior_weights, n, delta
        As in `Seeger`.
    log_c : Tensor, shape (R,)
        Logarithm of C, a leaf that requires a gradient.
    constant : {"paper", "maurer"}
        What makes the bound hold for all C at once.
    """

    log_c: Tensor
    constant: str = "maurer"

    def value(self, loss: Tensor, penalty: Tensor) -> Tensor:
        """The bound at the present C."""
        return differentiable.catoni_bound(
            loss, penalty, self.n, self.delta, self.log_c.exp(), self.constant, validate_args=False
        )

    def learned(self) -> list[Tensor]:
        """The logarithm of C."""
        return [self.log_c]
