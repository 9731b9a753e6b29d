"""Bars of the main results: test errors in colour, train errors outlined, bounds on top."""

import math
from typing import TYPE_CHECKING

from pbgnet.experiments.figures.plotting import COLOURS, INK, PAPER, dataset_panels, empty_panel, mathematical
from pbgnet.experiments.studies import NAMES, Spread, StudyResults, spread_of
from pbgnet.experiments.tables import paper_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHORT_NAMES = {
    "mlp": "MLP",
    "pbgnet_l": r"$\ell$",
    "pbgnet_l_bnd": r"$\ell$-bnd",
    "pbgnet": "PBGNet",
    "pbgnet_pre": "pre",
}


def main_results_figure(results: StudyResults) -> "Figure":
    """Draw the errors and bounds of every data set and algorithm, means over the splits.

    Coloured bars are test errors, outlined ones train errors, numbers on top bounds, and diamonds the
    paper's test errors.
    """
    datasets = results.study.datasets
    with dataset_panels(datasets, 2.6, "error rate") as (figure, panels):
        for axes, dataset in zip(panels, datasets, strict=False):
            _draw_panel(axes, results, dataset)
        _add_legend(figure, results)
        figure.suptitle("Test error, train error and bound of each algorithm", x=0.01, ha="left")
        return figure


def _draw_panel(axes: "Axes", results: StudyResults, dataset: str) -> None:
    source = "main_results" if len(results.split_seeds) == 1 else "variance"
    bars: list[tuple[int, float, float | None, Spread | None]] = []
    for place, algorithm in enumerate(results.study.algorithms):
        test, train, bound = (
            _finite(spread_of(results.values(dataset, algorithm, name)))
            for name in ("test_error", "train_error", "bound")
        )
        if test is None or train is None:
            continue
        axes.bar(place, test.mean, 0.8, color=COLOURS[algorithm], gid=f"test-{algorithm}-{dataset}")
        outline = axes.bar(place, train.mean, 0.8, fill=False, edgecolor=INK, linewidth=1.4)
        outline[0].set_gid(f"train-{algorithm}-{dataset}")
        paper = paper_numbers(source).get((dataset, algorithm), {}).get("test_error")
        if paper is not None:
            axes.plot(place, paper, "D", color=PAPER, markeredgecolor=INK, markersize=5, zorder=4)
        bars.append((place, max(test.mean, train.mean), paper, bound))
    if not bars:
        empty_panel(axes)
        return
    height = 1.2 * max(max(top, paper or 0.0) for _, top, paper, _ in bars) or 1.0
    for place, top, paper, bound in bars:
        if bound is not None:
            _write_bound(axes, place, top, paper, bound, height)
    axes.set_xticks(range(len(results.study.algorithms)), [SHORT_NAMES[a] for a in results.study.algorithms])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, len(results.study.algorithms) - 0.4)
    axes.set_ylim(0, height)
    axes.locator_params(axis="y", nbins=5)


def _write_bound(
    axes: "Axes", place: int, top: float, paper: float | None, bound: Spread, height: float
) -> None:
    """Write a bound above its bar, and above the paper's mark if the two would collide."""
    if paper is not None and -0.03 * height < paper - top < 0.14 * height:
        top = max(top, paper)
    text = f"{bound.mean:.3f}"
    axes.annotate(text, (place, top), (0, 5), textcoords="offset points", ha="center", size=9, zorder=5)


def _add_legend(figure: "Figure", results: StudyResults) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[Patch | Line2D] = [
        Patch(color=COLOURS[algorithm], label=mathematical(NAMES[algorithm]))
        for algorithm in results.study.algorithms
    ]
    entries.append(Patch(fill=False, edgecolor=INK, linewidth=1.4, label="train error"))
    marks = [("$0.1$", INK, 16, "bound, linear loss")]
    if any(cell in paper_numbers("main_results") for cell in results.cells()):
        marks.insert(0, ("D", PAPER, 6, "paper, test error"))
    entries += [
        Line2D(
            [], [], linestyle="", marker=mark, color=colour, markeredgecolor=INK, markersize=size, label=words
        )
        for mark, colour, size, words in marks
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=4)


def _finite(spread: Spread | None) -> Spread | None:
    return spread if spread is not None and math.isfinite(spread.mean) else None
