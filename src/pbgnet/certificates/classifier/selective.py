"""A certificate for any classifier that only answers when it is sure, from rows it has never seen."""

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
    KeptRows,
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
    """Certify a classifier that leaves some rows unanswered, so that its answers are seldom wrong.

    Thresholds on a score, chosen without these rows, are tested from few answers to many. The lowest one that
    is certified answers as many rows as possible with an error rate of at most `error` among them. The share
    of answered rows has a certified lower limit. All of this holds together with the bound on the error rate
    over all rows, which is certified as well (docs/theory/abstention.md).

    Parameters
    ----------
    model, X, y, confidence, class_conditional, n_models, classes, groups
        As in `certify`.
    error : float, optional
        The largest error rate you accept among answered rows, such as 0.02.
    coverage : float, optional
        Instead of error: the share of rows to answer. The threshold is chosen on `training_data`, and the
        error rate among answered rows is bounded.
    training_data : table, or pair of table and labels, optional
        Rows that are not certified: those the classifier was fitted on or, better, others. Thresholds are
        chosen by their scores, and no row of X may be among them.
    thresholds : array_like, optional
        The thresholds themselves, at most 256, chosen without these rows. With a single one, you can leave
        out error and coverage.
    scores : callable, optional
        ``scores(model, X)`` returns one number per row, larger for more confident answers, which depends on
        that row only; the certificate records its name. Default: the largest probability of
        `predict_proba`, or, from `decision_function`, the distance from 0; with several classes, the
        distance between the best and the second-best class.

    Returns
    -------
    CertifiedPredictions
        Rows with a score of at least `certificate.threshold` are answered; it is None if no threshold could
        be certified. `predict_or_abstain` answers new rows.

    Raises
    ------
    OptionError
        If neither error nor coverage nor thresholds are given, the classifier has no scores, or there is
        nothing to choose thresholds from: without other rows, the scores must be probabilities.
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
    rows = KeptRows.of(X, facts)
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
        subject=ClassifierSubject(
            fingerprint_predictions(known.labels, predictions, scores=sureness), rows.fingerprint()
        ),
    )
    return CertifiedPredictions(certificate, known.labels, predictions, rows, scores=sureness, truth=truth)
