"""The paper's learning algorithms, each by name (Section 6 and "Learning algorithms details").

All train R replicas side by side and return the best one. What a certificate says about the
result never depends on how the posterior was found, only on the prior.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbgnet.networks import AggregatedNetwork, TanhNetwork
from pbgnet.training.data import TrainingData
from pbgnet.training.evaluation import Trainable, empirical_loss
from pbgnet.training.history import History
from pbgnet.training.journal import Journal
from pbgnet.training.loop import Measure
from pbgnet.training.objectives import Catoni, LinearLoss, Objective, Seeger
from pbgnet.training.priors import train_prior
from pbgnet.training.recipe import FitResult, Recipe
from pbgnet.training.selection import best_replica, nan_last
from pbgnet.training.solvers import SOLVERS, Course, Problem, polish, solve_adam

__all__ = ["ALGORITHMS", "Algorithm", "FitResult", "Recipe"]


def fit_mlp(recipe: Recipe, examples: TrainingData, prior_examples: TrainingData | None) -> FitResult:
    """MLP: tanh activations, linear loss with weight decay; epoch and decay chosen on 20 % of the rows."""
    start = recipe.first_weights()
    network = TanhNetwork(recipe.replicate(start, len(recipe.weight_decay) * recipe.n_restarts))
    with recipe.journal() as journal:
        _, validation = _fit_loss(recipe, network, examples, journal)
    best = best_replica(validation)
    chosen = TanhNetwork([w[best].double().cpu() for w in network.weights])
    return FitResult(chosen, journal.history.of_replica(best), "none", journal.interrupted)


def fit_pbgnet_l(recipe: Recipe, examples: TrainingData, prior_examples: TrainingData | None) -> FitResult:
    """PBGNet_l: linear loss with weight decay; epoch and decay chosen on 20 % of the rows."""
    network, start = _fresh(recipe, len(recipe.weight_decay) * recipe.n_restarts)
    with recipe.journal() as journal:
        _, validation = _fit_loss(recipe, network, examples, journal)
    return _result(network, start, journal, best_replica(validation), "random")


def fit_pbgnet_l_bnd(
    recipe: Recipe, examples: TrainingData, prior_examples: TrainingData | None
) -> FitResult:
    """PBGNet_l-bnd: linear loss with weight decay; epoch chosen by the bound, decay on 20 % of the rows."""
    n_decays = len(recipe.weight_decay)
    network, start = _fresh(recipe, n_decays * recipe.n_restarts)
    # All replicas start at the same prior.
    exact = Seeger(
        [prior[:1] for prior in network.prior_weights], len(examples), recipe.delta, recipe.constant
    )

    def bound(trained: Trainable, record: dict[str, Tensor]) -> dict[str, Tensor]:
        divergence = exact.penalty(list(trained.weights))
        return {"divergence": divergence, "bound": exact.value(record["loss"], divergence)}

    with recipe.journal() as journal:
        bounds, validation = _fit_loss(recipe, network, examples, journal, monitor="bound", measure=bound)
    # Within each decay the bound decides between restarts; between decays the validation loss does.
    by_decay = nan_last(bounds).reshape(recipe.n_restarts, n_decays).argmin(dim=0)
    candidates = by_decay * n_decays + torch.arange(n_decays, device=by_decay.device)
    best = int(candidates[best_replica(validation[candidates])])
    return _result(network, start, journal, best, "random")


def fit_pbgnet(recipe: Recipe, examples: TrainingData, prior_examples: TrainingData | None) -> FitResult:
    """PBGNet: the bound itself, from a random prior that is also the starting point."""
    network, start = _fresh(recipe, recipe.n_restarts)
    with recipe.journal() as journal:
        best = _fit_bound(recipe, network, examples, journal)
    return _result(network, start, journal, best, "random")


def fit_pbgnet_pre(recipe: Recipe, examples: TrainingData, prior_examples: TrainingData | None) -> FitResult:
    """PBGNet_pre: the bound, from a prior trained on other rows by the linear loss."""
    assert prior_examples is not None
    if recipe.prior_course is not None:
        return _fit_from_thorough_prior(recipe, examples, prior_examples)
    single, _ = _fresh(recipe, 1)
    with recipe.journal() as journal:
        _pretrain(recipe, single, prior_examples, journal)
        before = journal.history.of_replica(0)
        journal.history = History()
        learned = [w.detach()[0].double().cpu() for w in single.weights]
        network = AggregatedNetwork(
            recipe.replicate(learned, recipe.n_restarts), aggregation=recipe.aggregation
        )
        best = _fit_bound(recipe, network, examples, journal)
    result = _result(network, learned, journal, best, "pretrained")
    return replace(result, history=before + result.history)


def _fit_from_thorough_prior(
    recipe: Recipe, examples: TrainingData, prior_examples: TrainingData
) -> FitResult:
    """Train the prior until it is good, and descend the bound from it.

    Adam would leave such a prior at once and pay for the way back. L-BFGS takes no step that does not
    lower the bound, so the posterior is never worse than the prior itself. It needs an exact objective;
    where the aggregate is estimated the posterior is the prior.
    """
    assert recipe.prior_course is not None
    with recipe.journal() as journal:
        prior = train_prior(recipe, recipe.prior_course, prior_examples, journal)
        journal.history = History()
        network = AggregatedNetwork(recipe.replicate(prior.weights, 1), aggregation=recipe.aggregation)
        exact = Seeger(network.prior_weights, len(examples), recipe.delta, recipe.constant)
        rates = torch.zeros(1, dtype=torch.float64, device=recipe.device)
        problem = Problem(network, examples, exact, recipe.seeds(1), rates)
        if not recipe.aggregation.generators():
            polish(problem, recipe.course.max_iterations, journal, "bound, polish")
        _final_bounds(recipe, network, examples, journal)
    result = _result(network, prior.weights, journal, 0, "pretrained")
    return replace(result, history=prior.history + result.history, prior_choice=prior.choice)


@dataclass(frozen=True)
class Algorithm:
    """A learning algorithm of the paper.

    Attributes
    ----------
    name, summary : str
    fit : callable
    certified : bool
        Whether the result has a certificate.
    minimises_bound : bool
        Whether the bound is the objective; the others minimise the loss, by Adam alone.
    uses_prior_rows : bool
        Whether part of the rows trains the prior instead of being certified.
    default_weight_decay : tuple of float
        Candidates where the user names none.
    """

    name: str
    summary: str
    fit: Callable[[Recipe, TrainingData, TrainingData | None], FitResult]
    certified: bool = True
    minimises_bound: bool = False
    uses_prior_rows: bool = False
    default_weight_decay: tuple[float, ...] = field(default=(0.0,))


# The paper's grid for the algorithms that select the weight decay.
WEIGHT_DECAYS = (0.0, 1e-4, 1e-6)

ALGORITHMS: dict[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm(
            "mlp",
            "tanh network, linear loss: no certificate",
            fit_mlp,
            certified=False,
            default_weight_decay=WEIGHT_DECAYS,
        ),
        Algorithm(
            "pbgnet_l",
            "linear loss, selected on validation rows",
            fit_pbgnet_l,
            default_weight_decay=WEIGHT_DECAYS,
        ),
        Algorithm(
            "pbgnet_l_bnd",
            "linear loss, selected by the bound",
            fit_pbgnet_l_bnd,
            default_weight_decay=WEIGHT_DECAYS,
        ),
        Algorithm("pbgnet", "the bound, from a random prior", fit_pbgnet, minimises_bound=True),
        Algorithm(
            "pbgnet_pre",
            "the bound, from a prior trained on other rows",
            fit_pbgnet_pre,
            minimises_bound=True,
            uses_prior_rows=True,
        ),
    )
}


def _fresh(recipe: Recipe, count: int) -> tuple[AggregatedNetwork, list[Tensor]]:
    """Replicas of the network at the random prior, and that prior in float64."""
    start = recipe.first_weights()
    return AggregatedNetwork(recipe.replicate(start, count), aggregation=recipe.aggregation), start


def _result(
    network: AggregatedNetwork, prior: Sequence[Tensor], journal: Journal, best: int, kind: str
) -> FitResult:
    """Take one replica out, in float64, with its exact prior."""
    posterior = [w.detach()[best].double().cpu() for w in network.weights]
    chosen = AggregatedNetwork(posterior, prior)
    return FitResult(chosen, journal.history.of_replica(best), kind, journal.interrupted)


def _fit_loss(
    recipe: Recipe,
    network: Trainable,
    examples: TrainingData,
    journal: Journal,
    monitor: str = "validation",
    measure: Measure = lambda network, record: {},
) -> tuple[Tensor, Tensor]:
    """Minimise the linear loss for all decays side by side.

    Return the monitored number of each replica, and its validation loss.
    """
    decays = torch.tensor(recipe.weight_decay * recipe.n_restarts, dtype=torch.float64, device=recipe.device)
    order = np.random.default_rng(recipe.batch_seed).permutation(len(examples))
    n_validation = max(1, round(recipe.validation_fraction * len(examples)))
    held, used = _split(examples, order[:n_validation]), _split(examples, order[n_validation:])

    def measure_all(trained: Trainable, record: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"validation": empirical_loss(trained, held)} | measure(trained, record)

    rates = recipe.learning_rate * torch.ones_like(decays)
    objective = LinearLoss.of(list(network.weights), decays)
    problem = Problem(network, used, objective, recipe.seeds(len(decays)), rates, measure_all, monitor)
    solve_adam(problem, recipe.course, journal, "loss")
    final = measure_all(network, {"loss": empirical_loss(network, used)})
    return final[monitor], final["validation"]


def _pretrain(recipe: Recipe, network: AggregatedNetwork, examples: TrainingData, journal: Journal) -> None:
    """Minimise the linear loss on the prior rows for a number of epochs (paper: 20); the best one counts.

    The seed of its batches is its own, so that the number of restarts does not change the prior.
    """
    decay = torch.zeros(1, dtype=torch.float64, device=recipe.device)
    rates = torch.full_like(decay, recipe.learning_rate)
    objective = LinearLoss.of(list(network.weights), decay)
    problem = Problem(network, examples, objective, recipe.prior_batch_seed(), rates)
    course = Course(recipe.pretraining_batch_size, recipe.pretraining_epochs)
    solve_adam(problem, course, journal, "prior")


def _fit_bound(recipe: Recipe, network: AggregatedNetwork, examples: TrainingData, journal: Journal) -> int:
    """Minimise the bound; return the replica with the smallest one over all rows."""
    objective = _bound_objective(recipe, network, len(examples))
    count = recipe.n_restarts
    problem = Problem(network, examples, objective, recipe.seeds(count), recipe.rates(count))
    if not journal.interrupted:
        SOLVERS[recipe.solver](problem, recipe.course, journal, "bound")
    return best_replica(_final_bounds(recipe, network, examples, journal))


def _final_bounds(
    recipe: Recipe, network: AggregatedNetwork, examples: TrainingData, journal: Journal
) -> Tensor:
    """Compute the bound of each replica over all rows, and write it down."""
    exact = Seeger(network.prior_weights, len(examples), recipe.delta, recipe.constant)
    loss, divergence = empirical_loss(network, examples), exact.penalty(list(network.weights))
    bounds = exact.value(loss, divergence)
    journal.history.append(phase="final", epoch=0, loss=loss, penalty=divergence, objective=bounds)
    return bounds


def _bound_objective(recipe: Recipe, network: AggregatedNetwork, n: int) -> Objective:
    prior = network.prior_weights
    if recipe.objective == "seeger":
        return Seeger(prior, n, recipe.delta, recipe.constant)
    log_c = torch.zeros(recipe.n_restarts, dtype=torch.float64, device=recipe.device)
    return Catoni(prior, n, recipe.delta, log_c, recipe.constant)


def _split(examples: TrainingData, rows: NDArray[np.intp]) -> TrainingData:
    return examples.take(torch.from_numpy(rows).to(examples.y.device))
