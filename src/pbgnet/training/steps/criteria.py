"""What judges the outputs on a batch, by the mean loss of its rows."""

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from pbgnet.kernels import find_kernel
from pbgnet.networks import AnyCode, Code

FIRST_TEMPERATURE = 3.0
"""Scores lie in [-1, 1]; times this they tell classes apart, and their softmax is not yet sure of them.

Higher ones learn faster and less well: outputs that need not grow far apart stay alike."""


STEEPNESS, MARGIN_ROOM = 20.0, 0.3
"""How sharply rows that agree enough are told from the others, and by how much more than needed they should.

With the ten digits of MNIST, steepness from 5 to 40 and room from 0.15 to 0.3 led to bounds within 7 % of
each other."""


class Judged(NamedTuple):
    """The mean loss of each replica, float64, shape (R,), and its derivatives."""

    loss: Tensor
    slope: Tensor  # in every output
    by_learned: tuple[Tensor, ...] = ()  # in the parameters of the criterion, shapes (R,)


class Criterion:
    """The linear loss (1 - y G) / 2, a mean over outputs: the chance that a drawn voter errs."""

    name: ClassVar[str] = "loss"
    """What records of training call its mean."""

    def judge(self, output: Tensor, y: Tensor, row_weight: Tensor | None) -> Judged:
        """Judge outputs (R, n) or (R, n, r) by labels, where rows may weigh differently."""
        return Judged(*find_kernel("layers", output.device).linear_loss(output, y))

    def learned(self) -> list[Tensor]:
        """Return parameters of the criterion itself, shapes (R,), that are learned along with the weights."""
        return []

    def take(self, replicas: Tensor | slice) -> Self:
        """Return the criterion of some replicas; of a slice of them it shares the parameters."""
        return self


LINEAR = Criterion()


class LogCriterion(Criterion):
    """The logarithm of the chance that a drawn voter is right, which does not give up on rows."""

    name = "log_loss"

    def judge(self, output: Tensor, y: Tensor, row_weight: Tensor | None) -> Judged:
        """Judge outputs by labels, each row by its weight."""
        return Judged(*find_kernel("layers", output.device).log_loss(output, y, row_weight))


@dataclass(frozen=True)
class SoftmaxCriterion(Criterion):
    """The cross-entropy of the classes of a code, at a temperature of each replica that is learned.

    Attributes
    ----------
    code : Tensor, shape (c, r)
    log_temperature : Tensor, float64, shape (R,)
        What scores are multiplied by, as a logarithm; training changes it in place.
    """

    name = "log_loss"

    code: Tensor
    log_temperature: Tensor

    @classmethod
    def of(cls, code: Code, n_replicas: int, like: Tensor) -> Self:
        """Make the criterion for a number of replicas, in the type and place of a tensor."""
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
    """How far the agreement with the true class stays below what makes it certain, softly.

    Where a decoder errs, outputs agree with the true class by at most `1 - D` on average, D the distance of
    the code (docs/theory/outputs.md). The loss is `softplus(s (t - m)) / s` of the agreement m, for a target
    t above that: it does not ask of outputs to be sharp everywhere, as the linear loss does, and unlike the
    cross-entropy it is not content with classes in the right order.

    Attributes
    ----------
    target : float
        Agreement from which on little is left to gain, in [-1, 1].
    """

    name = "margin_loss"

    target: float

    @classmethod
    def of(cls, code: Code) -> Self:
        """Return the criterion of a code."""
        return cls(1.0 - float(code.distance) + MARGIN_ROOM)

    def judge(self, output: Tensor, y: Tensor, row_weight: Tensor | None) -> Judged:
        """Judge outputs (R, n, r) by the code rows of the true classes; rows count alike."""
        agreement = (output.double() * y).mean(dim=-1)
        excess = STEEPNESS * (self.target - agreement)
        loss = torch.nn.functional.softplus(excess) / STEEPNESS
        by_agreement = -torch.sigmoid(excess) / agreement.shape[-1]
        slope = (by_agreement[..., None] * y / y.shape[-1]).to(output.dtype)
        return Judged(loss.mean(dim=-1), slope)


def log_criterion(code: AnyCode, n_replicas: int, like: Tensor) -> Criterion:
    """Return the logarithmic criterion of a code: of each output by itself, or of the classes together."""
    if isinstance(code, Code) and not code.separate:
        return SoftmaxCriterion.of(code, n_replicas, like)
    return LogCriterion()
