"""Runs with different T as replicas of one training: each as if it were alone, up to its random numbers."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from pbgnet.aggregation import MonteCarlo
from pbgnet.experiments.runs import batch as batch_module
from pbgnet.experiments.runs.batch import batches_of, train_batch

CPU = torch.device("cpu")
COUNTS = (1, 40, 1000)


@pytest.fixture
def joined(grid):
    """Make runs that only differ in T."""

    def make(training, **changes):
        runs = grid(training, rates=(0.1,), decays=(0.0,), **changes)
        return [replace(run, n_samples=count) for run in runs for count in COUNTS]

    return make


def test_numbers_of_samples_are_joined_unless_they_are_large_or_none(spec):
    runs = [spec("loss", n_samples=count) for count in (10, 10_000, None, 1000, 1001)]
    assert batches_of(runs, join=True) == [[runs[0], runs[3]], *([runs[k]] for k in (1, 2, 4))]
    assert batches_of(runs) == [[run] for run in runs]


@pytest.mark.parametrize("training", ["loss", "bound", "pretrained"])
def test_every_run_is_trained_with_its_own_number_of_samples(joined, breast, training):
    runs = joined(training, max_epochs=6)
    assert batches_of(runs, join=True) == [runs]
    together = train_batch(runs, lambda _: breast, CPU)
    alone = [train_batch([run], lambda _: breast, CPU)[0] for run in runs]
    rule = min(together[0])
    for name in ("train_loss", "sampled_train_loss", "sampled_test_loss"):
        found, expected = (np.array([result[rule][name] for result in some]) for some in (together, alone))
        # One sample makes training random; a thousand leave little to chance.
        np.testing.assert_array_less(abs(found - expected), [0.08, 0.02, 0.008])
    # The fewer samples, the more predictions differ from each other.
    spreads = [result[rule]["sampled_train_loss_deviation"] for result in together]
    assert spreads[0] > 3 * spreads[1] > 9 * spreads[2] > 0


def test_priors_are_shared_by_runs_of_one_rate_and_number_of_samples(grid, breast, monkeypatch):
    networks = []
    judge = batch_module.judge
    monkeypatch.setattr(
        batch_module, "judge", lambda network, *rest: networks.append(network) or judge(network, *rest)
    )
    runs = grid("pretrained", rates=(0.1, 0.01), max_epochs=1)
    runs = [replace(run, n_samples=count, restart=k) for run in runs for count in (5, 9) for k in (0, 1)]
    train_batch(runs, lambda _: breast, CPU)
    (network,) = networks
    assert isinstance(network.aggregation, MonteCarlo)
    assert network.aggregation.n_samples == (5, 5, 9, 9, 5, 5, 9, 9)
    prior = network.prior_weights[0]
    same = torch.tensor([[torch.equal(one, other) for other in prior] for one in prior])
    kind = torch.tensor([0, 0, 1, 1, 2, 2, 3, 3])
    assert torch.equal(same, kind[:, None] == kind)


def test_replicas_that_are_left_behind_take_their_numbers_of_samples_along(joined, breast, monkeypatch):
    """Too large a rate stops two of three early, one after the other; the last goes on with its own T."""
    seen = []
    take = MonteCarlo.take
    monkeypatch.setattr(
        MonteCarlo, "take", lambda self, replicas: seen.append(found := take(self, replicas)) or found
    )
    runs = joined("loss", max_epochs=12, plateau_patience=9, stopping_patience=1)
    rates = (30.0, 10.0, 0.01)
    runs = [replace(run, learning_rate=rate) for run, rate in zip(runs, rates, strict=True)]
    epochs = [result["validation"]["epoch"] for result in train_batch(runs, lambda _: breast, CPU)]
    assert epochs[2] > max(epochs[:2])
    assert [one.n_samples for one in seen] == [(40, 1000), (1000,)]
