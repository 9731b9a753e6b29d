"""A certificate for any classifier, from rows it has never seen."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.bounds import split_delta
from pbgnet.certificates.classifier.asking import ask
from pbgnet.certificates.classifier.losses import Loss, check_each_row, loss_quantity, measure_losses
from pbgnet.certificates.classifier.predictions import CertifiedPredictions, fingerprint_predictions
from pbgnet.certificates.classifier.seen_rows import refuse_seen_rows
from pbgnet.certificates.data import (
    Classes,
    DataFingerprints,
    Groups,
    GroupsRecord,
    Split,
    count_duplicates,
    fingerprint_split,
    label_values,
    read_groups,
    unchanged_data,
)
from pbgnet.certificates.format import (
    Certificate,
    Choices,
    Claimed,
    ClassifierSubject,
    CountedRows,
    DisagreementSubject,
    Fingerprints,
    MajorityAnswer,
    Wanted,
    never_answered,
)
from pbgnet.certificates.network import check_class_size, delta_of, now, software
from pbgnet.certificates.routes import (
    ANY_ERROR,
    COUNTED,
    ERROR_RATE,
    HELD_OUT_LOSS,
    ROUTES,
    SELECTIVE,
    Claim,
    Event,
    Foresight,
    Measured,
    SelectionSettings,
    balanced_bound,
    largest_difference,
    make_claim,
)
from pbgnet.exceptions import DomainError, OptionError, ShapeError
from pbgnet.preprocessing import count_rows
from pbgnet.validation import check_kind

OVERALL = Claimed(ERROR_RATE, ANY_ERROR)
"""What every certificate claims."""


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
    groups: str | ArrayLike | None = None,
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
    y : array_like, shape (n,) or (n, 1)
        Their labels: two classes or more.
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
    groups : str, or array_like of shape (n,), optional
        Also bound the error rate in each group, from above and from below, and the largest difference between
        two groups: the name of a column of X, or the group of each row, at most 64. Missing values are a
        group of their own. All limits share delta. Settle which groups there are without looking at labels.

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
    """
    if loss is not None:
        loss_quantity(loss)  # raises before any work is done
    check_kind("class_conditional", class_conditional, bool, np.bool_)
    check_kind("confusion", confusion, bool, np.bool_)
    by_class = bool(class_conditional or confusion)
    values = label_values(y)
    n = count_rows(X)
    if n != values.size:
        raise ShapeError(f"The table has {n} rows, but there are {values.size} labels.")
    if n == 0:
        raise DomainError("There is no row to certify; at least one is needed.")
    losses = None
    group_of_row = read_groups(groups, X)
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
    measured = Measured(predictions != truth, None if losses is None else losses.values)
    counted = CountedAnswers(measured, known.names, truth, predictions, group_of_row)
    wanted = counted.wanted(by_class, bool(confusion), None if losses is None else losses.quantity)
    claims, choices = count_claims(counted, wanted, split_delta(delta_of(confidence), n_models))
    certificate = issue_for_answers(
        confidence=confidence,
        n_models=n_models,
        claims=claims,
        choices=choices,
        data=data,
        measured=measured,
        groups=None if group_of_row is None else group_of_row.record(np.arange(n)),
        n_duplicates=count_duplicates(fingerprints),
        never_answered=never_answered(known.names, truth, predictions),
        majority=MajorityAnswer.counted(known.names, truth[:0], truth),
        subject=ClassifierSubject(fingerprint_predictions(known.labels, predictions, losses=losses)),
    )
    return CertifiedPredictions(certificate, known.labels, predictions, losses=losses)


@dataclass(frozen=True, eq=False)
class CountedAnswers:
    """What a classifier answered on the certified rows.

    Attributes
    ----------
    measured : Measured
        On all of them.
    names : tuple of str
        The classes, as Python writes them.
    truth, predictions : ndarray of int64
        Places of the labels, and of the answers, among the classes.
    groups : Groups or None
        The group of each row.
    """

    measured: Measured
    names: tuple[str, ...]
    truth: NDArray[np.int64]
    predictions: NDArray[np.int64]
    groups: Groups | None = None

    def wanted(self, class_conditional: bool, confusion: bool, loss: str | None = None) -> Wanted:
        """Return what is to be claimed besides the error rate over all rows; of all groups that rows have."""
        groups = () if self.groups is None else self.groups.present
        selective = self.measured.scores is not None
        return Wanted(self.names, class_conditional, confusion, groups=groups, loss=loss, selective=selective)

    def among(self, event: Event) -> Measured:
        """Return what is measured on rows of a class or group; where an answer is named, it is the error."""
        if event.group is not None:
            if self.groups is None:
                raise DomainError(f"There is no group {event.group}: no groups are known of these rows.")
            return self.measured.among(self.groups.rows_of(event.group))
        if event.given_class is None:
            return self.measured
        rows = np.asarray(self.truth == self.names.index(event.given_class))
        if event.answered is None:
            return self.measured.among(rows)
        return Measured(np.asarray(self.predictions[rows] == self.names.index(event.answered)))


def count_claims(
    counted: CountedAnswers,
    wanted: Wanted,
    delta: float,
    chosen: tuple[str, ...] = (),
    thresholds: Callable[[float], SelectionSettings] | None = None,
) -> tuple[tuple[Claim, ...], Choices]:
    """Bound the error rate over all rows, and all else that is asked for, each at its share of delta.

    Returns the claims, and what was chosen for them: on the prior rows, as is told, and by the shares. Where
    only some rows are answered, `thresholds` places the thresholds for a share of delta.
    """
    choices = held_out_choices(wanted, chosen)
    claims = []
    for claimed in (OVERALL, *wanted.claims):
        quantity, event = claimed
        share, rows = wanted.delta_of(event, delta, choices.n_shares), counted.among(event)
        if event.given_class is not None:
            check_class_size(event.given_class, rows.n)
        settings = None if quantity in COUNTED else loss_settings(rows.n, share)
        if quantity in SELECTIVE and thresholds is not None:
            settings = thresholds(share)
        route = claimed.route_beside("clopper-pearson")
        claims.append(
            make_claim("classifier", route, rows, settings, delta=share, quantity=quantity, event=event)
        )
    return tuple(claims), choices


def count_on_rows(wrong: NDArray[np.bool_], delta: float) -> Claim:
    """Return the bound from a count of errors on rows that a classifier has never seen."""
    return make_claim("classifier", "clopper-pearson", Measured(wrong), delta=delta)


def loss_settings(n: int, delta: float) -> Any:
    """Return what the bound on a loss is told: there are no prior rows, so it is the same for all data."""
    return ROUTES[HELD_OUT_LOSS].plan(Foresight(n, delta))


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
        groups=groups,
        largest_group_difference=largest_difference(claims),
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


def held_out_choices(wanted: Wanted, chosen: tuple[str, ...] = ()) -> Choices:
    """Return what is chosen for the count of errors: what the prior rows chose, and one share per claim."""
    if (wanted.class_conditional or wanted.confusion) and len(wanted.names) < 2:
        raise OptionError("class_conditional and confusion need rows of at least two classes.")
    return Choices("held-out", chosen, wanted.unions(1), ("clopper-pearson",))
