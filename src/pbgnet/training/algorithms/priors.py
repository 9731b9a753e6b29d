"""A prior trained until it is good, with every choice made among its own rows.

With a pre-trained prior the divergence is a nat or two, so the certificate is nearly that of the prior
itself. Everything that S0, the prior rows, can decide is free: initial weights, decay, factors that saturate
the margins. A validation part of S0 decides, then all of S0 trains the winner.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbgnet.networks import AggregatedNetwork, zero_one_loss
from pbgnet.training.algorithms.prior_course import PriorChoice, PriorCourse
from pbgnet.training.algorithms.recipe import PriorTraining, Start
from pbgnet.training.algorithms.selection import best_replica, nan_last
from pbgnet.training.solvers import Course, Journal, LinearDecay, Problem, fit
from pbgnet.training.steps import LinearLoss, TrainingData, empirical_loss, empirical_means

# Rows whose margins are computed at a time.
CHUNK_ROWS = 8192

Candidate = tuple[float, float]
"""One way to train: a deviation and a weight decay."""


def train_prior(
    start: Start, prior: PriorTraining, course: PriorCourse, journal: Journal
) -> tuple[list[Tensor], PriorChoice]:
    """Train a prior on all its rows, as a part of them chose; return weights, float64 on the CPU, and choice.

    The journal keeps the epochs of the winner, first without the validation rows, then with them.
    Interrupted while candidates are compared, the best one so far is taken as it is.
    """
    candidates, examples = list(itertools.product(course.deviations, course.weight_decay)), prior.examples
    held, used = examples.shares(course.validation_fraction, prior.validation_seed)
    n_epochs = course.n_epochs(len(used))
    trial = _train(start, prior, course, candidates, used, n_epochs, journal, "prior, choice")
    factors, losses = _best_factors(course, trial, held)
    best = best_replica(losses)
    chosen = torch.tensor([best], device=losses.device)
    journal.history.take(chosen)
    validated = _multiplied(trial.take(chosen), *factors[best])
    trained, retrained = validated, len(used) < len(examples) and not journal.interrupted
    if retrained:
        again = _train(start, prior, course, [candidates[best]], examples, n_epochs, journal, "prior")
        trained = _multiplied(again, *factors[best])
    choice = PriorChoice(
        *candidates[best],
        *factors[best],
        n_epochs=n_epochs,
        validation_loss=float(losses[best]),
        validation_error=float(empirical_means(validated, held, zero_one_loss)[0, 0]),
        margins=_margins(validated, held) if len(used) < len(examples) else np.empty(0),
        retrained=retrained,
    )
    return [w.detach()[0].double().cpu() for w in trained.weights], choice


def _train(
    start: Start,
    prior: PriorTraining,
    course: PriorCourse,
    candidates: Sequence[Candidate],
    examples: TrainingData,
    n_epochs: int,
    journal: Journal,
    phase: str,
) -> AggregatedNetwork:
    """Minimise the linear loss for all candidates side by side; they share seeds of weights and batches."""
    deviations, decays = zip(*candidates, strict=True)
    weights = [
        torch.stack([_spread(weight, deviation) for deviation in deviations]).to(examples.y)
        for weight in start.weights
    ]
    network = AggregatedNetwork(weights, aggregation=start.aggregation)
    rates = prior.learning_rate[:1].repeat(len(candidates))
    objective = LinearLoss.of(list(network.weights), rates.new_tensor(decays))
    seeds = torch.full_like(rates, prior.batch_seed, dtype=torch.int64)
    problem = Problem(network, examples, objective, seeds, rates)
    decay = LinearDecay(n_epochs, course.last_rate)
    fit(problem, Course(course.batch_size, n_epochs), journal, phase, callbacks=[decay])
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
