"""
Text as a sparse matrix
=======================

Counts of words make wide matrices that are almost all zeros. They are certified as they are, without being
filled in.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from pbgnet import PBGNetClassifier
from pbgnet.certificates import percent_up

plt.style.use("pbgnet.pages.gallery")

# %%
# Made-up messages
# ----------------
#
# A message is a few telling words among many ordinary ones. Most telling words fit its kind, complaint or
# praise; one in ten is in the wrong place.

COMPLAINT = ["broken", "late", "refund", "never", "cracked", "wrong", "missing", "angry"]
PRAISE = ["great", "fast", "lovely", "perfect", "thanks", "happy", "recommend", "friendly"]
EITHER = ["again", "customer", "service", "delivery", "price", "warranty"]
ORDINARY = ["".join(parts) for parts in itertools.product("bdfgklmnprst", "aeiou", "lmnrst", "aeo")]

rng = np.random.default_rng(0)
kinds = np.where(rng.random(3000) < 0.5, "complaint", "praise")
messages = []
for kind in kinds:
    own, other = (COMPLAINT, PRAISE) if kind == "complaint" else (PRAISE, COMPLAINT)
    telling = [rng.choice(own if rng.random() < 0.9 else other) for _ in range(rng.integers(2, 6))]
    words = [*telling, *rng.choice(EITHER, 2), *rng.choice(ORDINARY, 8)]
    messages.append(" ".join(rng.permutation(words)))
print(f"{kinds[0]}: {messages[0]}")

# %%
# Count the words
# ---------------
#
# The vocabulary is given, so nothing is learned from the rows at this step. A vectorizer that picks its
# words from all rows, or weighs them, would look at the certified rows before they are certified; fit it on
# other text.

vectorizer = CountVectorizer(
    vocabulary=sorted({*ORDINARY, *COMPLAINT, *PRAISE, *EITHER}), token_pattern=r"\w+"
)
X = vectorizer.transform(messages)
print(
    f"{X.shape[0]} messages, {X.shape[1]} words, {X.nnz / np.prod(X.shape):.1%} of the counts are not zero."
)

# %%
# Train and certify
# -----------------

classifier = PBGNetClassifier(n_members=2, max_epochs=15, random_state=0).fit(X, kinds)
certificate = classifier.certificate_
print(certificate.summary)
print(classifier.verify(X, kinds).summary)

# %%
# Which words count
# -----------------
#
# How much does the score change if a word is added to an ordinary message? The two kinds of words stand
# apart, and words that say nothing stay near zero.

words = [*COMPLAINT, *EITHER, *PRAISE]
plain = "bala dame kilo"
scores = classifier.decision_function(vectorizer.transform([plain, *(f"{plain} {word}" for word in words)]))
effects = scores[1:] - scores[0]
order = np.argsort(effects)
colours = np.array(["C3"] * len(COMPLAINT) + ["C2"] * len(EITHER) + ["C5"] * len(PRAISE))

fig, ax = plt.subplots(figsize=(5.2, 5.4))
ax.barh(np.array(words)[order], effects[order], color=colours[order], height=0.7)
for colour, name in (("C5", "used in praise"), ("C2", "used in both"), ("C3", "used in complaints")):
    ax.barh(0, 0, color=colour, label=name)
ax.axvline(0, color="C2", linewidth=1)
ax.set_xlabel("change of the score\n(from complaint, -1, to praise, 1)")
bound = percent_up(certificate.error_rate.value)
ax.set_title(f"The classifier found the words that count;\nit is wrong at most {bound} % of the time")
ax.tick_params(axis="y", labelsize=9)
ax.margins(y=0.01)
ax.grid(axis="y", visible=False)
ax.legend(loc="lower right")
plt.show()
