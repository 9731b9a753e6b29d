"""
Answer only when sure
=====================

A classifier that may leave the hard rows to a person can promise more about the others. You name the
error rate you accept; ``pbgnet`` finds out how many rows can be answered.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from pbgnet import make_certified_pipeline

plt.style.use("pbgnet.pages.gallery")

# %%
# Ask for at most 2 % errors
# --------------------------
#
# ``max_error=0.02`` says that at most 2 % of the *answered* rows may be wrong. Any classifier will do; this
# one is logistic regression on made-up rows.

X, y = make_classification(6000, 8, n_clusters_per_class=1, class_sep=0.9, flip_y=0.01, random_state=1)
pipeline = make_certified_pipeline(LogisticRegression(), max_error=0.02, random_state=0).fit(
    X[:4000], y[:4000]
)
certificate = pipeline.certificate_
print(certificate.summary)

# %%
# ``predict_or_abstain`` returns ``None`` for rows that a person should look at. ``predict`` still answers
# all rows.

answers = pipeline.predict_or_abstain(X[4000:])
answered = np.array([answer is not None for answer in answers])
print(answers[:20].tolist())

# %%
# What the promise costs
# ----------------------
#
# Sort the certified rows from sure to unsure and answer more and more of them. The surest rows are almost
# always right. The certificate stops at the point up to which 2 % can be proved, which is a little before
# the counted error rate reaches 2 %.

rows = pipeline.certified_rows_
sure = np.abs(pipeline.predict_proba(X[rows])[:, 1] - 0.5) + 0.5
order = np.argsort(-sure)
wrong = (pipeline.predict(X[rows]) != y[rows])[order]
share = 100 * np.arange(1, len(rows) + 1) / len(rows)
error = 100 * np.cumsum(wrong) / np.arange(1, len(rows) + 1)
stop = 100 * (certificate.answered_share or 0.0)

fig, ax = plt.subplots(figsize=(5.2, 3.8))
ax.axvspan(0, stop, color="C5", alpha=0.1, linewidth=0)
ax.plot(share, error, color="C1")
ax.axhline(2, color="C0", linestyle="--")
ax.text(1, 2.12, "accepted: 2 %", color="C0")
ax.text(stop / 2, 3.4, f"answered: {stop:.0f} % of rows", color="C5", ha="center")
ax.text(stop + (100 - stop) / 2, 0.25, "to a\nperson", ha="center")
ax.set(xlim=(0, 100), ylim=(0, None), xlabel="rows answered, the surest first (%)")
ax.set_ylabel("errors among them (%)")
ax.set_title(f"{stop:.0f} % of the rows can be answered\nwith at most 2 % errors among them")
plt.show()

# %%
# Does it hold on rows that nobody has seen before?

fresh_errors = np.mean(answers[answered] != y[4000:][answered])
print(f"Of 2000 fresh rows {answered.mean():.1%} are answered, and {fresh_errors:.1%} of these are wrong.")
