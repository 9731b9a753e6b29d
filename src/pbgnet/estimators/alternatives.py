"""The bounds that other classifiers would have had on the same rows: alternatives, not claims."""

import warnings
from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from pbgnet.certificates import (
    CertifiedModel,
    CertifiedPredictions,
    Claim,
    LabelledRows,
    count_on_rows,
    delta_of,
)
from pbgnet.estimators.wrapped import FittedClassifier, make_classifier, with_seed, wrong_rows
from pbgnet.exceptions import DtypeError, OptionError, PBGNetWarning, UncertifiedError
from pbgnet.preprocessing import as_table, take_rows

COMPARED = ("logistic_regression", "random_forest", "hist_gradient_boosting")
"""The classifiers compared by default; see `pbgnet.choices.CLASSIFIERS`."""


def compare_classifiers(
    certified: Any,
    X: Any,  # noqa: N803
    y: ArrayLike,
    *,
    classifiers: Sequence[str] = COMPARED,
    preprocessor: Any = None,
    random_state: int = 0,
) -> dict[str, Claim]:
    """Fit other classifiers on the prior rows, and count their errors on the certified rows.

    Each bound is at the confidence of the certificate and valid on its own, had that classifier been chosen
    beforehand. They are for comparison: they do not hold together, nor with the certificate. If you take the
    best of k after looking, certify it with ``n_models=k``, or on fresh rows.

    Parameters
    ----------
    certified : CertifiedModel, CertifiedPredictions or fitted estimator
        It must have prior rows: nothing can be fitted if all rows are certified.
    X, y
        The table given to fit.
    classifiers : sequence of str
        Names in `pbgnet.choices.CLASSIFIERS`.
    preprocessor : TablePreprocessor, optional
        As in `HeldOutPipeline`.
    random_state : int, default=0
        Seed of the classifiers.

    Returns
    -------
    dict of str to Claim
        For `pbgnet.report.render_report`; see `Claim.value` and its evidence.

    Raises
    ------
    OptionError
        If there are no prior rows.
    UncertifiedError
        If the table has a different number of rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from pbgnet.estimators import compare_classifiers, make_certified_pipeline
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> pipeline = make_certified_pipeline("random_forest", random_state=0).fit(X, y)
    >>> compared = compare_classifiers(pipeline, X, y, classifiers=["logistic_regression"])
    >>> claim = compared["logistic_regression"]
    >>> claim.evidence.n == pipeline.certificate_.inputs.n, claim.value < 0.1
    (True, True)
    """
    model = _certified(certified)
    split, table = model.split, as_table(X)
    if split is None or split.prior_rows.size == 0:
        raise OptionError(
            "There is nothing to compare: there are no prior rows, so other classifiers have no rows "
            "to be fitted on."
        )
    rows = LabelledRows(table, y)
    if rows.n_rows != model.certificate.n_rows_total:
        raise UncertifiedError(
            f"The certificate was issued for a table of {model.certificate.n_rows_total} rows, "
            f"but this one has {rows.n_rows}. Pass the whole table you gave to fit."
        )
    delta = delta_of(model.certificate.confidence)
    learned, asked = (take_rows(table, part) for part in (split.prior_rows, split.certified_rows))
    truth = rows.labels[split.certified_rows]
    found = {}
    for name in classifiers:
        classifier = with_seed(make_classifier(name, truth.ndim == 2), random_state)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PBGNetWarning)  # they were given when the model was made
            fitted = FittedClassifier(classifier, preprocessor, learned, rows.labels[split.prior_rows])
            wrong = wrong_rows(fitted.predict(asked), truth)
        found[name] = count_on_rows(wrong, delta)
    return found


def _certified(given: Any) -> CertifiedModel | CertifiedPredictions:
    """Return what was certified, given the result or an estimator."""
    for name in ("certified_predictions_", "certified_model_"):
        given = getattr(given, name, given)
    if not isinstance(given, CertifiedModel | CertifiedPredictions):
        raise DtypeError(
            "Expected a certified model, certified predictions or a fitted estimator, got "
            f"{type(given).__name__}."
        )
    return given
