"""What is proved in plain words: one sentence, and a card for notebooks; the statement is the exact sentence.

Neither is part of the file: they say no more than the statement, and can be reworded at any time.
"""

from typing import TYPE_CHECKING

from pbgnet.bounds import percent, percent_up
from pbgnet.certificates.format.class_words import told_by_class, told_by_label
from pbgnet.certificates.format.group_words import summary_of_groups
from pbgnet.certificates.format.selection_words import summed_up_answers
from pbgnet.certificates.format.subjects import (
    ClassifierSubject,
    DisagreementSubject,
    FittedSubject,
    NetworkSubject,
)

if TYPE_CHECKING:
    from pbgnet.certificates.format.certificate import Certificate
    from pbgnet.pages import Bar, Card


def summary(certificate: "Certificate") -> str:
    """Say how often the classifier is wrong at most, how sure that is, and what to compare it with."""
    majority = certificate.majority
    told = f"{_proved(certificate)} ({percent(certificate.confidence)} % confidence, {_rows(certificate)})"
    if classes := certificate.class_conditional:
        told += f", {told_by_class(classes, lambda value: f'{percent_up(value)} %')}"
    if labels := certificate.per_label:
        told += f", {told_by_label(labels, lambda value: f'{percent_up(value)} %')}"
    told += summary_of_groups(certificate)
    if majority is not None:
        told += f"; always answering {majority.answer} is wrong on {100 * majority.error_rate:.1f} % of them"
    return f"{told}.{summed_up_answers(certificate)}"


def _proved(certificate: "Certificate") -> str:
    if certificate.of_labels:
        return _of_labels(certificate)
    value = certificate.error_rate.value
    return f"Wrong at most {percent_up(value)} % of the time" if value < 1 else "Nothing is proved"


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


def certificate_card(certificate: "Certificate") -> "Card":
    """Return what a notebook shows for a certificate."""
    from pbgnet.pages import Card  # loads the template engine, which only notebooks need

    useful = certificate.error_rate.value < 1 and certificate.beats_majority
    return Card(
        headline=_proved(certificate),
        tone="certified" if useful else "warn",
        lead=f"{percent(certificate.confidence)} % confidence, {_rows(certificate)}",
        warnings=certificate.shortcomings,
        bars=_bars(certificate),
        facts=tuple((name, told) for name, told in _facts(certificate).items() if told),
        notes_heading="What would break this certificate",
        notes=_breaks(certificate),
    )


def _bars(certificate: "Certificate") -> "tuple[Bar, ...]":
    from pbgnet.pages import Bar

    bound, counted, majority = certificate.error_rate, certificate.inputs, certificate.majority
    what = "rows with any wrong label" if certificate.of_labels else "error rate"
    bars = [Bar(f"{what}: the bound", bound.value, f"{percent_up(bound.value)} %", "certified")]
    if isinstance(certificate.subject, DisagreementSubject):
        return tuple(bars)
    rate = counted.empirical_error_rate
    bars.append(Bar(f"{what} on the certified rows", rate, f"{100 * rate:.1f} %", "measured"))
    if majority is not None:
        always = f"always answering {majority.answer}"
        bars.append(Bar(always, majority.error_rate, f"{100 * majority.error_rate:.1f} %", "trivial"))
    return tuple(bars)


def _facts(certificate: "Certificate") -> dict[str, str]:
    classes, labels = certificate.class_conditional, certificate.per_label
    by_class = told_by_class(classes, lambda value: f"{percent_up(value)} %") if classes else ""
    by_label = told_by_label(labels, lambda value: f"{percent_up(value)} %") if labels else ""
    subject, counted = certificate.subject, certificate.inputs
    differ = isinstance(subject, DisagreementSubject)
    what = "answered unlike the certified classifier" if differ else "wrong"
    trained = subject.n_prior_rows if isinstance(subject, FittedSubject) else 0
    trained = subject.prior.n_rows if isinstance(subject, NetworkSubject) else trained
    return {
        "Classifier": _deployed(certificate),
        "Counted": f"{counted.n_errors} of {counted.n} rows {what}",
        "Prior rows": f"{trained} rows, used for training" if trained else "",
        "By class": by_class,
        "By label": by_label,
        "By group": summary_of_groups(certificate).removeprefix(", "),
        "When unsure": summed_up_answers(certificate).strip(),
        "Issued": f"{certificate.issued_at[:10]}, pbgnet {certificate.versions.pbgnet}",
    }


def _deployed(certificate: "Certificate") -> str:
    """Say in a few words what answers."""
    subject = certificate.subject
    if isinstance(subject, NetworkSubject):
        sizes = subject.network
        layers = "-".join(map(str, (sizes.n_features, *sizes.hidden_layer_sizes, sizes.n_outputs)))
        if sizes.n_members is None:
            return f"a network {layers}"
        return f"{sizes.n_members} networks {layers}, which answer together"
    if isinstance(subject, FittedSubject):
        return f"{subject.fit.classifier} ({subject.fit.library})"
    if isinstance(subject, DisagreementSubject):
        exported = "an exported network" if subject.exported is not None else "a classifier"
        return f"{exported}, compared with a certified one"
    return "known by its answers; not stored with the certificate"


def _breaks(certificate: "Certificate") -> tuple[str, ...]:
    """List what would make the bound worthless, the likeliest first."""
    seen = "The classifier, its settings or the confidence were chosen after looking at the certified rows."
    subject = certificate.subject
    if isinstance(subject, ClassifierSubject) and not isinstance(subject, FittedSubject):
        seen = "The classifier was trained, tuned or chosen with the help of the certified rows."
    outside = isinstance(subject, NetworkSubject) and subject.preprocessing.status == "outside"
    return (
        "The rows you classify are unlike the certified rows, or drift away from them over time.",
        "Certified rows depend on each other, such as several rows about one person.",
        seen,
        *("The numbers were prepared beforehand with the help of the certified rows.",) * outside,
        "Labels of the certified rows are wrong: they are counted as they are.",
    )
