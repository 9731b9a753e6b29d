"""Steps on many rows of codes: ``python -m benchmarks.scale_steps``, alone, as a worker, or on a GPU.

An epoch of mini-batches and some evaluations of the exact loss and its gradient, which is what L-BFGS takes
its time for. Codes are drawn at random: 255 bins in each column, values and steps.
"""

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
import torch

from pbgnet.networks import TWO_CLASSES, AggregatedNetwork, initial_weights
from pbgnet.preprocessing import BinnedTable, TablePreprocessor
from pbgnet.training.steps import (
    Batches,
    LinearLoss,
    Portion,
    Stepper,
    TrainingData,
    log_criterion,
    loss_and_gradients,
    threads_for_steps,
)
from pbgnet.workers import joined

__all__ = ["made_examples", "timed_steps"]

N_BINS = 255
PART_ROWS = 1 << 20


def made_examples(n_rows: int, n_columns: int, device: str) -> TrainingData:
    """Return rows of codes, and signs that two of the columns tell together."""
    rng = np.random.default_rng(0)
    fitted = np.repeat(np.arange(float(N_BINS))[:, None], n_columns, axis=1)
    book = TablePreprocessor("both", drop_ids=False).fit(np.repeat(fitted, 16, axis=0)).book_
    codes = np.empty((n_rows, n_columns), dtype=np.uint8)
    for start in range(0, n_rows, PART_ROWS):
        stop = min(start + PART_ROWS, n_rows)
        codes[start:stop] = rng.integers(0, N_BINS, (stop - start, n_columns), dtype=np.uint8)
    y = np.where((codes[:, 0] > 127) ^ (codes[:, 1] > 127), 1.0, -1.0)
    return TrainingData.of(BinnedTable(codes, book), y, unit=True, device=device)


def timed_steps(
    n_rows: int, n_columns: int, width: int, batch_size: int, device: str, n_evaluations: int
) -> dict[str, float]:
    """Return the seconds of one epoch and of one evaluation over all rows, after a warm-up."""
    data = made_examples(n_rows, n_columns, device)
    generator = torch.Generator().manual_seed(0)
    weights = initial_weights(data.rows.shape[-1] - 1, (width,), generator=generator, dtype=torch.float32)
    network = AggregatedNetwork([w[None].to(device) for w in weights])
    rate = torch.full((1,), 0.1, dtype=torch.float64, device=device)
    objective = LinearLoss.of(list(network.weights), torch.zeros_like(rate))
    batches = Batches(data, batch_size, torch.zeros(1, dtype=torch.int64, device=device))
    criterion = log_criterion(TWO_CLASSES, 1, data.y)
    stepper = Stepper(network, batches, objective, torch.zeros_like(rate), Portion(1, "networks"), criterion)
    plain = [1.0] * len(batches)

    def epoch(number: int) -> None:
        with threads_for_steps(network, batches):
            stepper.epoch(number, rate, plain, plain)

    found = {"epoch": _seconds(lambda: epoch(1), lambda: epoch(0), device)}
    if n_evaluations:
        once = _seconds(
            lambda: [loss_and_gradients(network, data) for _ in range(n_evaluations)],
            lambda: loss_and_gradients(network, data),
            device,
        )
        found["evaluation"] = once / n_evaluations
    return found


def _seconds(run: Callable[[], object], warm_up: Callable[[], object], device: str) -> float:
    warm_up()
    _wait(device)
    start = time.perf_counter()
    run()
    _wait(device)
    return time.perf_counter() - start


def _wait(device: str) -> None:
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)


def main() -> None:
    """Print the seconds as JSON; of several workers, the first does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--width", type=int, default=100)
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--evaluations", type=int, default=3)
    options = parser.parse_args()
    sizes = (options.rows, options.columns, options.width, options.batch)
    with joined() as workers:
        found = timed_steps(*sizes, options.device, options.evaluations)
    if workers.is_first:
        print(json.dumps({"workers": workers.size, **found}))


if __name__ == "__main__":
    main()
