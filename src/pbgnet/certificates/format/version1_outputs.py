"""Sentences of version 1 about networks of several outputs: one of several classes, or several labels."""

from typing import TYPE_CHECKING

from pbgnet.bounds import round_up
from pbgnet.certificates.format.class_words import told_by_label
from pbgnet.certificates.format.group_words import statement_of_groups

if TYPE_CHECKING:
    from pbgnet.certificates.format.certificate import Certificate

CODED_WORDS = {
    "aggregate": (
        "The aggregate: the average of the binary activated network over its Gaussian posterior, under the "
        "linear loss of its outputs against the code of the true class. This is also the probability that a "
        "random output of a network drawn from the posterior has the wrong sign."
    ),
    "vote": (
        "The vote: the deterministic classifier that answers with the class whose code best matches the "
        "outputs of the aggregate."
    ),
    "prior's vote": (
        "The prior's vote: the deterministic classifier that answers with the class whose code best matches "
        "the outputs of the prior's aggregate. This is the deployed classifier. It learned nothing from the "
        "certified rows."
    ),
}
CODE_SETTLED = "The classes and their sign codes were fixed before looking at the certified rows."

LABEL_WORDS = {
    "aggregate": (
        "The aggregate: the average of the binary activated network over its Gaussian posterior, with one "
        "output for each label, under the mean of their linear losses. This is also the expected Hamming "
        "loss (the share of wrong labels) of a single network drawn from the posterior."
    ),
    "vote": (
        "The vote: the deterministic classifier that answers with the labels for which the output of the "
        "aggregate is above 0."
    ),
    "prior's vote": (
        "The prior's vote: the deterministic classifier that answers with the labels for which the output "
        "of the prior's aggregate is above 0. This is the deployed classifier. It learned nothing from the "
        "certified rows."
    ),
}
LABELS_SETTLED = "The set of labels was fixed before looking at the certified rows."

SUBJECTS = {
    "vote": "the share of rows with any wrong label from its vote",
    "prior's vote": "the share of rows with any wrong label from the deployed classifier (the prior's vote)",
    "classifier": "the share of rows with any wrong label from the classifier",
}


def predictor_words(certificate: "Certificate") -> dict[str, str]:
    """Return the words for predictors that are others than for one output."""
    if certificate.of_labels:
        return LABEL_WORDS
    return CODED_WORDS if certificate.network.network.n_outputs > 1 else {}


def settled(certificate: "Certificate") -> tuple[str, ...]:
    """Say that classes, or labels, are no choice by the certified rows."""
    if certificate.of_labels:
        return (LABELS_SETTLED,)
    return (CODE_SETTLED,) if certificate.network.network.n_outputs > 1 else ()


def bounded_labels(certificate: "Certificate") -> str:
    """Return what is proved of several labels: all that follows the confidence and the number of rows."""
    rate, hamming = certificate.error_rate, certificate.hamming_loss
    loss = certificate.linear_loss if certificate.of_network else None
    assert hamming is not None
    told = [_at_most(SUBJECTS[rate.predictor], rate.value)]
    told.append(_at_most("the Hamming loss (the share of wrong labels)", hamming.value))
    if loss is not None:
        drawn = (
            "the expected linear loss of the aggregate (the Hamming loss of a single network drawn from the "
            "posterior)"
        )
        aggregate = _at_most(drawn, loss.value)
        told = [f"{aggregate}, so {told[0]}", told[1]]
    groups = statement_of_groups(certificate, "the share of rows with any wrong label")
    return " and ".join(told) + _each_label(certificate) + groups + ", all of this together"


def yardstick_of_labels(certificate: "Certificate") -> str:
    """Say how often always the same answer errs in any label."""
    majority = certificate.majority
    assert majority is not None
    alone = ""
    if majority.chosen_on == "certified rows":
        alone = " There are no prior rows, so this answer was chosen on the same rows it is counted on."
    return (
        f"For comparison, counted and not certified: always answering {majority.answer}, the labels that "
        f"more than half of the {majority.chosen_on} have, gives a wrong label on {majority.n_errors} of "
        f"{majority.n} rows, a rate of {majority.error_rate:.4f}.{alone}"
    )


def _each_label(certificate: "Certificate") -> str:
    claims = certificate.per_label
    return f"; the error rate is {told_by_label(claims, round_up)}" if claims else ""


def _at_most(what: str, value: float) -> str:
    return f"{what} is at most {round_up(value)}" if value < 1 else f"nothing is proved about {what}"
