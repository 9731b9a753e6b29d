"""From a table of mixed types to a certified classifier, with the preprocessing inside the proof."""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import _fit_context, clone
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from pbgnet.certificates import (
    CertifiedModel,
    Inputs,
    LabelledRows,
    PreparedTable,
    SplitRecord,
    VerificationReport,
    read_groups,
    rows_to_fit,
)
from pbgnet.estimators.around_fit import refuse_fit_parameters
from pbgnet.estimators.base import CertifiedClassifier
from pbgnet.estimators.held_out_pipeline import HeldOutPipeline
from pbgnet.estimators.pbgnet_classifier import PBGNetClassifier
from pbgnet.estimators.predictor import CertifiedPredictor, TakesTables
from pbgnet.exceptions import DtypeError, OptionError
from pbgnet.memory import release_free_memory
from pbgnet.preprocessing import TablePreprocessor, as_table, column_names, is_source, take_rows
from pbgnet.stages import announce


class CertifiedPipeline(TakesTables, CertifiedPredictor):
    """Impute, encode and scale a table, then train a certified classifier, all covered by the certificate.

    A plain scikit-learn `Pipeline` fits its steps on all rows: the certified rows influence the
    preprocessing, and the proof no longer covers it. This pipeline splits the rows first and fits the
    preprocessing on the prior rows only.

    Parameters
    ----------
    classifier : PBGNetClassifier, PBGNetMultilabelClassifier or PBGDClassifier, default=None
        Fitted on the preprocessed table. Default: `PBGNetClassifier()`.
    preprocessor : TablePreprocessor, default=None
        Fitted on the prior rows. Default: `TablePreprocessor()`.
    prior_fraction : float, default=None
        Share of the rows used as prior rows. Default: that of the classifier, or one half.

    Attributes
    ----------
    preprocessor_ : TablePreprocessor
        Fitted on the prior rows.
    classifier_ : PBGNetClassifier or PBGDClassifier
        Fitted on the preprocessed table.
    certificate_ : Certificate
        What is proved about the pipeline.
    certified_model_ : CertifiedModel
        Preprocessing, network, certificate and split, ready to save and verify.
    history_ : list of dict
        One record per epoch or iteration of training.
    classes_ : ndarray of shape (n_classes,)
        All labels given to fit.
    n_features_in_ : int
        Number of columns of the table given to fit.
    feature_names_in_ : ndarray of str
        Their names, if it had any.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.estimators import make_certified_pipeline
    >>> rng = np.random.default_rng(0)
    >>> colour, size = rng.choice(["red", "blue"], 400), rng.normal(size=400)
    >>> y = np.where(colour == "red", "sell", "keep")
    >>> X = np.array([colour, size, rng.normal(size=400)], dtype=object).T
    >>> X[::7, 1] = None  # missing values
    >>> pipeline = make_certified_pipeline().set_params(classifier__random_state=0).fit(X, y)
    >>> pipeline.certificate_.network.preprocessing.status, bool(pipeline.score(X, y) > 0.95)
    ('inside', True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "classifier": [CertifiedClassifier, None],
        "preprocessor": [TablePreprocessor, None],
        "prior_fraction": [Interval(Real, 0, 1, closed="neither"), None],
    }

    def __init__(
        self,
        classifier: CertifiedClassifier | None = None,
        *,
        preprocessor: TablePreprocessor | None = None,
        prior_fraction: float | None = None,
    ) -> None:
        self.classifier = classifier
        self.preprocessor = preprocessor
        self.prior_fraction = prior_fraction

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
        """Split, preprocess, train and certify.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Numbers, strings, booleans, categories, with or without missing values.
        y : array-like of shape (n_samples,)
            Labels of two or more classes, none missing; `PBGDClassifier` supports two. For
            `PBGNetMultilabelClassifier`, a matrix of 0 and 1.
        prior_rows : array-like of int or bool, or SplitRecord, optional
            The prior rows, instead of a random draw: indices, or a mask over all rows.
            Choose them without looking at the content of the rows, neither labels nor features: the other
            rows are certified and must still be independent draws. A choice that depends on their content
            invalidates the certificate, and no program can detect that. Or pass a rule that `verify` can
            repeat, based on a column of X: ``by_hash_of("customer_id")``, ``earliest_by("day")``.
        groups : str, or array-like of shape (n_samples,), optional
            Also bound the error rate in each group, from above and below, and the largest difference
            between two groups. All bounds share delta. Requires the certificate "held-out". Pass the name of
            a column of X, or the group of each row; missing values form a group. Decide which groups there
            are without looking at the labels.
        """
        announce("preparing")
        refuse_fit_parameters(refused)
        if sparse.issparse(X):
            raise DtypeError(
                "A sparse matrix does not need this preprocessing: pass it to PBGNetClassifier directly."
            )
        table = as_table(X)
        classifier = clone(self.classifier) if self.classifier is not None else PBGNetClassifier()
        labels = classifier.labels_of(y, table)
        classifier.check_parameters()
        classifier.inputs_of(labels, None, None)  # raises before any work is done
        seeds = classifier.draw_seeds()
        rows = LabelledRows(table, labels)
        split = classifier.split_rows(rows, seeds, prior_rows, self._fraction(classifier))
        preprocessor = clone(self.preprocessor) if self.preprocessor is not None else TablePreprocessor()
        preprocessor.fit(take_rows(table, rows_to_fit(rows, split)))
        if is_source(table):
            release_free_memory()  # what learning the columns needed
        names = column_names(table)
        inputs = classifier.inputs_of(labels, names, preprocessor)
        prepared = PreparedTable(rows, inputs, split, read_groups(groups, table))
        self.classifier_ = classifier.fit_prepared(prepared, seeds)
        self.preprocessor_, self.classes_ = classifier.preprocessor_, classifier.classes_
        self.n_features_in_ = table.shape[1]
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # fitted again, now on an array
        return self

    @property
    def inputs_(self) -> Inputs:  # type: ignore[override]
        """Classes, code, columns and preprocessor."""
        check_is_fitted(self)
        return self.classifier_.inputs_

    def output(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the outputs of the network for rows: shape (n,), or (n, r) for r > 1 outputs."""
        check_is_fitted(self)
        assert self.preprocessor_ is not None
        return self.classifier_.answer(self.preprocessor_.encode(as_table(X)))

    def verify(
        self,
        X: Any,  # noqa: N803
        y: ArrayLike,
        groups: ArrayLike | None = None,
    ) -> VerificationReport:
        """Recompute every number of the certificate from the table that was given to fit."""
        return super().verify(as_table(X), y, groups)

    @property
    def certified_model_(self) -> CertifiedModel | None:  # type: ignore[override]
        """Preprocessing, network, certificate and split; None for "mlp"."""
        check_is_fitted(self)
        return self.classifier_.certified_model_

    @property
    def history_(self) -> list[dict[str, float | int | str]]:
        """One record per epoch or iteration of training."""
        check_is_fitted(self)
        return self.classifier_.history_

    @property
    def row_fingerprints_(self) -> NDArray[np.uint64]:
        """Fingerprints of the rows given to fit, so that `certify` can detect them."""
        check_is_fitted(self)
        return self.classifier_.row_fingerprints_

    @property
    def single_row_fingerprints_(self) -> NDArray[np.uint64]:
        """The same, of rows rounded to float32."""
        check_is_fitted(self)
        return self.classifier_.single_row_fingerprints_

    def _fraction(self, classifier: CertifiedClassifier) -> float:
        if self.prior_fraction is not None:
            return float(self.prior_fraction)
        return float(getattr(classifier, "prior_fraction", 0.5))


