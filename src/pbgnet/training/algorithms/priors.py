"""A thoroughly trained prior, with every choice made among its own rows.

With a pre-trained prior the divergence is a nat or two, so the certificate is nearly that of the prior
itself. Everything that the prior rows decide is free: initial weights, decay, factors that saturate the
margins. A validation part of the prior rows decides, and then all prior rows train the winner.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from pbgnet.networks import AggregatedNetwork, Code
from pbgnet.training.algorithms.held_answers import HeldAnswers, ask_held
from pbgnet.training.algorithms.prior_course import PriorChoice, PriorCourse
from pbgnet.training.algorithms.recipe import PriorTraining, Start
from pbgnet.training.algorithms.selection import best_replica, nan_last
from pbgnet.training.solvers import Course, Journal, LinearDecay, Problem, fit
from pbgnet.training.steps import (
    LINEAR,
    Criterion,
    LinearLoss,
    MarginCriterion,
    TrainingData,
    criterion_mean,
    log_criterion,
)

Candidate = tuple[float, float]
"""One way to train: a deviation and a weight decay."""


def train_prior(
    start: Start, prior: PriorTraining, course: PriorCourse, journal: Journal
) -> tuple[list[Tensor], PriorChoice]:
    """Train a prior on all its rows, as chosen on some of them; return float64 CPU weights, and the choice.

    The journal keeps the epochs of the winner, first without the validation rows, then with them. If it is
    interrupted while candidates are compared, the best one so far is used as it is.
    """
    candidates, examples = list(itertools.product(course.deviations, course.weight_decay)), prior.examples
    held, used = examples.shares(course.validation_fraction, prior.validation_seed)
    n_epochs = course.n_epochs(len(used))
    trial = _train(start, prior, course, candidates, used, n_epochs, journal, "prior, choice")
    factors, losses = _best_factors(course, trial, held, _last_criterion(prior, course))
    best = best_replica(losses)
    chosen = torch.tensor([best], device=losses.device)
    journal.history.take(chosen)
    validated = _multiplied(trial.take(chosen), *factors[best])
    trained, retrained = validated, len(used) < len(examples) and not journal.interrupted
    if retrained:
        again = _train(start, prior, course, [candidates[best]], examples, n_epochs, journal, "prior")
        trained = _multiplied(again, *factors[best])
    answers = _ask(validated, held, prior)
    has_held = len(used) < len(examples)
    choice = PriorChoice(
        *candidates[best],
        *factors[best],
        n_epochs=n_epochs,
        validation_loss=float(losses[best]),
        validation_error=answers.error,
        margins=answers.margins if has_held else np.empty(0),
        retrained=retrained,
        temperature=answers.temperature if has_held and not prior.code.separate else None,
        sharpened=_last_criterion(prior, course) is not LINEAR,
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
    """Train all candidates side by side; they share the seeds of weights and batches.

    One output is trained with the linear loss. That is a poor loss for several outputs, which learn with the
    cross-entropy of the classes, or with the log loss of each label. Their outputs are then soft, until the
    margins are trained too, or the factors sharpen them.
    """
    deviations, decays = zip(*candidates, strict=True)
    weights = [
        torch.stack([_spread(weight, deviation) for deviation in deviations]).to(examples.y)
        for weight in start.weights
    ]
    network = AggregatedNetwork(weights, aggregation=start.aggregation, patches=examples.patches)
    rates = prior.learning_rate[:1].repeat(len(candidates))
    seeds = prior.batch_seeds(len(candidates))

    def descend(criterion: Criterion, decay: Tensor, name: str) -> None:
        objective = LinearLoss.of(list(network.weights), decay)
        problem = Problem(
            network, examples, objective, seeds, rates, criterion=criterion, augmentation=prior.augmentation
        )
        falling = LinearDecay(n_epochs, course.last_rate)
        fit(problem, Course(course.batch_size, n_epochs), journal, name, callbacks=[falling])

    first = LINEAR if prior.code.n_outputs == 1 else log_criterion(prior.code, len(candidates), examples.y)
    descend(first, rates.new_tensor(decays), phase)
    last = _last_criterion(prior, course)
    if last is not LINEAR and not journal.interrupted:
        descend(last, torch.zeros_like(rates), f"{phase}, margins")
    return network


def _last_criterion(prior: PriorTraining, course: PriorCourse) -> Criterion:
    """Return the final criterion of a prior: the linear loss, or the margins of classes to be sharpened."""
    code = prior.code
    if course.sharpen and isinstance(code, Code) and not code.separate:
        return MarginCriterion.of(code)
    return LINEAR


def _spread(weight: Tensor, deviation: float) -> Tensor:
    """Scale Xavier normal weights to a standard deviation, which is also that of the pre-activations.

    The rows of the first layer have length 1, and the other layers divide by the length of theirs.
    """
    neurons, inputs = weight.shape[0], weight.shape[1] - 1
    return weight * (deviation * math.sqrt((neurons + inputs) / 2.0))


def _best_factors(
    course: PriorCourse, network: AggregatedNetwork, held: TrainingData, criterion: Criterion
) -> tuple[list[tuple[float, float]], Tensor]:
    """Return, for each replica, the factors with the smallest loss on the validation rows, and that loss."""
    pairs = list(itertools.product(course.first_factors, course.later_factors))
    losses = torch.stack([criterion_mean(_multiplied(network, *pair), held, criterion) for pair in pairs])
    smallest, index = nan_last(losses).min(dim=0)
    diverged = losses.isnan().all(dim=0)
    return [pairs[i] for i in index.tolist()], torch.where(diverged, torch.nan, smallest)


def _multiplied(network: AggregatedNetwork, first: float, later: float) -> AggregatedNetwork:
    """Return a copy with the weights of the first layer and of the others multiplied."""
    head, *rest = (weight.detach() for weight in network.weights)
    return _with_weights(network, [first * head, *(later * w for w in rest)])


def _with_weights(network: AggregatedNetwork, weights: Sequence[Tensor]) -> AggregatedNetwork:
    return AggregatedNetwork(weights, aggregation=network.aggregation, patches=network.architecture.patches)


def _ask(network: AggregatedNetwork, held: TrainingData, prior: PriorTraining) -> HeldAnswers:
    """Return the answers of a single replica on rows."""
    single = _with_weights(network, [w.detach()[0] for w in network.weights])
    return ask_held(single, held, prior.code)
