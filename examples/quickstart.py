"""
Your first certificate
======================

Train a classifier on a table and get a proof of how often it can be wrong.

The table ships with scikit-learn: 569 tumours, 30 measurements each, malignant or benign.
"""

import tempfile

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from pbgnet import PBGNetClassifier, load_model, make_certified_pipeline, verify
from pbgnet.certificates import percent_up

plt.style.use("pbgnet.pages.gallery")

# %%
# Train and certify
# -----------------
#
# ``fit`` splits the table at random. Half of the rows train the classifier: these are the *prior rows*. The
# other half only count its mistakes: these are the *certified rows*. You do not need a test set of your
# own.

table = load_breast_cancer(as_frame=True)
X, y = table.data, table.target_names[table.target]
pipeline = make_certified_pipeline(PBGNetClassifier(confidence=0.95, random_state=0)).fit(X, y)
certificate = pipeline.certificate_
print(certificate.summary)

# %%
# In a notebook, the fitted pipeline shows its certificate as a card.

pipeline

# %%
# What the numbers mean
# ---------------------
#
# Three error rates belong together. The classifier made few mistakes on the certified rows, but another
# sample of rows would give a slightly different count. The *bound* allows for that: with 95 % confidence,
# the error rate on new rows of the same kind is below it. Always giving the most frequent answer is what
# you compare with.

bound = certificate.error_rate.value
counted = certificate.inputs.empirical_error_rate
always = certificate.majority.error_rate
shown = [f"{100 * always:.1f} %", f"{100 * counted:.1f} %", f"{percent_up(bound)} %"]  # a bound is rounded up
names = [f"always '{table.target_names[1]}'", "counted on the\ncertified rows", "bound"]

fig, ax = plt.subplots(figsize=(5.2, 2.9))
bars = ax.barh(names, [100 * always, 100 * counted, 100 * bound], color=["C2", "C1", "C0"], height=0.6)
ax.bar_label(bars, shown, padding=4)
ax.set(xlim=(0, 120 * always), xlabel="error rate (%)")
ax.set_title(f"Wrong at most {percent_up(bound)} % of the time")
ax.grid(axis="y", visible=False)
plt.show()

# %%
# Check it
# --------
#
# ``verify`` recomputes every number of the certificate from the model and the table. It also lists what no
# program can check, such as whether the rows are independent of each other.

report = pipeline.verify(X, y)
print(report.summary)

# %%
# Save it, load it
# ----------------
#
# A saved model is a folder of plain files without pickle. Whoever has the folder and the table can verify
# it.

with tempfile.TemporaryDirectory() as folder:
    pipeline.save(f"{folder}/model")
    model = load_model(f"{folder}/model")
    print(model.predict(X[:3]))
    print(verify(f"{folder}/model", X, y).summary)
