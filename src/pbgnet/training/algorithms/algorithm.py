"""The paper's learning algorithms by name: what each trains, and which of the networks it selects."""

from collections.abc import Callable
from dataclasses import dataclass

from pbgnet import choices
from pbgnet.networks import AggregatedNetwork
from pbgnet.training.algorithms.recipe import Recipe
from pbgnet.training.algorithms.selection import best_replica, nan_last
from pbgnet.training.algorithms.trained import FitResult, Trained
from pbgnet.training.algorithms.trainings import TRAININGS
from pbgnet.training.solvers import Journal, Progress
from pbgnet.training.steps import TrainingData, empirical_loss

# The paper's grid for the algorithms that select the weight decay.
WEIGHT_DECAYS = (0.0, 1e-4, 1e-6)


def _by_validation(trained: Trained, recipe: Recipe, journal: Journal) -> int:
    """The smallest validation loss."""
    return best_replica(trained.measured()["validation"])


def _by_bound_within_decays(trained: Trained, recipe: Recipe, journal: Journal) -> int:
    """The bound decides within each weight decay, the validation loss between them."""
    numbers, decays = trained.measured(), recipe.replicas.weight_decay.tolist()
    bounds = nan_last(numbers["bound"]).tolist()
    candidates = [
        min((r for r, other in enumerate(decays) if other == decay), key=bounds.__getitem__)
        for decay in dict.fromkeys(decays)
    ]
    return candidates[best_replica(numbers["validation"][candidates])]


def _by_bound(trained: Trained, recipe: Recipe, journal: Journal) -> int:
    """The smallest bound over all rows."""
    network, data = trained.network, trained.problem.data
    assert isinstance(network, AggregatedNetwork)
    exact = recipe.bound.seeger(network.prior_weights, len(data))
    loss, divergence = empirical_loss(network, data), exact.penalty(list(network.weights))
    bounds = exact.value(loss, divergence)
    journal.history.append(phase="final", epoch=0, loss=loss, penalty=divergence, objective=bounds)
    return best_replica(bounds)


@dataclass(frozen=True)
class Algorithm:
    """A learning algorithm of the paper."""

    name: str
    summary: str
    training: str  # what it trains; see `TRAININGS`
    rule: str  # what picks the epoch: "validation", "bound" or "objective"
    choose: Callable[[Trained, Recipe, Journal], int]  # among the networks trained side by side

    @property
    def certified(self) -> bool:
        """Whether the result has a certificate."""
        return self.training != "mlp"

    @property
    def uses_prior_rows(self) -> bool:
        """Whether some rows train the prior and are not certified."""
        return self.training == "pretrained"

    @property
    def minimises_bound(self) -> bool:
        """Whether the bound is the objective; the others minimise the loss, with Adam only."""
        return self.rule == "objective"

    @property
    def default_weight_decay(self) -> tuple[float, ...]:
        """Candidates if the user names none."""
        return (0.0,) if self.minimises_bound else WEIGHT_DECAYS

    def fit(self, recipe: Recipe, examples: TrainingData, *, verbose: int = 0) -> FitResult:
        """Train, and return the best network; a progress bar is shown unless `verbose` is 0."""
        with Progress(verbose) as progress:
            journal = Journal(progress=progress)
            trained = TRAININGS[self.training](recipe, examples, journal)
            best = self.choose(trained, recipe, journal)
        return trained.result(best, journal)


ALGORITHMS: dict[str, Algorithm] = {
    name: Algorithm(name, choices.ALGORITHMS[name], training, rule, choose)
    for name, training, rule, choose in (
        ("mlp", "mlp", "validation", _by_validation),
        ("pbgnet_l", "loss", "validation", _by_validation),
        ("pbgnet_l_bnd", "loss", "bound", _by_bound_within_decays),
        ("pbgnet", "bound", "objective", _by_bound),
        ("pbgnet_pre", "pretrained", "objective", _by_bound),
    )
}
