"""The sentences of a declaration that do not depend on the certificate."""

TITLE = "Declaration of a certified classifier"
LEAD = (
    "What this classifier is for, how often it may err, what that rests on, and how to check it. Numbers "
    "come from its certificate. What is marked as to be filled in, only those can say who made or use it."
)

METRICS = (
    "The error rate is the share of rows that are answered wrong. A bound on it holds for rows to come: with "
    "the confidence stated, over the draw of the certified rows, the true rate is not above it. The rates "
    "counted on the certified rows themselves are shown beside the bounds, and are no promise.",
    "All claims hold together: the probability that they may fail, delta = 1 - confidence, is shared between "
    "them.",
)

NOTHING_APART = "The certificate claims nothing of classes or groups apart."

LEARNED_FROM_CERTIFIED = "The classifier has learned from the certified rows too; the proof allows for that."
ORIGIN_UNKNOWN = "The certificate knows nothing of the rows that the classifier was made from."

NOT_COVERED = (
    "Rows from another source, or another time, than the certified ones: if what the classifier meets "
    "changes, the bound says nothing.",
    "Single answers: an error rate is a share of many rows. No number here says how likely it is that one "
    "answer is wrong.",
    "Wrong labels: an error is an answer that differs from the label of the row, right or wrong.",
    "Shares and probabilities that come with answers: they are not certified, and need not be calibrated.",
    "Harm that correct answers can do, causes of what is predicted, and how the answers are used.",
)
NO_CLASSES = (
    "The error rate among rows of one class: it is not claimed, and may be far higher in a rare class."
)
NO_GROUPS = "The error rate in groups of rows: it is not claimed, and may be higher in some."

DATA_OF_COMMANDS = (
    "DATA is {table}, with the fingerprints above.{named} Every number is recomputed, and what has to be "
    "taken on trust is listed; the last line says whether all agrees. The seal of the certificate that this "
    "declaration speaks of:"
)
