"""What the page of a model shows; ``page.html`` has the sections, in the order a careful reader needs."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from numpy.typing import ArrayLike

from pbgnet.certificates import (
    CERTIFICATE,
    FOLDER_FILES,
    CertifiedModel,
    CertifiedPredictions,
    Claim,
    describe_data,
    load_certified,
    write_certified,
)
from pbgnet.exceptions import DomainError, LabelError, ShapeError, UncertifiedError
from pbgnet.files import as_path, replace_folder, write_whole
from pbgnet.pages import page_difference, render_page
from pbgnet.report.class_facts import short
from pbgnet.report.classifier_values import alternative_texts, classifier_values
from pbgnet.report.comparison import verdict
from pbgnet.report.curves import Record
from pbgnet.report.first_screen import first_screen
from pbgnet.report.group_chart import group_chart, group_rows
from pbgnet.report.kept import About, ErrorCount, Kept
from pbgnet.report.more_rows import more_rows
from pbgnet.report.network_values import network_values
from pbgnet.validation import check_kind, positive_int

REPORT = "report.html"
LONGEST_TITLE = 120
Tested = tuple[int, int] | tuple[int, int, int]


def render_report(
    certified: CertifiedModel | CertifiedPredictions,
    X: Any = None,  # noqa: N803
    y: ArrayLike | None = None,
    *,
    history: Sequence[Record] = (),
    tested: Tested | None = None,
    compared: Mapping[str, Claim] | None = None,
    about: About | None = None,
    check_table: bool = True,
    columns: bool = True,
) -> str:
    """Return the report of a certified classifier as one HTML page without external resources or scripts.

    The page only depends on the arguments: it contains no time, no path and no setting of the machine.

    Parameters
    ----------
    certified : CertifiedModel or CertifiedPredictions
        What `certify`, or an estimator as `certified_model_` or `certified_predictions_`, returned.
    X : DataFrame, ndarray or scipy sparse matrix, shape (N, d), optional
        The whole table given to fit, or to `certify`. Without it, the page leaves out what only the rows
        can tell: which errors were made, and which columns matter.
    y : array_like, shape (N,); or several labels as 0 and 1, shape (N, L), optional
        Its labels.
    history : sequence of dict, optional
        The history of the training, as estimators keep it in ``history_``.
    tested : tuple of 2 or 3 int, optional
        Number of errors on a test set, number of its rows, and number of these that are also rows of X; shown
        beside the bounds.
    compared : mapping of str to Claim, optional
        Results of other classifiers on the same rows, from `pbgnet.estimators.compare_classifiers`. They are
        shown as alternatives, which the certificate does not claim.
    about : About, optional
        Name of the data and contact, for the header.
    check_table : bool, default=True
        Whether to check first that X and y are the table of the certificate, which takes one pass through
        it.
    columns : bool, default=True
        Whether to show which columns matter, where X is given.

    Raises
    ------
    UncertifiedError
        If X and y are not the table of the certificate.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates import certify
    >>> from pbgnet.report import About, render_report
    >>> X = np.linspace(-1.0, 1.0, 200)[:, None]
    >>> certified = certify(lambda X: X[:, 0] > 0, X, X[:, 0] > 0)
    >>> page = render_report(certified, X, X[:, 0] > 0, about=About(data="signs.csv"))
    >>> certified.certificate.statement in page, "signs.csv" in page
    (True, True)
    """
    _check_arguments(certified, history, tested)
    if X is not None and check_table:
        _check_table(certified, X, y)
    others, counted = dict(compared or {}), None if tested is None else ErrorCount(*tested)
    if isinstance(certified, CertifiedPredictions):
        shown = classifier_values(certified, None if X is None else y, counted, others)
    else:
        shown = network_values(certified, history, X, y, counted, others, columns=columns)
    told = short(shown.pop("told"), LONGEST_TITLE)
    return render_page(
        __file__,
        title=f"Certificate: {told}",
        heading=f"Certified classifier: {told}",
        version=certified.certificate.versions.pbgnet,
        certificate=certified.certificate,
        verdict=verdict(certified.certificate, others),
        groups=group_chart(certified.certificate),
        group_rows=group_rows(certified.certificate),
        plan=certified.certificate.delta_plan,
        alternatives=[alternative_texts(name, claim) for name, claim in others.items()],
        about=about or About(),
        first=first_screen(certified.certificate, counted),
        more=more_rows(certified.certificate),
        **shown,
    )


def write_report(
    path: str | os.PathLike[str],
    certified: CertifiedModel | CertifiedPredictions,
    X: Any = None,  # noqa: N803
    y: ArrayLike | None = None,
    **shown: Any,
) -> Path:
    """Write the report to a file, completely or not at all; for the parameters see `render_report`."""
    return write_whole(as_path(path), render_report(certified, X, y, **shown))


def render_kept(
    certified: CertifiedModel | CertifiedPredictions,
    kept: Kept,
    X: Any = None,  # noqa: N803
    y: ArrayLike | None = None,
    *,
    check_table: bool = True,
    columns: bool = True,
) -> str:
    """Return the report of a certified classifier with what is stored beside it; see `render_report`."""
    return render_report(
        certified,
        X,
        y,
        history=kept.history,
        tested=None if kept.tested is None else kept.tested.counts,
        compared=None if kept.compared is None else kept.compared.named,
        about=kept.about,
        check_table=check_table,
        columns=columns,
    )


def render_folder(
    folder: str | os.PathLike[str],
    X: Any = None,  # noqa: N803
    y: ArrayLike | None = None,
    *,
    check_table: bool = True,
    columns: bool = True,
) -> str:
    """Return the report of what is saved in a folder, as its ``report.html`` should be.

    Parameters
    ----------
    folder : path
        Of a model, or of the certificate of any classifier.
    X, y, check_table, columns
        As for `render_report`.
    """
    path = as_path(folder)
    certified = load_certified(path)
    kept = Kept.of_folder(path, certified)
    return render_kept(certified, kept, X, y, check_table=check_table, columns=columns)


def report_difference(
    folder: str | os.PathLike[str],
    X: Any = None,  # noqa: N803
    y: ArrayLike | None = None,
    *,
    check_table: bool = True,
) -> str | None:
    """Say how the ``report.html`` in a folder differs from what would be written now.

    Parameters
    ----------
    folder, X, y, check_table
        As for `render_folder`. A page that was written without the table, or by the `save` of an estimator,
        which no longer has it, is compared with such a one.

    Returns
    -------
    str or None
        "" if it does not differ, and None if there is no report.
    """
    page = as_path(folder) / REPORT
    if not page.is_file():
        return None
    found = page.read_bytes().decode("utf-8", "replace")
    difference = page_difference(found, render_folder(folder, X, y, check_table=check_table), "columns")
    if not difference or X is None:
        return difference
    without_columns = render_folder(folder, X, y, check_table=False, columns=False)
    return "" if found in (without_columns, render_folder(folder)) else difference


def save_certified(
    certified: CertifiedModel | CertifiedPredictions,
    folder: str | os.PathLike[str],
    *,
    about: About | None = None,
    history: Sequence[Record] = (),
    overwrite: bool = False,
) -> Path:
    """Write what was certified and its report into a folder, all or nothing.

    What `save` of an estimator and of `CertifiedPredictions` does. The table is no longer there, so that the
    report shows which errors were made, but not which columns matter.
    """
    kept = Kept(about or About(), history)
    page = render_kept(certified, kept)
    with replace_folder(folder, overwrite=overwrite, marker=CERTIFICATE, ours=FOLDER_FILES) as fresh:
        write_certified(certified, fresh)
        kept.write(fresh)
        write_whole(fresh / REPORT, page)
    return Path(folder).absolute()


def _check_arguments(certified: object, history: object, tested: object) -> None:
    """Raise an error unless these are a certified classifier, training records and counts of errors."""
    advice = "Of a fitted estimator, pass its certified_model_, or certified_predictions_."
    check_kind("certified", certified, CertifiedModel, CertifiedPredictions, advice=advice)
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
    y: ArrayLike | None,
) -> None:
    """Raise `UncertifiedError` unless a table is the one that the certificate is about."""
    stated, found = model.certificate.fingerprints, describe_data(X, y)
    if y is None and stated.labels is not None:
        raise LabelError("A report needs the labels of the table given to fit; y is None.")
    labels = None if y is None else found.labels
    if (stated.features, stated.labels) != (found.features, labels):
        raise UncertifiedError(
            "X and y are not the table that the certificate is about; pass the whole table given to fit."
        )
