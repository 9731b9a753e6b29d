"""PBGNet: where the C of Catoni's bound starts, and with how many samples the errors are measured."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from benchmarks.differences.setting import BATCHES, DELTA, SAMPLES, Setting, bound, losses
from pbgnet.aggregation import Fourier, MonteCarlo
from pbgnet.bounds import tree_divergence
from pbgnet.networks import AggregatedNetwork
from pbgnet.training import Course, Journal
from pbgnet.training.solvers import Problem, descend
from pbgnet.training.steps import Catoni

FIRST_C = (0.3, 1.0, 3.0, 10.0)
RATE, MAX_EPOCHS = 0.1, 150
VARIANTS = {"exact": None, "T = 100": 100}
"""The T that trains."""

PREDICTION_SAMPLES = (1, 10, 50)


def run(place: Setting, variant: str) -> Iterator[dict[str, Any]]:
    """Train from each first C, side by side; yield the numbers of each network."""
    n, count = len(place.train), len(FIRST_C)
    start = place.start(VARIANTS[variant])
    network = start.network(count, place.train)
    log_c = torch.tensor([math.log(c) for c in FIRST_C], dtype=torch.float64)
    objective = Catoni(network.prior_weights, n, DELTA, log_c, "paper")
    rates = torch.full_like(log_c, RATE)
    problem = Problem(network, place.train, objective, place.seeds(BATCHES, count), rates)
    epochs = descend(problem, Course(place.batch_size, MAX_EPOCHS), Journal(), "bound")["objective"].epoch
    weights, prior = [w.detach() for w in network.weights], network.prior_weights
    divergence = tree_divergence(weights, prior, validate_args=False).tolist()
    exact = AggregatedNetwork(weights, prior, aggregation=Fourier())
    train, test = losses(exact, place.train), losses(exact, place.test)
    sampled = {}
    for n_samples in PREDICTION_SAMPLES:
        aggregation = MonteCarlo(n_samples, torch.Generator().manual_seed(place.seed(SAMPLES)))
        drawn = AggregatedNetwork(weights, prior, aggregation=aggregation)
        sampled[n_samples] = losses(drawn, place.train)[1], losses(drawn, place.test)[1]
    for r, first in enumerate(FIRST_C):
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
