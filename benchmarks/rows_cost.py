"""What a fit costs against the number of rows: ``python -m benchmarks.rows_cost --rows 10000 100000``.

Rows of numbers in memory, with a rule that no single column tells, from table to certificate. Seconds of the
processor grow less than those of the clock where other programs keep the machine busy.
"""

import argparse
import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pbgnet import PBGNetClassifier

ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
PART_ROWS = 1 << 17
LABEL_NOISE = 0.05


@dataclass(frozen=True)
class RowCost:
    """Seconds of a fit, of the clock and of the processor, and the share of certified rows it gets wrong."""

    n_rows: int
    seconds: float
    processor_seconds: float
    error_rate: float


def row_costs(
    counts: Sequence[int] = ROWS, *, n_columns: int = 30, hidden_layer_sizes: str | tuple[int, ...] = "auto"
) -> list[RowCost]:
    """Fit tables of so many rows, one after the other, each the beginning of a longer one."""
    return [_fit(*made_rows(n_rows, n_columns), hidden_layer_sizes) for n_rows in counts]


def exponent(costs: Sequence[RowCost]) -> float:
    """Return how seconds of the processor grow with rows: the slope of a line through their logarithms."""
    rows, seconds = zip(*((cost.n_rows, cost.processor_seconds) for cost in costs), strict=True)
    return float(np.polyfit(np.log(rows), np.log(seconds), 1)[0])


def made_rows(n_rows: int, n_columns: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Make numbers and labels by a rule: a smooth sum, a product and a threshold, with some labels turned."""
    cells, y = np.empty((n_rows, n_columns), np.float32), np.empty(n_rows, np.int64)
    for start in range(0, n_rows, PART_ROWS):
        rng, end = np.random.default_rng((seed, start)), min(start + PART_ROWS, n_rows)
        part = rng.standard_normal((PART_ROWS, n_columns), dtype=np.float32)
        score = np.sin(2 * part[:, 0]) + part[:, 1] * part[:, 2] + (part[:, 3] > 0.5) - 0.3
        labels = (score > 0) ^ (rng.random(PART_ROWS) < LABEL_NOISE)
        cells[start:end], y[start:end] = part[: end - start], labels[: end - start]
    return cells, y


def _fit(X: NDArray[np.float32], y: NDArray[np.int64], hidden: str | tuple[int, ...]) -> RowCost:  # noqa: N803
    begin, used = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PBGNetClassifier(hidden, random_state=0).fit(X, y)
    seconds, processor_seconds = time.perf_counter() - begin, time.process_time() - used
    return RowCost(len(X), seconds, processor_seconds, float(model.certificate_.inputs.empirical_error_rate))


def main() -> None:
    """Print the cost of each number of rows, and the exponent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--columns", type=int, default=30)
    options = parser.parse_args()
    costs = []
    for n_rows in options.rows:
        costs += row_costs([n_rows], n_columns=options.columns)
        print(costs[-1], flush=True)
    print(f"exponent {exponent(costs):.2f}" if len(costs) > 1 else f"exponent {math.nan}")


if __name__ == "__main__":
    main()
