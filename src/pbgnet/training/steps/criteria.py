"""Criteria that judge the outputs on a batch, by the mean loss of its rows."""

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from pbgnet.kernels import find_kernel
from pbgnet.networks import AnyCode, Code

FIRST_TEMPERATURE = 3.0
"""Scores are in [-1, 1]; times this factor they distinguish classes, and their softmax is not yet certain.

Higher factors learn faster but less well: outputs that need not grow far apart stay alike.
"""


STEEPNESS, MARGIN_ROOM = 20.0, 0.3
"""How sharply rows that agree enough are distinguished from others, and by how much they should exceed it.

With the ten digits of MNIST, steepness from 5 to 40 and room from 0.15 to 0.3 led to bounds within 7 % of
each other."""


class Judged(NamedTuple):
    """The mean loss of each replica, float64, shape (R,), and its derivatives."""

    loss: Tensor
    slope: Tensor  # with respect to every output
    by_learned: tuple[Tensor, ...] = ()  # with respect to the parameters of the criterion, shapes (R,)


class Criterion:
    """The linear loss (1 - y G) / 2, a mean over outputs: the probability that a drawn voter is wrong."""

    name: ClassVar[str] = "loss"
    """The name of its mean in records of training."""

    def judge(self, output: Tensor, y: Tensor, row_weight: Tensor | None) -> Judged:
        """Judge outputs (R, n) or (R, n, r) by labels; rows may have different weights."""
        return Judged(*find_kernel("layers", output.device).linear_loss(output, y))

    def learned(self) -> list[Tensor]:
        """Return parameters of the criterion itself, shapes (R,), that are learned along with the weights."""
        return []

    def take(self, replicas: Tensor | slice) -> Self:
        """Return the criterion of some replicas; a slice of them shares the parameters."""
        return self


LINEAR = Criterion()


class LogCriterion(Criterion):
    """The logarithm of the probability that a drawn voter is right, which does not give up on rows."""

    name = "log_loss"

    def judge(self, output: Tensor, y: Tensor, row_weight: Tensor | None) -> Judged:
        """Judge outputs by labels, each row by its weight."""
        return Judged(*find_kernel("layers", output.device).log_loss(output, y, row_weight))


@dataclass(frozen=True)
class SoftmaxCriterion(Criterion):
    """The cross-entropy of the classes of a code, with a learned temperature for each replica.

    Attributes
    ----------
    code : Tensor, shape (c, r)
    log_temperature : Tensor, float64, shape (R,)
        The logarithm of the factor of the scores; training changes it in place.
    """

    name = "log_loss"

    code: Tensor
    log_temperature: Tensor

    @classmethod
    def of(cls, code: Code, n_replicas: int, like: Tensor) -> Self:
        """Make the criterion for a number of replicas, in the type and on the device of a tensor."""
        first = torch.full((n_replicas,), FIRST_TEMPERATURE, dtype=torch.float64, device=like.device)
        return cls(torch.from_numpy(code.matrix.copy()).to(like), first.log())

    def judge(self, output: Tensor, y: Tensor, row_weight: Tensor | None) -> Judged:
        """Judge outputs by the code rows of the true classes, each row by its weight."""
        kernel = find_kernel("layers", output.device)
        loss, slope, by_log_temperature = kernel.softmax_loss(
            output, y, self.code, self.log_temperature, row_weight
        )
        return Judged(loss, slope, (by_log_temperature,))

    def learned(self) -> list[Tensor]:
        """The logarithm of the temperature."""
        return [self.log_temperature]

    def take(self, replicas: Tensor | slice) -> Self:
        """Return the criterion of some replicas."""
        return replace(self, log_temperature=self.log_temperature[replicas])


@dataclass(frozen=True)
class MarginCriterion(Criterion):
    """How far the agreement with the true class is below what makes it certain, softly.

    If a decoder is wrong, outputs agree with the true class by at most `1 - D` on average, where D is the
    distance of the code (docs/theory/outputs.md). The loss is `softplus(s (t - m)) / s` of the agreement m,
    for a target t above that. Unlike the linear loss it does not require outputs to be sharp everywhere, and
    unlike the cross-entropy it is not satisfied with classes in the right order.

    Attributes
    ----------
    target : float
        Agreement from which on little can be gained, in [-1, 1].
    """

    name = "margin_loss"

    target: float

    @classmethod
    def of(cls, code: Code) -> Self:
        """Return the criterion of a code."""
        return cls(1.0 - float(code.distance) + MARGIN_ROOM)

    def judge(self, output: Tensor, y: Tensor, row_weight: Tensor | None) -> Judged:
        """Judge outputs (R, n, r) by the code rows of the true classes; all rows count equally."""
        agreement = (output.double() * y).mean(dim=-1)
        excess = STEEPNESS * (self.target - agreement)
        loss = torch.nn.functional.softplus(excess) / STEEPNESS
        by_agreement = -torch.sigmoid(excess) / agreement.shape[-1]
        slope = (by_agreement[..., None] * y / y.shape[-1]).to(output.dtype)
        return Judged(loss.mean(dim=-1), slope)


def log_criterion(code: AnyCode, n_replicas: int, like: Tensor) -> Criterion:
    """Return the logarithmic criterion of a code: for each output on its own, or for the classes together."""
    if isinstance(code, Code) and not code.separate:
        return SoftmaxCriterion.of(code, n_replicas, like)
    return LogCriterion()
