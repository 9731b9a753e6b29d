"""The page of the comparison: tables in Markdown, and a plot of paired dots."""

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.accuracy.data import CSV_TABLES, SETTLED_ON
from benchmarks.accuracy.methods import METHODS, OURS
from benchmarks.accuracy.runs import Run
from benchmarks.tables import Table

ORDER = (OURS, *METHODS)
COLOURS = {
    OURS: "#0b6e4f",
    "logistic regression": "#8d99ae",
    "random forest": "#e09f3e",
    "gradient boosting": "#9e2a2b",
    "neural network": "#5e60ce",
}

ABOUT = """# The default classifier on ordinary tables

Made by `make bench-tables`. Three quarters of the rows are for training, a quarter tests. All methods are
trained on the same half of the training rows, with their default settings, and their errors are counted on
the other half, which gives each the 95 % bound that is called *certified* here. Means over those of splits
{seeds} that were run. Defaults of pbgnet were settled on {settled}, those for many rows
and many columns on adult and mnist49; the other tables had no say in them.
"""


def write_page(runs: Sequence[Run], folder: Path) -> None:
    """Write README.md and the plot into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    seeds = sorted({one.seed for one in runs})
    parts = [ABOUT.format(seeds=", ".join(map(str, seeds)), settled=", ".join(SETTLED_ON))]
    parts.append("![certified error of each method on each table](certified.svg)\n")
    parts += [
        _by_table(runs, "Certified error", lambda one: one.certified).markdown(),
        _by_table(runs, "Test error", lambda one: one.tested).markdown(),
        _by_table(runs, "Processor seconds to fit, one thread", lambda one: one.seconds).markdown(),
        _by_table(runs, "Megabytes a fit adds to its process", lambda one: one.megabytes).markdown(),
    ]
    (folder / "README.md").write_text("\n".join(parts), encoding="utf-8")
    _plot(runs, folder / "certified.svg")


def mean_of(runs: Sequence[Run], table: str, method: str, number: Callable[[Run], float]) -> float | None:
    """Return the mean of a number over the splits of a table, or None where nothing was run."""
    found = [number(one) for one in runs if (one.table, one.method) == (table, method)]
    return statistics.fmean(found) if found else None


def mean_over(
    runs: Sequence[Run], tables: Sequence[str], method: str, number: Callable[[Run], float]
) -> float | None:
    """Return the mean over tables, or None where one is missing."""
    means = [mean_of(runs, table, method, number) for table in tables]
    known = [mean for mean in means if mean is not None]
    return statistics.fmean(known) if known and len(known) == len(means) else None


def _by_table(runs: Sequence[Run], title: str, number: Callable[[Run], float]) -> Table:
    tables = list(dict.fromkeys(one.table for one in runs))
    tables.sort(key=lambda name: (name not in CSV_TABLES, name))
    found = [method for method in ORDER if any(one.method == method for one in runs)]
    result = Table(title, ("table", "rows", *found))
    for name in tables:
        rows = next(one.n_prior + one.n_certified for one in runs if one.table == name)
        label = f"{name} (settled on)" if name in SETTLED_ON else name
        result.add(label, rows, *(_rounded(mean_of(runs, name, method, number)) for method in found))
    groups = {
        "mean of the ten": [name for name in tables if name in CSV_TABLES],
        "mean of those not settled on": [
            name for name in tables if name in CSV_TABLES and name not in SETTLED_ON
        ],
    }
    for label, names in groups.items():
        if names:
            result.add(label, None, *(_rounded(mean_over(runs, names, method, number)) for method in found))
    return result


def _rounded(value: float | None) -> str | None:
    if value is None:
        return None
    return f"{value:.4f}" if value < 1 else f"{value:.1f}"


def _plot(runs: Sequence[Run], path: Path) -> None:
    """Draw the certified error of each method on each table, a row per table, ours as a ring."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    tables = list(dict.fromkeys(one.table for one in runs))
    certified = {
        (table, method): mean_of(runs, table, method, lambda one: one.certified)
        for table in tables
        for method in ORDER
    }
    tables.sort(key=lambda table: -(certified[table, OURS] or 0.0))
    figure = Figure(figsize=(7.5, 1.2 + 0.34 * len(tables)), layout="constrained")
    axes = figure.subplots()
    for y, table in enumerate(tables):
        values = [value for method in ORDER if (value := certified[table, method]) is not None]
        axes.plot([min(values), max(values)], [y, y], color="#d9d9d9", linewidth=1, zorder=1)
    for method in ORDER:
        known = [(certified[table, method], y) for y, table in enumerate(tables)]
        if points := [(value, y) for value, y in known if value is not None]:
            ring = {"facecolors": "none", "linewidths": 2, "s": 75} if method == OURS else {"s": 28}
            axes.scatter(
                *zip(*points, strict=True),
                label=method,
                edgecolors=COLOURS[method],
                color=None if method == OURS else COLOURS[method],
                zorder=3 if method == OURS else 2,
                **ring,
            )
    axes.set_yticks(range(len(tables)), [f"{t} *" if t in SETTLED_ON else t for t in tables])
    axes.set_xlabel("certified error (95 %), smaller is better;  * defaults were settled on these")
    axes.set_xlim(left=0)
    figure.legend(loc="outside upper center", ncols=len(ORDER), frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    with matplotlib.rc_context({"svg.hashsalt": "pbgnet"}):
        figure.savefig(path, metadata={"Date": None})