def make_certified_pipeline(
    classifier: Any = None,
    *,
    preprocessor: Any = None,
    prior_fraction: float | None = None,
    **settings: Any,
) -> CertifiedPipeline | HeldOutPipeline:
    """Make a pipeline that preprocesses a table and fits a classifier, both covered by a certificate.

    Parameters
    ----------
    classifier : classifier, str, or list of these, optional
        A classifier of pbgnet gives a `CertifiedPipeline`; the default is `PBGNetClassifier()`. Any other
        classifier, a name in `pbgnet.choices.CLASSIFIERS`, or a list of candidates gives a
        `HeldOutPipeline`.
    preprocessor : TablePreprocessor, optional
        For a `HeldOutPipeline`, also any transformer, or "passthrough".
    prior_fraction : float, optional
        Share of the rows used as prior rows, for preprocessing and training.
    **settings
        Parameters of a `HeldOutPipeline`: `confidence`, `class_conditional`, `confusion`, `per_label`,
        `max_error`, `coverage`, `n_models`, `random_state`. The classifiers of pbgnet have their own; set
        them there.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from pbgnet.estimators import make_certified_pipeline
    >>> make_certified_pipeline().classifier
    PBGNetClassifier()
    >>> make_certified_pipeline(HistGradientBoostingClassifier(), confidence=0.99)
    HeldOutPipeline(classifier=HistGradientBoostingClassifier(), confidence=0.99)
    """
    if classifier is not None and not isinstance(classifier, CertifiedClassifier):
        if prior_fraction is not None:
            settings["prior_fraction"] = prior_fraction
        return HeldOutPipeline(classifier, preprocessor=preprocessor, **settings)
    if settings:
        raise OptionError(
            f"A pipeline around a classifier takes no {', '.join(sorted(settings))}: set it on "
            "the classifier itself."
        )
    return CertifiedPipeline(
        PBGNetClassifier() if classifier is None else classifier,
        preprocessor=TablePreprocessor() if preprocessor is None else preprocessor,
        prior_fraction=prior_fraction,
    )
