"""Any classifier with a certificate: fitted on the prior rows, with errors counted on the certified rows."""

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from pbgnet.certificates import (
    DUPLICATES_ADVICE,
    CandidateRecord,
    Certificate,
    CertifiedPredictions,
    FitRecord,
    Groups,
    LabelledRows,
    Selection,
    Split,
    SplitRecord,
    VerificationReport,
    certify_fitted,
    check_label_options,
    check_selection,
    has_several_labels,
    label_names,
    read_groups,
    verify,
)
from pbgnet.estimators.around_fit import (
    refuse_fit_parameters,
    warn_of_constant_labels,
    warn_of_few_rows,
    whole_or_unchanged,
)
from pbgnet.estimators.base import MOST_PRIORS, CertifiedClassifier
from pbgnet.estimators.folds import Folds, check_learnable
from pbgnet.estimators.predictor import ShowsCertificate, TakesTables
from pbgnet.estimators.table_labels import check_labels
from pbgnet.estimators.wrapped import (
    FittedClassifier,
    library_of,
    make_classifier,
    takes_several_labels,
    told,
    with_seed,
)
from pbgnet.exceptions import DuplicateRowsWarning, LabelError, OptionError, UnseenCategoryWarning
from pbgnet.preprocessing import as_table, column_names, take_rows
from pbgnet.stages import announce

DEFAULT = "hist_gradient_boosting"


def _answers_by(method: str) -> Any:
    """Offer a method if the classifier has it."""

    def check(pipeline: "HeldOutPipeline") -> bool:
        fitted = getattr(pipeline, "fitted_", None)
        given = pipeline.classifier if not isinstance(pipeline.classifier, list | tuple) else None
        return hasattr(given if fitted is None else fitted.classifier, method)

    return available_if(check)


