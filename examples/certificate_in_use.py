"""
Watch a stream that drifts
==========================

A certificate is about rows like the certified ones. When the data change, the certificate does not. A monitor
compares new rows with the certificate and raises an alarm when it no longer holds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from pbgnet import ChangeDetector, Monitor, certify, make_certified_pipeline, rows_needed
from pbgnet.certificates import percent_up

plt.style.use("pbgnet.pages.gallery")

# %%
# Plan, then certify
# ------------------
#
# First, how many certified rows does the claim take? Then fit and certify a classifier that answers only
# when it is sure; a person gets the other rows.

print(f"To claim 5 % where 3 % are wrong takes {rows_needed(0.03, 0.05, chance=0.8)} certified rows.")

X, y = make_classification(9000, 8, n_clusters_per_class=1, class_sep=1.1, flip_y=0.005, random_state=1)
pipeline = make_certified_pipeline(LogisticRegression(), max_error=0.02, random_state=0)
pipeline.fit(X[:4000], y[:4000])
certificate = pipeline.certificate_
print(certificate.summary)

# %%
# The stream
# ----------
#
# The other rows arrive in 20 batches of 200. After batch 10 a sensor goes wrong: the column that matters
# most is shifted from then on.

BATCH = 200
column = int(np.argmax([abs(np.corrcoef(values, y)[0, 1]) for values in X.T]))
X[4000 + 10 * BATCH :, column] += 2.0

# %%
# Two watchdogs. The ``ChangeDetector`` looks at all rows and needs no labels. The ``Monitor`` needs labels,
# but a random sample is enough: here every second row gets one. Had nothing changed, each would raise an
# alarm with a probability of at most 1 %, however long the stream runs.

change = ChangeDetector(X[pipeline.prior_rows_], X[pipeline.certified_rows_])
monitor = Monitor(pipeline, alpha=0.01, change=change)
sample = np.random.default_rng(0)
alarms: dict[str, int] = {}
rates, lower, upper = [], [], []
for batch in range(1, 21):
    rows = np.arange(4000 + (batch - 1) * BATCH, 4000 + batch * BATCH)
    answered = np.array([answer is not None for answer in pipeline.predict_or_abstain(X[rows])])
    if batch == 1:
        print(f"Of the first {BATCH} rows, {np.sum(~answered)} go to a person.")
    if change.update(X[rows]):
        alarms.setdefault("change", batch)
    drawn = sample.random(BATCH) < 0.5
    labelled = rows[drawn]
    if monitor.update(y[labelled], pipeline.predict(X[labelled]), answered=answered[drawn]).alarm:
        if "error" not in alarms:
            print(f"Batch {batch}: {monitor.summary}")
        alarms.setdefault("error", batch)
    recent = monitor.error_rate
    rates.append(100 * recent.n_errors / recent.n_rows)
    lower.append(100 * recent.lower)
    upper.append(100 * recent.upper)

print(f"Batch {alarms['change']}: rows have changed, in column {', '.join(change.changed_columns)}.")

# %%

bound = 100 * certificate.error_rate.value
batches = np.arange(1, 21)
fig, ax = plt.subplots(figsize=(5.2, 3.8))
ax.fill_between(batches, lower, upper, color="C1", alpha=0.2, linewidth=0, label="limits (99 %)")
ax.plot(batches, rates, color="C1", label="latest labelled rows")
ax.axhline(bound, color="C0", linestyle="--", label=f"certified: at most {percent_up(bound / 100)} %")
ax.axvline(10.5, color="C2", linewidth=1.5)
ax.text(10.2, 27.5, "sensor breaks", ha="right", va="top")
ax.axvline(alarms["error"], color="C3", linewidth=1.5)
ax.text(alarms["error"] + 0.3, 27.5, "both\nalarms", color="C3", va="top")
ax.set(xlim=(1, 20), ylim=(0, 28), xlabel="batch (200 rows each)", ylabel="error rate (%)")
ax.set_xticks([1, 5, 10, 15, 20])
ax.set_title("Both alarms come with the first batch\nafter the change")
fig.legend(loc="outside lower center", ncols=2)
plt.show()

# %%
# Certify again
# -------------
#
# Find out why, then repair the sensor or train again. What can still be promised today? Certify with
# labelled rows of today.

today = certify(pipeline, X[-1000:], y[-1000:]).certificate
print(f"Today: {today.summary}")
