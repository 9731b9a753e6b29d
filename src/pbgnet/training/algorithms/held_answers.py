"""Answers of networks on rows they were not trained on, and how good they are."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from torch import Tensor

from pbgnet.networks import AggregatedNetwork, AnyCode, Code, compute_rows
from pbgnet.training.steps import TrainingData

# Number of rows answered at a time.
CHUNK_ROWS = 8192

TEMPERATURES = (0.1, 1000.0)
"""The range of temperatures: from equal probabilities for all classes to certainty."""


@dataclass(frozen=True, eq=False)
class HeldAnswers:
    """Outputs on held-out rows, and the signs that they should have had.

    Attributes
    ----------
    output, y : ndarray of float64, shapes (n,) or (n, r)
    code : Code or LabelCode
    row_weights : ndarray of float64, shape (n,), or None
        How much each row counts in the loss.
    """

    output: NDArray[np.float64]
    y: NDArray[np.float64]
    code: AnyCode
    row_weights: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, output: Tensor, y: Tensor, code: AnyCode, row_weights: Tensor | None = None) -> Self:
        """Read tensors, of any type and on any device."""
        inside = output.double().clamp(-1.0, 1.0)
        weights = None if row_weights is None else row_weights.double().cpu().numpy()
        return cls(inside.cpu().numpy(), y.double().cpu().numpy(), code, weights)

    @classmethod
    def joined(cls, parts: Sequence["HeldAnswers"]) -> "HeldAnswers":
        """Return the answers on several sets of rows, one after the other."""
        output, y = (np.concatenate([getattr(part, name) for part in parts]) for name in ("output", "y"))
        weights = [part.row_weights for part in parts if part.row_weights is not None]
        return cls(output, y, parts[0].code, np.concatenate(weights) if weights else None)

    @classmethod
    def averaged(cls, parts: Sequence["HeldAnswers"]) -> "HeldAnswers":
        """Return the joint answers of several networks on the same rows."""
        return replace(parts[0], output=np.mean([part.output for part in parts], axis=0))

    @property
    def margins(self) -> NDArray[np.float64]:
        """`y G`, a mean over outputs: a drawn voter is right with probability `(1 + margin) / 2`.

        For several labels one each, shape (n, L).
        """
        agreement = self.y * self.output
        return agreement if self.code.separate else agreement.mean(axis=1)

    @property
    def loss(self) -> float:
        """The criterion for candidates: the squared error of the vote, or the log loss of the classes."""
        if self.code.separate:
            losses = ((1.0 - self.margins) / 2.0) ** 2
            losses = losses if losses.ndim == 1 else losses.mean(axis=1)
            return float(np.mean(losses if self.row_weights is None else losses * self.row_weights))
        return self._log_loss(self.temperature)

    @property
    def error(self) -> float:
        """The share of rows with a wrong answer, in any label; a tie is an error."""
        if self.output.ndim == 1:
            return float(np.mean(self.margins <= 0))
        return float(np.mean(self.code.leads(self.output, self.code.decode(self.y)) <= 0))

    @functools.cached_property
    def temperature(self) -> float:
        """The factor of the scores whose softmax has the smallest log loss."""
        low, high = np.log(TEMPERATURES)
        if not np.isfinite(self.output).all():
            return float("nan")
        # It is convex in the temperature, so there is one minimum.
        found = minimize_scalar(
            lambda t: self._log_loss(float(np.exp(t)), unknown=1), bounds=(low, high), method="bounded"
        )
        return float(np.exp(found.x))

    @functools.cached_property
    def _scores(self) -> NDArray[np.float64]:
        assert isinstance(self.code, Code)
        return self.code.scores(self.output)

    def _log_loss(self, temperature: float, unknown: int = 0) -> float:
        """Return the mean log loss of the classes, as if there were a few more rows of unknown class.

        Without them, rows that are all right would make the temperature infinite, and every answer certain.
        """
        share = unknown / (len(self.output) + unknown)
        wanted = (1.0 - share) * self.margins + share * self._scores.mean(axis=1)
        losses = logsumexp(temperature * self._scores, axis=1) - temperature * wanted
        return float(np.mean(losses if self.row_weights is None else losses * self.row_weights))


@torch.no_grad()
def ask_held(network: AggregatedNetwork, data: TrainingData, code: AnyCode) -> HeldAnswers:
    """Return the answers of a single network, without an axis for replicas."""

    def answer(part: TrainingData) -> Tensor:
        return network.output(part.rows, validate_args=False)

    if data.y.is_cuda or network.generators():  # random answers must be computed in order
        output = torch.cat([answer(part) for part in data.chunks(CHUNK_ROWS)])
    else:
        operations = len(data) * sum(weight.numel() for weight in network.weights)
        output = compute_rows(lambda rows: answer(data.take(rows)), len(data), CHUNK_ROWS, operations)
    return HeldAnswers.of(output, data.y, code, data.weight)
