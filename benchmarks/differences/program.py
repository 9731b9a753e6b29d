"""PBGNet: two things that the authors' published program does and the paper does not mention.

The norm that a layer divides by leaves out its constant. And an epoch counts as an improvement only if the
bound falls by more than 0.0001, so that the rate is halved and the training ends sooner.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from benchmarks.differences.setting import BATCHES, DELTA, NarrowNorm, Setting, bound, losses
from pbgnet.aggregation import Fourier
from pbgnet.bounds import tree_divergence
from pbgnet.networks import AggregatedNetwork
from pbgnet.training import Course, Journal
from pbgnet.training.solvers import Problem, fit
from pbgnet.training.solvers.callbacks import BestEpoch, Callback, EarlyStopping, LoopState, PlateauHalving
from pbgnet.training.steps import Catoni

RATES = (0.1, 0.01)
"""Those that the paper selects for PBGNet."""

MAX_EPOCHS = 150
THRESHOLD = 1e-4
COUNTED = "counted"


@dataclass(frozen=True)
class Variant:
    """How PBGNet is trained; the defaults are those of the studies."""

    narrow_norm: bool = False  # whether norms leave out the constants
    threshold: float = 0.0  # what the bound must fall by to count as an improvement


VARIANTS = {
    "as in the studies": Variant(),
    "norm": Variant(narrow_norm=True),
    "threshold": Variant(threshold=THRESHOLD),
    "norm and threshold": Variant(narrow_norm=True, threshold=THRESHOLD),
}


def run(place: Setting, variant: str) -> Iterator[dict[str, Any]]:
    """Train with each rate, side by side; yield the numbers of each network, with exact predictions."""
    how, n, count = VARIANTS[variant], len(place.train), len(RATES)
    start, train, test = place.start(None), place.train, place.test
    if how.narrow_norm:
        start, train, test = NarrowNorm.start(start), NarrowNorm.rows(train), NarrowNorm.rows(test)
    network = start.network(count, train)
    log_c = torch.zeros(count, dtype=torch.float64)
    minimised = NarrowCatoni if how.narrow_norm else Catoni
    objective = minimised(network.prior_weights, n, DELTA, log_c, "paper")
    rates = torch.tensor(RATES, dtype=torch.float64)
    problem = Problem(network, train, objective, place.seeds(BATCHES, count), rates)
    course = Course(place.batch_size, MAX_EPOCHS)
    halving = PlateauHalving(course.plateau_patience, COUNTED)
    stopping = EarlyStopping(course.stopping_patience, COUNTED)
    best = BestEpoch()
    fit(problem, course, Journal(), "bound", callbacks=[_Counted(how.threshold), halving, stopping, best])
    weights, prior = [w.detach() for w in network.weights], network.prior_weights
    if how.narrow_norm:
        divergence = NarrowNorm.divergence(weights, prior)
    else:
        divergence = tree_divergence(weights, prior, validate_args=False).tolist()
    exact = AggregatedNetwork(weights, prior, aggregation=Fourier())
    trained, tested = losses(exact, train), losses(exact, test)
    for r, rate in enumerate(RATES):
        yield {
            "rate": rate,
            "c": math.exp(log_c[r]),
            "epoch": int(best.epoch[r]),
            "divergence": divergence[r],
            "bound": bound(trained[0][r], divergence[r], n),
            "train_error": trained[1][r],
            "test_error": tested[1][r],
        }


class NarrowCatoni(Catoni):
    """Catoni's bound of networks whose norms leave out the constants."""

    def multiplicities(self) -> list[float]:
        """Return how often each layer counts."""
        return list(NarrowNorm.FACTORS)


class _Counted(Callback):
    """Records the cost of the last epoch that counts as an improvement, for the schedule to watch."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._last: Tensor | None = None

    def on_epoch_end(self, state: LoopState) -> None:
        cost = state.record["objective"]
        if self._last is None:
            self._last = cost.clone()
        self._last = torch.where(cost < self._last - self.threshold, cost, self._last)
        state.record[COUNTED] = self._last
