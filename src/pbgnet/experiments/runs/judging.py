"""The numbers of a trained network: losses and errors on all rows, divergence, bounds."""

import torch
from torch import Tensor

from pbgnet.aggregation import Fourier
from pbgnet.bounds import catoni_optimal, seeger_bound, split_delta, tree_divergence
from pbgnet.experiments.runs.specification import RunSpec
from pbgnet.networks import AggregatedNetwork, TanhNetwork, linear_loss, zero_one_loss
from pbgnet.training import TrainingData, empirical_means, wait_for


def judge(
    network: AggregatedNetwork | TanhNetwork, run: RunSpec, certified: TrainingData, test: TrainingData
) -> dict[str, Tensor]:
    """Return the numbers of R networks, each of shape (R,), float64 on the CPU.

    Losses and errors are exact. If the run samples its aggregate, those of the sampled one, averaged over
    repeated predictions, have names that begin with ``sampled_``.
    """
    if isinstance(network, TanhNetwork):
        return _measured(network, certified, test)
    weights, prior = list(network.weights), network.prior_weights
    numbers = _measured(AggregatedNetwork(weights, prior, aggregation=Fourier()), certified, test)
    divergence = tree_divergence(weights, prior, validate_args=False).detach().cpu()
    numbers["divergence"] = divergence
    numbers["n"] = torch.full_like(divergence, len(certified))
    prefixes = [""]
    if run.n_samples is not None:
        repeats = [_measured(network, certified, test) for _ in range(run.n_predictions)]
        for name in repeats[0]:
            values = torch.stack([repeat[name] for repeat in repeats])
            numbers[f"sampled_{name}"] = values.mean(dim=0)
            numbers[f"sampled_{name}_deviation"] = values.std(dim=0, correction=0)
        prefixes.append("sampled_")
    loss = torch.stack([numbers[f"{prefix}train_loss"] for prefix in prefixes])
    for prefix, bound, c in zip(prefixes, *_bounds(run, len(certified), divergence, loss), strict=True):
        numbers |= {f"{prefix}bound": bound, f"{prefix}c": c}
    return numbers


def _bounds(run: RunSpec, n: int, divergence: Tensor, loss: Tensor) -> tuple[Tensor, Tensor]:
    """Return the bound that pays for the priors, and the C at which Catoni's bound is the same.

    All losses (k, R) at once: a search over doubles takes as long for one as for many.
    """
    diverged = ~(torch.isfinite(loss) & torch.isfinite(divergence))
    loss = torch.where(diverged, 1.0, loss).clamp(0.0, 1.0)
    divergence = torch.where(diverged, 0.0, divergence)
    share = float(split_delta(run.delta, run.n_priors))
    bound = torch.as_tensor(seeger_bound(loss, divergence, n, share, run.constant))
    best = catoni_optimal(loss, divergence, n, share, run.constant)
    return torch.where(diverged, torch.nan, bound), torch.as_tensor(best.c)


def _measured(
    network: AggregatedNetwork | TanhNetwork, certified: TrainingData, test: TrainingData
) -> dict[str, Tensor]:
    numbers: dict[str, Tensor] = {}
    for name, data in (("train", certified), ("test", test)):
        loss, error = empirical_means(network, data, linear_loss, zero_one_loss)
        numbers |= {f"{name}_loss": wait_for(loss).cpu(), f"{name}_error": error.cpu()}
    return numbers
