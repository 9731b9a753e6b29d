"""Checks of `verify` that the certificate, the model and the data are the ones they are said to be."""

from typing import Any

import torch

from pbgnet.aggregation.fourier import DEFAULT_TOLERANCE
from pbgnet.certificates.certificate import SCHEMA
from pbgnet.certificates.fingerprints import (
    DataFingerprints,
    fingerprint_columns,
    fingerprint_features,
    fingerprint_labels,
    fingerprint_split,
    fingerprint_tensors,
)
from pbgnet.certificates.subject import NetworkSubject, Outcome, Subject, same
from pbgnet.preprocessing.tables import count_rows

__all__ = [
    "check_columns",
    "check_data",
    "check_features",
    "check_labels",
    "check_network",
    "check_posterior",
    "check_preprocessing",
    "check_prior",
    "check_row_count",
    "check_schema",
    "check_seal",
    "check_split",
    "check_statement",
]


def check_schema(subject: Subject) -> Outcome:
    """Reading it checked the schema; the tolerance that the numbers rest on is compared here."""
    certificate = subject.certificate
    version, tolerance = f"{SCHEMA} {certificate.version}", DEFAULT_TOLERANCE[torch.float64]
    if certificate.aggregation is not None and certificate.aggregation.tolerance != tolerance:
        found = f"tolerance {certificate.aggregation.tolerance!r}"
        return Outcome(f"tolerance {tolerance!r}", found, False, "the tolerance was changed")
    return Outcome(version, version, True)


def check_statement(subject: Subject) -> Outcome:
    """Compare the sentences in the file with those its numbers make."""
    certificate, written = subject.certificate, subject.certificate.written
    if written is None:
        return Outcome(certificate.statement, certificate.statement, True)
    for name, genuine, found in (
        ("statement is", (certificate.statement,), (written.statement,)),
        ("predictors are", certificate.predictors, written.predictors),
        ("assumptions are", certificate.assumptions, written.assumptions),
    ):
        pairs = [(_nth(genuine, k), _nth(found, k)) for k in range(max(len(genuine), len(found)))]
        for expected, other in pairs:
            if expected != other:
                return Outcome(expected, other, False, f"the {name} not what the numbers of the file make")
    return Outcome(certificate.statement, certificate.statement, True)


def check_seal(subject: Subject) -> Outcome:
    """Fingerprint the whole text, for the fields that no other step recomputes."""
    certificate = subject.certificate
    if certificate.written is None:
        return Outcome(certificate.seal, certificate.seal, True, "it was never in a file")
    return same(certificate.written.seal, certificate.seal, "a field of the certificate was edited")


def check_network(subject: NetworkSubject) -> Outcome:
    """Compare the sizes of the network."""
    return same(_sizes(subject.certificate.network), _sizes(subject.model.network.architecture))


def check_posterior(subject: NetworkSubject) -> Outcome:
    """Fingerprint the posterior's weights."""
    found = fingerprint_tensors(list(subject.model.network.weights))
    return same(subject.certificate.fingerprints.posterior, found, "a weight of the posterior was changed")


def check_prior(subject: NetworkSubject) -> Outcome:
    """Fingerprint the prior's weights."""
    found = fingerprint_tensors(subject.model.network.prior_weights)
    return same(subject.certificate.fingerprints.prior, found, "a weight of the prior was changed")


def check_preprocessing(subject: NetworkSubject) -> Outcome:
    """Fingerprint classes, feature names and preprocessor."""
    expected = subject.certificate.fingerprints.preprocessing
    if expected is None:
        note = "the certificate has no fingerprint of it: classes and columns are taken on trust"
        return Outcome("not stated", "not stated", True, note, trusted=True)
    found = subject.model.inputs.fingerprint()
    return same(expected, found, "classes, feature names or the preprocessor were changed")


def check_data(subject: Subject) -> Outcome:
    """See that the one fingerprint of the data is that of the parts stated; the parts have own steps."""
    stated = subject.certificate.fingerprints
    rows = subject.certificate.n_rows_total
    found = DataFingerprints(rows, stated.features, stated.labels or "none", stated.columns).data
    return same(stated.data, found, "the certificate's fingerprints of the data contradict each other")


def check_features(subject: Subject) -> Outcome:
    """Fingerprint the values of all rows."""
    detail = "a value, or the order of rows or columns, differs from the table given to fit"
    return same(subject.certificate.fingerprints.features, fingerprint_features(subject.X), detail)


def check_labels(subject: Subject) -> Outcome:
    """Fingerprint all labels."""
    detail = "a label, or the order of rows, differs from those given to fit"
    expected = subject.certificate.fingerprints.labels
    if expected is None:
        return Outcome("no labels", "no labels", True, "none are needed")
    return same(expected, fingerprint_labels(subject.y), detail)


def check_columns(subject: Subject) -> Outcome:
    """Fingerprint the names of the columns."""
    expected, found = subject.certificate.fingerprints.columns, fingerprint_columns(subject.X)
    detail = "a column was renamed, moved, added or left out"
    return same(expected or "no names", found or "no names", detail)


def check_row_count(subject: Subject) -> Outcome:
    """Count the rows."""
    count, found = count_rows(subject.X), f"{subject.n_rows} rows"
    if count != subject.n_rows:
        found = f"{count} rows with {subject.n_rows} labels"
    return same(f"{subject.certificate.n_rows_total} rows", found, "rows were added or left out")


def check_split(subject: NetworkSubject) -> Outcome:
    """Fingerprint which rows are which."""
    found = fingerprint_split(subject.model.prior_rows, subject.model.certified_rows)
    return same(subject.certificate.fingerprints.split, found, "prior or certified rows were changed")


def _nth(sentences: tuple[str, ...], k: int) -> str:
    return sentences[k] if k < len(sentences) else "no such sentence"


def _sizes(network: Any) -> str:
    hidden = ", ".join(map(str, network.hidden_layer_sizes)) or "none"
    intercepts = "with" if network.intercept else "without"
    return f"{network.n_features} features, hidden layers: {hidden}, {intercepts} intercepts"
