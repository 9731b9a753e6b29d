"""
Certify what you ship
=====================

A certificate covers one classifier: the one that ``predict`` answers with. If you ship something else, a
smaller or faster version, it needs a certificate of its own. It takes rows, but no labels.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from pbgnet import PBGNetClassifier, certify_by_disagreement, make_certified_pipeline
from pbgnet.certificates import percent_up
from pbgnet.export import OnnxClassifier, export_onnx

plt.style.use("pbgnet.pages.gallery")

# %%
# Train and certify
# -----------------
#
# 2,000 rows have labels. Another 2,000 have none; nothing is learned from them.

X, y = make_classification(4000, 10, n_informative=6, class_sep=1.6, flip_y=0.01, random_state=3)
labelled, unlabelled = np.arange(2000), np.arange(2000, 4000)
classifier = PBGNetClassifier(n_members=2, max_epochs=20, random_state=0)
pipeline = make_certified_pipeline(classifier).fit(X[labelled], y[labelled])
model = pipeline.certified_model_
print(pipeline.certificate_.summary)

# %%
# Two files
# ---------
#
# The *aggregate* is the certified classifier itself: it averages over random weights. The *sign network*
# uses the mean weights only. It is faster, and it is a different classifier: the certificate says nothing
# about it.

folder = tempfile.TemporaryDirectory()
aggregate = OnnxClassifier(export_onnx(model, Path(folder.name) / "aggregate.onnx", network="aggregate"))
sign = OnnxClassifier(export_onnx(model, Path(folder.name) / "sign.onnx", network="sign"))
same = np.mean(aggregate.predict(X[unlabelled]) == pipeline.predict(X[unlabelled]))
print(f"The aggregate in the file answers {same:.0%} of rows as predict does.")

# %%
# Certify the fast one
# --------------------
#
# The sign network can only be wrong where the certified classifier is wrong, or where the two differ. How
# often they differ can be counted without labels.

certified = certify_by_disagreement(model, sign, X[unlabelled])
print(certified.certificate.summary)
final = export_onnx(
    model,
    Path(folder.name) / "sign.onnx",
    network="sign",
    certificate=certified.certificate,
    overwrite=True,
)
print(f"{final.name} now carries this certificate.")

# %%

differ = certified.certificate.inputs.n_errors
ours, shipped = pipeline.certificate_.error_rate.value, certified.certificate.error_rate.value
fresh_wrong = [np.mean(made.predict(X[unlabelled]) != y[unlabelled]) for made in (sign, aggregate)]

fig, ax = plt.subplots(figsize=(5.2, 3.2))
names = ["sign network,\nby disagreement", "aggregate,\ncertified"]
bars = ax.barh(names, [100 * shipped, 100 * ours], color="C0", height=0.55, label="bound")
ax.bar_label(bars, [f"{percent_up(bound)} %" for bound in (shipped, ours)], padding=4)
ax.plot([100 * rate for rate in fresh_wrong], names, "o", color="C4", ms=9, label="wrong on 2,000 other rows")
ax.set(xlim=(0, 118 * shipped), xlabel="error rate (%)")
ax.set_title(f"The two differ on {differ} of 2,000 rows:\nthe file that ships is certified, too")
ax.grid(axis="y", visible=False)
fig.legend(loc="outside lower center", ncols=2)
plt.show()
folder.cleanup()
