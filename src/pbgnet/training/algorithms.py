"""The paper's learning algorithms, each by name (Section 6 and "Learning algorithms details").

All train R replicas side by side and return the best one. What a certificate says about the
result never depends on how the posterior was found, only on the prior.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbgnet.aggregation import Aggregation
from pbgnet.bounds import differentiable, tree_divergence
from pbgnet.networks import AggregatedNetwork, TanhNetwork, initial_weights
from pbgnet.training.data import TrainingData
from pbgnet.training.evaluation import Trainable, empirical_loss
from pbgnet.training.history import History
from pbgnet.training.loop import Measure
from pbgnet.training.objectives import Catoni, LinearLoss, Objective, Seeger
from pbgnet.training.progress import Progress
from pbgnet.training.solvers import SOLVERS, Course, Problem, solve_adam

__all__ = ["ALGORITHMS", "Algorithm", "FitResult", "Recipe"]

# Restarts differ in the order of their batches and, to explore, in these multiples of the rate.
RATE_MULTIPLES = (1.0, 2.0, 0.5, 4.0, 0.25)


@dataclass(frozen=True)
class Recipe:
    """Everything an algorithm needs besides the examples.

    Attributes
    ----------
    n_features : int
    hidden_layer_sizes : tuple of int
    delta : float
        Failure probability of the bound, its share for one prior.
    constant : {"maurer", "paper"}
    objective : {"seeger", "catoni"}
        The form of the bound that is minimised; "catoni" learns C as the paper does.
    solver : {"hybrid", "adam"}
    course : Course
    learning_rate : float
    weight_decay : tuple of float
        Candidates; more than one only for the algorithms that select it.
    pretraining_epochs, pretraining_batch_size : int
    validation_fraction : float
    n_restarts : int
    aggregation : Aggregation
    prior_seed, batch_seed : int
    dtype, device
        Of the training; the result is float64 on the CPU.
    verbose : int
    """

    n_features: int
    hidden_layer_sizes: tuple[int, ...]
    delta: float
    constant: str
    objective: str
    solver: str
    course: Course
    learning_rate: float
    weight_decay: tuple[float, ...]
    pretraining_epochs: int
    pretraining_batch_size: int
    validation_fraction: float
    n_restarts: int
    aggregation: Aggregation
    prior_seed: int
    batch_seed: int
    dtype: torch.dtype = torch.float32
    device: str = "cpu"
    verbose: int = 0

    def first_weights(self) -> list[Tensor]:
        """Xavier normal weights from the prior's seed, float64 on the CPU."""
        generator = torch.Generator().manual_seed(self.prior_seed)
        return initial_weights(
            self.n_features, self.hidden_layer_sizes, generator=generator, dtype=torch.float64
        )

    def replicate(self, weights: Sequence[Tensor], count: int) -> list[Tensor]:
        """`count` copies of the weights in a leading axis, in the type and place of training."""
        return [w.to(self.device, self.dtype).expand(count, *w.shape).clone() for w in weights]

    def generators(self, count: int) -> list[torch.Generator]:
        """Give each replica its own source of batches, the same whatever the number of replicas."""
        seeds = np.random.SeedSequence(self.batch_seed).spawn(count)
        return [torch.Generator().manual_seed(int(seed.generate_state(1)[0])) for seed in seeds]

    def rates(self, count: int) -> Tensor:
        """First learning rates of the replicas, shape (R,)."""
        multiples = [RATE_MULTIPLES[r % len(RATE_MULTIPLES)] for r in range(count)]
        return self.learning_rate * torch.tensor(multiples, dtype=torch.float64, device=self.device)


@dataclass(frozen=True)
class FitResult:
    """A trained network and how it came about.

    Attributes
    ----------
    network : AggregatedNetwork or TanhNetwork
        One network in float64 on the CPU, its prior included.
    history : list of dict
        One record per epoch or iteration.
    prior_kind : {"random", "pretrained", "zero", "none"}
    """

    network: AggregatedNetwork | TanhNetwork
    history: list[dict[str, float | int | str]]
    prior_kind: str = "none"


def fit_mlp(recipe: Recipe, examples: TrainingData, prior_examples: TrainingData | None) -> FitResult:
    """MLP: tanh activations, linear loss with weight decay; epoch and decay chosen on 20 % of the rows."""
    start = recipe.first_weights()
    network = TanhNetwork(recipe.replicate(start, len(recipe.weight_decay) * recipe.n_restarts))
    history, _, validation = _fit_loss(recipe, network, examples)
    best = int(validation.argmin())
    return FitResult(
        TanhNetwork([w[best].double().cpu() for w in network.weights]), history.of_replica(best), "none"
    )


def fit_pbgnet_l(recipe: Recipe, examples: TrainingData, prior_examples: TrainingData | None) -> FitResult:
    """PBGNet_l: linear loss with weight decay; epoch and decay chosen on 20 % of the rows."""
    network, start = _fresh(recipe, len(recipe.weight_decay) * recipe.n_restarts)
    history, _, validation = _fit_loss(recipe, network, examples)
    return _result(network, start, history, int(validation.argmin()), "random")


