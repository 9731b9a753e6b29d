"""The figure of what rows cost: seconds of the processor against rows, both on a logarithmic scale."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib

from benchmarks.rows_cost import RowCost, exponent

__all__ = ["FIGURE", "draw_costs"]

FIGURE = Path(__file__).resolve().parent / "rows_cost.svg"


def draw_costs(costs: Sequence[RowCost], path: Path = FIGURE) -> None:
    """Draw measured costs, and what they would be if they grew as the rows do."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = [cost.n_rows for cost in costs]
    seconds = [cost.processor_seconds for cost in costs]
    figure, axes = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
    axes.loglog(rows, [seconds[-1] * n / rows[-1] for n in rows], color="0.6", ls="--", label="as the rows")
    axes.loglog(
        rows, seconds, "o-", color="#1f5aa6", label=f"measured: rows to the power {exponent(costs):.2f}"
    )
    axes.set(
        xlabel="rows of the table", ylabel="seconds of the processor", title="From a table to a certificate"
    )
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
