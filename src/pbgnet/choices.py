"""What users choose by name, each with a sentence; available without PyTorch, for example to ``--help``."""

CERTIFICATES = {
    "auto": "the best of the certificates that the prior rows allow; pays for trying two of them",
    "seeger": "the kl bound on the linear loss, doubled for the error rate",
    "mixture": "Catoni's bound averaged over several C on the linear loss, doubled for the error rate",
    "vote": "the error rate of the vote through several networks, without the factor 2",
    "held-out": "the errors of the prior's vote, counted on certified rows; the prior's vote is then "
    "what is deployed",
}
"""Certificates of a network: what is claimed, and by which routes."""

CLASSIFIERS = {
    "hist_gradient_boosting": "scikit-learn's histogram gradient boosting; numbers, categories as they are",
    "random_forest": "scikit-learn's random forest of 300 trees; categories one-hot",
    "logistic_regression": "scikit-learn's logistic regression; numbers standardised, categories one-hot",
    "mlp": "scikit-learn's multi-layer perceptron with early stopping; encoded as for logistic regression",
}
"""Other kinds of classifiers that can be fitted and certified by a count; they are not stored."""

ALGORITHMS = {
    "ensemble": "several networks trained with the log loss, chosen by cross-validation; errors are "
    "counted on other rows",
    "mlp": "tanh network, linear loss: no certificate",
    "pbgnet_l": "linear loss, selected on validation rows",
    "pbgnet_l_bnd": "linear loss, selected by the bound",
    "pbgnet": "the bound, from a random prior",
    "pbgnet_pre": "the bound, from a prior trained on other rows",
}
"""Learning algorithms: the ensemble, and those of the paper."""

CODES = {
    "exhaustive": "one output for every way to divide the classes in two",
    "hadamard": "about as many outputs as classes, any two of which differ in half of them",
    "one-against-rest": "one output per class",
}
"""What the outputs of a network stand for if there are more than two classes."""
