"""Splits of one table as replicas of one training: each as if it were alone."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from pbgnet.experiments.runs.batch import Rows, batches_of, train_batch
from pbgnet.training import Journal

CPU = torch.device("cpu")
TRAININGS = ["mlp", "loss", "bound", "pretrained"]


@pytest.fixture(scope="module")
def splits(breast):
    """Two splits of one table: one at random, one whose training rows are nearly all of one class."""
    y = breast.table.y
    uneven = np.concatenate([np.flatnonzero(y > 0)[:180], np.flatnonzero(y < 0)[:20]])
    rest = np.setdiff1d(np.arange(len(y)), uneven)[:80]
    found = {0: Rows(breast.table, breast.train[:200], breast.test[:80]), 1: Rows(breast.table, uneven, rest)}
    return lambda run: found[run.split_seed]


@pytest.fixture
def joined(grid):
    """Make the runs of both splits, each with weights and batches of its own."""

    def make(training, **changes):
        runs = grid(training, **changes)
        return [replace(run, split_seed=split, seed=split) for split in (0, 1) for run in runs]

    return make


def separately(runs, splits):
    """Train every split by itself, in the order of the runs."""
    return [result for batch in batches_of(runs) for result in train_batch(batch, splits, CPU)]


def test_splits_and_their_seeds_are_joined_and_nothing_else(spec):
    base = spec("loss")
    together = [
        replace(base, split_seed=split, seed=seed, learning_rate=rate)
        for split, seed, rate in [(0, 0, 0.1), (1, 1, 0.1), (1, 2, 0.01)]
    ]
    apart = [replace(base, **change) for change in ({"n_train": 7}, {"dataset": "x"}, {"n_samples": 3})]
    runs = [together[0], *apart, *together[1:]]
    assert batches_of(runs, join=True) == [together, *([run] for run in apart)]
    assert batches_of(runs) == [[run] for run in runs]


@pytest.mark.parametrize(
    ("training", "solver"),
    [*((name, "adam") for name in TRAININGS), ("bound", "hybrid"), ("pretrained", "hybrid")],
)
def test_a_split_that_is_joined_gives_the_numbers_it_gives_alone(
    joined, splits, close_results, training, solver
):
    changes = {"max_epochs": 6, "solver": solver, "objective": "seeger" if solver == "hybrid" else "catoni"}
    runs = joined(training, **changes)
    assert batches_of(runs, join=True) == [runs]
    together = train_batch(runs, splits, CPU)
    for found, expected in zip(together, separately(runs, splits), strict=True):
        close_results(found, expected, 1e-3)
    rule = next(iter(together[0]))
    first, second = (together[k][rule]["train_loss"] for k in (0, len(runs) // 2))
    assert abs(first - second) > 0.01  # or it would not matter whose rows a replica has


def test_replicas_that_stop_at_different_epochs_keep_their_rows(joined, splits, close_results):
    """Of three rates two are too large, so that more than half of the replicas are soon left behind."""
    changes = {"max_epochs": 12, "plateau_patience": 9, "stopping_patience": 1}
    runs = joined("loss", rates=(30.0, 0.01, 10.0), decays=(0.0,), **changes)
    journal, journal_alone = Journal(), Journal()
    together = train_batch(runs, splits, CPU, journal)
    for found, expected in zip(together, separately(runs, splits), strict=True):
        close_results(found, expected, 1e-3)
    train_batch(runs[4:5], splits, CPU, journal_alone)
    for name in ("validation", "divergence", "bound"):  # of the last epoch of one that stayed
        found, expected = (one.history.records[-1][name] for one in (journal, journal_alone))
        assert found[4].item() == pytest.approx(expected[0].item(), rel=1e-3)
    epochs = [result["validation"]["epoch"] for result in together]
    assert max(epochs[0::3] + epochs[2::3]) < min(epochs[1::3])


@pytest.mark.parametrize("training", ["loss", "bound", "pretrained"])
def test_joined_splits_that_sample_agree_up_to_their_random_numbers(joined, splits, training):
    runs = joined(training, rates=(0.1,), decays=(0.0,), n_samples=1000, max_epochs=6)
    together, alone = train_batch(runs, splits, CPU), separately(runs, splits)
    rule = min(together[0])
    names = ("train_loss", "test_loss", "sampled_train_loss", "sampled_test_loss", "bound")
    for name in names:
        found, expected = ([result[rule][name] for result in results] for results in (together, alone))
        np.testing.assert_allclose(found, expected, atol=0.006)
        assert abs(found[0] - found[1]) > 0.015  # the splits are further apart than that
    assert together != alone  # other random numbers
