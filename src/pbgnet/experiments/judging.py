"""The numbers of a trained network: losses and errors on all rows, divergence, bounds."""

import torch
from torch import Tensor

from pbgnet.aggregation import Fourier
from pbgnet.bounds import catoni_optimal, seeger_bound, split_delta, tree_divergence
from pbgnet.experiments.specification import RunSpec
from pbgnet.networks import AggregatedNetwork, TanhNetwork, linear_loss, zero_one_loss
from pbgnet.training.data import TrainingData
from pbgnet.training.evaluation import empirical_means
from pbgnet.training.waiting import wait_for

__all__ = ["Judged", "judge"]

Judged = dict[str, dict[str, Tensor]]
"""Numbers of shape (R,) by name, by the rule that picked the epoch."""


def judge(
    network: AggregatedNetwork | TanhNetwork, run: RunSpec, certified: TrainingData, test: TrainingData
) -> dict[str, Tensor]:
    """Return the numbers of R networks, each of shape (R,), float64 on the CPU.

    Losses and errors are exact. Where the run samples its aggregate, those of the sampled one, averaged over
    repeated predictions, come under names that begin with ``sampled_``.
    """
    numbers: dict[str, Tensor] = {}
    if isinstance(network, TanhNetwork):
        _measure(network, certified, test, "", numbers)
        return numbers
    exact = AggregatedNetwork(list(network.weights), network.prior_weights, aggregation=Fourier())
    _measure(exact, certified, test, "", numbers)
    weights, prior = list(network.weights), network.prior_weights
    divergence = tree_divergence(weights, prior, validate_args=False).detach().cpu()
    numbers["divergence"] = divergence
    numbers["n"] = torch.full_like(divergence, len(certified))
    _bounds(run, len(certified), divergence, "", numbers)
    if run.n_samples is not None:
        repeats: list[dict[str, Tensor]] = [{} for _ in range(run.n_predictions)]
        for repeat in repeats:
            _measure(network, certified, test, "sampled_", repeat)
        for name in repeats[0]:
            values = torch.stack([repeat[name] for repeat in repeats])
            numbers[name] = values.mean(dim=0)
            numbers[f"{name}_deviation"] = values.std(dim=0, correction=0)
        _bounds(run, len(certified), divergence, "sampled_", numbers)
    return numbers


def _bounds(run: RunSpec, n: int, divergence: Tensor, prefix: str, numbers: dict[str, Tensor]) -> None:
    """Add the bound that pays for the priors, and the C at which Catoni's bound is the same."""
    loss = numbers[f"{prefix}train_loss"]
    diverged = ~(torch.isfinite(loss) & torch.isfinite(divergence))
    loss = torch.where(diverged, 1.0, loss).clamp(0.0, 1.0)
    divergence = torch.where(diverged, 0.0, divergence)
    share = float(split_delta(run.delta, run.n_priors))
    bound = torch.as_tensor(seeger_bound(loss, divergence, n, share, run.constant))
    numbers[f"{prefix}bound"] = torch.where(diverged, torch.nan, bound)
    best = catoni_optimal(loss, divergence, n, share, run.constant)
    numbers[f"{prefix}c"] = torch.as_tensor(best.c)


def _measure(
    network: AggregatedNetwork | TanhNetwork,
    certified: TrainingData,
    test: TrainingData,
    prefix: str,
    numbers: dict[str, Tensor],
) -> None:
    for name, data in (("train", certified), ("test", test)):
        loss, error = empirical_means(network, data, linear_loss, zero_one_loss)
        numbers[f"{prefix}{name}_loss"], numbers[f"{prefix}{name}_error"] = wait_for(loss).cpu(), error.cpu()
