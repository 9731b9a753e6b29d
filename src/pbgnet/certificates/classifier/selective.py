"""A certificate for any classifier that answers only where it is sure, from rows it has never seen."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbgnet.bounds import split_delta
from pbgnet.certificates.classifier.asking import ask, check_row_count
from pbgnet.certificates.classifier.counted_answers import CountedAnswers, count_claims
from pbgnet.certificates.classifier.issuing import issue_for_all_rows, known_classes
from pbgnet.certificates.classifier.label_answers import check_label_options
from pbgnet.certificates.classifier.predictions import CertifiedPredictions, fingerprint_predictions
from pbgnet.certificates.classifier.scores import (
    Scores,
    check_scores_of_rows,
    measure_scores,
    score_quantity,
)
from pbgnet.certificates.classifier.seen_rows import refuse_seen_rows
from pbgnet.certificates.classifier.thresholds import Selection, check_asked
from pbgnet.certificates.data import (
    TableFacts,
    has_several_labels,
    label_values,
    read_groups,
    unchanged_data,
)
from pbgnet.certificates.format import ClassifierSubject
from pbgnet.certificates.network import delta_of
from pbgnet.certificates.routes import Measured


def certify_selective(
    model: Any,
    X: Any,  # noqa: N803
    y: ArrayLike,
    error: float | None = None,
    *,
    coverage: float | None = None,
    confidence: float = 0.95,
    training_data: Any = None,
    thresholds: ArrayLike | None = None,
    scores: Scores | None = None,
    class_conditional: bool = False,
    n_models: int = 1,
    classes: ArrayLike | None = None,
    groups: str | ArrayLike | None = None,
) -> CertifiedPredictions:
    """Certify a classifier that leaves rows unanswered, so that those it answers are seldom wrong.

    Thresholds on a score, settled without these rows, are tested from few answers to many: the lowest that is
    certified answers as many rows as can be with an error rate of at most `error` among them. How many that
    is has a certified lower limit. All of it holds together with the bound on the error rate over all rows,
    which is claimed as well (docs/theory/abstention.md).

    Parameters
    ----------
    model, X, y, confidence, class_conditional, n_models, classes, groups
        As in `certify`.
    error : float, optional
        What the error rate among answered rows is to be at most, such as 0.02.
    coverage : float, optional
        Instead of error: the share of rows to answer. Its threshold is placed by `training_data`, and the
        error rate among answered rows is bounded as it is.
    training_data : table, or pair of table and labels, optional
        Rows that are not certified: what the classifier was fitted on, or better others. Thresholds are
        placed by their scores, and no row of X may be among them.
    thresholds : array_like, optional
        The thresholds themselves, at most 256, settled without these rows. A single one may do without
        error and coverage.
    scores : callable, optional
        ``scores(model, X)`` returns one number per row, the larger the surer, which depends on that row
        alone; the certificate states its name. Unless given the largest probability of `predict_proba`, or
        of `decision_function` its distance from 0; for several classes how far the first is ahead of
        the second.

    Returns
    -------
    CertifiedPredictions
        `certificate.threshold` is the one from which rows are answered, None if none is certified;
        `predict_or_abstain` answers new rows.

    Raises
    ------
    OptionError
        If nothing is asked for, the classifier has no scores, or there is nothing to place thresholds by:
        without other rows that takes probabilities.
    DomainError, ShapeError, DtypeError
        If error is not between 0 and 1, or scores are not one finite number per row.
    UncertifiedError
        If the score of a row depends on other rows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from pbgnet.certificates import certify_selective, verify
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LogisticRegression(max_iter=300).fit(X[:600] / 16, y[:600])
    >>> certified = certify_selective(model, X[600:] / 16, y[600:], error=0.03, confidence=0.9)
    >>> certified.certificate.summary
    'Wrong at most 9.8 % of the time (90 % confidence, 1197 rows certify it); always answering 4 is wrong on
     89.6 % of them. Answers 83.4 % of rows (at least 79.5 %), and is wrong on at most 3 % of those it
     answers.'
    >>> certified.predict_or_abstain(model, X[600:] / 16)[:3]
    array([2, 1, 7], dtype=object)
    >>> verify(certified, X[600:] / 16, y[600:], model=model).ok
    True
    """
    check_label_options(has_several_labels(y), False, selective=True)
    given = check_asked(error, coverage, thresholds)
    quantity, values = score_quantity(scores, model), label_values(y)
    n = check_row_count(X, values.size)
    group_of_row = read_groups(groups, X)
    facts = TableFacts.of(X)
    with unchanged_data(X, y, facts) as data:
        refuse_seen_rows(model, X, values, training_data, facts)
        known = known_classes(model, classes, None if class_conditional else values)
        truth = known.places(values, "y contains")
        predictions = ask(model, X, known)
        sureness = measure_scores(quantity, scores, model, X)
        others = None
        if training_data is not None and given is None:
            table = training_data[0] if isinstance(training_data, tuple) else training_data
            others = measure_scores(quantity, scores, model, table)
    if scores is not None:
        check_scores_of_rows(sureness, scores, model, X)
    measured = Measured(np.asarray(predictions != truth), scores=sureness.values)
    counted = CountedAnswers(measured, known.names, truth, predictions, group_of_row)
    selection = Selection(others, error, coverage, given)
    claims, choices = count_claims(
        counted,
        counted.wanted(bool(class_conditional), False),
        split_delta(delta_of(confidence), n_models),
        thresholds=partial(selection.settings, quantity, n),
    )
    certificate = issue_for_all_rows(
        counted,
        claims,
        choices,
        confidence=confidence,
        n_models=n_models,
        data=data,
        fingerprints=facts.exact,
        subject=ClassifierSubject(fingerprint_predictions(known.labels, predictions, scores=sureness)),
    )
    return CertifiedPredictions(certificate, known.labels, predictions, scores=sureness, truth=truth)
