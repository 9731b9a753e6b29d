"""PBGD: the linear PAC-Bayes classifier of Germain, Lacasse, Laviolette and Marchand (2009).

The network has no hidden layer, and the prior is zero. Either the kl bound itself is minimised, or
`C loss + divergence / n` for a fixed C (paper, Eq. 5) that is chosen by cross-validation. All candidates for
C, and all restarts, are trained side by side.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pbgnet.networks import AggregatedNetwork, initial_weights
from pbgnet.training.algorithms.recipe import BoundTerms
from pbgnet.training.algorithms.selection import best_replica
from pbgnet.training.algorithms.trained import FitResult
from pbgnet.training.solvers import Journal, Problem, Progress, polish
from pbgnet.training.steps import FixedTradeOff, Objective, TrainingData, empirical_loss, objective_value

# Half a decade apart: from a bound that hardly uses the data to one that hardly regularises.
C_CANDIDATES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


@dataclass(frozen=True)
class LinearRecipe:
    """What PBGD needs besides the examples.

    Attributes
    ----------
    bound : BoundTerms
    c : tuple of float
        Candidates for C; empty to minimise the kl bound.
    n_folds : int
        Folds of the cross-validation between candidates.
    n_restarts : int
        The first starts at the prior, the others at random points around it.
    max_iterations : int
        Of L-BFGS.
    seed : int
    """

    bound: BoundTerms
    c: tuple[float, ...]
    n_folds: int
    n_restarts: int
    max_iterations: int
    seed: int


def fit_linear(recipe: LinearRecipe, examples: TrainingData, *, verbose: int = 0) -> FitResult:
    """Train the linear classifier; candidates and restarts run side by side."""
    with Progress(verbose) as progress:
        journal = Journal(progress=progress)
        c = recipe.c
        if len(c) > 1:
            c = (c[best_replica(_validation_losses(recipe, examples, journal))],)
        journal.history.records.clear()  # only the chosen candidate counts
        network, objective = _minimise(recipe, examples, c, journal, "bound")
        values = objective_value(network, examples, objective)
    best = best_replica(values)
    posterior = [w.detach()[best].double().cpu() for w in network.weights]
    prior = [torch.zeros_like(w) for w in posterior]
    chosen = AggregatedNetwork(posterior, prior)
    return FitResult(chosen, journal.history.of_replica(best), "zero", journal.interrupted)


def _validation_losses(recipe: LinearRecipe, examples: TrainingData, journal: Journal) -> Tensor:
    """Mean linear loss of each candidate on the held-out folds, shape (number of candidates,)."""
    order = np.random.default_rng(recipe.seed).permutation(len(examples))
    folds = np.array_split(order, min(recipe.n_folds, len(examples)))
    total = torch.zeros(len(recipe.c), dtype=torch.float64, device=examples.y.device)
    for k, fold in enumerate(folds):
        rest = np.concatenate([other for j, other in enumerate(folds) if j != k])
        used, held = (examples.take(torch.from_numpy(rows).to(total.device)) for rows in (rest, fold))
        network, objective = _minimise(recipe, used, recipe.c, journal, f"fold {k + 1} of {len(folds)}")
        trained = objective_value(network, used, objective)
        # Replicas are restarts x candidates: the best restart of each candidate counts.
        best = trained.reshape(recipe.n_restarts, -1).argmin(dim=0)
        losses = empirical_loss(network, held).reshape(recipe.n_restarts, -1)
        total += len(held) * losses.gather(0, best[None])[0]
    return total / len(examples)


def _minimise(
    recipe: LinearRecipe, examples: TrainingData, c: tuple[float, ...], journal: Journal, phase: str
) -> tuple[AggregatedNetwork, Objective]:
    """Minimise from every restart, for every candidate C or for the kl bound."""
    n_features = examples.rows.shape[-1] - 1
    first = initial_weights(n_features, (), initialisation="zero", dtype=torch.float64)[0]
    starts = torch.stack([first] * recipe.n_restarts)
    starts[1:].normal_(generator=torch.Generator().manual_seed(recipe.seed))
    weights = starts.repeat_interleave(max(1, len(c)), dim=0).to(examples.y)
    network = AggregatedNetwork([weights], [torch.zeros_like(weights)])
    prior, n = network.prior_weights, len(examples)
    objective: Objective = recipe.bound.seeger(prior, n)
    if c:
        candidates = torch.tensor(c * recipe.n_restarts, dtype=torch.float64, device=weights.device)
        objective = FixedTradeOff(prior, n, recipe.bound.delta, candidates)
    # L-BFGS has neither batches nor rates.
    rates = torch.zeros(len(weights), dtype=torch.float64, device=weights.device)
    polish(Problem(network, examples, objective, rates.long(), rates), recipe.max_iterations, journal, phase)
    return network, objective
