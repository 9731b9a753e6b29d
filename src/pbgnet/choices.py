"""What users choose by name, each with a sentence; read without waiting for PyTorch, as by ``--help``."""

CERTIFICATES = {
    "auto": "the best of the routes that the prior rows allow, and pays for looking at two of them",
    "seeger": "the kl bound on the linear loss, doubled for the error rate",
    "mixture": "Catoni's bound averaged over several C on the linear loss, doubled for the error rate",
    "vote": "the error rate of the vote through several networks, without the factor 2",
    "held-out": "the count of errors of the prior's vote, which is then what is deployed",
}
"""Certificates of a network: what is claimed, by which routes."""

ALGORITHMS = {
    "mlp": "tanh network, linear loss: no certificate",
    "pbgnet_l": "linear loss, selected on validation rows",
    "pbgnet_l_bnd": "linear loss, selected by the bound",
    "pbgnet": "the bound, from a random prior",
    "pbgnet_pre": "the bound, from a prior trained on other rows",
}
"""The paper's learning algorithms."""
