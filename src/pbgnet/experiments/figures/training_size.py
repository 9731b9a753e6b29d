"""Errors, bound and divergence against the number of training rows."""

from typing import TYPE_CHECKING

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


def training_size_figure(results: StudyResults, dataset: str | None = None) -> "Figure":
    """Draw train and test error, bound and divergence of each algorithm against the training size.

    Lines are means over splits; shaded areas extend one deviation up and down. Bounds that say nothing are
    left out.
    """
    chosen = results.study.datasets[0] if dataset is None else dataset
    algorithms = results.study.algorithms
    with new_figure(5.6) as figure:
        panels = figure.subplots(2, len(algorithms), sharex=True, sharey="row", squeeze=False)
        for place, algorithm in enumerate(algorithms):
            top, bottom = panels[0, place], panels[1, place]
            top.set_title(mathematical(NAMES[algorithm]))
            curves = training_size_curves(results, chosen, algorithm)
            if not curves["test_error"]:
                empty_panel(top)
            for name, words, colour, line, marker in CURVES:
                useful = name != "bound" or any(s.mean < TRIVIAL for s in curves[name].values())
                if curves[name] and useful:
                    draw_band(top, curves[name], colour, f"{line}{marker}", words)
            if curves["divergence"]:
                draw_band(bottom, curves["divergence"], COLOURS["pbgnet_pre"], "-D", "KL")
                bottom.set_yscale("log")
            bottom.set_xscale("log")
            bottom.set_xlabel("training rows n")
            sizes = sorted({run.n_train for run in results.study.runs if run.n_train is not None})
            bottom.set_xlim(sizes[0] / MARGIN, sizes[-1] * MARGIN)  # even if there is nothing to show
            if len(sizes) <= MOST_TICKS:
                bottom.set_xticks(sizes, [f"{size:,}" for size in sizes], minor=False)
                bottom.minorticks_off()
        panels[0, 0].set_ylabel("error rate, or loss")
        panels[0, 0].set_ylim(bottom=0)
        panels[1, 0].set_ylabel("KL divergence (nats)")
        add_shared_legend(figure, panels.flatten())
        figure.suptitle(f"{chosen}: errors, bound and KL as the training set grows", x=0.01, ha="left")
        return figure


def draw_band(axes: "Axes", points: dict[int, Spread], colour: str, line: str, label: str) -> None:
    """Draw a line through means with a shaded area of one deviation up and down."""
    sizes = sorted(points)
    means = [points[size].mean for size in sizes]
    widths = [points[size].deviation or 0.0 for size in sizes]
    axes.fill_between(
        sizes,
        [max(mean - width, 0.05 * mean) for mean, width in zip(means, widths, strict=True)],
        [mean + width for mean, width in zip(means, widths, strict=True)],
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
