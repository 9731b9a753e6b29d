"""Runs of a study with different T: trained one T after the other, and side by side."""

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from benchmarks.tables import Table
from benchmarks.timing import Arm, Effort, side_by_side
from pbgnet.experiments.runs import Rows, RunSpec, batches_of, train_batch
from pbgnet.experiments.runs.batch import Table as Examples

__all__ = ["joined_samples", "random_rows"]

SAMPLES = (10, 50, 100, 1000)
ARCHITECTURES = ((2, 10), (2, 100))
RATES, DECAYS = (0.1, 0.01, 0.001), (0.0, 1e-4, 1e-6)


def joined_samples(effort: Effort) -> Table:
    """Seconds of short trainings, whole: from first weights to the numbers of each network."""
    epochs, n_rows, n_features = (1, 64, 8) if effort.quick else (4, 13782, 784)
    samples = (2, 3) if effort.quick else SAMPLES
    table = Table(
        "Runs with different T, apart and side by side",
        ("hidden layers", "networks", "T", "apart, s", "side by side, s", "apart / side by side"),
        notes=[
            f"PBGNet_l with the paper's nine rates and weight decays for each T, {epochs} epochs in batches "
            f"of 32, on three quarters of {n_rows} random rows of {n_features} columns, evaluation included.",
        ],
    )
    source = random_rows(n_rows, n_features)
    for hidden_layers, hidden_size in ARCHITECTURES:
        size = 3 if effort.quick else hidden_size
        base = RunSpec(
            "random", training="loss", hidden_layers=hidden_layers, hidden_size=size, batch_size=32,
            max_epochs=epochs, n_predictions=1,
        )  # fmt: skip
        runs = [
            replace(base, n_samples=count, weight_decay=decay, learning_rate=rate)
            for count in samples
            for decay in DECAYS
            for rate in RATES
        ]
        arms = {
            name: _trained(batches_of(runs, join=join), source, effort.device)
            for name, join in (("apart", False), ("joined", True))
        }
        found = side_by_side(arms, effort.fewer(), n_warm_up=1)
        ratio = found["apart"].over(found["joined"])
        table.add(
            f"{hidden_layers}x{size}", len(runs), ", ".join(map(str, samples)), found["apart"].median,
            found["joined"].median, str(ratio),
        )  # fmt: skip
    return table


@functools.lru_cache(maxsize=1)
def random_rows(n_rows: int, n_features: int) -> Rows:
    """Return made rows with two classes, three quarters of them for training; the same ones every time."""
    x = np.random.default_rng(0).normal(size=(n_rows, n_features)).astype(np.float32)
    y = np.where(x[:, :3].sum(axis=1) > 0, 1.0, -1.0)
    border = 3 * n_rows // 4
    return Rows(Examples(x, y), np.arange(border), np.arange(border, n_rows))


def _trained(batches: Sequence[Sequence[RunSpec]], rows: Rows, device: str) -> Arm:
    def run() -> None:
        for batch in batches:
            train_batch(batch, lambda _: rows, torch.device(device))

    return Arm(run)
