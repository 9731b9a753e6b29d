"""The trainings behind the paper's algorithms, each by name (Section 6 and "Learning algorithms details").

All train R replicas side by side and return all of them. What a certificate says about a network never
depends on how the posterior was found, only on the prior.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from pbgnet.networks import AggregatedNetwork, TanhNetwork
from pbgnet.training.algorithms.prior_course import PriorCourse
from pbgnet.training.algorithms.priors import train_prior
from pbgnet.training.algorithms.recipe import PriorTraining, Recipe, Start
from pbgnet.training.algorithms.trained import Trained
from pbgnet.training.solvers import SOLVERS, Course, Journal, Pick, Problem, descend, polish
from pbgnet.training.steps import LinearLoss, Seeger, Trainable, TrainingData, empirical_loss

Training = Callable[[Recipe, TrainingData, Journal], Trained]
"""Maps a recipe, the examples and a journal to all networks."""


def train_tanh(recipe: Recipe, examples: TrainingData, journal: Journal) -> Trained:
    """Minimise the linear loss of tanh networks with weight decay."""
    network = TanhNetwork(recipe.start.replicated(len(recipe.replicas), examples))
    return _minimise_loss(recipe, network, None, examples, journal)


def train_by_loss(recipe: Recipe, examples: TrainingData, journal: Journal) -> Trained:
    """Minimise the linear loss of the aggregate with weight decay."""
    network = recipe.start.network(len(recipe.replicas), examples)
    exact = recipe.bound.seeger([w.to(examples.y) for w in recipe.start.prior], len(examples))
    trained = _minimise_loss(recipe, network, exact, examples, journal)
    return replace(trained, prior_kind="random", prior=recipe.start.prior)


def train_by_bound(recipe: Recipe, examples: TrainingData, journal: Journal) -> Trained:
    """Minimise the bound from a random prior that is also the starting point."""
    network = recipe.start.network(len(recipe.replicas), examples)
    trained = _minimise_bound(recipe, network, examples, journal)
    return replace(trained, prior_kind="random", prior=recipe.start.prior)


def train_from_trained_prior(recipe: Recipe, examples: TrainingData, journal: Journal) -> Trained:
    """Minimise the bound from a prior that was trained on other rows with the linear loss."""
    assert recipe.prior is not None
    course = recipe.prior.course
    if isinstance(course, PriorCourse):
        return _train_from_thorough_prior(recipe, recipe.prior, course, examples, journal)
    network = _pretrained(recipe.start, recipe.prior, course, journal)
    return _minimise_bound(recipe, network, examples, journal)


TRAININGS: dict[str, Training] = {
    "mlp": train_tanh,
    "loss": train_by_loss,
    "bound": train_by_bound,
    "pretrained": train_from_trained_prior,
}


def _minimise_loss(
    recipe: Recipe,
    network: AggregatedNetwork | TanhNetwork,
    exact: Seeger | None,
    examples: TrainingData,
    journal: Journal,
) -> Trained:
    """Minimise the linear loss on all but the validation rows; the rules pick the epochs."""
    assert recipe.epochs is not None
    rules, replicas = recipe.epochs.rules, recipe.replicas
    held, used = examples.shares(recipe.epochs.fraction, recipe.epochs.seed)

    def measure(trained: Trainable, record: dict[str, Tensor], members: Tensor) -> dict[str, Tensor]:
        numbers = {"validation": empirical_loss(trained, held.of_replicas(members))}
        if exact is not None and "bound" in rules:
            theirs = exact.take(members)
            divergence = theirs.penalty(list(trained.weights))
            numbers |= {"divergence": divergence, "bound": theirs.value(record["loss"], divergence)}
        return numbers

    objective = LinearLoss.of(list(network.weights), replicas.weight_decay)
    problem = Problem(network, used, objective, replicas.batch_seeds, replicas.learning_rate, measure, rules)
    picks = descend(problem, recipe.course, journal, "loss")
    return Trained(network, problem, picks, prior_kind="none", held=held)


def _minimise_bound(
    recipe: Recipe, network: AggregatedNetwork, examples: TrainingData, journal: Journal
) -> Trained:
    """Minimise the bound from the prior of the network."""
    prior, replicas = network.prior_weights, recipe.replicas
    objective = recipe.bound.minimised(prior, len(examples), replicas)
    problem = Problem(network, examples, objective, replicas.batch_seeds, replicas.learning_rate)
    epoch = torch.zeros_like(replicas.learning_rate)
    if not journal.interrupted:
        epoch = SOLVERS[recipe.solver].solve(problem, recipe.course, journal, "bound")
    return _of_bound(network, problem, epoch)


def _of_bound(network: AggregatedNetwork, problem: Problem, epoch: Tensor) -> Trained:
    pick = Pick(epoch, [w.detach() for w in network.weights])
    return Trained(network, problem, {"objective": pick}, "pretrained", network.prior_weights)


def _pretrained(start: Start, prior: PriorTraining, course: Course, journal: Journal) -> AggregatedNetwork:
    """Minimise the linear loss on the prior rows for a number of epochs (paper: 20); the best one counts."""
    firsts, of_replica = _different_priors(start, prior)
    rates = prior.learning_rate[firsts]
    priors = replace(start, aggregation=start.aggregation.take(firsts)).network(len(rates), prior.examples)
    objective = LinearLoss.of(list(priors.weights), torch.zeros_like(rates))
    seeds = prior.batch_seeds(len(rates))
    problem = Problem(priors, prior.examples, objective, seeds, rates, augmentation=prior.augmentation)
    descend(problem, course, journal, "prior")
    journal.history.take(of_replica)
    network = priors.take(of_replica)
    network.fix_prior()
    return network


def _different_priors(start: Start, prior: PriorTraining) -> tuple[Tensor, Tensor]:
    """Return the first replica of each prior, and the prior of each replica.

    There is one for each rate and method: restarts share it, to the last bit. If replicas have rows of their
    own, each has its own prior.
    """
    rates = prior.learning_rate
    everybody = torch.arange(len(rates), device=rates.device)
    if prior.examples.pools is not None:
        return everybody, everybody
    kinds = list(zip(rates.tolist(), start.aggregation.of_replicas(len(rates)), strict=True))
    number = {kind: k for k, kind in enumerate(dict.fromkeys(kinds))}
    of_replica = torch.tensor([number[kind] for kind in kinds], device=rates.device)
    return torch.tensor([kinds.index(kind) for kind in number], device=rates.device), of_replica


def _train_from_thorough_prior(
    recipe: Recipe, prior: PriorTraining, course: PriorCourse, examples: TrainingData, journal: Journal
) -> Trained:
    """Train the prior thoroughly, and minimise the bound from there; restarts would all be the same.

    Adam would leave such a prior immediately and pay for the way back. L-BFGS only takes steps that lower the
    bound, so the posterior is never worse than the prior itself. It needs an exact objective. If the
    aggregate is estimated, or the recipe says so, the posterior is the prior.
    """
    weights, choice = train_prior(recipe.start, prior, course, journal)
    network = Start(weights, recipe.start.aggregation).network(1, examples)
    exact = recipe.bound.seeger(network.prior_weights, len(examples))
    rates = torch.zeros_like(prior.learning_rate[:1])
    problem = Problem(network, examples, exact, recipe.replicas.batch_seeds[:1], rates)
    keeps_prior = recipe.keep_prior or bool(network.generators())
    if not keeps_prior:
        polish(problem, recipe.course.max_iterations, journal, "bound, polish")
    return replace(_of_bound(network, problem, rates), prior_choice=choice, keeps_prior=keeps_prior)
