"""A prior trained until it is good, with every choice made among its own rows.

With a pre-trained prior the divergence is a nat or two, so the certificate is nearly that of the prior
itself. Everything that S0, the prior rows, can decide is free: initial weights, decay, factors that saturate
the margins. A validation part of S0 decides, then all of S0 trains the winner.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbgnet.networks import AggregatedNetwork, zero_one_loss
from pbgnet.training.callbacks import LinearDecay
from pbgnet.training.data import Batches, TrainingData
from pbgnet.training.evaluation import empirical_loss, empirical_means
from pbgnet.training.history import History
from pbgnet.training.journal import Journal
from pbgnet.training.loop import fit
from pbgnet.training.objectives import LinearLoss
from pbgnet.training.recipe import PriorChoice, PriorCourse, Recipe
from pbgnet.training.selection import best_replica, nan_last

__all__ = ["TrainedPrior", "train_prior"]

# Second word of the seed that draws the validation rows.
VALIDATION_DRAW = 2

# Rows whose margins are computed at a time.
CHUNK_ROWS = 8192


@dataclass(frozen=True, eq=False)
class TrainedPrior:
    """A prior and how it came about.

    Attributes
    ----------
    weights : list of Tensor
        Float64 on the CPU, first layer first.
    choice : PriorChoice
    history : list of dict
        Epochs of the winner, first without the validation rows, then with them.
    """

    weights: list[Tensor]
    choice: PriorChoice
    history: list[dict[str, float | int | str]]


@dataclass(frozen=True)
class _Candidate:
    """One way to train."""

    deviation: float
    weight_decay: float


def train_prior(
    recipe: Recipe, course: PriorCourse, examples: TrainingData, journal: Journal
) -> TrainedPrior:
    """Train a prior on all examples, as a part of them chose.

    Parameters
    ----------
    recipe : Recipe
        Architecture, learning rate, seeds and device.
    course : PriorCourse
    examples : TrainingData
        The prior rows; rows that are to be certified must not be among them.
    journal : Journal
        Interrupted while candidates are compared, the best one so far is taken as it is.

    Returns
    -------
    TrainedPrior
    """
    candidates = [_Candidate(*pair) for pair in itertools.product(course.deviations, course.weight_decay)]
    held, used = _set_apart(recipe, course, examples)
    n_epochs = course.n_epochs(len(used))
    trial = _train(recipe, course, candidates, used, n_epochs, journal, "prior, choice")
    factors, losses = _best_factors(course, trial, held)
    best = best_replica(losses)
    candidate, chosen = candidates[best], trial.take(torch.tensor([best], device=recipe.device))
    validated = _multiplied(chosen, *factors[best])
    history = journal.history.of_replica(best)
    prior, retrained = validated, len(used) < len(examples) and not journal.interrupted
    if retrained:
        journal.history = History()
        again = _train(recipe, course, [candidate], examples, n_epochs, journal, "prior")
        prior = _multiplied(again, *factors[best])
        history += journal.history.of_replica(0)
    choice = PriorChoice(
        candidate.deviation,
        candidate.weight_decay,
        *factors[best],
        n_epochs=n_epochs,
        validation_loss=float(losses[best]),
        validation_error=float(empirical_means(validated, held, zero_one_loss)[0, 0]),
        margins=_margins(validated, held) if len(used) < len(examples) else np.empty(0),
        retrained=retrained,
    )
    return TrainedPrior([w.detach()[0].double().cpu() for w in prior.weights], choice, history)


def _set_apart(
    recipe: Recipe, course: PriorCourse, examples: TrainingData
) -> tuple[TrainingData, TrainingData]:
    """Draw the validation rows; return them and the others. A single row is both."""
    if len(examples) < 2:
        return examples, examples
    order = np.random.default_rng([recipe.batch_seed, VALIDATION_DRAW]).permutation(len(examples))
    count = min(max(1, round(course.validation_fraction * len(examples))), len(examples) - 1)
    rows = torch.from_numpy(order).to(recipe.device)
    return examples.take(rows[:count]), examples.take(rows[count:])


def _train(
    recipe: Recipe,
    course: PriorCourse,
    candidates: Sequence[_Candidate],
    examples: TrainingData,
    n_epochs: int,
    journal: Journal,
    phase: str,
) -> AggregatedNetwork:
    """Minimise the linear loss for all candidates side by side; they share seeds of weights and batches."""
    start = [
        torch.stack([_spread(weight, c.deviation) for c in candidates]).to(recipe.device, recipe.dtype)
        for weight in recipe.first_weights()
    ]
    network = AggregatedNetwork(start, aggregation=recipe.aggregation)
    decays = torch.tensor([c.weight_decay for c in candidates], dtype=torch.float64, device=recipe.device)
    fit(
        network,
        Batches(examples, course.batch_size, recipe.prior_batch_seed().expand(len(candidates))),
        LinearLoss.of(list(network.weights), decays),
        learning_rate=torch.full_like(decays, recipe.learning_rate),
        max_epochs=n_epochs,
        callbacks=[LinearDecay(n_epochs, course.last_rate)],
        journal=journal,
        phase=phase,
    )
    return network


def _spread(weight: Tensor, deviation: float) -> Tensor:
    """Stretch Xavier normal weights to a standard deviation; that of the pre-activations is the same.

    The rows that the first layer sees have length 1, and the others divide by theirs.
    """
    neurons, inputs = weight.shape[0], weight.shape[1] - 1
    return weight * (deviation * math.sqrt((neurons + inputs) / 2.0))


def _best_factors(
    course: PriorCourse, network: AggregatedNetwork, held: TrainingData
) -> tuple[list[tuple[float, float]], Tensor]:
    """Return, for each replica, the factors with the smallest loss on the validation rows, and that loss."""
    pairs = list(itertools.product(course.first_factors, course.later_factors))
    losses = torch.stack([empirical_loss(_multiplied(network, *pair), held) for pair in pairs])
    smallest, index = nan_last(losses).min(dim=0)
    diverged = losses.isnan().all(dim=0)
    return [pairs[i] for i in index.tolist()], torch.where(diverged, torch.nan, smallest)


def _multiplied(network: AggregatedNetwork, first: float, later: float) -> AggregatedNetwork:
    """Return a copy with the weights of the first layer and of the others multiplied."""
    head, *rest = (weight.detach() for weight in network.weights)
    return AggregatedNetwork([first * head, *(later * w for w in rest)], aggregation=network.aggregation)


@torch.no_grad()
def _margins(network: AggregatedNetwork, held: TrainingData) -> NDArray[np.float64]:
    """Return y G of a single replica on all rows, float64."""
    single = AggregatedNetwork([w.detach()[0] for w in network.weights], aggregation=network.aggregation)
    parts = [part.y * single.output(part.rows, validate_args=False) for part in held.chunks(CHUNK_ROWS)]
    return np.asarray(torch.cat(parts).double().clamp(-1.0, 1.0).cpu().numpy())
