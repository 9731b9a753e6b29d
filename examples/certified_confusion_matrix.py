"""
Which digit is taken for which
==============================

With more than two classes, one error rate hides a lot. Here every cell of the confusion matrix gets its own
bound, and all of the bounds hold together.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from pbgnet import PBGNetClassifier
from pbgnet.certificates import percent_up

plt.style.use("pbgnet.pages.gallery")

# %%
# Train and certify
# -----------------
#
# ``confusion=True`` asks for the matrix. Ten classes give 90 cells, ten error rates by class and one over
# all rows: 101 claims share the 5 % that may fail. Two small networks are enough for a demonstration.

X, y = load_digits(return_X_y=True)
classifier = PBGNetClassifier(confusion=True, n_members=2, max_epochs=20, random_state=0).fit(X, y)
certificate = classifier.certificate_
print(certificate.summary)

# %%
# The certified matrix
# --------------------
#
# Read it by rows: of all images of a 3, at most this share is answered with an 8. The diagonal shows the
# bound on the error rate of each digit.

bounds = np.zeros((10, 10))
for claim in certificate.confusion:
    bounds[int(claim.given_class), int(claim.answered)] = 100 * claim.value
for claim in certificate.class_conditional:
    digit = int(claim.given_class)
    bounds[digit, digit] = 100 * claim.value

mistaken = max(certificate.confusion, key=lambda claim: claim.value)
most = percent_up(mistaken.value)
print(f"At most {most} % of digit {mistaken.given_class} are answered {mistaken.answered}.")

fig, ax = plt.subplots(figsize=(5.2, 5.0))
off_diagonal = np.ma.masked_array(bounds, np.eye(10, dtype=bool))
ax.imshow(off_diagonal, cmap="Reds", vmin=0, vmax=2 * off_diagonal.max())
for (row, column), bound in np.ndenumerate(bounds):
    ax.text(
        column, row, f"{math.ceil(bound)}", ha="center", va="center", weight="bold" if row == column else None
    )
ax.set_xticks(range(10))
ax.set_yticks(range(10))
ax.set(xlabel="answered (diagonal: any wrong answer)", ylabel="true digit")
ax.set_title(
    f"No digit is taken for another\nmore than {math.ceil(off_diagonal.max())} % of the time (bounds in %)"
)
ax.grid(visible=False)
plt.show()

# %%
# The lightest cells are those without any mistake: some 90 images of each digit cannot rule out more,
# even without an error. The cells above it are those in which mistakes were counted.

report = classifier.verify(X, y)
print(report.summary)
