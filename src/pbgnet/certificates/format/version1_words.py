"""The sentences of version 1 that are the same for all certificates, or have gaps to be filled."""

COMPARISON = (
    "For comparison only: each alternative would be valid if it had been chosen in advance. They do not "
    "hold together at the stated confidence."
)

PREDICTOR_WORDS = {
    "aggregate": (
        "The aggregate: the average of the binary activated network over its Gaussian posterior, under the "
        "linear loss. This is also the probability that a single network drawn from the posterior is wrong."
    ),
    "vote": "The vote: the deterministic classifier that answers with the sign of the aggregate.",
    "prior's vote": (
        "The prior's vote: the deterministic classifier that answers with the sign of the prior's "
        "aggregate. This is the deployed classifier. It learned nothing from the certified rows."
    ),
    "classifier": "The classifier, as it answered on these rows. Nothing is known about how it was made.",
}
AGGREGATE_OF_TREE = (
    "The aggregate: the average over the Gaussian posterior of the paper's tree network, in which each "
    "neuron has its own copy of the layers below it, under the linear loss. This is also the probability "
    "that a single tree drawn from the posterior is wrong. With two or more hidden layers this is not the "
    "average of the plain network."
)
NOT_KEPT = " A posterior was also trained on them, and was not kept."
FITTED = (
    "The classifier, as it answered on the certified rows: {classifier} of {library}, fitted on the {n} "
    "prior rows. It is not stored with this certificate."
)
EXPORTED = (
    "The exported network, as it answered on these rows, identified by the fingerprint of its kind, "
    "precision, weights and inputs."
)
NAMED = (
    "The classifier called {name!r}, as it answered on these rows. The name was given by whoever asked for "
    "this certificate; nothing is known about how the classifier was made."
)
LOSS_WORDS = {
    "linear loss": (
        "The linear loss: 1 minus the probability that the classifier gives to the true label. This is also "
        "the probability that an answer drawn according to these probabilities is wrong."
    ),
    "brier loss": (
        "The Brier loss: half the squared distance between the classifier's probabilities and the true "
        "label, written as 1 for the true class and 0 for the others."
    ),
}
LOSS_SETTLED = "The loss was chosen before looking at these rows: no other loss was tried."
LOSS_OF_ROW = "The loss of a row depends only on that row, its label and the classifier, not on other rows."
OWN_LOSS = "is a function written by the user, of classifier, row and label, with values in [0, 1]."
NOT_COVERED = "The plain sign network with the posterior's mean weights: nothing is proved about it."

PREPROCESSING_WORDS = {
    "none": (
        "The features were used as given, without preprocessing. Anything done to them earlier was done "
        "without looking at the certified rows."
    ),
    "inside": (
        "The preprocessing is inside the proof: it was fitted on rows that are not certified. If the table "
        "itself fixes column types, such as categories, they were fixed without looking at the certified "
        "rows; otherwise the preprocessing is outside the proof."
    ),
    "outside": (
        "The preprocessing is outside the proof: the bound holds only if the preprocessing was fixed "
        "without looking at the certified rows."
    ),
}
SPLIT_WORDS = {
    "drawn": (
        "The prior rows were drawn at random from the set of all rows with the stated seed, regardless of "
        "their order. This seed was not chosen after trying others."
    ),
    "hashed": (
        "The prior rows were selected by the hash of column {column}. This column identifies cases, and was "
        "not chosen by looking at the values in the rows."
    ),
    "earliest": (
        "The prior rows are the earliest by column {column}. The certificate is about rows drawn like the "
        "later ones, and covers other rows only if they are exchangeable with these."
    ),
    "given": (
        "The prior rows were chosen by the user, who vouches that this was done without looking at the "
        "features or labels of any row. Choosing them by their values invalidates the certificate."
    ),
}
PRIOR_WORDS = {
    "random": "The prior was drawn at random with the stated seed, without looking at any row.",
    "zero": "All weights of the prior are zero; it saw no rows.",
    "pretrained": "The prior was trained only on the prior rows, and never saw a certified row.",
    "given": "The prior was given by the user, who vouches that it does not depend on the certified rows.",
}

PRIOR_KEPT = "The decision to keep the prior as the posterior was made before looking at the certified rows."

MOST_NAMED = 5
"""Of the classes that are never answered, so many are named."""

SUBJECTS = {
    "vote": "the error rate of the vote",
    "prior's vote": "the error rate of the deployed classifier (the prior's vote)",
    "classifier": "the error rate of the classifier",
}
