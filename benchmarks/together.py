"""A study of many small batches: trained one after the other, and several at a time."""

import dataclasses
import os
from collections.abc import Callable

from benchmarks.joined import random_rows
from benchmarks.tables import Table
from benchmarks.timing import Arm, Effort, side_by_side
from pbgnet.experiments.runs import Rows, RunSpec
from pbgnet.experiments.studies.engines import LocalEngine

__all__ = ["batches_together"]

WORKERS = (1, 2, 4, 8, 16)
RATES = (0.1, 0.01, 0.001)
N_ROUNDS = 2


@dataclasses.dataclass(frozen=True)
class RandomRows:
    """The same made rows for every run; a process can be sent it."""

    n_rows: int
    n_features: int

    def __call__(self, run: RunSpec) -> Rows:
        """Return the rows of a run."""
        return random_rows(self.n_rows, self.n_features)


def batches_together(effort: Effort) -> Table:
    """Seconds of a whole study, by the number of batches at a time; processes start within that time."""
    epochs, n_rows, n_features, n_batches = (1, 64, 8, 2) if effort.quick else (60, 3279, 1554, 32)
    counts = (1, 2) if effort.quick else tuple(n for n in WORKERS if n <= (os.cpu_count() or 1))
    table = Table(
        "Batches of a study at the same time",
        ("batches at a time", "s", "one at a time / so many"),
        notes=[
            f"{n_batches} batches of {len(RATES)} networks each: PBGNet with three hidden layers of 10, "
            f"T = 50, epochs: {epochs}, on three quarters of {n_rows} random rows of {n_features} columns, "
            "evaluation and the start of the processes included.",
        ],
    )
    base = RunSpec(
        "random", hidden_layers=3, hidden_size=3 if effort.quick else 10, n_samples=50, batch_size=32,
        max_epochs=epochs, n_predictions=1,
    )  # fmt: skip
    batches = [
        [dataclasses.replace(base, learning_rate=rate, seed=seed) for rate in RATES]
        for seed in range(n_batches)
    ]
    source = RandomRows(n_rows, n_features)
    arms = {str(count): Arm(_trained(LocalEngine(effort.device, count), batches, source)) for count in counts}
    rounds = dataclasses.replace(effort, n_rounds=min(effort.n_rounds, N_ROUNDS))
    found = side_by_side(arms, rounds, n_warm_up=0)
    for count in counts:
        own = found[str(count)]
        table.add(count, own.median, str(found["1"].over(own)))
    return table


def _trained(engine: LocalEngine, batches: list[list[RunSpec]], source: RandomRows) -> Callable[[], None]:
    def run() -> None:
        for records in engine.train(batches, source):
            failed = [record.error for record in records if record.error]
            if failed:
                raise RuntimeError(failed[0])

    return run
