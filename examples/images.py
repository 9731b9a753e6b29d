"""
Images, with a convolution
==========================

Networks for images cut them into patches. They are certified like any other, and the training images may be
varied as much as you like: the certified ones are counted as they are.
"""

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
# 1,797 digits of 8 by 8 pixels. Six filters of 3 by 3 pixels move over the image in steps of two.
# ``augmentation="small"`` turns, stretches and shifts each training image a little in every epoch.

digits = load_digits()
classifier = PBGNetClassifier(
    convolution=(6, 3, 2), augmentation="small", n_members=2, max_epochs=12, random_state=0
)
classifier.fit(digits.images, digits.target)
certificate = classifier.certificate_
print(certificate.summary)
print(classifier.verify(digits.images, digits.target).summary)

# %%
# Where it is wrong
# -----------------
#
# The mistakes on the certified images are the most useful pictures of all. Some of these digits are hard
# for people, too.

rows = classifier.certified_rows_
answers = classifier.predict(digits.images[rows])
mistakes = np.flatnonzero(answers != digits.target[rows])

fig, axes = plt.subplots(3, 4, figsize=(5.2, 4.9))
for ax, place in zip(axes.flat, mistakes, strict=False):
    ax.imshow(digits.images[rows[place]], cmap="Blues")
    ax.set_title(f"{digits.target[rows[place]]}, not {answers[place]}", fontsize=10, weight="normal")
for ax in axes.flat:
    ax.set_axis_off()
fig.suptitle(
    f"Some of the {len(mistakes)} mistakes among {len(rows)} images;\n"
    f"at most {percent_up(certificate.error_rate.value)} % of all images are wrong",
    x=0.01,
    ha="left",
)
plt.show()
