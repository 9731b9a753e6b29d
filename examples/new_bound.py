"""
A new bound in thirty lines
===========================

A bound in ``pbgnet`` is a *route*: an object that says what it takes from the rows and what this proves.
You can write your own, try it, and compare it with those that are there.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

from pbgnet.bounds import clopper_pearson_bound
from pbgnet.certificates.routes import ERROR_RATE, Measured, Route, Settings
from pbgnet.certificates.routes.clopper_pearson import CountEvidence

plt.style.use("pbgnet.pages.gallery")

# %%
# Hoeffding's inequality as a route
# ---------------------------------
#
# With probability at least 1 - delta, the error rate is at most the share of errors that was counted plus
# sqrt(ln(1 / delta) / (2 n)). A route needs a name, what it bounds and of which classifiers, the evidence
# it takes from the rows, and the value. Certified numbers are rounded up, never down.


class Hoeffding(Route):
    """`rate + sqrt(ln(1 / delta) / 2 n)`; for a classifier that was fixed without the rows."""

    name = "hoeffding"
    summary = "the held-out count of errors, by Hoeffding's inequality"
    quantity = ERROR_RATE
    predictors = ("prior's vote", "classifier")
    evidence_type = CountEvidence

    def evidence(self, measured: Measured, settings: Settings, delta: float) -> CountEvidence:
        """Count the errors."""
        return CountEvidence(measured.n, measured.n_errors)

    def value(self, evidence: CountEvidence, settings: Settings, delta: float) -> float:
        """Return the bound, rounded up."""
        distance = math.sqrt(math.log(1 / delta) / (2 * evidence.n))
        return min(1.0, (evidence.empirical_risk + distance) * (1 + 2.0**-48))

    def words(self, settings: Settings) -> str:
        """Name it."""
        return "held-out count by Hoeffding"


# %%
# Is it valid?
# ------------
#
# Draw many samples from a world where the error rate is known, and count how often the bound fails. At 95 %
# confidence it may fail in 5 % of the samples.

route, delta, true_rate, n = Hoeffding(), 0.05, 0.03, 500
rng = np.random.default_rng(0)
samples = rng.random((4000, n)) < true_rate
mine = np.array(
    [route.value(route.evidence(Measured(wrong), Settings(), delta), Settings(), delta) for wrong in samples]
)
exact = np.asarray(clopper_pearson_bound(samples.sum(axis=1), n, delta))
for name, bounds in (("Hoeffding", mine), ("exact count", exact)):
    print(f"{name:<12} fails in {np.mean(bounds < true_rate):.1%} of samples, mean bound {bounds.mean():.1%}")

# %%
# Is it any good?
# ---------------
#
# Valid, yes, but timid: Hoeffding's bound never fails here, because it is much too large. It does not know
# that a rate near zero varies less. The exact bound uses up its 5 %.

fig, ax = plt.subplots(figsize=(5.2, 3.6))
bins = np.arange(0, 11, 0.4).tolist()
ax.hist(100 * exact, bins, color="C0", alpha=0.75, label="exact (Clopper-Pearson)")
ax.hist(100 * mine, bins, color="C4", alpha=0.75, label="Hoeffding")
ax.axvline(100 * true_rate, color="C3")
ax.text(100 * true_rate - 0.15, 900, "true\nerror rate", color="C3", ha="right", va="top")
ax.set(xlabel="bound on the error rate (%), 500 rows", ylabel="samples out of 4,000", ylim=(0, 1150))
ax.set_title("Both bounds are valid; the exact one is closer")
ax.legend(loc="upper right", bbox_to_anchor=(1, 1.02))
plt.show()

# %%
# To make it part of certificates, put the class into a file of ``pbgnet/certificates/routes`` and add one
# line to the registry. A conformance suite then checks validity, rounding, monotonicity and more. The
# recipe "Add a bound" in the developer documentation has the steps.
