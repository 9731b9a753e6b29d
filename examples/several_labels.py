"""
Several labels per row
======================

A visitor may like sport and music and food. The certificate covers the share of visitors with any wrong
label, the share of wrong labels, and each label by itself.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from pbgnet import PBGNetMultilabelClassifier

plt.style.use("pbgnet.pages.gallery")

# %%
# Made-up visitors
# ----------------
#
# We draw the data ourselves, so that we can draw as many fresh visitors as we like and see how often the
# classifier is really wrong.

LABELS = ["sport", "music", "travel", "food"]


def draw_visitors(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw visitors of a page: age, minutes and clicks, and what they are interested in."""
    age, minutes, clicks = rng.uniform(16, 80, n), rng.gamma(2.0, 5.0, n), rng.poisson(6, n)
    tastes = np.column_stack([45 - age, 30 - 0.5 * age + clicks, age + minutes - 60, minutes - 8])
    noise = rng.normal(scale=[6.0, 4.0, 8.0, 1.5], size=(n, 4))
    table = pd.DataFrame({"age": age, "minutes": minutes, "clicks": clicks})
    return table, pd.DataFrame((tastes + noise > 0).astype(int), columns=LABELS)


rng = np.random.default_rng(0)
table, labels = draw_visitors(2000, rng)

# %%
# Train and certify
# -----------------
#
# One classifier answers all four labels. ``per_label=True`` asks for a bound on each of them.

classifier = PBGNetMultilabelClassifier(per_label=True, n_members=2, max_epochs=15, random_state=0)
classifier.fit(table, labels)
certificate = classifier.certificate_
print(certificate.summary)
print(classifier.verify(table, labels).summary)

# %%
# Was the certificate right?
# --------------------------
#
# With 20,000 fresh visitors we know the true rates almost exactly. Every one of them lies below its bound.

fresh, truth = draw_visitors(20_000, rng)
wrong = classifier.predict(fresh) != truth.to_numpy()
any_wrong, share_wrong = certificate.error_rate, certificate.hamming_loss
assert share_wrong is not None  # several labels always have one
claims = [any_wrong, share_wrong, *certificate.per_label]
true_rates = [wrong.any(axis=1).mean(), wrong.mean(), *wrong.mean(axis=0)]
names = ["any label wrong", "share of wrong labels", *(f"{label} wrong" for label in LABELS)]

fig, ax = plt.subplots(figsize=(5.2, 4.0))
for place, (claim, rate) in enumerate(zip(claims, true_rates, strict=True)):
    ax.plot([100 * rate, 100 * claim.value], [place, place], color="C0", alpha=0.25, linewidth=6)
places = range(len(names))
ax.plot([100 * claim.value for claim in claims], places, "D", color="C0", label="bound")
ax.plot(
    [100 * claim.empirical_risk for claim in claims], places, "|", color="C2", ms=14, mew=2.5, label="counted"
)
ax.plot([100 * rate for rate in true_rates], places, "o", color="C5", label="20,000 fresh visitors")
ax.set_yticks(places, names)
ax.invert_yaxis()
ax.set(xlim=(0, None), xlabel="share (%)", title="All true rates lie below their bounds")
fig.legend(loc="outside lower center", ncols=3, handletextpad=0.3, columnspacing=1.2)
plt.show()
