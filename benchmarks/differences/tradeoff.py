"""PBGNet: the C of Catoni's bound, the rows that train, and how many samples measure the errors."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from benchmarks.differences.setting import (
    BATCHES,
    DELTA,
    ROWS,
    SAMPLES,
    VALIDATION_FRACTION,
    Setting,
    bound,
    losses,
)
from pbgnet.aggregation import Fourier, MonteCarlo
from pbgnet.bounds import tree_divergence
from pbgnet.networks import AggregatedNetwork
from pbgnet.training import Course, Journal
from pbgnet.training.solvers import Problem, descend
from pbgnet.training.steps import Catoni
from pbgnet.training.steps.objectives import Slopes

RATE, MAX_EPOCHS = 0.1, 150


@dataclass(frozen=True)
class Variant:
    """How PBGNet is trained; the defaults are those of the studies."""

    n_samples: int | None = None  # the T that trains
    first_c: tuple[float, ...] = (0.3, 1.0, 3.0, 10.0)
    kept: bool = False  # whether C stays where it starts
    validation: bool = False  # whether rows are set aside, as for the algorithms that validate


VARIANTS = {
    "exact": Variant(),
    "T = 100": Variant(100),
    "C kept": Variant(first_c=(0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0), kept=True),
    "80 % of the rows": Variant(first_c=(1.0,), validation=True),
}

PREDICTION_SAMPLES = (1, 10, 50)


def run(place: Setting, variant: str) -> Iterator[dict[str, Any]]:
    """Train from each first C, side by side; yield the numbers of each network."""
    how = VARIANTS[variant]
    rows = place.train.shares(VALIDATION_FRACTION, place.seed(ROWS))[1] if how.validation else place.train
    n, count = len(rows), len(how.first_c)
    start = place.start(how.n_samples)
    network = start.network(count, rows)
    log_c = torch.tensor([math.log(c) for c in how.first_c], dtype=torch.float64)
    minimised = KeptCatoni if how.kept else Catoni
    objective = minimised(network.prior_weights, n, DELTA, log_c, "paper")
    rates = torch.full_like(log_c, RATE)
    problem = Problem(network, rows, objective, place.seeds(BATCHES, count), rates)
    epochs = descend(problem, Course(place.batch_size, MAX_EPOCHS), Journal(), "bound")["objective"].epoch
    weights, prior = [w.detach() for w in network.weights], network.prior_weights
    divergence = tree_divergence(weights, prior, validate_args=False).tolist()
    exact = AggregatedNetwork(weights, prior, aggregation=Fourier())
    train, test = losses(exact, rows), losses(exact, place.test)
    sampled = {}
    for n_samples in PREDICTION_SAMPLES:
        aggregation = MonteCarlo(n_samples, torch.Generator().manual_seed(place.seed(SAMPLES)))
        drawn = AggregatedNetwork(weights, prior, aggregation=aggregation)
        sampled[n_samples] = losses(drawn, rows)[1], losses(drawn, place.test)[1]
    for r, first in enumerate(how.first_c):
        yield {
            "first_c": first,
            "c": math.exp(log_c[r]),
            "epoch": int(epochs[r]),
            "divergence": divergence[r],
            "bound": bound(train[0][r], divergence[r], n),
            "train_error": train[1][r],
            "test_error": test[1][r],
            **{f"train_error_{t}": errors[0][r] for t, errors in sampled.items()},
            **{f"test_error_{t}": errors[1][r] for t, errors in sampled.items()},
        }


class KeptCatoni(Catoni):
    """Catoni's bound at a C that is not learned."""

    def slopes(self, loss: Tensor, penalty: Tensor) -> Slopes:
        """By loss and penalty."""
        return replace(super().slopes(loss, penalty), by_learned=())

    def learned(self) -> list[Tensor]:
        """Nothing."""
        return []
