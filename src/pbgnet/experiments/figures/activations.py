"""The error function beside tanh and the sign: the smooth curve that results from averaging signs."""

import math
from typing import TYPE_CHECKING

import numpy as np

from pbgnet.experiments.figures.plotting import COLOURS, INK, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LIMIT = 3.0


def activation_figure() -> "Figure":
    """Draw erf, tanh and sgn over [-3, 3]."""
    x = np.linspace(-LIMIT, LIMIT, 241)
    with new_figure(3.6, 6.5) as figure:
        axes = figure.subplots()
        axes.plot(x, [math.erf(value) for value in x], color=COLOURS["pbgnet"], label="erf(x)", gid="erf")
        axes.plot(x, np.tanh(x), "--", color=COLOURS["pbgnet_l"], label="tanh(x)", gid="tanh")
        # The jump is not part of the sign function.
        step = np.where(x == 0, np.nan, np.sign(x))
        axes.plot(x, step, "-.", color=INK, label="sgn(x)", linewidth=1.6, gid="sgn")
        axes.set_xlabel("x (no unit)")
        axes.set_ylabel("activation (no unit)")
        axes.set_yticks([-1, -0.5, 0, 0.5, 1])
        axes.set_xlim(-LIMIT, LIMIT)
        axes.legend(loc="upper left", bbox_to_anchor=(0.02, 0.93))
        figure.suptitle("Activations: erf lies between tanh and the sign", x=0.01, ha="left")
        return figure
