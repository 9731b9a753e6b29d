"""The sentences of version 1 that are the same for all certificates, or have gaps to be filled."""

COMPARISON = (
    "For comparison: each alternative is valid by itself, had it been chosen beforehand; they do not hold "
    "together at the stated confidence."
)

PREDICTOR_WORDS = {
    "aggregate": (
        "The aggregate: the average of the binary activated network over its Gaussian posterior, under the "
        "linear loss; equally the chance that one network drawn from the posterior errs."
    ),
    "vote": "The vote: the deterministic classifier that answers with the sign of the aggregate.",
    "prior's vote": (
        "The prior's vote: the deterministic classifier that answers with the sign of the prior's aggregate. "
        "It is what is deployed, and learned nothing from the certified rows."
    ),
    "classifier": "The classifier as it answered on these rows; nothing is known of how it was made.",
}
AGGREGATE_OF_TREE = (
    "The aggregate: the average over the Gaussian posterior of the paper's tree network, in which each "
    "neuron has its own copy of the layers below it, under the linear loss; equally the chance that one such "
    "tree drawn from the posterior errs. With two or more hidden layers this is not the average of the plain "
    "network."
)
NOT_KEPT = " A posterior was trained on them as well, and was not kept."
FITTED = (
    "The classifier as it answered on the certified rows: {classifier} of {library}, fitted on the {n} prior "
    "rows. It is not stored with this certificate; whoever made it keeps it."
)
EXPORTED = (
    "The exported network as it answered on these rows, known by the fingerprint of its kind, precision, "
    "weights and inputs."
)
LOSS_WORDS = {
    "linear loss": (
        "The linear loss: 1 minus the probability that the classifier gives to the true label; equally the "
        "chance to err of an answer drawn by its probabilities."
    ),
    "brier loss": (
        "The brier loss: half the squared distance between the probabilities of the classifier and 1 for "
        "the true label, 0 for the others."
    ),
}
LOSS_SETTLED = "The loss was settled before these rows were looked at: no other was tried."
LOSS_OF_ROW = "The loss of a row depends on that row, its label and the classifier alone, not on other rows."
OWN_LOSS = "is a function of the user's, of classifier, row and label, with values in [0, 1]."
NOT_COVERED = "The plain sign network with the posterior's mean weights; nothing is proved about it."

PREPROCESSING_WORDS = {
    "none": (
        "The features were used as given, with no preprocessing: whatever was done to them before was done "
        "without looking at the certified rows."
    ),
    "inside": (
        "The preprocessing is inside the proof: it was fitted on rows set apart from the certified ones. "
        "Types of columns that the table itself fixes, such as categories, were fixed without looking at the "
        "certified rows; otherwise it is outside."
    ),
    "outside": (
        "The preprocessing is outside the proof: the bound holds only if it was fixed without looking at "
        "the certified rows."
    ),
}
SPLIT_WORDS = {
    "drawn": (
        "The rows of the {what} were drawn at random, from the seed stated and the set of all rows, whatever "
        "their order; the seed was not chosen after others were tried."
    ),
    "hashed": (
        "The rows of the {what} are told by the hash of column {column}, which names cases and was not "
        "chosen by what the rows hold."
    ),
    "earliest": (
        "The rows of the {what} are the earliest by column {column}: the certificate speaks of rows drawn "
        "like the later ones, and of others only if they are exchangeable with these."
    ),
    "given": (
        "The rows of the {what} were chosen by the user, who vouches that this was done without looking at "
        "anything in the rows, neither features nor labels: a choice by what they hold breaks the "
        "certificate."
    ),
}
PRIOR_WORDS = {
    "random": "The prior was drawn at random, from the seed stated, without looking at any row.",
    "zero": "The prior is zero and saw no row.",
    "pretrained": "The prior was trained on the prior rows alone and never saw a certified row.",
    "given": "The prior was given by the user, who vouches that it does not depend on the certified rows.",
}

MOST_NAMED = 5
"""Of the classes that are never answered, so many are named."""

SUBJECTS = {
    "vote": "the error rate of the vote",
    "prior's vote": "the error rate of the prior's vote, which is what is deployed,",
    "classifier": "the error rate of the classifier",
}
