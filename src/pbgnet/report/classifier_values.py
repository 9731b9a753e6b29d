"""What the page of a classifier shows that is not stored, and known by its answers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pbgnet.certificates import Certificate, CertifiedPredictions, Claim, FittedSubject, round_up
from pbgnet.report.bars import ErrorCount
from pbgnet.report.comparison import comparison_charts


def classifier_values(
    certified: CertifiedPredictions, tested: ErrorCount | None, others: Mapping[str, Claim]
) -> dict[str, Any]:
    """Return what the page shows; what only networks have is empty."""
    certificate = certified.certificate
    names = ", ".join(map(str, certified.classes))
    return {
        "title": f"Certificate: {names}",
        "heading": "A classifier with a certificate",
        "lead": _lead(certificate, names),
        "predictors": certificate.predictors,
        "not_covered": "",
        "candidates": _candidates(certificate),
        "numbers": _key_numbers(certificate),
        "proof_numbers": _proof_numbers(certificate),
        "comparison": comparison_charts(certificate, tested, others),
        "effects": [],
        "curves": [],
        "phases": {},
        "margins": "",
        "reliability": "",
        "bins": [],
        "origin": _origin(certified, names),
        "fingerprints": [
            (name.capitalize(), value or "not stated")
            for name, value in {
                **vars(certificate.fingerprints),
                "answers": getattr(certificate.subject, "answers", None),
            }.items()
        ],
    }


def alternative_texts(name: str, claim: Claim) -> tuple[str, ...]:
    """Return the line of another classifier: its name, errors, their rate, and the bound."""
    n_errors = round(claim.empirical_risk * claim.evidence.n)
    rate = f"{claim.empirical_risk:.4f}"
    return name.replace("_", " "), f"{n_errors} of {claim.evidence.n}", rate, round_up(claim.value)


def _lead(certificate: Certificate, names: str) -> str:
    subject = certificate.subject
    what = subject.fit.classifier if isinstance(subject, FittedSubject) else "A classifier"
    return (
        f"{what}, which tells apart {names}, with a proof of how often it may err. It is known by its "
        f"answers and not stored. Issued {certificate.issued_at[:10]}."
    )


def _key_numbers(certificate: Certificate) -> list[tuple[str, str, str, bool]]:
    inputs, subject = certificate.inputs, certificate.subject
    numbers = [("error-rate", round_up(certificate.error_rate.value), "bound on the error rate", True)]
    numbers += [
        (f"class-{k}", round_up(claim.value), f"bound on it in class {claim.given_class}", True)
        for k, claim in enumerate(certificate.class_conditional)
    ]
    if (loss := certificate.expected_loss) is not None:
        numbers.append(("loss", round_up(loss.value), f"bound on the {loss.quantity}", True))
    shared = f", shared between {certificate.n_priors} fits" if certificate.n_priors > 1 else ""
    errors = f"error rate on the certified rows: {inputs.n_errors} of {inputs.n}"
    numbers += [
        ("errors", f"{inputs.empirical_error_rate:.4f}", errors, False),
        ("confidence", f"{100 * certificate.confidence:g} %", f"confidence{shared}", False),
        ("certified-rows", str(inputs.n), "certified rows", False),
    ]
    if isinstance(subject, FittedSubject):
        what = "other rows, for preprocessing and fit"
        count = str(max(1, len(subject.fit.candidates)))
        numbers += [
            ("prior-rows", str(subject.n_prior_rows), what, False),
            ("candidates", count, "candidates, compared on these other rows", False),
            ("preprocessing", subject.fit.preprocessing.status, "preprocessing, of the proof", False),
        ]
    return numbers


def _proof_numbers(certificate: Certificate) -> list[tuple[str, str, str, bool]]:
    return [("route", certificate.error_rate.words, "route to the bound", False)]


def _candidates(certificate: Certificate) -> list[tuple[str, ...]]:
    subject = certificate.subject
    if not isinstance(subject, FittedSubject):
        return []
    n = subject.n_prior_rows
    return [(c.classifier, f"{c.n_errors} of {n}", f"{c.n_errors / n:.4f}") for c in subject.fit.candidates]


def _origin(certified: CertifiedPredictions, names: str) -> list[tuple[str, str]]:
    certificate = certified.certificate
    subject = certificate.subject
    rows = [("Classes", names)]
    counts = np.bincount(certified.predictions, minlength=len(certified.classes)).tolist()
    answered = ", ".join(f"{label} {count}" for label, count in zip(certified.classes, counts, strict=True))
    rows.append(("Answers on the certified rows", answered))
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
        ("Routes", ", ".join(f"{claim.quantity} by {claim.route}" for claim in certificate.claims)),
        ("Issued", certificate.issued_at),
        ("Versions", ", ".join(f"{name} {value}" for name, value in vars(certificate.versions).items())),
    ]
