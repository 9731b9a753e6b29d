"""Trains a batch of runs side by side, and judges every network it gives.

Runs of a batch differ in learning rate, weight decay and restart only; their networks have one shape and see
the same rows, so they are replicas of one training.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from pbgnet.aggregation import Aggregation, Fourier, MonteCarlo
from pbgnet.bounds import split_delta
from pbgnet.experiments.runs.judging import judge
from pbgnet.experiments.runs.keeping import kept
from pbgnet.experiments.runs.specification import RunSpec
from pbgnet.networks import initial_weights
from pbgnet.training import (
    SOLVERS,
    TRAININGS,
    BoundTerms,
    Course,
    EpochChoice,
    Journal,
    PriorTraining,
    Recipe,
    Replicas,
    Start,
    TrainingData,
    empirical_loss,
)

# What a seed is for; every use has its own stream.
WEIGHTS, BATCHES, PRIOR_BATCHES, VALIDATION, PRIOR_ROWS, SAMPLING = range(6)

# Enough for every network that is worth selecting; high rates would make the others ten times as expensive.
TRAINING_NODES = 32

# What picks the epoch where the loss is minimised.
RULES = {"mlp": ("validation",), "loss": ("validation", "bound")}


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
    """Train runs of one batch; return the numbers of each, by the rule that picked the epoch."""
    journal, run = journal or Journal(), runs[0]
    examples, test = _prepared(rows, run.training != "mlp", device)
    recipe = _recipe(runs, examples.rows.shape[-1] - 1, device)
    if run.training == "pretrained":
        prior_examples, examples = examples.shares(run.prior_fraction, seed_of(run, PRIOR_ROWS))
        short = Course(run.batch_size, run.pretraining_epochs, run.plateau_patience, run.stopping_patience)
        seed = seed_of(run, PRIOR_BATCHES)
        prior = PriorTraining(prior_examples, short, recipe.replicas.learning_rate, seed)
        recipe = replace(recipe, prior=prior)
    trained = TRAININGS[run.training](recipe, examples, journal)
    if journal.interrupted:  # what a training cut short has reached is no result
        raise KeyboardInterrupt
    results: list[dict[str, dict[str, float]]] = [{} for _ in runs]
    for rule, pick in trained.picks.items():
        network = trained.at(rule)
        numbers = {} if trained.held is None else {"validation_loss": empirical_loss(network, trained.held)}
        numbers |= judge(network, run, examples, test) | {"epoch": pick.epoch}
        for r, result in enumerate(results):
            result[rule] = {name: values[r].item() for name, values in numbers.items()}
    return results


@kept(16)
def _prepared(rows: Rows, unit: bool, device: torch.device) -> tuple[TrainingData, TrainingData]:
    """Training and test rows on the device; kept, for many batches use them."""
    train = TrainingData.of(rows.x_train, rows.y_train, unit=unit, device=device)
    return train, TrainingData.of(rows.x_test, rows.y_test, unit=unit, device=device)


def _recipe(runs: Sequence[RunSpec], n_features: int, device: torch.device) -> Recipe:
    run = runs[0]
    course = Course(run.batch_size, run.max_epochs, run.plateau_patience, run.stopping_patience)
    by_loss = run.training in RULES
    # One seed for all of a restart: runs that differ in a hyperparameter see the same batches.
    seeds = [seed_of(run, BATCHES, 0 if by_loss else other.restart) for other in runs]
    replicas = Replicas(
        torch.tensor([other.learning_rate for other in runs], dtype=torch.float64, device=device),
        torch.tensor([other.weight_decay for other in runs], dtype=torch.float64, device=device),
        torch.tensor(seeds, dtype=torch.int64, device=device),
    )
    return Recipe(
        start=_start(run, n_features, device),
        replicas=replicas,
        bound=BoundTerms(float(split_delta(run.delta, run.n_priors)), run.constant, run.objective),
        course=course if by_loss else SOLVERS[run.solver].course or course,
        solver=run.solver,
        epochs=EpochChoice(run.validation_fraction, seed_of(run, VALIDATION), RULES.get(run.training, ())),
    )


def _start(run: RunSpec, n_features: int, device: torch.device) -> Start:
    weights = initial_weights(
        n_features,
        run.hidden_layer_sizes,
        initialisation=run.initialisation,
        generator=torch.Generator().manual_seed(seed_of(run, WEIGHTS)),
    )
    aggregation: Aggregation = Fourier(most_nodes=TRAINING_NODES)
    if run.n_samples is not None:
        generator = torch.Generator(device).manual_seed(seed_of(run, SAMPLING))
        aggregation = MonteCarlo(run.n_samples, generator)
    return Start(weights, aggregation)


def seed_of(run: RunSpec, use: int, restart: int = 0) -> int:
    """Return the seed of a run for one use."""
    words = [run.split_seed, run.seed, use, restart]
    return int(np.random.SeedSequence(words).generate_state(1, np.uint32)[0])
