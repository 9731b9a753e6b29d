"""The eight representations of a toy network, their sum, and the plain sign network."""

from typing import TYPE_CHECKING

import numpy as np

from pbgnet.experiments.figures.plotting import INK, PAPER, new_figure
from pbgnet.experiments.figures.toy import Toy, representations

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARGIN = 0.35
POINTS_PER_SIDE = 121


def representation_figure(toy: Toy) -> "Figure":
    """Draw `F_{w2}(s) Psi_s(x, W1)` for each sign vector s, their sum, and the sign network."""
    low, high = toy.x.min(axis=0) - MARGIN, toy.x.max(axis=0) + MARGIN
    axis_1, axis_2 = (np.linspace(low[k], high[k], POINTS_PER_SIDE) for k in range(2))
    points = np.stack(np.meshgrid(axis_1, axis_2), axis=-1).reshape(-1, 2)
    found = representations(toy.network, points)
    extent = (float(low[0]), float(high[0]), float(low[1]), float(high[1]))
    with new_figure(4.9) as figure:
        panels = figure.subplots(2, 5, sharex=True, sharey=True)
        pairs = zip(found.signs, found.parts, strict=True)
        drawn = [(_signs_text(signs), values) for signs, values in pairs]
        drawn.insert(4, (r"$F_\theta$: sum of the eight", found.aggregate))
        drawn.append((r"$f_\theta$: sign network", found.plain))
        for axes, (title, values) in zip(panels.flatten(), drawn, strict=True):
            image = axes.imshow(
                values.reshape(POINTS_PER_SIDE, POINTS_PER_SIDE),
                origin="lower",
                extent=extent,
                cmap="RdBu",
                vmin=-1,
                vmax=1,
                aspect="auto",
                interpolation="nearest",
            )
            axes.set_title(title, fontsize=9.5, fontweight="normal")
            _draw_rows(axes, toy)
        for axes in panels[1]:
            axes.set_xlabel(r"$x_1$ (scaled)")
        for axes in panels[:, 0]:
            axes.set_ylabel(r"$x_2$ (scaled)")
        bar = figure.colorbar(image, ax=panels, shrink=0.8, aspect=30, pad=0.01, ticks=[-1, -0.5, 0, 0.5, 1])
        bar.set_label("output (no unit)")
        text = rf"{toy.name.capitalize()}: votes $F_{{w_2}}(s)\,\Psi_s(x, W_1)$ of the eight representations"
        figure.suptitle(text, x=0.01, ha="left")
        return figure


def _draw_rows(axes: "Axes", toy: Toy) -> None:
    axes.grid(False)
    for label, marker, colour, size in ((1.0, "o", PAPER, 3.4), (-1.0, "^", INK, 4.8)):
        rows = toy.x[toy.y == label][::8]
        edge = INK if colour == PAPER else PAPER
        axes.plot(*rows.T, marker, color=colour, markeredgecolor=edge, markeredgewidth=0.6, markersize=size)


def _signs_text(signs: np.ndarray) -> str:
    return "$s = (" + ", ".join("+" if sign > 0 else "-" for sign in signs) + ")$"
