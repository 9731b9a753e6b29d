"""What the page of a model shows; ``page.html`` has its sections in the order a careful reader asks."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from numpy.typing import ArrayLike

from pbgnet.certificates import CertifiedModel, CertifiedPredictions, Claim, describe_data
from pbgnet.exceptions import DomainError, LabelError, ShapeError, UncertifiedError
from pbgnet.files import as_path, write_whole
from pbgnet.pages import render_page
from pbgnet.report.bars import ErrorCount
from pbgnet.report.classifier_values import alternative_texts, classifier_values
from pbgnet.report.comparison import verdict
from pbgnet.report.curves import Record
from pbgnet.report.group_chart import group_chart, group_rows
from pbgnet.report.network_values import network_values
from pbgnet.validation import check_kind, positive_int

Tested = tuple[int, int] | tuple[int, int, int]


def render_report(
    model: CertifiedModel | CertifiedPredictions,
    history: Sequence[Record],
    X: Any,  # noqa: N803
    y: ArrayLike,
    *,
    tested: Tested | None = None,
    compared: Mapping[str, Claim] | None = None,
    check_table: bool = True,
) -> str:
    """Return the report of a model as one HTML page, with no outside parts and no scripts.

    Parameters
    ----------
    model : CertifiedModel or CertifiedPredictions
        Of a classifier that is known by its answers, there is less to show.
    history : sequence of dict
        The course of training, as estimators keep it in ``history_``; may be empty.
    X : DataFrame, ndarray or scipy sparse matrix, shape (N, d)
        The whole table given to fit.
    y : array_like, shape (N,); or several labels as 0 and 1, shape (N, L)
        Its labels.
    tested : tuple of 2 or 3 int, optional
        Number of errors on a test set, of its rows, and of those of them that are rows of X as well; then
        shown beside the bounds.
    compared : mapping of str to Claim, optional
        What other classifiers give on the same rows, from `pbgnet.estimators.compare_classifiers`: shown as
        alternatives, which are no claims of the certificate.
    check_table : bool, default=True
        Whether to see first that X and y are the table given to fit, which takes a walk through it; whoever
        has just fitted on it knows.

    Raises
    ------
    UncertifiedError
        If X and y are not the table given to fit.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from pbgnet.certificates import PriorRecord, certify_network
    >>> from pbgnet.networks import AggregatedNetwork
    >>> from pbgnet.report import render_report
    >>> X, y = np.array([[1.0], [-1.0]] * 100), np.array(["yes", "no"] * 100)
    >>> network = AggregatedNetwork([torch.tensor([[3.0]])], [torch.tensor([[0.0]])], intercept=False)
    >>> model = certify_network(network, X, y, classes=("no", "yes"), prior=PriorRecord("zero"),
    ...                 prior_rows=[], certified_rows=range(200))
    >>> model.certificate.statement in render_report(model, [], X, y)
    True
    """
    _check_arguments(model, history, tested)
    if check_table:
        _check_table(model, X, y)
    others, counted = dict(compared or {}), None if tested is None else ErrorCount(*tested)
    if isinstance(model, CertifiedPredictions):
        shown = classifier_values(model, y, counted, others)
    else:
        shown = network_values(model, history, X, y, counted, others)
    return render_page(
        __file__,
        version=model.certificate.versions.pbgnet,
        certificate=model.certificate,
        verdict=verdict(model.certificate, others),
        groups=group_chart(model.certificate),
        group_rows=group_rows(model.certificate),
        plan=model.certificate.delta_plan,
        alternatives=[alternative_texts(name, claim) for name, claim in others.items()],
        **shown,
    )


def write_report(
    path: str | os.PathLike[str],
    model: CertifiedModel | CertifiedPredictions,
    history: Sequence[Record],
    X: Any,  # noqa: N803
    y: ArrayLike,
    *,
    tested: Tested | None = None,
    compared: Mapping[str, Claim] | None = None,
) -> Path:
    """Write the report into a file, whole or not at all; see `render_report`."""
    target = as_path(path)
    return write_whole(target, render_report(model, history, X, y, tested=tested, compared=compared))


def _check_arguments(model: object, history: object, tested: object) -> None:
    """Raise for what is no model, no course of training, or no count of errors."""
    advice = "Of a fitted estimator, pass its certified_model_, or certified_predictions_."
    check_kind("model", model, CertifiedModel, CertifiedPredictions, advice=advice)
    check_kind("history", history, list, tuple)
    for record in cast("Sequence[object]", history):
        check_kind("A record of the history", record, Mapping)
    if tested is None:
        return
    if not isinstance(tested, list | tuple) or len(tested) not in (2, 3):
        raise ShapeError(f"tested must be counts of errors, rows and perhaps rows seen, got {tested!r:.60}.")
    counts, n_rows = ErrorCount(*tested), positive_int("The number of rows in tested", tested[1])
    for what, count in (("errors", counts.n_errors), ("rows in the training table", counts.n_seen)):
        if count != 0 or isinstance(count, bool):
            positive_int(f"The number of {what} in tested", count)
        if count > n_rows:
            raise DomainError(f"tested counts {count} {what} among {n_rows} rows.")


def _check_table(
    model: CertifiedModel | CertifiedPredictions,
    X: Any,  # noqa: N803
    y: ArrayLike,
) -> None:
    """Raise `UncertifiedError` unless a table is the one that the certificate speaks of."""
    if y is None:
        raise LabelError("A report needs the labels of the table given to fit; y is None.")
    stated, found = model.certificate.fingerprints, describe_data(X, y)
    if (stated.features, stated.labels) != (found.features, found.labels):
        raise UncertifiedError(
            "X and y are not the table that the certificate speaks of; pass the whole table given to fit."
        )
