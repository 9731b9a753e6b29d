"""A certificate for a classifier that was fitted on rows set apart, from the other rows of its table."""

from typing import Any

import numpy as np

from pbgnet.bounds import split_delta
from pbgnet.certificates.classifier.asking import ask
from pbgnet.certificates.classifier.counting import (
    count_claims,
    held_out_choices,
    issue_for_answers,
    known_classes,
)
from pbgnet.certificates.classifier.label_answers import LabelAnswers, ask_labels, check_label_options
from pbgnet.certificates.classifier.predictions import CertifiedPredictions, fingerprint_predictions
from pbgnet.certificates.data import LabelledRows, Split, count_duplicates, describe_data, label_names
from pbgnet.certificates.format import FitRecord, FittedSubject, MajorityAnswer, never_answered
from pbgnet.certificates.network import delta_of
from pbgnet.certificates.routes import Measured, class_events
from pbgnet.exceptions import DomainError, LabelError
from pbgnet.preprocessing import take_rows


def certify_fitted(
    model: Any,
    rows: LabelledRows,
    split: Split,
    fit: FitRecord,
    *,
    confidence: float = 0.95,
    class_conditional: bool = False,
    confusion: bool = False,
    n_models: int = 1,
    per_label: bool = False,
) -> CertifiedPredictions:
    """Certify a classifier that was fitted on the prior rows of a table, by its errors on all the others.

    As `certify`, but the certificate speaks of the whole table: it says how the rows of the fit were chosen,
    which `verify` repeats, and what was fitted on them, which it does not.

    Parameters
    ----------
    model : classifier or callable
        From raw rows to labels; fitted, with all preprocessing in it, on the prior rows alone.
    rows : LabelledRows
        The whole table.
    split : Split
        Rows of the fit, and rows to count on: all the others.
    fit : FitRecord
        What was fitted, and chosen among which candidates.
    confidence, class_conditional, confusion, n_models, per_label
        As in `certify`. The classes are those of the prior rows, where classes are bounded apart.

    Raises
    ------
    DomainError
        If there is no prior row, or a row is in neither part.
    LabelError
        If classes are to be bounded apart, and one is not among the prior rows.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates import FitRecord, LabelledRows, PreprocessingRecord, Split, certify_fitted
    >>> X, y = np.array([[1.0], [-1.0]] * 100), np.array(["yes", "no"] * 100)
    >>> rows = LabelledRows(X, y)
    >>> split = Split.of_table(rows, fraction=0.5, seed=0)
    >>> fit = FitRecord("a threshold at 0", "no library", PreprocessingRecord())
    >>> certified = certify_fitted(lambda X: np.where(X[:, 0] > 0, "yes", "no"), rows, split, fit)
    >>> certified.certificate.inputs.n, certified.certificate.inputs.n_errors
    (100, 0)
    """
    if not split.prior_rows.size or split.n_left_out(rows.n_rows):
        raise DomainError("A classifier is fitted on some rows of a table and counted on all the others.")
    check_label_options(
        rows.labels.ndim == 2, per_label, class_conditional=class_conditional, confusion=confusion
    )
    if rows.labels.ndim == 2:
        return _certify_labels(model, rows, split, fit, confidence, bool(per_label), n_models)
    X, values = take_rows(rows.X, split.certified_rows), rows.labels[split.certified_rows]  # noqa: N806
    data, fitted_on = describe_data(rows.X, rows.y), rows.labels[split.prior_rows]
    answers = ask(model, X, values.size)  # on a copy of the rows
    by_class = bool(class_conditional or confusion)
    try:
        known = known_classes(None, fitted_on, None if by_class else values)
        truth = known.places(values, "y holds")
    except LabelError as error:
        raise LabelError(
            "class_conditional divides delta by the number of classes among the prior rows, and a certified "
            "row has another one; set more rows apart, or leave it out."
        ) from error
    predictions = known.places(answers, "The classifier answers with")
    choices = held_out_choices(known, by_class, bool(confusion), False, fit.chosen)
    events = class_events(known.names, by_class, bool(confusion))
    share = split_delta(split_delta(delta_of(confidence), n_models), choices.n_shares)
    measured = Measured(np.asarray(predictions != truth))
    certificate = issue_for_answers(
        confidence=confidence,
        n_models=n_models,
        claims=tuple(count_claims(measured, known, truth, predictions, events, share)),
        choices=choices,
        data=data,
        measured=measured,
        n_duplicates=_count_duplicates(rows, split),
        subject=FittedSubject(
            fingerprint_predictions(known.labels, predictions), split.record, split.prior_rows.size, fit
        ),
        split=split,
        never_answered=never_answered(known.names, truth, predictions),
        majority=MajorityAnswer.counted(known.names, known.places(fitted_on, "y holds"), truth),
    )
    return CertifiedPredictions(certificate, known.labels, predictions, split=split)


def _certify_labels(
    model: Any,
    rows: LabelledRows,
    split: Split,
    fit: FitRecord,
    confidence: float,
    per_label: bool,
    n_models: int,
) -> CertifiedPredictions:
    """Certify a classifier that answers with several labels; see `certify_fitted`."""
    names, labels = label_names(rows.y), rows.labels.astype(np.int64)
    X, truth = take_rows(rows.X, split.certified_rows), labels[split.certified_rows]  # noqa: N806
    counted = LabelAnswers(names, truth, ask_labels(model, X, *truth.shape))
    choices = counted.choices(per_label, fit.chosen)
    share = split_delta(split_delta(delta_of(confidence), n_models), choices.n_shares)
    answers = fingerprint_predictions(names.labels, counted.predictions)
    certificate = issue_for_answers(
        confidence=confidence,
        n_models=n_models,
        claims=counted.claims(per_label, share),
        choices=choices,
        data=describe_data(rows.X, rows.y),
        measured=counted.measured(),
        n_duplicates=_count_duplicates(rows, split),
        subject=FittedSubject(answers, split.record, split.prior_rows.size, fit),
        split=split,
        never_answered=counted.never_answered,
        majority=counted.majority(labels[split.prior_rows]),
    )
    return CertifiedPredictions(certificate, names.labels, counted.predictions, split=split)


def _count_duplicates(rows: LabelledRows, split: Split) -> int:
    return count_duplicates(rows.fingerprints[split.certified_rows], rows.fingerprints[split.prior_rows])
