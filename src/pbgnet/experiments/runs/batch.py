"""Trains a batch of runs side by side, and evaluates every resulting network.

Runs of a batch differ only in learning rate, weight decay and restart, and possibly in split, seed and the T
of Monte Carlo. Their networks have one shape and see rows of one table, so they are replicas of one training.
"""

from collections.abc import Callable, Sequence
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

# Enough for every network worth selecting; high rates would make the others ten times as expensive.
TRAINING_NODES = 32

# What picks the epoch if the loss is minimised.
RULES = {"mlp": ("validation",), "loss": ("validation", "bound")}


@dataclass(frozen=True, eq=False)  # compared by identity, so that what is derived from them can be cached
class Table:
    """Examples and labels: arrays (n, d) and (n,), labels -1 and 1."""

    x: np.ndarray
    y: np.ndarray


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table that a run is trained and tested on, by index."""

    table: Table
    train: np.ndarray
    test: np.ndarray


# Up to this T a GPU trains runs with different T faster side by side than apart; beyond it, each fills it.
MOST_JOINED_SAMPLES = 1000


def batches_of(runs: Sequence[RunSpec], *, join: bool = False) -> list[list[RunSpec]]:
    """Group runs that can be trained side by side, in the order of the first of each group.

    Joining also groups splits of one table, and different T that are not large. It pays off if many networks
    take hardly longer than one. Otherwise it only takes memory and time: every split then needs its own copy
    of its rows, and plain PyTorch draws the largest T for all.
    """
    groups: dict[RunSpec, list[RunSpec]] = {}
    for run in runs:
        kind = replace(run, learning_rate=0.0, weight_decay=0.0, restart=0)
        if join:
            few = run.n_samples is not None and run.n_samples <= MOST_JOINED_SAMPLES
            kind = replace(
                kind, split_seed=0, seed=0, n_samples=MOST_JOINED_SAMPLES if few else run.n_samples
            )
        groups.setdefault(kind, []).append(run)
    return list(groups.values())


def train_batch(
    runs: Sequence[RunSpec],
    source: Callable[[RunSpec], Rows],
    device: torch.device,
    journal: Journal | None = None,
) -> list[dict[str, dict[str, float]]]:
    """Train runs of one batch; return the numbers of each, by the rule that picked the epoch.

    The source maps a run to its rows, and runs of one split to the same object.
    """
    journal, run = journal or Journal(), runs[0]
    examples, test = _examples(runs, source, device)
    recipe = _recipe(runs, examples, device)
    if run.training == "pretrained":
        prior_examples, examples = examples.shares(run.prior_fraction, _seeds(runs, PRIOR_ROWS, examples))
        short = Course(run.batch_size, run.pretraining_epochs, run.plateau_patience, run.stopping_patience)
        seeds = _seeds(runs, PRIOR_BATCHES, examples)
        prior = PriorTraining(prior_examples, short, recipe.replicas.learning_rate, seeds)
        recipe = replace(recipe, prior=prior)
    trained = TRAININGS[run.training](recipe, examples, journal)
    if journal.interrupted:  # a training that was cut short has no result
        raise KeyboardInterrupt
    results: list[dict[str, dict[str, float]]] = [{} for _ in runs]
    for rule, pick in trained.picks.items():
        network = trained.at(rule)
        numbers = {} if trained.held is None else {"validation_loss": empirical_loss(network, trained.held)}
        numbers |= judge(network, run, examples, test) | {"epoch": pick.epoch}
        for r, result in enumerate(results):
            result[rule] = {name: values[r].item() for name, values in numbers.items()}
    return results


def _examples(
    runs: Sequence[RunSpec], source: Callable[[RunSpec], Rows], device: torch.device
) -> tuple[TrainingData, TrainingData]:
    """Return training and test rows; several splits are pools of one table, a pool for each run."""
    unit = runs[0].training != "mlp"
    found: dict[tuple[int, int], Rows] = {}
    for run in runs:
        if (run.split_seed, run.seed) not in found:
            found[run.split_seed, run.seed] = source(run)
    first, *others = found.values()
    if not others:
        return _prepared(first, unit, device)
    table = _prepared_table(first.table, unit, device)
    rows = [found[run.split_seed, run.seed] for run in runs]
    train, test = (
        torch.from_numpy(np.stack(part)).to(device)
        for part in ([one.train for one in rows], [one.test for one in rows])
    )
    return replace(table, pools=train), replace(table, pools=test)


@kept(16)
def _prepared(rows: Rows, unit: bool, device: torch.device) -> tuple[TrainingData, TrainingData]:
    """Training and test rows on the device; cached, because many batches use them."""
    x, y = rows.table.x, rows.table.y
    train, test = (
        TrainingData.of(x[part], y[part], unit=unit, device=device) for part in (rows.train, rows.test)
    )
    return train, test


@kept(6)
def _prepared_table(table: Table, unit: bool, device: torch.device) -> TrainingData:
    return TrainingData.of(table.x, table.y, unit=unit, device=device)


def _recipe(runs: Sequence[RunSpec], examples: TrainingData, device: torch.device) -> Recipe:
    run = runs[0]
    course = Course(run.batch_size, run.max_epochs, run.plateau_patience, run.stopping_patience)
    by_loss = run.training in RULES
    # One seed for a whole restart: runs that differ in a hyperparameter see the same batches.
    seeds = [seed_of(other, BATCHES, 0 if by_loss else other.restart) for other in runs]
    replicas = Replicas(
        torch.tensor([other.learning_rate for other in runs], dtype=torch.float64, device=device),
        torch.tensor([other.weight_decay for other in runs], dtype=torch.float64, device=device),
        torch.tensor(seeds, dtype=torch.int64, device=device),
    )
    return Recipe(
        start=_start(runs, examples, device),
        replicas=replicas,
        bound=BoundTerms(float(split_delta(run.delta, run.n_priors)), run.constant, run.objective),
        course=course if by_loss else SOLVERS[run.solver].course or course,
        solver=run.solver,
        epochs=EpochChoice(
            run.validation_fraction, _seeds(runs, VALIDATION, examples), RULES.get(run.training, ())
        ),
    )


def _start(runs: Sequence[RunSpec], examples: TrainingData, device: torch.device) -> Start:
    run = runs[0]
    drawn = [
        initial_weights(
            examples.rows.shape[-1] - 1,
            one.hidden_layer_sizes,
            initialisation=one.initialisation,
            generator=torch.Generator().manual_seed(seed_of(one, WEIGHTS)),
        )
        for one in (runs[:1] if examples.pools is None else runs)
    ]
    weights = drawn[0] if examples.pools is None else [torch.stack(ws) for ws in zip(*drawn, strict=True)]
    aggregation: Aggregation = Fourier(most_nodes=TRAINING_NODES)
    if run.n_samples is not None:
        generator = torch.Generator(device).manual_seed(seed_of(run, SAMPLING))
        aggregation = MonteCarlo(_sample_counts(runs), generator)
    return Start(weights, aggregation)


def _sample_counts(runs: Sequence[RunSpec]) -> int | tuple[int, ...]:
    """Return the T of all runs, or that of each."""
    counts = tuple(run.n_samples for run in runs if run.n_samples is not None)
    return counts[0] if len(set(counts)) == 1 else counts


def _seeds(runs: Sequence[RunSpec], use: int, examples: TrainingData) -> int | list[int]:
    """Return the seed of the only split, or those of all runs."""
    return seed_of(runs[0], use) if examples.pools is None else [seed_of(run, use) for run in runs]


def seed_of(run: RunSpec, use: int, restart: int = 0) -> int:
    """Return the seed of a run for one purpose."""
    words = [run.split_seed, run.seed, use, restart]
    return int(np.random.SeedSequence(words).generate_state(1, np.uint32)[0])
