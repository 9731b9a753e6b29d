"""What is proved in one sentence for everybody; the exact one is the statement.

It is not part of the file: it says no more than the statement does, and may be put in better words any time.
"""

from typing import TYPE_CHECKING

from pbgnet.bounds import percent, percent_up
from pbgnet.certificates.format.class_words import told_by_class, told_by_label
from pbgnet.certificates.format.group_words import summary_of_groups
from pbgnet.certificates.format.selection_words import summed_up_answers
from pbgnet.certificates.format.subjects import DisagreementSubject, FittedSubject

if TYPE_CHECKING:
    from pbgnet.certificates.format.certificate import Certificate


def summary(certificate: "Certificate") -> str:
    """Say how often the classifier is wrong at most, how sure that is, and what it must be compared with."""
    value, majority = certificate.error_rate.value, certificate.majority
    proved = f"Wrong at most {percent_up(value)} % of the time" if value < 1 else "Nothing is proved"
    if certificate.of_labels:
        proved = _of_labels(certificate)
    told = f"{proved} ({percent(certificate.confidence)} % confidence, {_rows(certificate)})"
    if classes := certificate.class_conditional:
        told += f", {told_by_class(classes, lambda value: f'{percent_up(value)} %')}"
    if labels := certificate.per_label:
        told += f", {told_by_label(labels, lambda value: f'{percent_up(value)} %')}"
    told += summary_of_groups(certificate)
    if majority is not None:
        told += f"; always answering {majority.answer} is wrong on {100 * majority.error_rate:.1f} % of them"
    return f"{told}.{summed_up_answers(certificate)}"


def _of_labels(certificate: "Certificate") -> str:
    rows, labels = certificate.error_rate.value, certificate.hamming_loss
    assert labels is not None
    parts = [f"any label wrong on at most {percent_up(rows)} % of rows"] * (rows < 1)
    parts += [f"at most {percent_up(labels.value)} % of labels wrong"] * (labels.value < 1)
    told = " and ".join(parts)
    return told[:1].upper() + told[1:] if told else "Nothing is proved"


def _rows(certificate: "Certificate") -> str:
    n, subject = certificate.inputs.n, certificate.subject
    rows = f"{n} row" if n == 1 else f"{n} rows"
    if isinstance(subject, DisagreementSubject):
        return f"{subject.reference.claim.evidence.n} certified rows, and {rows} without labels"
    unseen = isinstance(subject, FittedSubject) or certificate.error_rate.predictor == "prior's vote"
    return f"{rows} it has not seen" if unseen else f"{rows} certify it"
