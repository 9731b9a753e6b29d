"""A certificate for any classifier, from rows it has never seen."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.bounds import split_delta
from pbgnet.certificates.classifier.asking import ask
from pbgnet.certificates.classifier.label_answers import LabelAnswers, ask_labels, check_label_options
from pbgnet.certificates.classifier.losses import (
    Loss,
    check_each_row,
    loss_quantity,
    loss_settings,
    measure_losses,
)
from pbgnet.certificates.classifier.predictions import CertifiedPredictions, fingerprint_predictions
from pbgnet.certificates.classifier.seen_rows import refuse_seen_rows
from pbgnet.certificates.data import (
    Classes,
    DataFingerprints,
    Split,
    count_duplicates,
    fingerprint_split,
    has_several_labels,
    indicator_values,
    label_names,
    label_values,
    unchanged_data,
)
from pbgnet.certificates.format import (
    Certificate,
    Choices,
    ClassifierSubject,
    CountedRows,
    DisagreementSubject,
    Fingerprints,
    MajorityAnswer,
    Union,
    never_answered,
)
from pbgnet.certificates.network import check_class_size, delta_of, now, software
from pbgnet.certificates.routes import (
    HELD_OUT_LOSS,
    Claim,
    Event,
    Measured,
    balanced_bound,
    class_events,
    make_claim,
)
from pbgnet.exceptions import DomainError, OptionError, ShapeError
from pbgnet.preprocessing import count_rows
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
) -> CertifiedPredictions:
    """Certify the error rate, and perhaps a loss, of any fitted classifier on rows that it has never seen.

    The upper limit of Clopper and Pearson from the number of errors: exact, and the best that can be
    said from a count. For the expectation of a loss in [0, 1], the betting bound from its values. The
    classifier itself is not stored, only what it answered, and the losses.

    Parameters
    ----------
    model : classifier or callable
        A fitted scikit-learn classifier or pipeline, anything with `predict`, or a function from rows to
        labels. It, and all preprocessing in it, must have been fixed without these rows, and must answer
        each row by itself.
    X : DataFrame, ndarray or scipy sparse matrix, shape (n, d)
        Rows, independent draws from the distribution that the classifier will meet.
    y : array_like, shape (n,) or (n, 1); or several labels as 0 and 1, shape (n, L)
        Their labels: two classes or more. Or, of rows that may have several labels, a matrix; columns of a
        table name them. The classifier then answers with such a matrix, the share of rows with any wrong
        label is the error rate, and the Hamming loss, the share of wrong labels, is bounded as well.
    confidence : float, default=0.95
        Probability with which everything that is claimed holds, over the draw of the rows.
    training_data : table, or pair of table and labels, optional
        What the classifier was fitted on, to see that no row of X is among it, as it is or with its numbers,
        or those of some columns, rounded to float32. Frames are compared in the columns both have, if one has
        all those of the other; anything else needs the columns of X in the same order. Our own estimators and
        certified models remember their rows, saved ones as well, and are checked in any case, also as the
        last step of a pipeline.
    class_conditional : bool, default=False
        Also bound the error rate among the rows of each class, which shares delta.
    confusion : bool, default=False
        Also bound how often the rows of each class are answered with each other class, and the error rate of
        each class, all of which share delta.
    n_models : int, default=1
        Number of classifiers among which you choose by looking at these rows; each pays a share of delta.
    classes : array_like, optional
        All labels there are, if the classifier has no `classes_` and not all occur in y. With
        `class_conditional` or `confusion` needed in any case without `classes_`: how many bounds share delta
        must be settled before the labels are seen.
    loss : {"linear", "brier"} or callable, optional
        Also bound the expectation of this loss over all rows, which shares delta. "linear" is 1 minus the
        probability that `predict_proba` gives to the true label; "brier" is half the squared distance of
        the probabilities from 1 for the true label and 0 for the others. A function ``loss(model, X, y)``
        gets X as it is and the labels as a flat array, and returns one number in [0, 1] per row, which must
        depend on that row alone; the certificate states its name. To be settled before looking at the rows.
        It is computed a second time on every second row, to see that it is the same there.
    per_label : bool, default=False
        Of several labels, also bound the error rate of each, which shares delta.

    Returns
    -------
    CertifiedPredictions

    Raises
    ------
    PriorLeakageError
        If the classifier has seen one of the rows.
    LabelError, ShapeError
        If it does not answer with one label per row, or the training data have other columns.
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
    'With confidence 95 %, over the draw of the 269 certified rows, the error rate of the classifier is at
     most 0.1441.'
    >>> verify(certified, X[300:], y[300:], model=tree).ok
    True

    A loss of the classifier's probabilities:

    >>> from sklearn.ensemble import RandomForestClassifier
    >>> forest = RandomForestClassifier(random_state=0).fit(X[:300], y[:300])
    >>> certified = certify(forest, X[300:], y[300:], loss="brier")
    >>> certified.certificate.statement
    'With confidence 95 %, over the draw of the 269 certified rows, the error rate of the classifier is at
     most 0.0813; its expected brier loss is at most 0.0547, all together.'
    >>> verify(certified, X[300:], y[300:], model=forest).ok
    True

    Several labels per row:

    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(n_classes=3, n_samples=600, random_state=0)
    >>> forest = RandomForestClassifier(random_state=0).fit(X[:300], Y[:300])
    >>> certify(forest, X[300:], Y[300:]).certificate.statement
    'With confidence 95 %, over the draw of the 300 certified rows, the share of rows with any wrong label in
     the answer of the classifier is at most 0.4848 and the Hamming loss, the share of wrong labels, is at
     most 0.2317, all together.'
    """
    if loss is not None:
        loss_quantity(loss)  # raises before any work is done
    asked = {"class_conditional": class_conditional, "confusion": confusion, "per_label": per_label}
    for name, flag in asked.items():
        check_kind(name, flag, bool, np.bool_)
    by_class, several_labels = bool(class_conditional or confusion), has_several_labels(y)
    check_label_options(several_labels, per_label, class_conditional=by_class, loss=loss, classes=classes)
    if several_labels:
        return _certify_labels(model, X, y, confidence, training_data, bool(per_label), n_models)
    values, losses = label_values(y), None
    n = _checked_count(X, values.size)
    with unchanged_data(X, y) as data:
        fingerprints = refuse_seen_rows(model, X, values, training_data)
        answers = ask(model, X, n)
        known = known_classes(model, classes, None if by_class else values)
        truth = known.places(values, "y holds")
        predictions = known.places(answers, "The classifier answers with")
        if loss is not None:
            losses = measure_losses(loss, model, X, y)
    if loss is not None and losses is not None:
        check_each_row(losses, loss, model, X, y)
    choices = held_out_choices(known, by_class, bool(confusion), loss is not None)
    share = split_delta(split_delta(delta_of(confidence), n_models), choices.n_shares)
    measured = Measured(predictions != truth, None if losses is None else losses.values)
    events = class_events(known.names, by_class, bool(confusion))
    claims = count_claims(measured, known, truth, predictions, events, share)
    if losses is not None:
        settings = loss_settings(n, share)
        claims.append(
            make_claim("classifier", HELD_OUT_LOSS, measured, settings, delta=share, quantity=losses.quantity)
        )
    certificate = issue_for_answers(
        confidence=confidence,
        n_models=n_models,
        claims=tuple(claims),
        choices=choices,
        data=data,
        measured=measured,
        n_duplicates=count_duplicates(fingerprints),
        never_answered=never_answered(known.names, truth, predictions),
        majority=MajorityAnswer.counted(known.names, truth[:0], truth),
        subject=ClassifierSubject(fingerprint_predictions(known.labels, predictions, losses=losses)),
    )
    return CertifiedPredictions(certificate, known.labels, predictions, losses=losses)


def _certify_labels(
    model: Any,
    X: Any,  # noqa: N803
    y: ArrayLike,
    confidence: float,
    training_data: Any,
    per_label: bool,
    n_models: int,
) -> CertifiedPredictions:
    """Certify a classifier that answers with several labels; see `certify`."""
    truth, names = indicator_values(y).astype(np.int64), label_names(y)
    n = _checked_count(X, len(truth))
    with unchanged_data(X, y) as data:
        fingerprints = refuse_seen_rows(model, X, y, training_data)
        counted = LabelAnswers(names, truth, ask_labels(model, X, n, len(names)))
    choices = counted.choices(per_label)
    share = split_delta(split_delta(delta_of(confidence), n_models), choices.n_shares)
    certificate = issue_for_answers(
        confidence=confidence,
        n_models=n_models,
        claims=counted.claims(per_label, share),
        choices=choices,
        data=data,
        measured=counted.measured(),
        n_duplicates=count_duplicates(fingerprints),
        never_answered=counted.never_answered,
        majority=counted.majority(truth[:0]),
        subject=ClassifierSubject(fingerprint_predictions(names.labels, counted.predictions)),
    )
    return CertifiedPredictions(certificate, names.labels, counted.predictions)


def _checked_count(X: Any, n_labels: int) -> int:  # noqa: N803
    """Return the number of rows, one or more, or raise if there are not as many labels."""
    n = count_rows(X)
    if n != n_labels:
        raise ShapeError(f"The table has {n} rows, but there are {n_labels} labels.")
    if n == 0:
        raise DomainError("There is no row to certify; at least one is needed.")
    return n


def count_claims(
    measured: Measured,
    classes: Classes,
    truth: NDArray[np.int64],
    predictions: NDArray[np.int64],
    events: Sequence[Event],
    delta: float,
) -> list[Claim]:
    """Bound the error rate over all rows, and what is asked of classes."""
    claims = [make_claim("classifier", "clopper-pearson", measured, delta=delta)]
    for event in events:
        counted = among_class(measured, classes, truth, predictions, event)
        check_class_size(str(event.given_class), counted.n)
        claims.append(make_claim("classifier", "clopper-pearson", counted, delta=delta, event=event))
    return claims


def among_class(
    measured: Measured,
    classes: Classes,
    truth: NDArray[np.int64],
    predictions: NDArray[np.int64],
    event: Event,
) -> Measured:
    """Return what is measured on the rows of a class; where an answer is named, it alone is an error."""
    rows = np.asarray(truth == classes.names.index(str(event.given_class)))
    if event.answered is None:
        return measured.among(rows)
    return Measured(np.asarray(predictions[rows] == classes.names.index(event.answered)))


def count_on_rows(wrong: NDArray[np.bool_], delta: float) -> Claim:
    """Return the bound from a count of errors on rows that a classifier has never seen."""
    return make_claim("classifier", "clopper-pearson", Measured(wrong), delta=delta)


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
) -> Certificate:
    """Make the certificate of a classifier of which nothing is known but what it answers.

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
    )


