"""The certificate of a classifier that is only known by its answers."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.bounds import split_delta
from pbgnet.certificates.classifier.counted_answers import CountedAnswers
from pbgnet.certificates.data import (
    Classes,
    DataFingerprints,
    GroupsRecord,
    Split,
    count_duplicates,
    fingerprint_split,
)
from pbgnet.certificates.format import (
    Certificate,
    Choices,
    ClassifierSubject,
    CountedRows,
    DisagreementSubject,
    Fingerprints,
    MajorityAnswer,
    never_answered,
)
from pbgnet.certificates.network import delta_of, now, software
from pbgnet.certificates.routes import Claim, Measured, balanced_bound, largest_difference
from pbgnet.exceptions import OptionError


def issue_for_answers(
    *,
    confidence: float,
    n_models: int,
    claims: tuple[Claim, ...],
    choices: Choices,
    data: DataFingerprints,
    measured: Measured,
    n_duplicates: int,
    subject: ClassifierSubject | DisagreementSubject,
    split: Split | None = None,
    never_answered: tuple[str, ...] = (),
    majority: MajorityAnswer | None = None,
    groups: GroupsRecord | None = None,
) -> Certificate:
    """Make the certificate of a classifier that is only known by its answers.

    Without a split, all rows are certified.
    """
    n, n_errors, delta = measured.n, measured.n_errors, delta_of(confidence)
    if split is None:
        split = Split(np.empty(0, dtype=np.int64), np.arange(data.n_rows))
    return Certificate(
        confidence=float(confidence),
        delta=delta,
        n_priors=int(n_models),
        delta_per_prior=split_delta(delta, n_models),
        claims=claims,
        alternatives=(),
        choices=choices,
        inputs=CountedRows(n, n_errors, n_errors / n, n_duplicates, never_answered),
        majority=majority,
        balanced_error_rate=balanced_bound(claims),
        subject=subject,
        n_rows_total=data.n_rows,
        fingerprints=Fingerprints(
            data.data,
            data.features,
            None if isinstance(subject, DisagreementSubject) else data.labels,
            data.columns,
            fingerprint_split(split.prior_rows, split.certified_rows),
        ),
        versions=software(),
        issued_at=now(),
        groups=groups,
        largest_group_difference=largest_difference(claims),
    )


def issue_for_all_rows(
    counted: CountedAnswers,
    claims: tuple[Claim, ...],
    choices: Choices,
    *,
    confidence: float,
    n_models: int,
    data: DataFingerprints,
    fingerprints: NDArray[np.uint64],
    subject: ClassifierSubject,
) -> Certificate:
    """Make the certificate of a classifier whose errors were counted on all rows of a table."""
    truth, groups = counted.truth, counted.groups
    return issue_for_answers(
        confidence=confidence,
        n_models=n_models,
        claims=claims,
        choices=choices,
        data=data,
        measured=counted.measured,
        groups=None if groups is None else groups.record(np.arange(truth.size)),
        n_duplicates=count_duplicates(fingerprints),
        never_answered=never_answered(counted.names, truth, counted.predictions),
        majority=MajorityAnswer.counted(counted.names, truth[:0], truth),
        subject=subject,
    )


def known_classes(model: Any, classes: ArrayLike | None, seen: ArrayLike | None) -> Classes:
    """Return the classes that were named, together with those seen if their number does not matter."""
    sources = (seen, getattr(model, "classes_", None), classes)
    if all(source is None for source in sources):
        raise OptionError(
            "class_conditional divides delta by the number of classes, which must not depend on the labels "
            "in these rows. The classifier has no classes_, so pass all possible classes as classes."
        )
    return Classes.of(*sources)
