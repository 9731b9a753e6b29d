"""The paper's learning algorithms, each by name (Section 6 and "Learning algorithms details").

All train R replicas side by side and return the best one. What a certificate says about the
result never depends on how the posterior was found, only on the prior.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbgnet.aggregation import Aggregation
from pbgnet.exceptions import DomainError
from pbgnet.networks import AggregatedNetwork, TanhNetwork, initial_weights
from pbgnet.training.data import TrainingData
from pbgnet.training.evaluation import Trainable, empirical_loss
from pbgnet.training.history import History
from pbgnet.training.journal import Journal
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

    def seeds(self, count: int) -> Tensor:
        """Give each replica a seed for its batches, the same whatever the number of replicas."""
        seeds = np.random.SeedSequence(self.batch_seed).generate_state(count, dtype=np.uint64)
        return torch.from_numpy(seeds.view(np.int64)).to(self.device)

    def prior_batch_seed(self) -> Tensor:
        """Return the seed of the batches that train a prior, shape (1,)."""
        seed = np.random.SeedSequence([self.batch_seed, 1]).generate_state(1, dtype=np.uint64)
        return torch.from_numpy(seed.view(np.int64)).to(self.device)

    @contextmanager
    def journal(self) -> Iterator[Journal]:
        """Write down and show a training."""
        with Progress(self.verbose) as progress:
            yield Journal(progress=progress)

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
    interrupted : bool
        Whether a keyboard interrupt ended the training early.
    """

    network: AggregatedNetwork | TanhNetwork
    history: list[dict[str, float | int | str]]
    prior_kind: str = "none"
    interrupted: bool = False


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
    by_decay = _nan_last(bounds).reshape(recipe.n_restarts, n_decays).argmin(dim=0)
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


def best_replica(values: Tensor) -> int:
    """Return the replica with the smallest value, shape (R,); one that diverged is never the best."""
    if bool(values.isnan().all()):
        raise DomainError(
            "Training has diverged: the loss is not a number. Usually a smaller learning_rate helps."
        )
    return int(_nan_last(values).argmin())


def _nan_last(values: Tensor) -> Tensor:
    return values.nan_to_num(nan=torch.inf)


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
    exact = Seeger(network.prior_weights, len(examples), recipe.delta, recipe.constant)
    loss, divergence = empirical_loss(network, examples), exact.penalty(list(network.weights))
    bounds = exact.value(loss, divergence)
    journal.history.append(phase="final", epoch=0, loss=loss, penalty=divergence, objective=bounds)
    return best_replica(bounds)


def _bound_objective(recipe: Recipe, network: AggregatedNetwork, n: int) -> Objective:
    prior = network.prior_weights
    if recipe.objective == "seeger":
        return Seeger(prior, n, recipe.delta, recipe.constant)
    log_c = torch.zeros(recipe.n_restarts, dtype=torch.float64, device=recipe.device)
    return Catoni(prior, n, recipe.delta, log_c, recipe.constant)


def _split(examples: TrainingData, rows: NDArray[np.intp]) -> TrainingData:
    return examples.take(torch.from_numpy(rows).to(examples.y.device))
