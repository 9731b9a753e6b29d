"""A certificate for any classifier, from rows it has never seen."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbgnet.bounds import split_delta
from pbgnet.certificates.classifier.asking import ask, check_row_count
from pbgnet.certificates.classifier.counted_answers import CountedAnswers, count_claims
from pbgnet.certificates.classifier.issuing import issue_for_all_rows, issue_for_answers, known_classes
from pbgnet.certificates.classifier.label_answers import LabelAnswers, ask_labels, check_label_options
from pbgnet.certificates.classifier.losses import (
    Loss,
    check_each_row,
    loss_quantity,
    measure_losses,
)
from pbgnet.certificates.classifier.predictions import CertifiedPredictions, fingerprint_predictions
from pbgnet.certificates.classifier.seen_rows import refuse_seen_rows
from pbgnet.certificates.data import (
    Groups,
    KeptRows,
    TableFacts,
    count_duplicates,
    has_several_labels,
    indicator_values,
    label_names,
    label_values,
    read_groups,
    unchanged_data,
)
from pbgnet.certificates.format import ClassifierSubject, check_subject_name
from pbgnet.certificates.network import delta_of
from pbgnet.certificates.routes import Measured
from pbgnet.validation import check_kind


def certify(
    model: Any,
    X: Any,  # noqa: N803
    y: ArrayLike,
    confidence: float = 0.95,
    *,
    training_data: Any = None,
    class_conditional: bool = False,
    confusion: bool = False,
    n_models: int = 1,
    classes: ArrayLike | None = None,
    loss: Loss | None = None,
    per_label: bool = False,
    groups: str | ArrayLike | None = None,
    name: str | None = None,
) -> CertifiedPredictions:
    """Certify the error rate of any fitted classifier, and optionally a loss, on rows it has never seen.

    The bound is the upper Clopper-Pearson limit for the number of errors: it is exact, and no count gives a
    better one. The expectation of a loss in [0, 1] is bounded by the betting bound. The classifier itself is
    not stored, only its predictions and the losses.

    Parameters
    ----------
    model : classifier or callable
        A fitted scikit-learn classifier or pipeline, anything with `predict`, or a function from rows to
        labels; or an `AnswerColumn`, where the answers stand in a column of X. The classifier and all its
        preprocessing must have been fixed without these rows, and must
        answer each row independently of the others.
    X : DataFrame, ndarray, scipy sparse matrix or source, shape (n, d)
        The rows to certify: independent draws of what the classifier will meet in use. A source
        (`pbgnet.sources.scan_table`) is read in batches.
    y : array_like, shape (n,) or (n, 1); or several labels as 0 and 1, shape (n, L)
        Their labels, of two or more classes. For several labels per row, a matrix, or a table whose columns
        name the labels. The classifier must then predict such a matrix. The error rate is the share of rows
        with any wrong label, and the Hamming loss, the share of wrong labels, is bounded as well.
    confidence : float, default=0.95
        Probability with which all claims hold, over the draw of the rows.
    training_data : table, or pair of table and labels, optional
        What the classifier was fitted on, to check that no row of X is among it, exactly or with numbers
        rounded to float32. DataFrames are compared in their common columns, if one has all columns of the
        other; anything else needs the columns of X in the same order. Estimators and certified models of
        pbgnet remember their rows, also after loading and as the last step of a pipeline, and are always
        checked.
    class_conditional : bool, default=False
        Also bound the error rate in each class. All bounds then share delta.
    confusion : bool, default=False
        Also bound how often each class is mistaken for each other class, and the error rate of each class.
        All bounds then share delta.
    n_models : int, default=1
        Number of classifiers among which you choose by looking at these rows; they share delta.
    classes : array_like, optional
        All classes, if the classifier has no `classes_` and some do not occur in y. Without `classes_`, it
        is required for `class_conditional` and `confusion`: the number of bounds that share delta must be
        fixed before the labels are seen.
    loss : {"linear", "brier"} or callable, optional
        Also bound the expectation of this loss; all bounds then share delta. "linear" is 1 minus the
        probability that `predict_proba` gives to the true label; "brier" is half the squared distance of the
        probabilities from 1 for the true label and 0 for the others. A function ``loss(model, X, y)``
        receives X and the labels as a flat array, and returns one number in [0, 1] per row, which must
        depend on that row only; the certificate records its name. Choose the loss before you look at the
        rows. pbgnet computes it again on every second row to check that it gives the same values.
    per_label : bool, default=False
        With several labels, also bound the error rate of each. All bounds then share delta.
    groups : str, or array_like of shape (n,), optional
        Also bound the error rate in each group, from above and below, and the largest difference between two
        groups: the name of a column of X, or the group of each row, at most 64. Missing values form a group.
        All limits share delta. Decide which groups there are without looking at the labels.
    name : str, optional
        What to call the classifier in the certificate and the report, such as "credit score 3.2". Nothing
        can check it.

    Returns
    -------
    CertifiedPredictions

    Raises
    ------
    PriorLeakageError
        If the classifier has seen one of the rows.
    LabelError, ShapeError
        If it does not predict one label per row, or the training data has other columns.
    UnknownNameError, OptionError, DtypeError, DomainError
        If there is no such loss, or it is not one number in [0, 1] per row; or X or y is masked.
    UncertifiedError
        If the classifier or the loss changes the rows in place, or the loss of a row depends on other rows.

    Warns
    -----
    DuplicateRowsWarning
        If rows occur more than once.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from pbgnet.certificates import certify, verify
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X[:300], y[:300])
    >>> certified = certify(tree, X[300:], y[300:], training_data=(X[:300], y[:300]))
    >>> certified.certificate.statement
    'With 95 % confidence over the draw of the 269 certified rows, the error rate of the classifier is at
     most 0.1441.'
    >>> verify(certified, X[300:], y[300:], model=tree).ok
    True

    A loss of the classifier's probabilities:

    >>> from sklearn.ensemble import RandomForestClassifier
    >>> forest = RandomForestClassifier(random_state=0).fit(X[:300], y[:300])
    >>> certified = certify(forest, X[300:], y[300:], loss="brier")
    >>> certified.certificate.statement
    'With 95 % confidence over the draw of the 269 certified rows, the error rate of the classifier is at
     most 0.0813; its expected brier loss is at most 0.0547, all of this together.'
    >>> verify(certified, X[300:], y[300:], model=forest).ok
    True

    Several labels per row:

    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(n_classes=3, n_samples=600, random_state=0)
    >>> forest = RandomForestClassifier(random_state=0).fit(X[:300], Y[:300])
    >>> certify(forest, X[300:], Y[300:]).certificate.statement
    'With 95 % confidence over the draw of the 300 certified rows, the share of rows with any wrong label
     from the classifier is at most 0.4848 and the Hamming loss (the share of wrong labels) is at most 0.2317,
     all of this together.'
    """
    if loss is not None:
        loss_quantity(loss)  # raises before any work is done
    asked = {"class_conditional": class_conditional, "confusion": confusion, "per_label": per_label}
    for option, flag in asked.items():
        check_kind(option, flag, bool, np.bool_)
    check_subject_name(name)
    by_class, several_labels = bool(class_conditional or confusion), has_several_labels(y)
    check_label_options(several_labels, per_label, class_conditional=by_class, loss=loss, classes=classes)
    group_of_row = read_groups(groups, X)
    if several_labels:
        return _certify_labels(
            model, X, y, confidence, training_data, bool(per_label), n_models, group_of_row, name
        )
    values, losses = label_values(y), None
    check_row_count(X, values.size)
    facts = TableFacts.of(X)
    rows = KeptRows.of(X, facts)
    with unchanged_data(X, y, facts) as data:
        refuse_seen_rows(model, X, values, training_data, facts)
        known = known_classes(model, classes, None if by_class else values)
        truth, predictions = known.places(values, "y contains"), ask(model, X, known)
        if loss is not None:
            losses = measure_losses(loss, model, X, y)
    if loss is not None and losses is not None:
        check_each_row(losses, loss, model, X, y)
    measured = Measured(predictions != truth, None if losses is None else losses.values)
    counted = CountedAnswers(measured, known.names, truth, predictions, group_of_row)
    wanted = counted.wanted(by_class, bool(confusion), None if losses is None else losses.quantity)
    claims, choices = count_claims(counted, wanted, split_delta(delta_of(confidence), n_models))
    answers = fingerprint_predictions(known.labels, predictions, losses=losses)
    certificate = issue_for_all_rows(
        counted,
        claims,
        choices,
        confidence=confidence,
        n_models=n_models,
        data=data,
        fingerprints=facts.exact,
        subject=ClassifierSubject(answers, rows.fingerprint(), name=name),
    )
    return CertifiedPredictions(certificate, known.labels, predictions, rows, losses=losses, truth=truth)


def _certify_labels(
    model: Any,
    X: Any,  # noqa: N803
    y: ArrayLike,
    confidence: float,
    training_data: Any,
    per_label: bool,
    n_models: int,
    groups: Groups | None,
    name: str | None,
) -> CertifiedPredictions:
    """Certify a classifier that answers with several labels; see `certify`."""
    truth, names = indicator_values(y).astype(np.int64), label_names(y)
    n = check_row_count(X, len(truth))
    facts = TableFacts.of(X)
    rows = KeptRows.of(X, facts)
    with unchanged_data(X, y, facts) as data:
        refuse_seen_rows(model, X, y, training_data, facts)
        counted = LabelAnswers(names, truth, ask_labels(model, X, len(names)), groups)
    claims, choices = counted.claims(per_label, split_delta(delta_of(confidence), n_models))
    certificate = issue_for_answers(
        confidence=confidence,
        n_models=n_models,
        claims=claims,
        choices=choices,
        data=data,
        measured=counted.measured(),
        groups=None if groups is None else groups.record(np.arange(n)),
        n_duplicates=count_duplicates(facts.exact),
        never_answered=counted.never_answered,
        majority=counted.majority(truth[:0]),
        subject=ClassifierSubject(
            fingerprint_predictions(names.labels, counted.predictions), rows.fingerprint(), name=name
        ),
    )
    return CertifiedPredictions(certificate, names.labels, counted.predictions, rows, truth=truth)
