"""A certificate for a classifier that was fitted on the prior rows of a table, from its other rows."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.bounds import split_delta
from pbgnet.certificates.classifier.asking import ask
from pbgnet.certificates.classifier.counted_answers import CountedAnswers, count_claims
from pbgnet.certificates.classifier.issuing import issue_for_answers, known_classes
from pbgnet.certificates.classifier.label_answers import LabelAnswers, ask_labels, check_label_options
from pbgnet.certificates.classifier.predictions import CertifiedPredictions, fingerprint_predictions
from pbgnet.certificates.classifier.scores import measure_scores, score_quantity
from pbgnet.certificates.classifier.thresholds import Selection
from pbgnet.certificates.data import (
    Classes,
    Groups,
    KeptRows,
    LabelledRows,
    Split,
    count_duplicates,
    label_names,
)
from pbgnet.certificates.format import FitRecord, FittedSubject, MajorityAnswer, never_answered
from pbgnet.certificates.network import delta_of
from pbgnet.certificates.routes import Measured
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
    groups: Groups | None = None,
    selection: Selection | None = None,
) -> CertifiedPredictions:
    """Certify a classifier that was fitted on the prior rows of a table, by its errors on all other rows.

    As `certify`, but the certificate is about the whole table: it says how the prior rows were chosen, which
    `verify` repeats, and what was fitted on them, which it does not repeat.

    Parameters
    ----------
    model : classifier or callable
        From raw rows to labels; fitted, with all preprocessing in it, only on the prior rows.
    rows : LabelledRows
        The whole table.
    split : Split
        Prior rows, and rows to count on: all others.
    fit : FitRecord
        What was fitted, and chosen among which candidates.
    confidence, class_conditional, confusion, n_models, per_label
        As in `certify`. If classes are bounded, they are those of the prior rows.
    groups : Groups, optional
        The group of each row of the table, if groups are to be bounded; see `read_groups`.

    selection : Selection, optional
        If the classifier only answers when it is sure: what is requested for answered rows, and scores of
        prior rows.

    Raises
    ------
    DomainError
        If there is no prior row, or a row is in neither part.
    LabelError
        If classes are to be bounded, and one is not among the prior rows.

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
        raise DomainError(
            "A classifier must be fitted on some rows of the table and counted on all the others."
        )
    by_class, several_labels = bool(class_conditional or confusion), rows.labels.ndim == 2
    selective = selection is not None
    check_label_options(several_labels, per_label, class_conditional=by_class, selective=selective)
    if several_labels:
        return _certify_labels(model, rows, split, fit, confidence, bool(per_label), n_models, groups)
    X, values = take_rows(rows.X, split.certified_rows), rows.labels[split.certified_rows]  # noqa: N806
    group_of_row = None if groups is None else groups.take(split.certified_rows)
    data, fitted_on, kept = rows.data, rows.labels[split.prior_rows], KeptRows.of(rows.X, rows.facts)
    known, truth = _told_apart(fitted_on, values, by_class)
    predictions = ask(model, X, known)  # on a copy of the rows
    scores, place = None, None
    if selection is not None:
        scores = measure_scores(score_quantity(None, model), None, model, X)
        place = partial(selection.settings, scores.quantity, values.size)
    measured = Measured(np.asarray(predictions != truth), scores=None if scores is None else scores.values)
    counted = CountedAnswers(measured, known.names, truth, predictions, group_of_row)
    wanted, delta = counted.wanted(by_class, bool(confusion)), split_delta(delta_of(confidence), n_models)
    claims, choices = count_claims(counted, wanted, delta, fit.chosen, place)
    certificate = issue_for_answers(
        confidence=confidence,
        n_models=n_models,
        claims=claims,
        choices=choices,
        data=data,
        measured=measured,
        n_duplicates=_count_duplicates(rows, split),
        subject=FittedSubject(
            fingerprint_predictions(known.labels, predictions, scores=scores),
            kept.fingerprint(),
            split.record,
            split.prior_rows.size,
            fit,
        ),
        split=split,
        groups=None if groups is None else groups.record(split.certified_rows),
        never_answered=never_answered(known.names, truth, predictions),
        majority=MajorityAnswer.counted(known.names, known.places(fitted_on, "y contains"), truth),
    )
    return CertifiedPredictions(
        certificate, known.labels, predictions, kept, split=split, scores=scores, truth=truth
    )


def _told_apart(
    fitted_on: NDArray[Any], values: NDArray[Any], by_class: bool
) -> tuple[Classes, NDArray[np.int64]]:
    """Return the classes, and the class index of each certified label."""
    try:
        known = known_classes(None, fitted_on, None if by_class else values)
        return known, known.places(values, "y contains")
    except LabelError as error:
        raise LabelError(
            "A certified row has a class that no prior row has, so class_conditional cannot divide delta by "
            "the number of classes. Set aside more prior rows, or turn class_conditional off."
        ) from error


def _certify_labels(
    model: Any,
    rows: LabelledRows,
    split: Split,
    fit: FitRecord,
    confidence: float,
    per_label: bool,
    n_models: int,
    groups: Groups | None,
) -> CertifiedPredictions:
    """Certify a classifier that answers with several labels; see `certify_fitted`."""
    names, labels = label_names(rows.y), rows.labels.astype(np.int64)
    X, truth = take_rows(rows.X, split.certified_rows), labels[split.certified_rows]  # noqa: N806
    among = None if groups is None else groups.take(split.certified_rows)
    counted = LabelAnswers(names, truth, ask_labels(model, X, len(names)), among)
    delta = split_delta(delta_of(confidence), n_models)
    claims, choices = counted.claims(per_label, delta, fit.chosen)
    answers = fingerprint_predictions(names.labels, counted.predictions)
    kept = KeptRows.of(rows.X, rows.facts)
    certificate = issue_for_answers(
        confidence=confidence,
        n_models=n_models,
        claims=claims,
        choices=choices,
        data=rows.data,
        measured=counted.measured(),
        groups=None if groups is None else groups.record(split.certified_rows),
        n_duplicates=_count_duplicates(rows, split),
        subject=FittedSubject(answers, kept.fingerprint(), split.record, split.prior_rows.size, fit),
        split=split,
        never_answered=counted.never_answered,
        majority=counted.majority(labels[split.prior_rows]),
    )
    return CertifiedPredictions(
        certificate, names.labels, counted.predictions, kept, split=split, truth=truth
    )


def _count_duplicates(rows: LabelledRows, split: Split) -> int:
    return count_duplicates(rows.fingerprints[split.certified_rows], rows.fingerprints[split.prior_rows])
