"""Errors, bound and divergence against the number of training rows."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pbgnet.experiments.figures.plotting import (
    COLOURS,
    INK,
    SOFT,
    add_shared_legend,
    empty_panel,
    mathematical,
    new_figure,
)
from pbgnet.experiments.studies import NAMES, Selected, Spread, StudyResults, spread_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Name, label, colour, line and marker of the curves in the upper panels.
CURVES = (
    ("train_error", "train error", COLOURS["pbgnet_l"], "--", "o"),
    ("test_error", "test error", COLOURS["pbgnet"], "-", "s"),
    ("bound", "bound on the linear loss", INK, "-.", "^"),
)
TRIVIAL = 0.99
MOST_TICKS = 8
MARGIN = 1.25
MOST_LEVEL_COLUMNS = 2  # with more of them, the sizes on the axis would run into each other
ALL = "all architectures"


class Column(NamedTuple):
    """An algorithm and the runs from which it selects."""

    algorithm: str
    architectures: str  # those of the runs, if the study has others: "all architectures", or one such as 1x10
    results: StudyResults

    def label(self, name: str) -> str:
        """Return a name of the algorithm with what it selects from."""
        return f"{name}, {self.architectures}" if self.architectures else name


def training_size_figure(results: StudyResults, dataset: str | None = None) -> "Figure":
    """Draw train and test error, bound and divergence of each algorithm against the training size.

    Lines are means over splits; shaded areas extend one deviation up and down. Bounds that say nothing are
    left out.
    """
    chosen = results.study.datasets[0] if dataset is None else dataset
    columns = training_size_columns(results, chosen)
    sizes = sorted({run.n_train for run in results.study.runs if run.n_train is not None})
    with new_figure(5.6) as figure:
        panels = figure.subplots(2, len(columns), sharex=True, sharey="row", squeeze=False)
        for (top, bottom), column, title in zip(panels.T, columns, _titles(columns), strict=True):
            top.set_title(title)
            _draw_column(top, bottom, training_size_curves(column.results, chosen, column.algorithm))
            _mark_sizes(bottom, sizes, level=len(columns) <= MOST_LEVEL_COLUMNS)
        panels[0, 0].set_ylabel("error rate, or loss")
        panels[0, 0].set_ylim(bottom=0)
        panels[1, 0].set_ylabel("KL divergence (nats)")
        add_shared_legend(figure, panels.flatten())
        figure.suptitle(f"{chosen}: errors, bound and KL as the training set grows", x=0.01, ha="left")
        return figure


def training_size_columns(results: StudyResults, dataset: str) -> list[Column]:
    """Return the columns of the figure: two for an algorithm with more architectures than the others.

    The first selects among all of them, at the sizes for which all runs are done; it is left out if there
    are none. The second selects among the runs of the one architecture that all algorithms have.
    """
    study = results.study
    parts = {name: results.part(study.narrowed([dataset], [name])) for name in study.algorithms}
    architectures = {name: {run.architecture for run in part.study.runs} for name, part in parts.items()}
    shared = set.intersection(*architectures.values())
    columns = []
    for algorithm, part in parts.items():
        if len(shared) != 1 or architectures[algorithm] == shared:
            columns.append(Column(algorithm, "", part))
            continue
        if sizes := _complete_sizes(part):
            columns.append(Column(algorithm, ALL, part.part(part.study.where({"n_train": sizes}))))
        (fixed,) = shared
        columns.append(Column(algorithm, fixed, part.part(part.study.where({"architecture": [fixed]}))))
    return columns


def _complete_sizes(results: StudyResults) -> list[str]:
    """The training sizes of which every run is done: a selection from fewer would be another one."""
    sizes = dict.fromkeys(str(run.n_train) for run in results.study.runs if run.n_train is not None)
    return [size for size in sizes if results.part(results.study.where({"n_train": [size]})).complete]


def _titles(columns: Sequence[Column]) -> list[str]:
    """The names of algorithms, with the architectures where there are several columns of one."""
    algorithms = [column.algorithm for column in columns]
    names = [mathematical(NAMES[algorithm]) for algorithm in algorithms]
    return [
        column.label(name) if algorithms.count(column.algorithm) > 1 else name
        for column, name in zip(columns, names, strict=True)
    ]


def _draw_column(top: "Axes", bottom: "Axes", curves: dict[str, dict[int, Spread]]) -> None:
    """Draw errors and bound into the upper panel, and the divergence into the lower."""
    if not curves["test_error"]:
        empty_panel(top)
    for name, words, colour, line, marker in CURVES:
        useful = name != "bound" or any(s.mean < TRIVIAL for s in curves[name].values())
        if curves[name] and useful:
            draw_band(top, curves[name], colour, f"{line}{marker}", words, most=1.0)
    if curves["divergence"]:
        draw_band(bottom, curves["divergence"], COLOURS["pbgnet_pre"], "-D", "KL")
        bottom.set_yscale("log")


def _mark_sizes(axes: "Axes", sizes: Sequence[int], level: bool) -> None:
    """Let an axis run over all sizes, even if there is nothing to show."""
    axes.set_xscale("log")
    axes.set_xlabel("training rows n")
    axes.set_xlim(sizes[0] / MARGIN, sizes[-1] * MARGIN)
    if len(sizes) <= MOST_TICKS:
        slant = {} if level else {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes], minor=False, **slant)
        axes.minorticks_off()


def draw_band(
    axes: "Axes", points: dict[int, Spread], colour: str, line: str, label: str, *, most: float = math.inf
) -> None:
    """Draw a line through means with a shaded area of one deviation up and down, up to what is possible."""
    sizes = sorted(points)
    means = [points[size].mean for size in sizes]
    widths = [points[size].deviation or 0.0 for size in sizes]
    axes.fill_between(
        sizes,
        [max(mean - width, 0.05 * mean) for mean, width in zip(means, widths, strict=True)],
        [min(mean + width, most) for mean, width in zip(means, widths, strict=True)],
        color=colour,
        alpha=0.22,
        linewidth=0,
    )
    edge = SOFT if colour == INK else colour
    axes.plot(sizes, means, line, color=colour, markersize=4.5, markeredgecolor=edge, label=label)


def training_size_curves(results: StudyResults, dataset: str, algorithm: str) -> dict[str, dict[int, Spread]]:
    """Return the spread of errors, bound and divergence by training size."""
    groups: dict[int, list[Selected]] = {}
    for (*place, _, size), selected in results.selected.items():
        if place == [dataset, algorithm] and size is not None:
            groups.setdefault(size, []).append(selected)
    curves: dict[str, dict[int, Spread]] = {
        name: {} for name in (*(name for name, *_ in CURVES), "divergence")
    }
    for size, repetitions in groups.items():
        for name, curve in curves.items():
            spread = spread_of(selected.number(name) for selected in repetitions)
            if spread is not None:
                curve[size] = spread
    return curves
