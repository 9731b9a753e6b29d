"""
Is any group worse off?
=======================

An error rate over all rows says little about a small group. With ``groups`` each group gets limits of its
own, from above and from below, and the difference between any two groups is bounded.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from pbgnet import PBGNetClassifier, make_certified_pipeline
from pbgnet.certificates import percent_up

plt.style.use("pbgnet.pages.gallery")

# %%
# Loans in three towns
# --------------------
#
# We make up 6,000 loans. The town is not a feature: the classifier never sees it. In the south the labels
# are noisier than elsewhere, and few loans come from the east.

rng = np.random.default_rng(0)
n = 6000
table = pd.DataFrame({"income": rng.normal(size=n), "age": rng.integers(18, 90, n)})
towns = pd.Series(rng.choice(["north", "south", "east"], n, p=[0.6, 0.37, 0.03]))
noise = np.where(towns == "south", 0.12, 0.03)
repaid = (table["income"] + table["age"] / 60 > 0.8) == (rng.random(n) > noise)
labels = np.where(repaid, "repaid", "lost")

# %%
# Certify each town
# -----------------
#
# All limits hold together at 95 % confidence.

pipeline = make_certified_pipeline(PBGNetClassifier(n_members=2, max_epochs=10, random_state=0))
certificate = pipeline.fit(table, labels, groups=towns).certificate_
print(certificate.summary)
print(pipeline.verify(table, labels, groups=towns).summary)

# %%
# What can be said of whom
# ------------------------
#
# The south is worse off than the north, and that is proved: the two intervals do not overlap. Of the east
# little is known, because few of its rows could be counted. A wide interval is a reason to collect more
# rows, not a sign that all is well.

groups = sorted(certificate.by_group, key=lambda group: group.upper)
fig, ax = plt.subplots(figsize=(5.2, 3.2))
for place, group in enumerate(groups):
    ax.plot([100 * group.lower, 100 * group.upper], [place, place], color="C0", alpha=0.3, linewidth=9)
    ax.plot(100 * group.n_errors / group.n, place, "o", color="C0")
names = [f"{group.name.strip(chr(39))}\n{group.n} rows" for group in groups]
ax.set_yticks(range(len(groups)), names)
ax.set(xlim=(0, None), ylim=(-0.6, len(groups) - 0.4), xlabel="error rate (%): counted, with its limits")
difference = percent_up(certificate.largest_group_difference or 0.0)
ax.set_title(f"The south is worse off than the north;\nno two towns differ by more than {difference} points")
plt.show()