def known_classes(model: Any, classes: ArrayLike | None, seen: ArrayLike | None) -> Classes:
    """Return the classes that were named, with those seen where it does not matter how many there are."""
    sources = (seen, getattr(model, "classes_", None), classes)
    if all(source is None for source in sources):
        raise OptionError(
            "class_conditional divides delta by the number of classes, which must not depend on the labels "
            "seen: the classifier has no classes_, so name all classes there are with classes."
        )
    return Classes.of(*sources)


def held_out_choices(
    classes: Classes,
    class_conditional: bool,
    confusion: bool,
    with_loss: bool,
    chosen: tuple[str, ...] = (),
) -> Choices:
    """Return what is chosen for the count of errors: what the prior rows chose, and one share per claim."""
    if (class_conditional or confusion) and len(classes) < 2:
        raise OptionError("class_conditional and confusion need rows of at least two classes.")
    events = class_events(classes.names, class_conditional, confusion)
    n_shares = 1 + len(events) + with_loss
    what = ["the error rate over all rows"]
    what += ["that of each class"] * bool(events)
    what += ["the cells of the confusion matrix"] * (len(events) > len(classes))
    what += ["the expected loss"] * with_loss
    unions = (Union(f"{', '.join(what[:-1])} and {what[-1]}", n_shares),) if len(what) > 1 else ()
    return Choices("held-out", chosen, unions, ("clopper-pearson",))
