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
        "linear loss of its outputs against the code of the true class; equally the chance that an output "
        "drawn at random, of a network drawn from the posterior, has the wrong sign."
    ),
    "vote": (
        "The vote: the deterministic classifier that answers with the class whose code the outputs of the "
        "aggregate agree with best."
    ),
    "prior's vote": (
        "The prior's vote: the deterministic classifier that answers with the class whose code the outputs "
        "of the prior's aggregate agree with best. It is what is deployed, and learned nothing from the "
        "certified rows."
    ),
}
CODE_SETTLED = "The classes, and the code of signs for them, were fixed before looking at the certified rows."

LABEL_WORDS = {
    "aggregate": (
        "The aggregate: the average of the binary activated network over its Gaussian posterior, with one "
        "output for each label, under the mean of their linear losses; equally the Hamming loss to be "
        "expected of a network drawn from the posterior, the share of labels that it gets wrong."
    ),
    "vote": (
        "The vote: the deterministic classifier that answers with the labels whose output of the aggregate "
        "is above 0."
    ),
    "prior's vote": (
        "The prior's vote: the deterministic classifier that answers with the labels whose output of the "
        "prior's aggregate is above 0. It is what is deployed, and learned nothing from the certified rows."
    ),
}
LABELS_SETTLED = "Which labels there are was fixed before looking at the certified rows."

SUBJECTS = {
    "vote": "the share of rows with any wrong label in its vote",
    "prior's vote": "the share of rows with any wrong label in the prior's vote, which is what is deployed,",
    "classifier": "the share of rows with any wrong label in the answer of the classifier",
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
    told.append(_at_most("the Hamming loss, the share of wrong labels,", hamming.value))
    if loss is not None:
        drawn = "the expected linear loss of the aggregate, the Hamming loss of a network drawn,"
        aggregate = _at_most(drawn, loss.value)
        told = [f"{aggregate}, so {told[0]}", told[1]]
    groups = statement_of_groups(certificate, "that share of rows with any wrong label")
    return " and ".join(told) + _each_label(certificate) + groups + ", all together"


def yardstick_of_labels(certificate: "Certificate") -> str:
    """Say how often always the same answer errs in any label."""
    majority = certificate.majority
    assert majority is not None
    alone = ""
    if majority.chosen_on == "certified rows":
        alone = " There are no prior rows to choose it on: it is chosen on the rows it is counted on."
    return (
        f"For comparison, a count on these rows and no claim: always answering {majority.answer}, what more "
        f"than half of the {majority.chosen_on} have, has a wrong label on {majority.n_errors} of "
        f"{majority.n}, a rate of {majority.error_rate:.4f}.{alone}"
    )


def _each_label(certificate: "Certificate") -> str:
    claims = certificate.per_label
    return f"; the error rate is {told_by_label(claims, round_up)}" if claims else ""


def _at_most(what: str, value: float) -> str:
    return (
        f"{what} is at most {round_up(value)}" if value < 1 else f"nothing is proved about {what.rstrip(',')}"
    )
