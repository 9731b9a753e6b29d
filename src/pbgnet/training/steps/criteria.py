"""What judges the outputs on a batch, by the mean loss of its rows."""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import torch
from torch import Tensor

from pbgnet.kernels import find_kernel
from pbgnet.networks import AnyCode, Code

FIRST_TEMPERATURE = 3.0
"""Scores lie in [-1, 1]; times this they tell classes apart, and their softmax is not yet sure of them.

Higher ones learn faster and less well: outputs that need not grow far apart stay alike."""


class Judged(NamedTuple):
    """The mean loss of each replica, float64, shape (R,), and its derivatives."""

    loss: Tensor
    slope: Tensor  # in every output
    by_learned: tuple[Tensor, ...] = ()  # in the parameters of the criterion, shapes (R,)


class Criterion:
    """The linear loss (1 - y G) / 2, a mean over outputs: the chance that a drawn voter errs."""

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


def log_criterion(code: AnyCode, n_replicas: int, like: Tensor) -> Criterion:
    """Return the logarithmic criterion of a code: of each output by itself, or of the classes together."""
    if isinstance(code, Code) and not code.separate:
        return SoftmaxCriterion.of(code, n_replicas, like)
    return LogCriterion()