class HeldOutPipeline(TakesTables, ShowsCertificate, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fit any classifier and its preprocessing on some rows, and certify it by its errors on the others.

    The prior rows are chosen as in `CertifiedPipeline`: at random, or by `prior_rows`. The errors on the
    certified rows bound the error rate by the Clopper-Pearson limit. Several candidates are compared by
    cross-validation within the prior rows, which costs no confidence.

    `save` does not store the classifier, because that would require a pickle, which is not a safe file
    format. The folder contains the certificate and the predictions; keep the classifier yourself.

    Parameters
    ----------
    classifier : classifier, str, or list of these, default=None
        Anything with `fit` and `predict`, or a name in `pbgnet.choices.CLASSIFIERS`. Default:
        "hist_gradient_boosting". From a list, the one with the fewest errors in cross-validation is chosen.
    preprocessor : TablePreprocessor, transformer, "passthrough" or None, default=None
        Fitted on the prior rows. None, or a `TablePreprocessor` with ``numbers="auto"``, encodes the table to
        suit the classifier: numbers and categories as they are for gradient boosting, numbers as they are and
        one-hot categories for trees, standardised numbers for others. A `Pipeline`, which has its own steps,
        receives the table itself.
    prior_fraction : float, default=0.5
        Share of the rows used as prior rows.
    confidence : float, default=0.95
        Probability with which the certificate holds, over the draw of the certified rows.
    class_conditional : bool, default=False
        Also bound the error rate in each class. All bounds then share delta.
    confusion : bool, default=False
        Also bound how often each class is mistaken for each other class. All bounds then share delta.
    per_label : bool, default=False
        With several labels, also bound the error rate of each. All bounds then share delta.
    max_error, coverage : float, default=None
        Only answer when confident, as in `PBGNetClassifier`; for a classifier with `predict_proba` or
        `decision_function`. Thresholds come from cross-validation within the prior rows.
    n_models : int, default=1
        Number of fits among which you choose by their certificates; they share delta.
    random_state : int, RandomState or None, default=None
        Seed of the split and the folds, and of classifiers without a seed of their own.

    Attributes
    ----------
    classifier_ : classifier
        Fitted on the preprocessed prior rows.
    certified_predictions_ : CertifiedPredictions
        Certificate, predictions and split, ready to save and verify.
    certificate_ : Certificate
    prior_rows_, certified_rows_ : ndarray of int64
    classes_ : ndarray
    n_features_in_ : int
        Number of columns of the table given to fit.
    feature_names_in_ : ndarray of str
        Their names, if it had any.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.linear_model import LogisticRegression
    >>> from pbgnet.estimators import make_certified_pipeline
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> candidates = [LogisticRegression(max_iter=500), RandomForestClassifier()]
    >>> pipeline = make_certified_pipeline(candidates, random_state=0).fit(X, y)
    >>> type(pipeline.classifier_).__name__, len(pipeline.certificate_.subject.fit.candidates)
    ('LogisticRegression', 2)
    >>> pipeline.verify(X, y).ok
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "classifier": [HasMethods(["fit", "predict"]), str, list, tuple, None],
        "preprocessor": [HasMethods(["fit", "transform"]), StrOptions({"passthrough"}), None],
        "prior_fraction": [Interval(Real, 0, 1, closed="neither")],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "class_conditional": ["boolean"],
        "confusion": ["boolean"],
        "per_label": ["boolean"],
        "max_error": [Real, None],
        "coverage": [Real, None],
        "n_models": [Interval(Integral, 1, MOST_PRIORS, closed="both")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        classifier: Any = None,
        *,
        preprocessor: Any = None,
        prior_fraction: float = 0.5,
        confidence: float = 0.95,
        class_conditional: bool = False,
        confusion: bool = False,
        per_label: bool = False,
        max_error: float | None = None,
        coverage: float | None = None,
        n_models: int = 1,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.preprocessor = preprocessor
        self.prior_fraction = prior_fraction
        self.confidence = confidence
        self.class_conditional = class_conditional
        self.confusion = confusion
        self.per_label = per_label
        self.max_error = max_error
        self.coverage = coverage
        self.n_models = n_models
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        named = self.classifier is None or isinstance(self.classifier, str)
        listed = self.classifier if isinstance(self.classifier, list | tuple) else [self.classifier]
        several = named or all(isinstance(item, str) or takes_several_labels(item) for item in listed)
        tags.classifier_tags.multi_label = tags.target_tags.multi_output = several
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,  # noqa: N803
        y: ArrayLike,
        *,
        prior_rows: ArrayLike | SplitRecord | None = None,
        groups: str | ArrayLike | None = None,
        **refused: Any,
    ) -> Self:
        """Fit on the prior rows and count the errors on the certified rows.

        Parameters
        ----------
        X : DataFrame, array-like or scipy sparse matrix of shape (n_samples, n_features)
            Numbers, strings, booleans, categories, with or without missing values.
        y : array-like of shape (n_samples,), or (n_samples, n_labels)
            Labels of two or more classes, none missing. For several labels per row, a matrix of 0 and 1, or
            a table of them whose columns name the labels; the classifier must support this.
        prior_rows : array-like of int or bool, or SplitRecord, optional
            The prior rows, instead of a random draw; see `CertifiedPipeline.fit`.
        groups : str, or array-like of shape (n_samples,), optional
            Also bound the error rate in each group, from above and below, and the largest difference
            between two groups; see `CertifiedPipeline.fit`.
        """
        announce("preparing")
        refuse_fit_parameters(refused)
        selective = check_selection(self.max_error, self.coverage)  # raises before any work is done
        table = as_table(X)
        several_labels = has_several_labels(y)
        rows = LabelledRows(table, y if several_labels else check_labels(y, table))
        by_class = {"class_conditional": bool(self.class_conditional), "confusion": bool(self.confusion)}
        check_label_options(several_labels, bool(self.per_label), selective=selective, **by_class)
        check_classification_targets(rows.labels)
        if not several_labels and len(found := np.unique(rows.labels)) < 2:
            raise LabelError(
                f"The labels contain only {len(found)} class ({found}); at least two are needed."
            )
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=4).tolist()
        candidates = [with_seed(candidate, seeds[1]) for candidate in self._candidates(several_labels)]
        with whole_or_unchanged(self):
            split = Split.of_table(rows, prior_rows, float(self.prior_fraction), seeds[0])
            warn_of_few_rows(rows.n_rows, split.certified_rows.size)
            self._fit_split(rows, split, candidates, seeds[2], read_groups(groups, table))
        return self

    def _fit_split(
        self,
        rows: LabelledRows,
        split: Split,
        candidates: list[Any],
        seed: int,
        groups: Groups | None,
    ) -> None:
        """Choose, fit and certify; the prior rows are those of the split."""
        announce("training")
        table = take_rows(rows.X, split.prior_rows)
        labels = rows.labels[split.prior_rows]
        check_learnable(labels)
        if labels.ndim == 2:
            warn_of_constant_labels(labels, label_names(rows.y).names)
        compared: tuple[CandidateRecord, ...] = ()
        n_folds, chosen = 0, candidates[0]
        folds = Folds(self.preprocessor, table, labels, seed)
        if len(candidates) > 1:
            compared, n_folds = folds.compare(candidates), folds.count
            chosen = candidates[int(np.argmin([candidate.n_errors for candidate in compared]))]
        fitted = FittedClassifier(chosen, self.preprocessor, table, labels)
        record = FitRecord(told(chosen), library_of(chosen), fitted.preprocessing, compared, n_folds)
        selection = None
        if check_selection(self.max_error, self.coverage):
            selection = Selection(folds.scores(chosen), self.max_error, self.coverage)
        announce("certifying")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenCategoryWarning)  # certified rows may have new categories
            certified = certify_fitted(
                fitted,
                rows,
                split,
                record,
                confidence=float(self.confidence),
                class_conditional=bool(self.class_conditional),
                confusion=bool(self.confusion),
                per_label=bool(self.per_label),
                n_models=int(self.n_models),
                selection=selection,
                groups=groups,
            )
        self.fitted_, self.classifier_ = fitted, fitted.classifier
        self.certified_predictions_ = certified
        self.classes_ = np.array(certified.classes)
        self.row_fingerprints_ = rows.fingerprints
        self.single_row_fingerprints_ = rows.single_fingerprints
        self._remember_columns(rows.X)
        _warn_of_duplicates(certified.certificate)

    def _candidates(self, several_labels: bool) -> list[Any]:
        """Return the classifiers to choose among, created if only their names were given."""
        given = DEFAULT if self.classifier is None else self.classifier
        listed: Sequence[Any] = given if isinstance(given, list | tuple) else [given]
        if not listed:
            raise OptionError("The list of classifiers is empty; pass at least one.")
        made = [make_classifier(item, several_labels) if isinstance(item, str) else item for item in listed]
        for candidate in made:
            if isinstance(candidate, CertifiedClassifier):
                raise OptionError(
                    f"{type(candidate).__name__} sets rows apart itself: pass it to "
                    "make_certified_pipeline on its own, not in a list."
                )
            if not (hasattr(candidate, "fit") and hasattr(candidate, "predict")):
                raise OptionError(
                    f"A classifier must have the methods fit and predict; {type(candidate).__name__} does "
                    "not."
                )
            if several_labels and not takes_several_labels(candidate):
                raise OptionError(
                    f"{type(candidate).__name__} predicts one label per row. For several labels, wrap it "
                    "in sklearn.multioutput.MultiOutputClassifier, which fits one classifier per label."
                )
        return made

    def _remember_columns(self, table: Any) -> None:
        self.n_features_in_ = int(table.shape[1])
        names = column_names(table)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # fitted again, now on an array

    @property
    def certificate_(self) -> Certificate:
        """The certificate of the fitted classifier."""
        return self._require_fitted().certificate

    @property
    def prior_rows_(self) -> NDArray[np.int64]:
        """Rows given to fit that preprocessing and classifier were fitted on."""
        return self._split().prior_rows

    @property
    def certified_rows_(self) -> NDArray[np.int64]:
        """Rows given to fit on which errors were counted."""
        return self._split().certified_rows

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the class of each row; or 1 for each of several labels, 0 for the others."""
        self._require_fitted()
        answers = self.fitted_.predict(as_table(X))
        return answers if sparse.issparse(answers) else np.asarray(answers)

    @_answers_by("predict_proba")
    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """Return what the classifier gives for each class of the prior rows, `classifier_.classes_`.

        For several labels, in the classifier's own form: scikit-learn has a list, or a matrix.
        """
        self._require_fitted()
        found = self.classifier_.predict_proba(self.fitted_.features(as_table(X)))
        return found if isinstance(found, list) else np.asarray(found)

    @_answers_by("decision_function")
    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the score of the classifier."""
        self._require_fitted()
        return np.asarray(self.classifier_.decision_function(self.fitted_.features(as_table(X))))

    def predict_or_abstain(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the class of each row that the certificate lets the classifier answer, None for the others.

        For a fit with `max_error` or `coverage`; see `CertifiedPipeline.predict_or_abstain`.
        """
        return self._require_fitted().predict_or_abstain(self.fitted_, as_table(X))

    def verify(
        self,
        X: Any,  # noqa: N803
        y: ArrayLike,
        groups: ArrayLike | None = None,
    ) -> VerificationReport:
        """Recompute the certificate from the table given to fit, and ask the classifier again."""
        return verify(self._require_fitted(), as_table(X), y, model=self, groups=groups)

    def save(self, folder: str | Path, *, overwrite: bool = False, **about: str | None) -> None:
        """Write the certificate, the answers and a report into a folder, but not the classifier.

        Save the classifier yourself, for example with joblib. `pbgnet.certificates.load_predictions` reads
        the folder back, and `verify` accepts it. `about` takes `data` and `contact`, as in
        `CertifiedPredictions.save`.
        """
        self._require_fitted().save(folder, overwrite=overwrite, **about)

    def _require_fitted(self) -> CertifiedPredictions:
        check_is_fitted(self, "certified_predictions_")
        return self.certified_predictions_

    def _split(self) -> Split:
        split = self._require_fitted().split
        assert split is not None
        return split


def _warn_of_duplicates(certificate: Certificate) -> None:
    if count := certificate.inputs.n_duplicates:
        warnings.warn(
            f"{count} of the {certificate.inputs.n} certified rows repeat another row of the table. "
            f"{DUPLICATES_ADVICE}",
            DuplicateRowsWarning,
            stacklevel=5,
        )
