"""What training minimises, as a function of two numbers: the empirical loss and a penalty.

The bound is not linear in the loss, so its gradient on a mini-batch is biased. Training on
mini-batches therefore freezes its two partial derivatives at a running average of the loss, and
descends `slope_loss * batch_loss + slope_penalty * penalty`; full-batch training uses the value.

References
----------
Letarte et al. (2019): Eq. 5 (PBGD), Eqs. 18 and 19, "Cost functions" of the appendix.
"""

import dataclasses
import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import torch
from torch import Tensor

from pbgnet.bounds import differentiable, log_constant, tree_factors
from pbgnet.kernels import find_kernel


@dataclass(frozen=True)
class Slopes:
    """Partial derivatives of an objective, each of shape (R,)."""

    by_loss: Tensor
    by_penalty: Tensor
    by_learned: tuple[Tensor, ...] = ()


@dataclass(frozen=True)
class Objective(ABC):
    """A function of loss and penalty, both float64 of shape (R,), one value per replica.

    The penalty is half a weighted squared distance of the weights from their anchors,
    `1/2 sum_k multiplicity_k |W_k - U_k|^2`; its gradient pulls the weights towards them.
    """

    is_linear: ClassVar[bool] = False
    """Whether the slopes are the same everywhere, so that a step need not compute the penalty."""

    anchors: Sequence[Tensor]  # shapes (R, m, d) or (1, m, d)

    def multiplicities(self) -> list[float]:
        """Return how often each layer counts."""
        return [1.0] * len(self.anchors)

    def penalty(self, weights: Sequence[Tensor]) -> Tensor:
        """Return the penalty on the weights, float64, shape (R,); not differentiable by autograd."""
        kernel = find_kernel("step", weights[0].device)
        total: Tensor = kernel.penalty([w.detach() for w in weights], self.anchors, self.multiplicities())
        return total

    @abstractmethod
    def value(self, loss: Tensor, penalty: Tensor) -> Tensor:
        """Return the objective, float64, shape (R,); not differentiable by autograd."""

    def slopes_at(self, loss: Tensor, weights: Sequence[Tensor]) -> Slopes:
        """Return all partial derivatives at a loss and at the penalty of the weights."""
        # A linear objective ignores the penalty: anything of its shape will do.
        return self.slopes(loss, loss if self.is_linear else self.penalty(weights))

    def value_and_slopes(self, loss: Tensor, penalty: Tensor) -> tuple[Tensor, Slopes]:
        """Return the objective and all partial derivatives."""
        return self.value(loss, penalty), self.slopes(loss, penalty)

    @abstractmethod
    def slopes(self, loss: Tensor, penalty: Tensor) -> Slopes:
        """Return all partial derivatives at a loss and a penalty."""

    def learned(self) -> list[Tensor]:
        """Return parameters of the objective itself, shapes (R,), that are learned along with the weights."""
        return []

    def take(self, replicas: Tensor) -> Self:
        """Return the objective of some replicas."""
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        chosen = {name: value[replicas] for name, value in own.items() if isinstance(value, Tensor)}
        # There may be one anchor for all replicas.
        anchors = [u[replicas] if len(u) > 1 else u for u in self.anchors]
        return dataclasses.replace(self, anchors=anchors, **chosen)


@functools.lru_cache(maxsize=256)
def _log_factor(n: int, delta: float, constant: str) -> float:
    """What the bounds add to the divergence: ln(constant / delta)."""
    return log_constant(torch.tensor(n, dtype=torch.float64), constant).item() - math.log(delta)


@dataclass(frozen=True)
class LinearLoss(Objective):
    """Empirical linear loss with weight decay: `loss + rho / 2 |theta|^2`; anchors are zeros."""

    is_linear: ClassVar[bool] = True

    weight_decay: Tensor  # the rho of each replica, shape (R,)

    @classmethod
    def of(cls, weights: Sequence[Tensor], weight_decay: Tensor) -> Self:
        """Make the objective for weights of shapes (R, m, d)."""
        return cls([torch.zeros_like(w[:1]) for w in weights], weight_decay)

    def value(self, loss: Tensor, penalty: Tensor) -> Tensor:
        """Loss plus decay."""
        return loss + self.weight_decay * penalty

    def slopes(self, loss: Tensor, penalty: Tensor) -> Slopes:
        """One, and the decay."""
        return Slopes(torch.ones_like(self.weight_decay), self.weight_decay)


@dataclass(frozen=True)
class _Divergence(Objective):
    """Objectives whose penalty is the divergence from a prior, the anchors (Eq. 17)."""

    n: int  # examples the bound counts
    delta: float  # its failure probability
    n_positions: int = field(default=1, kw_only=True)  # of each row of first-layer weights

    def multiplicities(self) -> list[float]:
        """How often the tree repeats each row of a layer: the product of the widths above, and positions."""
        return tree_factors([u.shape[-2] for u in self.anchors], self.n_positions)


@dataclass(frozen=True)
class Seeger(_Divergence):
    """The kl bound itself (Eq. 18)."""

    constant: str = "maurer"

    def value(self, loss: Tensor, penalty: Tensor) -> Tensor:
        """The bound; if rounding has moved the loss out of [0, 1], at the end of that interval."""
        return self.value_and_slopes(loss, penalty)[0]

    def slopes(self, loss: Tensor, penalty: Tensor) -> Slopes:
        """Those of the inverse of kl."""
        return self.value_and_slopes(loss, penalty)[1]

    def value_and_slopes(self, loss: Tensor, penalty: Tensor) -> tuple[Tensor, Slopes]:
        """The bound and its slopes, in one kernel: on a GPU, Newton's method on tensors needs 500."""
        kernel = find_kernel("step", loss.device)
        log_factor = _log_factor(self.n, self.delta, self.constant)
        bound, *slopes = kernel.seeger_bound(loss, penalty, log_factor, self.n)
        return bound, Slopes(*slopes)


@dataclass(frozen=True)
class FixedTradeOff(_Divergence):
    """`C loss + divergence / n`, whose minimiser is that of Catoni's bound for a fixed C (Eq. 5)."""

    is_linear: ClassVar[bool] = True

    c: Tensor  # the C of each replica, shape (R,)

    def value(self, loss: Tensor, penalty: Tensor) -> Tensor:
        """Loss and divergence, weighted."""
        return self.c * loss + penalty / self.n

    def slopes(self, loss: Tensor, penalty: Tensor) -> Slopes:
        """C, and 1 / n."""
        return Slopes(self.c, torch.full_like(self.c, 1 / self.n))


@dataclass(frozen=True)
class Catoni(_Divergence):
    """Catoni's bound with a C per replica that is learned along with the weights (Eq. 19)."""

    log_c: Tensor  # shape (R,); training changes it in place
    constant: str = "maurer"  # makes the bound hold for all C simultaneously

    def value(self, loss: Tensor, penalty: Tensor) -> Tensor:
        """The bound at the current C."""
        return differentiable.catoni_bound(
            loss, penalty, self.n, self.delta, self.log_c.exp(), self.constant, validate_args=False
        )

    def slopes(self, loss: Tensor, penalty: Tensor) -> Slopes:
        """By loss, penalty and the logarithm of C."""
        kernel = find_kernel("step", loss.device)
        log_factor = _log_factor(self.n, self.delta, self.constant)
        by_loss, by_penalty, by_log_c = kernel.catoni_slopes(loss, penalty, self.log_c, log_factor, self.n)
        return Slopes(by_loss, by_penalty, (by_log_c,))

    def learned(self) -> list[Tensor]:
        """The logarithm of C."""
        return [self.log_c]
