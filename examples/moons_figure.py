"""
The moons, taken apart
======================

Figure 1 of the paper, made here. A network with three hidden neurons has eight representations, one for
each combination of signs. The aggregate is a vote of all eight, which is why its border is smooth.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from pbgnet.exceptions import MajorityNotBeatenWarning
from pbgnet.experiments.figures import representations, train_toy

plt.style.use("pbgnet.pages.gallery")

# %%
# Train
# -----
#
# Two interleaved half circles, 400 points, three hidden neurons. The network is trained for the picture
# only: its bound proves nothing, and the warning that says so is not needed here.

with warnings.catch_warnings():
    warnings.simplefilter("ignore", MajorityNotBeatenWarning)
    toy = train_toy("moons")

# %%
# Take it apart
# -------------
#
# Each hidden neuron cuts the plane in two, so that the eight sign vectors belong to regions of the plane.
# With random weights the cuts are blurred: each sign vector has a probability at each point. What it adds
# to the output is this probability times the answer of the output neuron to these signs.

side = 121
low, high = toy.x.min(axis=0) - 0.35, toy.x.max(axis=0) + 0.35
grid = np.stack(np.meshgrid(*np.linspace(low, high, side).T), axis=-1).reshape(-1, 2)
found = representations(toy.network, grid)
gap = abs(found.parts.sum(axis=0) - found.aggregate).max()
print(f"The eight parts add up to the output: largest gap {gap:.0e}.")
certain = np.mean(np.sign(found.aggregate) == found.plain)
print(f"The sign network agrees with the vote on {certain:.1%} of the square.")

# %%
# Blue stands for one class, red for the other, white for no opinion. Points are every eighth row.


def draw(ax: Axes, values: np.ndarray, title: str, size: float) -> None:
    """Draw an output over the plane, and some of the rows."""
    shown = values.reshape(side, side)
    ax.imshow(shown, origin="lower", extent=(low[0], high[0], low[1], high[1]), cmap="RdBu", vmin=-1, vmax=1)
    for label, marker, colour in ((1.0, "o", "#1a56b8"), (-1.0, "^", "#b3261e")):
        ax.plot(*toy.x[toy.y == label][::8].T, marker, color=colour, mec="white", mew=0.5, ms=size)
    ax.set_title(title, fontsize=10.5, weight="normal", pad=4)
    ax.set_aspect("auto")
    ax.set_axis_off()


fig = plt.figure(figsize=(5.2, 6.2))
panels = fig.subplot_mosaic(
    [["F", "F", "f", "f"], ["0", "1", "2", "3"], ["4", "5", "6", "7"]], height_ratios=(2, 1, 1)
)
draw(panels["F"], found.aggregate, "aggregate: the vote of all eight", 5)
draw(panels["f"], found.plain, "sign network: one opinion", 5)
for place, (signs, values) in enumerate(zip(found.signs, found.parts, strict=True)):
    draw(panels[str(place)], values, " ".join("+" if sign > 0 else "\N{MINUS SIGN}" for sign in signs), 2.5)
fig.suptitle("Eight blurred opinions make one smooth border", x=0.01, ha="left")
plt.show()