def fit_pbgnet_l_bnd(
    recipe: Recipe, examples: TrainingData, prior_examples: TrainingData | None
) -> FitResult:
    """PBGNet_l-bnd: linear loss with weight decay; epoch chosen by the bound, decay on 20 % of the rows."""
    network, start = _fresh(recipe, len(recipe.weight_decay) * recipe.n_restarts)
    prior = network.prior_weights

    def bound(record: dict[str, Tensor]) -> dict[str, Tensor]:
        divergence = tree_divergence(list(network.weights), prior, validate_args=False).detach()
        value = differentiable.seeger_bound(
            record["loss"].clamp(0, 1),
            divergence,
            len(examples),
            recipe.delta,
            recipe.constant,
            validate_args=False,
        )
        return {"divergence": divergence, "bound": value}

    history, bounds, validation = _fit_loss(recipe, network, examples, monitor="bound", measure=bound)
    # Within each decay the bound decides between restarts; between decays the validation loss does.
    by_decay = bounds.reshape(recipe.n_restarts, len(recipe.weight_decay)).argmin(dim=0)
    candidates = by_decay * len(recipe.weight_decay) + torch.arange(
        len(recipe.weight_decay), device=by_decay.device
    )
    best = int(candidates[validation[candidates].argmin()])
    return _result(network, start, history, best, "random")


def fit_pbgnet(recipe: Recipe, examples: TrainingData, prior_examples: TrainingData | None) -> FitResult:
    """PBGNet: the bound itself, from a random prior that is also the starting point."""
    network, start = _fresh(recipe, recipe.n_restarts)
    history = History()
    best = _fit_bound(recipe, network, examples, history)
    return _result(network, start, history, best, "random")


def fit_pbgnet_pre(recipe: Recipe, examples: TrainingData, prior_examples: TrainingData | None) -> FitResult:
    """PBGNet_pre: the bound, from a prior trained on other rows by the linear loss."""
    assert prior_examples is not None
    single, _ = _fresh(recipe, 1)
    history = History()
    _pretrain(recipe, single, prior_examples, history)
    learned = [w.detach()[0].double().cpu() for w in single.weights]
    network = AggregatedNetwork(recipe.replicate(learned, recipe.n_restarts), aggregation=recipe.aggregation)
    before = len(history.records)
    best = _fit_bound(recipe, network, examples, history)
    result = _result(network, learned, History(history.records[before:]), best, "pretrained")
    return FitResult(
        result.network, History(history.records[:before]).of_replica(0) + result.history, "pretrained"
    )


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
    network: AggregatedNetwork, prior: Sequence[Tensor], history: History, best: int, kind: str
) -> FitResult:
    """Take one replica out, in float64, with its exact prior."""
    posterior = [w.detach()[best].double().cpu() for w in network.weights]
    return FitResult(AggregatedNetwork(posterior, prior), history.of_replica(best), kind)


def _fit_loss(
    recipe: Recipe,
    network: Trainable,
    examples: TrainingData,
    monitor: str = "validation",
    measure: Measure = lambda record: {},
) -> tuple[History, Tensor, Tensor]:
    """Minimise the linear loss for all decays side by side.

    Return the history, the monitored number of each replica, and its validation loss.
    """
    decays = torch.tensor(recipe.weight_decay * recipe.n_restarts, dtype=torch.float64, device=recipe.device)
    order = np.random.default_rng(recipe.batch_seed).permutation(len(examples))
    n_validation = max(1, round(recipe.validation_fraction * len(examples)))
    held, used = _split(examples, order[:n_validation]), _split(examples, order[n_validation:])

    def measure_all(record: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"validation": empirical_loss(network, held)} | measure(record)

    rates = recipe.learning_rate * torch.ones_like(decays)
    problem = Problem(
        network, used, LinearLoss(decays), recipe.generators(len(decays)), rates, measure_all, monitor
    )
    history = History()
    with Progress(recipe.verbose) as progress:
        solve_adam(problem, recipe.course, history, progress, "loss")
    final = measure_all({"loss": empirical_loss(network, used)})
    return history, final[monitor], final["validation"]


def _pretrain(recipe: Recipe, network: AggregatedNetwork, examples: TrainingData, history: History) -> None:
    """Minimise the linear loss on the prior rows for a number of epochs (paper: 20); the best one counts.

    The seed of its batches is its own, so that the number of restarts does not change the prior.
    """
    decay = torch.zeros(1, dtype=torch.float64, device=recipe.device)
    rates = torch.full_like(decay, recipe.learning_rate)
    seed = int(np.random.SeedSequence([recipe.batch_seed, 1]).generate_state(1)[0])
    generators = [torch.Generator().manual_seed(seed)]
    problem = Problem(network, examples, LinearLoss(decay), generators, rates)
    course = Course(recipe.pretraining_batch_size, recipe.pretraining_epochs)
    with Progress(recipe.verbose) as progress:
        solve_adam(problem, course, history, progress, "prior")


def _fit_bound(recipe: Recipe, network: AggregatedNetwork, examples: TrainingData, history: History) -> int:
    """Minimise the bound; return the replica with the smallest one over all rows."""
    objective = _bound_objective(recipe, network, len(examples))
    count = recipe.n_restarts
    problem = Problem(network, examples, objective, recipe.generators(count), recipe.rates(count))
    with Progress(recipe.verbose) as progress:
        SOLVERS[recipe.solver](problem, recipe.course, history, progress, "bound")
    exact = Seeger(network.prior_weights, len(examples), recipe.delta, recipe.constant)
    with torch.no_grad():
        loss, divergence = empirical_loss(network, examples), exact.penalty(list(network.weights))
        bounds = exact.value(loss, divergence)
    history.append(phase="final", epoch=0, loss=loss, penalty=divergence, objective=bounds)
    return int(bounds.argmin())


def _bound_objective(recipe: Recipe, network: AggregatedNetwork, n: int) -> Objective:
    prior = network.prior_weights
    if recipe.objective == "seeger":
        return Seeger(prior, n, recipe.delta, recipe.constant)
    log_c = torch.zeros(recipe.n_restarts, dtype=torch.float64, device=recipe.device, requires_grad=True)
    return Catoni(prior, n, recipe.delta, log_c, recipe.constant)


def _split(examples: TrainingData, rows: NDArray[np.intp]) -> TrainingData:
    return examples.take(torch.from_numpy(rows).to(examples.y.device))
