"""
Certify a random forest
=======================

You already have a classifier. ``certify`` takes it as it is and counts its mistakes on rows it has never
seen.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from pbgnet import certify, verify
from pbgnet.bounds import clopper_pearson_bound
from pbgnet.certificates import percent_up

plt.style.use("pbgnet.pages.gallery")

# %%
# A forest, fitted the usual way
# ------------------------------
#
# The data are 1,797 images of handwritten digits. We train on half of them and keep the other half.

X, y = load_digits(return_X_y=True)
X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=0.5, random_state=0)
forest = RandomForestClassifier(random_state=0).fit(X_train, y_train)

# %%
# Certify it
# ----------
#
# ``training_data`` is optional. With it, ``certify`` makes sure that no certified row was used for
# training.

certified = certify(forest, X_new, y_new, confidence=0.95, training_data=(X_train, y_train))
certificate = certified.certificate
print(certificate.summary)

# %%
# In a notebook, the result shows as a card.

certified

# %%
# Anyone who has the forest and the rows can check it.

report = verify(certified, X_new, y_new, model=forest)
print(report.summary)

# %%
# What more rows would buy
# ------------------------
#
# The bound sits above the error rate that was counted, because a count on few rows is uncertain. The more
# rows you certify with, the closer it gets. Here is the same bound, had we stopped after fewer rows.

wrong = forest.predict(X_new) != y_new
rows = np.arange(20, len(wrong) + 1)
errors = np.cumsum(wrong)[rows - 1]
bounds = 100 * np.asarray(clopper_pearson_bound(errors, rows, 0.05))
rates = 100 * errors / rows

fig, ax = plt.subplots()
ax.fill_between(rows, rates, bounds, color="C0", alpha=0.12, linewidth=0)
all_rows = percent_up(certificate.error_rate.value)
ax.plot(rows, bounds, color="C0", label=f"bound: {all_rows} % with all rows")
ax.plot(rows, rates, color="C1", label=f"counted: {rates[-1]:.1f} % of all rows")
ax.set(xscale="log", ylim=(0, None), xlabel="certified rows", ylabel="error rate (%)")
ax.set_xticks([20, 50, 100, 200, 500, 899], ["20", "50", "100", "200", "500", "899"])
ax.minorticks_off()
ax.set_title("More rows bring the bound\ncloser to what was counted")
ax.legend()
plt.show()

# %%
# The curve is for illustration. Decide how many rows to certify with before you look at them: stopping when
# the bound looks good would make it invalid.
