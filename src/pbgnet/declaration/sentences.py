"""The sentences of a declaration that do not depend on the certificate."""

TITLE = "Declaration of a certified classifier"
LEAD = (
    "What this classifier is for, how often it may be wrong, what that relies on, and "
    'how to check it. The numbers come from its certificate. Fields marked "to be filled '
    'in" need an answer from those who made the classifier or use it.'
)

METRICS = (
    "The error rate is the share of rows that are answered wrong. A bound on it is about "
    "future rows: with the stated confidence, over the draw of the certified rows, the "
    "true error rate is not above it. The rates counted on the certified rows themselves "
    "are shown next to the bounds; they are not a guarantee.",
    "All claims hold at the same time: the probability that any of them fails, delta = 1 "
    "- confidence, is shared between them.",
)

NOTHING_APART = "The certificate makes no separate claims about classes or groups."

LEARNED_FROM_CERTIFIED = "The classifier was also trained on the certified rows; the proof accounts for that."
ORIGIN_UNKNOWN = "The certificate does not say which rows the classifier was trained on."

NOT_COVERED = (
    "Rows from another source or another time than the certified ones: if what the "
    "classifier meets changes, the bound no longer applies.",
    "Single answers: an error rate is a share of many rows. No number here says how "
    "likely a particular answer is to be wrong.",
    "Wrong labels: an answer counts as an error if it differs from the label of the row, "
    "whether or not the label is correct.",
    "Shares and probabilities that come with answers: they are not certified and may not be calibrated.",
    "Harm done by correct answers, causes of what is predicted, and how the answers are used.",
)
NO_CLASSES = (
    "The error rate among rows of one class: the certificate does not bound it, and it "
    "may be far higher in a rare class."
)
NO_GROUPS = (
    "The error rate in groups of rows: the certificate does not bound it, and it may be "
    "higher in some groups."
)

DATA_OF_COMMANDS = (
    "DATA is {table}, with the fingerprints above.{named} Every number is "
    "recomputed, what cannot be recomputed is listed as taken on trust, and the last "
    "line says whether everything agrees. The seal of the certificate described here:"
)
