"""What every experiment starts from: the paper's splits, its constants, one hidden layer of 10."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from pbgnet.aggregation import Aggregation, Fourier, MonteCarlo
from pbgnet.bounds import seeger_bound
from pbgnet.experiments.runs import PaperRows, RunSpec
from pbgnet.networks import AggregatedNetwork, initial_weights, linear_loss, zero_one_loss
from pbgnet.training import Start, TrainingData, empirical_means

BATCH_SIZES = {"adult": 64, "mnistLH": 64}
SMALL_BATCH = 32
HIDDEN = (10,)
DELTA = 0.05 / 9
VALIDATION_FRACTION, PRIOR_FRACTION = 0.2, 0.5
N_PREDICTIONS = 20
"""How often a sampled network predicts, as in the paper."""

WEIGHTS, BATCHES, SAMPLES, ROWS, PREDICTIONS = range(5)
"""What a seed is for."""


@dataclass(frozen=True)
class Setting:
    """One split of a data set of the paper."""

    dataset: str
    split: int
    train: TrainingData
    test: TrainingData
    repeat: int = 0
    """Which of several trainings on the same rows."""

    renewed: tuple[int, ...] = (WEIGHTS, BATCHES, SAMPLES)
    """What each of them has seeds of its own for."""

    @property
    def batch_size(self) -> int:
        """The paper's, by the size of the set."""
        return BATCH_SIZES.get(self.dataset, SMALL_BATCH)

    def seed(self, use: int) -> int:
        """Return the seed of one use."""
        repeat = [self.repeat] if self.repeat and use in self.renewed else []
        return int(np.random.SeedSequence([self.split, use, *repeat]).generate_state(1, np.uint32)[0])

    def seeds(self, use: int, count: int) -> Tensor:
        """Return the same seed so many times: replicas see the same batches."""
        return torch.full((count,), self.seed(use), dtype=torch.int64)

    def aggregation(self, n_samples: int | None, use: int = SAMPLES) -> Aggregation:
        """Return Monte Carlo with so many samples, or the exact aggregate."""
        if n_samples is None:
            return Fourier()
        return MonteCarlo(n_samples, torch.Generator().manual_seed(self.seed(use)))

    def start(self, n_samples: int | None) -> Start:
        """Return Xavier weights, the first ones and the prior."""
        generator = torch.Generator().manual_seed(self.seed(WEIGHTS))
        weights = initial_weights(self.train.rows.shape[-1] - 1, HIDDEN, generator=generator)
        return Start(weights, self.aggregation(n_samples))


@lru_cache(maxsize=2)
def setting(dataset: str, split: int) -> Setting:
    """Read a split, scaled as the paper's authors do."""
    rows = PaperRows()(RunSpec(dataset, split_seed=split))
    train, test = (
        TrainingData.of(rows.table.x[part], rows.table.y[part], unit=True, device="cpu")
        for part in (rows.train, rows.test)
    )
    return Setting(dataset, split, train, test)


class NarrowNorm:
    """Constants that the norm of a layer's inputs leaves out, as in the authors' program.

    Ours divides by the root of |x|^2 + 1 in the first layer and by that of 11 at the output, the program by
    |x| and by the root of 10. With weights larger by the ratio of the two roots our output answers as the
    program's does, and its divergence counts 10 / 11.
    """

    RATIO = (HIDDEN[0] + 1) / HIDDEN[0]
    FACTORS = (1.0, 1 / RATIO)

    @staticmethod
    def rows(data: TrainingData) -> TrainingData:
        """Return the rows with their constant, divided by the norm without it."""
        constant = data.rows[..., -1:]
        return replace(data, rows=data.rows / (1 - constant.square()).sqrt())

    @classmethod
    def start(cls, start: Start) -> Start:
        """Return first weights with constants of 0."""
        hidden, output = (w.clone() for w in start.weights)
        hidden[..., -1], output[..., -1] = 0, 0
        return Start([hidden, output * math.sqrt(cls.RATIO)], start.aggregation)

    @classmethod
    def divergence(cls, weights: Sequence[Tensor], prior: Sequence[Tensor]) -> list[float]:
        """Return the divergence of each replica."""
        halves = [
            factor / 2 * (w.detach() - u).double().square().sum(dim=(-2, -1))
            for factor, w, u in zip(cls.FACTORS, weights, prior, strict=True)
        ]
        return (halves[0] + halves[1]).tolist()


def bound(loss: float, divergence: float, n: int) -> float:
    """Return the paper's bound, with delta shared by nine architectures."""
    return float(seeger_bound(min(1.0, max(0.0, loss)), divergence, n, DELTA, "paper"))


def losses(network: AggregatedNetwork, data: TrainingData) -> tuple[list[float], list[float]]:
    """Return the linear loss and the error rate of each replica."""
    loss, error = empirical_means(network, data, linear_loss, zero_one_loss)
    return loss.tolist(), error.tolist()


def predictions(
    network: AggregatedNetwork, *parts: TrainingData
) -> list[list[tuple[list[float], list[float]]]]:
    """Return the losses on all parts of each prediction: a single one, unless samples are drawn."""
    sampled = isinstance(network.aggregation, MonteCarlo)
    return [[losses(network, part) for part in parts] for _ in range(N_PREDICTIONS if sampled else 1)]


def detached(network: AggregatedNetwork) -> AggregatedNetwork:
    """Return a network as it is now, without slopes."""
    weights = [w.detach() for w in network.weights]
    return AggregatedNetwork(weights, network.prior_weights, aggregation=network.aggregation)
