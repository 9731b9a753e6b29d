"""What the page of a classifier shows if only its answers are known."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates import (
    Certificate,
    CertifiedPredictions,
    Claim,
    Classes,
    FittedSubject,
    label_values,
    round_up,
    target_values,
)
from pbgnet.report.answering import answering_chart, answering_numbers
from pbgnet.report.class_facts import KeyNumber, error_words, listed, rate_numbers, routes, short, title
from pbgnet.report.comparison import comparison_charts
from pbgnet.report.confusion import confusion_matrix
from pbgnet.report.group_chart import group_numbers
from pbgnet.report.kept import ErrorCount
from pbgnet.report.label_errors import label_errors

LONGEST_NAME = 80


def classifier_values(
    certified: CertifiedPredictions,
    y: ArrayLike | None,
    tested: ErrorCount | None,
    others: Mapping[str, Claim],
) -> dict[str, Any]:
    """Return what the page shows; what only networks have, or what needs the labels, is empty.

    `y` are the labels of the whole table; they are not needed if the rows were just certified.
    """
    certificate, classes = certified.certificate, Classes(certified.classes)
    of_labels = certificate.of_labels
    truth, count = _truth(certified, classes, y), label_errors if of_labels else confusion_matrix
    return {
        "told": title(certified.classes, of_labels),
        "lead": _lead(certified),
        "predictors": certificate.predictors,
        "not_covered": "",
        "candidates": _candidates(certificate),
        "numbers": _key_numbers(certificate),
        "proof_numbers": _proof_numbers(certificate),
        "comparison": comparison_charts(certificate, tested, others),
        "answering": answering_chart(certificate),
        "n_classes": len(classes),
        "errors": None if truth is None else count(certificate, classes, truth, certified.predictions),
        "effects": [],
        "curves": [],
        "phases": {},
        "margins": "",
        "reliability": {},
        "bins": [],
        "origin": _origin(certified),
        "fingerprints": [
            (name.capitalize(), value or "not stated")
            for name, value in {
                **vars(certificate.fingerprints),
                "answers": getattr(certificate.subject, "answers", None),
            }.items()
        ],
    }


def _truth(
    certified: CertifiedPredictions, classes: Classes, y: ArrayLike | None
) -> NDArray[np.int64] | None:
    """Return the labels of the certified rows, in the form of the answers; None if they are not known."""
    if y is None:
        return certified.truth
    of_labels = certified.certificate.of_labels
    truth = target_values(y) if of_labels else classes.places(label_values(y), "y holds")
    return truth if certified.split is None else truth[certified.split.certified_rows]


def alternative_texts(name: str, claim: Claim) -> tuple[str, ...]:
    """Return the line of another classifier: its name, errors, error rate and bound."""
    n_errors = round(claim.empirical_risk * claim.evidence.n)
    rate = f"{claim.empirical_risk:.4f}"
    return name.replace("_", " "), f"{n_errors} of {claim.evidence.n}", rate, round_up(claim.value)


def _lead(certified: CertifiedPredictions) -> str:
    subject = certified.certificate.subject
    name = getattr(subject, "name", None)
    if isinstance(subject, FittedSubject):
        name = subject.fit.classifier
    what = "Not named" if name is None else short(name, LONGEST_NAME)
    return f"{what} (its answers are certified; it is not stored here)"


def _key_numbers(certificate: Certificate) -> list[KeyNumber]:
    inputs, subject = certificate.inputs, certificate.subject
    numbers: list[KeyNumber] = [
        *rate_numbers(certificate),
        *group_numbers(certificate),
        *answering_numbers(certificate),
    ]
    if (loss := certificate.expected_loss) is not None:
        numbers.append(("loss", round_up(loss.value), f"bound on the {loss.quantity}", True))
    shared = f", shared between {certificate.n_priors} fits" if certificate.n_priors > 1 else ""
    numbers += [
        ("measured", f"{inputs.empirical_error_rate:.4f}", error_words(certificate), False),
        ("confidence", f"{100 * certificate.confidence:g} %", f"confidence{shared}", False),
        ("certified-rows", str(inputs.n), "certified rows", False),
    ]
    if isinstance(subject, FittedSubject):
        what = "prior rows, which it was fitted on"
        count = str(max(1, len(subject.fit.candidates)))
        numbers += [
            ("prior-rows", str(subject.n_prior_rows), what, False),
            ("candidates", count, "candidates, compared on the prior rows", False),
            ("preprocessing", subject.fit.preprocessing.status, "the proof: where preprocessing is", False),
        ]
    return numbers


def _proof_numbers(certificate: Certificate) -> list[KeyNumber]:
    return [("route", certificate.error_rate.words, "route to the bound", False)]


def _candidates(certificate: Certificate) -> list[tuple[str, ...]]:
    subject = certificate.subject
    if not isinstance(subject, FittedSubject):
        return []
    n = subject.n_prior_rows
    return [(c.classifier, f"{c.n_errors} of {n}", f"{c.n_errors / n:.4f}") for c in subject.fit.candidates]


def _origin(certified: CertifiedPredictions) -> list[tuple[str, str]]:
    certificate = certified.certificate
    subject = certificate.subject
    rows = [("Labels" if certificate.of_labels else "Classes", listed(certified.classes))]
    if isinstance(subject, FittedSubject):
        fit, split = subject.fit, subject.split
        drawn = "" if split.fraction is None else f", a share of {split.fraction:g}"
        drawn += "" if split.seed is None else f", seed {split.seed}"
        drawn += "" if split.column is None else f", by column {split.column!r}"
        rows += [
            ("Classifier", f"{fit.classifier} of {fit.library}"),
            ("Preprocessing", f"{fit.preprocessing.status}: {fit.preprocessing.description}"),
            ("Rows of the fit", f"{split.how}{drawn}"),
        ]
    return [
        *rows,
        ("Routes", routes(certificate)),
        ("Issued", certificate.issued_at),
        ("Versions", ", ".join(f"{name} {value}" for name, value in vars(certificate.versions).items())),
    ]
