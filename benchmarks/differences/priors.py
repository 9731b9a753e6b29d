"""PBGNet_pre: how its prior is trained, and what selecting T by the bound gives.

The bound is then minimised by L-BFGS with the exact aggregate, as in the study `variance-exact`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.differences.setting import (
    BATCHES,
    DELTA,
    HIDDEN,
    PRIOR_FRACTION,
    ROWS,
    WEIGHTS,
    Setting,
    bound,
    losses,
)
from pbgnet.aggregation import Fourier
from pbgnet.bounds import tree_divergence
from pbgnet.networks import initial_weights
from pbgnet.training import Course, Journal, Start
from pbgnet.training.solvers import Problem, fit, polish
from pbgnet.training.solvers.callbacks import BestEpoch, Callback, PlateauHalving
from pbgnet.training.steps import LinearLoss, Seeger, TrainingData

RATES = (0.1, 0.01, 0.001)
NEVER = 10**6
ITERATIONS = 30


@dataclass(frozen=True)
class Variant:
    """How a prior is trained; the defaults are those of the studies."""

    n_samples: int | None = None  # T; None for the exact aggregate
    epochs: int = 20
    batch_size: int | None = None  # the paper's, unless given
    patience: int = 5  # epochs without a new minimum before the rate is halved
    last_epoch: bool = False  # keep the last epoch, not the one with the smallest cost
    initialisation: str = "xavier_normal"


VARIANTS = {
    "exact": Variant(),
    "T = 10": Variant(n_samples=10),
    "T = 50": Variant(n_samples=50),
    "T = 100": Variant(n_samples=100),
    "T = 1000": Variant(n_samples=1000),
    "last epoch": Variant(last_epoch=True),
    "no halving": Variant(patience=NEVER),
    "batches of 32": Variant(batch_size=32),
    "weights of variance 1": Variant(initialisation="standard_normal"),
}


def run(place: Setting, variant: str) -> Iterator[dict[str, Any]]:
    """Train a prior for each rate, side by side; yield the numbers of each."""
    prior_rows, certified = place.train.shares(PRIOR_FRACTION, place.seed(ROWS))
    start = _prior(place, VARIANTS[variant], prior_rows)
    network = start.network(len(RATES), certified)
    objective = Seeger(network.prior_weights, len(certified), DELTA, "paper")
    seeds, no_rates = place.seeds(BATCHES, len(RATES)), torch.zeros(len(RATES), dtype=torch.float64)
    polish(Problem(network, certified, objective, seeds, no_rates), ITERATIONS, Journal(), "bound")
    divergence = tree_divergence(
        [w.detach() for w in network.weights], network.prior_weights, validate_args=False
    )
    loss, error = losses(network, certified)
    _, tested = losses(network, place.test)
    for r, rate in enumerate(RATES):
        yield {
            "rate": rate,
            "divergence": divergence[r].item(),
            "bound": bound(loss[r], divergence[r].item(), len(certified)),
            "train_loss": loss[r],
            "train_error": error[r],
            "test_error": tested[r],
        }


def _prior(place: Setting, how: Variant, rows: TrainingData) -> Start:
    """Minimise the linear loss on the prior rows, as the paper says: Adam for a fixed number of epochs."""
    generator = torch.Generator().manual_seed(place.seed(WEIGHTS))
    weights = initial_weights(
        rows.rows.shape[-1] - 1, HIDDEN, initialisation=how.initialisation, generator=generator
    )
    rates = torch.tensor(RATES, dtype=torch.float64)
    network = Start(weights, place.aggregation(how.n_samples)).network(len(rates), rows)
    objective = LinearLoss.of(list(network.weights), torch.zeros_like(rates))
    problem = Problem(network, rows, objective, place.seeds(BATCHES, len(rates)), rates)
    callbacks: list[Callback] = [PlateauHalving(how.patience)]
    if not how.last_epoch:
        callbacks.append(BestEpoch())
    course = Course(how.batch_size or place.batch_size, how.epochs)
    fit(problem, course, Journal(), "prior", callbacks=callbacks)
    return Start([w.detach() for w in network.weights], Fourier())
