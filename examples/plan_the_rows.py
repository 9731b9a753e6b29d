"""
How many rows do you need?
==========================

Labels cost money. Before you buy them, work out how many certified rows your claim needs.
"""

import matplotlib.pyplot as plt
import numpy as np

from pbgnet import rows_needed
from pbgnet.planning import bound_by_rows

plt.style.use("pbgnet.pages.gallery")

# %%
# Ask for the number
# ------------------
#
# You expect that 3 % of the answers will be wrong, and you want to claim 5 %. How many certified rows does
# that take? If exactly 3 % of them turn out wrong, this many are enough:

print(rows_needed(error=0.03, claim=0.05))

# %%
# The count may turn out worse than expected, though. To reach the claim with a chance of 80 %, plan for
# more. This is the number to buy.

to_buy = rows_needed(error=0.03, claim=0.05, chance=0.8)
print(to_buy)

# %%
# How the bound falls
# -------------------
#
# The closer the claim is to the true error rate, the more rows it takes: to halve the distance you need
# about four times as many rows.

rows = np.unique(np.geomspace(50, 20_000, 120).astype(int))
fig, ax = plt.subplots(figsize=(5.2, 3.8))
for error, colour in ((0.10, "C4"), (0.03, "C0"), (0.01, "C5")):
    bounds = [100 * at.bound for at in bound_by_rows(error, rows)]
    ax.plot(rows, bounds, color=colour)
    ax.axhline(100 * error, color=colour, linestyle=":", linewidth=1.4)
    ax.text(20_000, bounds[-1] + 0.8, f"{100 * error:.0f} % wrong", color=colour, ha="right")
ax.plot(to_buy, 5, "o", color="C0", ms=8)
ax.annotate(
    f"claim 5 %:\nbuy {to_buy} rows", (to_buy, 5), xytext=(10, 5), textcoords="offset points", color="C0"
)
ax.set(xscale="log", xlabel="certified rows", ylabel="error rate (%)", ylim=(0, 23))
ax.set_xticks([50, 200, 1000, 5000, 20_000], ["50", "200", "1,000", "5,000", "20,000"])
ax.minorticks_off()
ax.set_title("Bounds (solid) come down to the\nerror rate (dotted) as rows are added")
plt.show()
