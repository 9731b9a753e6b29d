"""Test error against the number T of samples, beside the exact aggregate."""

from typing import TYPE_CHECKING

from pbgnet.experiments.figures.plotting import (
    COLOURS,
    COLUMNS,
    MARKERS,
    add_shared_legend,
    dataset_panels,
    empty_panel,
    mathematical,
)
from pbgnet.experiments.figures.training_size import draw_band
from pbgnet.experiments.studies import NAMES, Spread, StudyResults, select_all, spread_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curves = dict[tuple[str, str], dict[int | None, Spread]]
"""Spread of a number by T, None for the exact aggregate, by data set and algorithm."""


def sample_size_figure(results: StudyResults, curves: Curves | None = None) -> "Figure":
    """Draw the test error of each algorithm against T; the exact aggregate is a horizontal band.

    The curves are those of `sample_size_curves`, if they are already known.
    """
    datasets = results.study.datasets
    curves = sample_size_curves(results) if curves is None else curves
    with dataset_panels(datasets, 2.5, "test error rate") as (figure, panels):
        for axes, dataset in zip(panels, datasets, strict=False):
            _draw_panel(axes, results, curves, dataset)
        for axes in panels[-COLUMNS:]:
            axes.set_xlabel("samples T")
        if curves:
            add_shared_legend(figure, panels)
        figure.suptitle("Test error as the number T of samples grows", x=0.01, ha="left")
        return figure


def sample_size_curves(results: StudyResults, name: str = "test_error") -> Curves:
    """Return the spread of a number by T, None for the exact one, by data set and algorithm."""
    curves: Curves = {}
    for n_samples in dict.fromkeys(record.spec.n_samples for record in results.done):
        records = [record for record in results.done if record.spec.n_samples == n_samples]
        selected = select_all(records, results.study.algorithms)
        for dataset, algorithm in results.cells():
            spread = spread_of(
                one.number(name) for (*place, _, _), one in selected.items() if place == [dataset, algorithm]
            )
            if spread is not None:
                curves.setdefault((dataset, algorithm), {})[n_samples] = spread
    return curves


def _draw_panel(axes: "Axes", results: StudyResults, curves: Curves, dataset: str) -> None:
    if not any(curves.get((dataset, algorithm)) for algorithm in results.study.algorithms):
        empty_panel(axes)
        return
    axes.set_xscale("log")
    for algorithm in results.study.algorithms:
        points = dict(curves.get((dataset, algorithm), {}))
        exact = points.pop(None, None)
        colour, name = COLOURS[algorithm], mathematical(NAMES[algorithm])
        if exact is not None:
            width = exact.deviation or 0.0
            axes.axhline(exact.mean, color=colour, linestyle="--", linewidth=1.4, label=f"{name}, exact")
            axes.axhspan(exact.mean - width, exact.mean + width, color=colour, alpha=0.13, linewidth=0)
        sampled = {size: spread for size, spread in points.items() if size is not None}
        if sampled:
            draw_band(axes, sampled, colour, f"-{MARKERS[algorithm]}", f"{name}, sampled", most=1.0)
    axes.set_ylim(bottom=0)
