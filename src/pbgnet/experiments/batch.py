"""Trains a batch of runs side by side, and judges every network it gives.

Runs of a batch differ in learning rate, weight decay and restart only; their networks have one shape and see
the same rows, so they are replicas of one fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from pbgnet.aggregation import Aggregation, Fourier, MonteCarlo
from pbgnet.bounds import split_delta
from pbgnet.experiments.judging import Judged, judge
from pbgnet.experiments.keeping import kept
from pbgnet.experiments.specification import RunSpec
from pbgnet.networks import AggregatedNetwork, TanhNetwork, initial_weights
from pbgnet.training.callbacks import BestEpoch
from pbgnet.training.data import TrainingData, prepare_rows
from pbgnet.training.evaluation import Trainable, empirical_loss
from pbgnet.training.journal import Journal
from pbgnet.training.objectives import Catoni, LinearLoss, Objective, Seeger
from pbgnet.training.solvers import Course, Problem, solve_adam, solve_hybrid

__all__ = ["Rows", "batches_of", "train_batch"]

# What a seed is for; every use has its own stream.
WEIGHTS, BATCHES, PRIOR_BATCHES, VALIDATION, PRIOR_ROWS, SAMPLING = range(6)

# Enough for every network that is worth selecting; high rates would make the others ten times as expensive.
TRAINING_NODES = 32

# Adam only looks for a good basin of the bound there: few epochs of large batches.
HYBRID_COURSE = Course(batch_size=256, max_epochs=8)


@dataclass(frozen=True, eq=False)  # told apart by identity, so that what is made of them can be kept
class Rows:
    """Examples and labels of a split: arrays (n, d), and labels -1 and 1."""

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def batches_of(runs: Sequence[RunSpec]) -> list[list[RunSpec]]:
    """Put runs that can be trained side by side together, in the order of their first."""
    groups: dict[RunSpec, list[RunSpec]] = {}
    for run in runs:
        groups.setdefault(replace(run, learning_rate=0.0, weight_decay=0.0, restart=0), []).append(run)
    return list(groups.values())


def train_batch(
    runs: Sequence[RunSpec], rows: Rows, device: torch.device, journal: Journal | None = None
) -> list[dict[str, dict[str, float]]]:
    """Train runs of one batch; return the numbers of each, by the rule that picked the epoch.

    Parameters
    ----------
    runs : sequence of RunSpec
        That differ in learning rate, weight decay and restart alone.
    rows : Rows
    device : torch.device
    journal : Journal, optional
        Takes the history.
    """
    journal = journal or Journal()
    batch = _Batch(runs, rows, device, journal)
    found = {"mlp": batch.mlp, "loss": batch.loss, "bound": batch.bound, "pretrained": batch.pretrained}
    picks = found[runs[0].training]()
    if journal.interrupted:  # what a training cut short has reached is no result
        raise KeyboardInterrupt
    return [
        {
            pick: {name: values[r].item() for name, values in numbers.items()}
            for pick, numbers in picks.items()
        }
        for r in range(len(runs))
    ]


@kept(16)
def _prepared(rows: Rows, unit: bool, device: torch.device) -> tuple[TrainingData, TrainingData]:
    """Training and test rows on the device; kept, for many batches use them."""
    train, test = (
        TrainingData(
            prepare_rows(x, unit=unit, intercept=True, dtype=torch.float32, device=device),
            torch.as_tensor(y, dtype=torch.float32, device=device),
        )
        for x, y in ((rows.x_train, rows.y_train), (rows.x_test, rows.y_test))
    )
    return train, test


class _Batch:
    """The four trainings, on data that are prepared once."""

    def __init__(self, runs: Sequence[RunSpec], rows: Rows, device: torch.device, journal: Journal) -> None:
        self.run = runs[0]
        self.device, self.journal = device, journal
        self.rates = self._numbers([run.learning_rate for run in runs])
        self.decays = self._numbers([run.weight_decay for run in runs])
        self.restarts = [run.restart for run in runs]
        self.course = Course(
            self.run.batch_size, self.run.max_epochs, self.run.plateau_patience, self.run.stopping_patience
        )
        self.train, self.test = _prepared(rows, self.run.training != "mlp", device)
        self.aggregation: Aggregation = Fourier(most_nodes=TRAINING_NODES)
        if self.run.n_samples is not None:
            generator = torch.Generator(device).manual_seed(self._seed(SAMPLING))
            self.aggregation = MonteCarlo(self.run.n_samples, generator)

    def mlp(self) -> Judged:
        """A tanh network by the linear loss; the validation loss picks the epoch."""
        network = TanhNetwork(self._replicated(self._first_weights()))
        return self._minimise_loss(network)

    def loss(self) -> Judged:
        """The aggregate by the linear loss; the validation loss picks one epoch, the bound another."""
        network = AggregatedNetwork(self._replicated(self._first_weights()), aggregation=self.aggregation)
        return self._minimise_loss(network)

    def bound(self) -> Judged:
        """The aggregate by the bound, from a random prior."""
        network = AggregatedNetwork(self._replicated(self._first_weights()), aggregation=self.aggregation)
        return self._minimise_bound(network, self.train)

    def pretrained(self) -> Judged:
        """The aggregate by the bound, from a prior trained on part of the rows; the others are certified."""
        # One prior for each rate: restarts have the same, to the last bit.
        rates, of_run = self.rates.unique(return_inverse=True)
        priors = AggregatedNetwork(
            self._replicated(self._first_weights(), len(rates)), aggregation=self.aggregation
        )
        prior_rows, certified = self._shares(PRIOR_ROWS, self.run.prior_fraction)
        objective = LinearLoss.of(list(priors.weights), torch.zeros_like(rates))
        course = replace(self.course, max_epochs=self.run.pretraining_epochs)
        seeds = self._batch_seeds(PRIOR_BATCHES, [0] * len(rates))
        solve_adam(Problem(priors, prior_rows, objective, seeds, rates), course, self.journal, "prior")
        network = priors.take(of_run)
        network.fix_prior()
        return self._minimise_bound(network, certified)

    def _minimise_loss(self, network: TanhNetwork | AggregatedNetwork) -> Judged:
        held, used = self._shares(VALIDATION, self.run.validation_fraction)
        certify = isinstance(network, AggregatedNetwork)
        exact = self._seeger([w.detach().clone() for w in network.weights], len(self.train))

        def measure(trained: Trainable, record: dict[str, Tensor]) -> dict[str, Tensor]:
            numbers = {"validation": empirical_loss(trained, held)}
            if certify:  # all replicas have the same prior
                penalty = replace(exact, anchors=[u[:1] for u in exact.anchors]).penalty(
                    list(trained.weights)
                )
                numbers["bound"] = exact.value(record["loss"], penalty)
            return numbers

        by_bound = BestEpoch("bound", restore=False)
        by_validation = BestEpoch("validation", restore=False)
        problem = Problem(
            network,
            used,
            LinearLoss.of(list(network.weights), self.decays),
            self._batch_seeds(BATCHES),
            self.rates,
            measure,
            "validation",
        )
        extra = [by_validation, by_bound] if certify else [by_validation]
        solve_adam(problem, self.course, self.journal, "loss", extra)
        last = list(network.weights)
        picks = {}
        for best in extra:
            weights = best.weights(last)
            with torch.no_grad():
                for weight, kept in zip(network.weights, weights, strict=True):
                    weight.copy_(kept)
            numbers = {"validation_loss": empirical_loss(network, held)}
            assert best.epoch is not None
            picks[best.monitor] = numbers | self._judge(network, self.train) | {"epoch": best.epoch}
        return picks

    def _minimise_bound(self, network: AggregatedNetwork, certified: TrainingData) -> Judged:
        objective: Objective = self._seeger(network.prior_weights, len(certified))
        if self.run.objective == "catoni":
            delta = float(split_delta(self.run.delta, self.run.n_priors))
            log_c = torch.zeros_like(self.rates)
            objective = Catoni(network.prior_weights, len(certified), delta, log_c, self.run.constant)
        seeds = self._batch_seeds(BATCHES, self.restarts)
        problem = Problem(network, certified, objective, seeds, self.rates)
        if self.run.solver == "hybrid":
            solve_hybrid(problem, HYBRID_COURSE, self.journal, "bound")
            epoch = torch.full_like(self.rates, HYBRID_COURSE.max_epochs)
        else:
            best = BestEpoch("objective", restore=False)
            solve_adam(problem, self.course, self.journal, "bound", [best])
            assert best.epoch is not None
            epoch = best.epoch
        return {"objective": self._judge(network, certified) | {"epoch": epoch}}

    def _judge(self, network: TanhNetwork | AggregatedNetwork, certified: TrainingData) -> dict[str, Tensor]:
        return judge(network, self.run, certified, self.test)

    def _seeger(self, prior: Sequence[Tensor], n: int) -> Seeger:
        delta = float(split_delta(self.run.delta, self.run.n_priors))
        return Seeger(prior, n, delta, self.run.constant)

    def _shares(self, use: int, fraction: float) -> tuple[TrainingData, TrainingData]:
        """Split the training rows at random; the first part has the share that is asked for."""
        order = np.random.default_rng(self._seed(use)).permutation(len(self.train))
        first = max(1, round(fraction * len(order)))
        parts = (torch.from_numpy(part).to(self.device) for part in (order[:first], order[first:]))
        one, two = (self.train.take(part) for part in parts)
        return one, two

    def _first_weights(self) -> list[Tensor]:
        generator = torch.Generator().manual_seed(self._seed(WEIGHTS))
        n_features = self.train.rows.shape[-1] - 1
        return initial_weights(
            n_features,
            self.run.hidden_layer_sizes,
            initialisation=self.run.initialisation,
            generator=generator,
        )

    def _replicated(self, weights: Sequence[Tensor], count: int | None = None) -> list[Tensor]:
        return [w.to(self.device).expand(count or len(self.rates), *w.shape).clone() for w in weights]

    def _batch_seeds(self, use: int, restarts: Sequence[int] | None = None) -> Tensor:
        """One seed for all of a restart: runs that differ in a hyperparameter see the same batches."""
        seeds = [self._seed(use, restart) for restart in restarts or [0] * len(self.rates)]
        return torch.tensor(seeds, dtype=torch.int64, device=self.device)

    def _seed(self, use: int, restart: int = 0) -> int:
        words = [self.run.split_seed, self.run.seed, use, restart]
        return int(np.random.SeedSequence(words).generate_state(1, np.uint32)[0])

    def _numbers(self, values: Sequence[float]) -> Tensor:
        return torch.tensor(values, dtype=torch.float64, device=self.device)
