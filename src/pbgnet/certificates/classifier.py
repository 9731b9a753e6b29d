"""A certificate for any classifier, from rows it has never seen."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.bounds import split_delta
from pbgnet.certificates.answers import ask, known_labels, label_indices
from pbgnet.certificates.arguments import with_value
from pbgnet.certificates.certificate import Certificate
from pbgnet.certificates.claim import Choices, Claim, Evidence, ReferenceRecord, Union
from pbgnet.certificates.fingerprints import (
    DataFingerprints,
    fingerprint_features,
    fingerprint_split,
    label_values,
    unchanged_data,
)
from pbgnet.certificates.inputs import Label
from pbgnet.certificates.issue import now, versions
from pbgnet.certificates.parts import BoundInputs, Fingerprints, SplitRecord
from pbgnet.certificates.predictions import CertifiedPredictions, ExportedNetwork, fingerprint_predictions
from pbgnet.certificates.row_losses import Loss, check_each_row, loss_quantity, measure_losses
from pbgnet.certificates.rows import check_apart, count_duplicates, row_fingerprints
from pbgnet.certificates.terms import check_class_size, delta_of
from pbgnet.exceptions import (
    DomainError,
    DuplicateRowsWarning,
    OptionError,
    PriorLeakageError,
    ShapeError,
)
from pbgnet.preprocessing.tables import column_names, count_rows

__all__ = [
    "certify",
    "count_errors",
    "held_out_choices",
    "issue_for_answers",
    "refuse_rows_of_fit",
    "refuse_seen_rows",
]


def certify(
    model: Any,
    X: Any,  # noqa: N803
    y: ArrayLike,
    confidence: float = 0.95,
    *,
    training_data: Any = None,
    class_conditional: bool = False,
    n_models: int = 1,
    classes: ArrayLike | None = None,
    loss: Loss | None = None,
) -> CertifiedPredictions:
    """Certify the error rate, and perhaps a loss, of any fitted classifier on rows that it has never seen.

    The upper limit of Clopper and Pearson from the number of errors: exact, and the best that can be
    said from a count. For the expectation of a loss in [0, 1], the kl (Chernoff) bound from its mean. The
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
        What the classifier was fitted on, to see that no row of X is among it. Our own estimators
        remember their rows and are checked in any case, also as the last step of a pipeline; a model that
        was saved knows its whole table only, not a part of it.
    class_conditional : bool, default=False
        Also bound the error rate among the rows of each class, which shares delta.
    n_models : int, default=1
        Number of classifiers among which you choose by looking at these rows; each pays a share of delta.
    classes : array_like, optional
        All labels the classifier may answer with, if it has no `classes_` and not all occur in y.
    loss : {"linear", "brier"} or callable, optional
        Also bound the expectation of this loss over all rows, which shares delta. "linear" is 1 minus the
        probability that `predict_proba` gives to the true label; "brier" is half the squared distance of
        the probabilities from 1 for the true label and 0 for the others. A function ``loss(model, X, y)``
        gets X as it is and the labels as a flat array, and returns one number in [0, 1] per row, which must
        depend on that row alone; the certificate states its name. To be settled before looking at the rows.
        It is computed a second time on every second row, to see that it is the same there.

    Returns
    -------
    CertifiedPredictions

    Raises
    ------
    PriorLeakageError
        If the classifier has seen one of the rows.
    LabelError, ShapeError
        If it does not answer with one label per row.
    UnknownNameError, OptionError, DtypeError, DomainError
        If there is no such loss, or it is not one number in [0, 1] per row.
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

    >>> from sklearn.naive_bayes import GaussianNB
    >>> bayes = GaussianNB().fit(X[:300], y[:300])
    >>> certified = certify(bayes, X[300:], y[300:], loss="brier")
    >>> certified.certificate.statement
    'With confidence 95 %, over the draw of the 269 certified rows, the error rate of the classifier is at
     most 0.0626; its expected brier loss is at most 0.0661, all together.'
    >>> verify(certified, X[300:], y[300:], model=bayes).ok
    True
    """
    if loss is not None:
        loss_quantity(loss)  # raises before any work is done
    values = label_values(y)
    n = count_rows(X)
    if n != values.size:
        raise ShapeError(f"The table has {n} rows, but there are {values.size} labels.")
    if n == 0:
        raise DomainError("There is no row to certify; at least one is needed.")
    losses = None
    with unchanged_data(X, y) as data:
        fingerprints = refuse_seen_rows(model, X, values, training_data)
        answers = ask(model, X, n)
        known = known_labels(values, getattr(model, "classes_", None), classes)
        truth = label_indices(values, known, "y holds")
        predictions = label_indices(answers, known, "The classifier answers with")
        if loss is not None:
            losses = measure_losses(loss, model, X, y)
    if loss is not None and losses is not None:
        check_each_row(losses, loss, model, X, y)
    choices = held_out_choices(known, bool(class_conditional), loss is not None)
    share = split_delta(split_delta(delta_of(confidence), n_models), choices.n_shares)
    wrong = predictions != truth
    claims = [_claim(wrong, share)]
    if class_conditional:
        claims += [_claim(wrong[truth == k], share, repr(label)) for k, label in enumerate(known)]
    if losses is not None:
        claims.append(losses.claim(share))
    certificate = issue_for_answers(
        confidence=confidence,
        n_models=n_models,
        claims=tuple(claims),
        choices=choices,
        data=data,
        n_duplicates=count_duplicates(fingerprints),
        predictions=fingerprint_predictions(known, predictions, losses=losses),
    )
    return CertifiedPredictions(certificate, known, predictions, losses=losses)


def refuse_seen_rows(
    model: Any,
    X: Any,  # noqa: N803
    y: ArrayLike | None,
    training_data: Any,
) -> NDArray[np.uint64]:
    """Return the fingerprints of the rows, or raise if the model has seen one; warn of duplicates."""
    rows = row_fingerprints(X)
    if training_data is not None:
        table, labels = training_data if isinstance(training_data, tuple) else (training_data, None)
        columns = column_names(X)
        if labels is None or y is None:
            check_apart(rows, row_fingerprints(table, columns=columns), "the classifier in training")
        else:
            seen = row_fingerprints(table, labels, columns)
            check_apart(row_fingerprints(X, y), seen, "the classifier in training, with their labels")
    refuse_rows_of_fit(model, X)
    if count := count_duplicates(rows):
        warnings.warn(
            f"{count} of the {rows.size} rows repeat another one. The certificate assumes independent draws: "
            "copies, time series and repeated measurements are none; drop or group them first.",
            DuplicateRowsWarning,
            stacklevel=3,
        )
    return rows


def refuse_rows_of_fit(model: Any, X: Any) -> None:  # noqa: N803
    """Raise if a model that remembers its rows was given one of these.

    Our estimators remember each row; a model that was saved, its whole table only. Searches and pipelines
    are looked into: behind other steps of a pipeline, rows are compared as its last step sees them.
    """
    core, before = getattr(model, "__self__", model), []
    while hasattr(core, "best_estimator_") or hasattr(core, "steps"):
        if hasattr(core, "best_estimator_"):
            core = core.best_estimator_
        else:
            before += [step for _, step in core.steps[:-1] if step not in (None, "passthrough")]
            core = core.steps[-1][1]
    seen = getattr(core, "row_fingerprints_", None)
    if seen is not None:
        for step in before:
            X = step.transform(X)  # noqa: N806
        names = getattr(core, "feature_names_in_", None)
        columns = None if names is None else [str(name) for name in names]
        check_apart(row_fingerprints(X, columns=columns), np.asarray(seen), "the classifier in fit")
    own = getattr(getattr(core, "certificate", None), "fingerprints", None)
    if own is not None and own.features == fingerprint_features(X):
        raise PriorLeakageError(
            "These are the rows the model was made from, and its certificate speaks of them already. "
            "Certify on rows that were set apart beforehand."
        )


def issue_for_answers(
    *,
    confidence: float,
    n_models: int,
    claims: tuple[Claim, ...],
    choices: Choices,
    data: DataFingerprints,
    n_duplicates: int,
    predictions: str,
    reference: ReferenceRecord | None = None,
    exported: ExportedNetwork | None = None,
) -> Certificate:
    """Make the certificate of a classifier of which nothing is known but what it answers.

    Where it is an exported network, the fingerprint of its kind, precision, weights and inputs is stated.
    """
    evidence, delta = claims[0].evidence, delta_of(confidence)
    assert evidence.n_errors is not None
    none = np.empty(0, dtype=np.int64)
    return Certificate(
        confidence=float(confidence),
        delta=delta,
        n_priors=int(n_models),
        delta_per_prior=split_delta(delta, n_models),
        claims=claims,
        alternatives=(),
        choices=choices,
        inputs=BoundInputs(
            evidence.n, evidence.n_errors, evidence.n_errors / evidence.n, n_duplicates=n_duplicates
        ),
        network=None,
        aggregation=None,
        prior=None,
        split=SplitRecord("none"),
        preprocessing=None,
        reference=reference,
        n_rows_total=data.n_rows,
        fingerprints=Fingerprints(
            data=data.data,
            features=data.features,
            labels=None if reference is not None else data.labels,
            columns=data.columns,
            split=fingerprint_split(none, np.arange(data.n_rows)),
            posterior=None if exported is None else exported.fingerprint(),
            predictions=predictions,
        ),
        versions=versions(),
        issued_at=now(),
    )


def count_errors(wrong: NDArray[np.bool_]) -> Evidence:
    """Return the evidence of a count."""
    n_errors = int(wrong.sum())
    return Evidence(wrong.size, n_errors / wrong.size, n_errors=n_errors)


def _claim(wrong: NDArray[np.bool_], delta: float, given_class: str | None = None) -> Claim:
    if given_class is not None:
        check_class_size(given_class, wrong.size)
    evidence = count_errors(wrong)
    made = Claim("error rate", "classifier", "clopper-pearson", 1.0, delta, evidence, given_class=given_class)
    return with_value(made)


def held_out_choices(classes: tuple[Label, ...], class_conditional: bool, with_loss: bool) -> Choices:
    """Return what is chosen for the count of errors: nothing but what is paid for, one share per claim."""
    if class_conditional and len(classes) < 2:
        raise OptionError("class_conditional needs rows of at least two classes.")
    n_shares = 1 + class_conditional * len(classes) + with_loss
    what = {
        (True, False): "the error rate over all rows and that of each class",
        (False, True): "the error rate and the expected loss",
        (True, True): "the error rate over all rows, that of each class, and the expected loss",
    }
    paid = (class_conditional, with_loss)
    unions = (Union(what[paid], n_shares),) if paid in what else ()
    return Choices("held-out", (), unions, ("clopper-pearson",))
