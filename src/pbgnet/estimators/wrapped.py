"""Any scikit-learn classifier by its name, with the preprocessing that it needs."""

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from pbgnet.certificates import PreprocessingRecord
from pbgnet.choices import CLASSIFIERS
from pbgnet.estimators.table_encoder import ENCODINGS, TableEncoder
from pbgnet.preprocessing import TablePreprocessor
from pbgnet.validation import check_name

MAKERS: dict[str, Any] = {
    "hist_gradient_boosting": HistGradientBoostingClassifier,
    "random_forest": lambda: RandomForestClassifier(n_estimators=300),
    "logistic_regression": lambda: LogisticRegression(max_iter=2000),
    "mlp": lambda: MLPClassifier(early_stopping=True, max_iter=500),
}

# They only compare numbers with each other, so scaling has no effect.
TREES = (
    BaggingClassifier,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)

# Gradient boosting has `max_bins`; this many codes of a column are reserved for rare and missing values.
SPARE_CODES = 2

NO_PREPROCESSING = PreprocessingRecord(
    "none", "steps of the classifier itself, if it has such, were fitted with it on the prior rows"
)


def make_classifier(name: str, several_labels: bool = False) -> Any:
    """Make one of `pbgnet.choices.CLASSIFIERS` with its defaults; for several labels, one that supports them.

    If a classifier only answers with one label, there is one classifier for each label.

    Examples
    --------
    >>> from pbgnet.estimators.wrapped import make_classifier
    >>> make_classifier("random_forest")
    RandomForestClassifier(n_estimators=300)
    >>> make_classifier("logistic_regression", several_labels=True)
    MultiOutputClassifier(estimator=LogisticRegression(max_iter=2000))
    """
    made = MAKERS[check_name("classifier", name, CLASSIFIERS)]()
    return MultiOutputClassifier(made) if several_labels and not takes_several_labels(made) else made


def takes_several_labels(classifier: Any) -> bool:
    """Whether a classifier can be fitted on a matrix of labels, according to its tags."""
    try:
        tags = get_tags(classifier)
    except (AttributeError, TypeError):  # not one of scikit-learn's: its own fit will say
        return True
    of_classifier = tags.classifier_tags is not None and tags.classifier_tags.multi_label
    return bool(of_classifier or tags.target_tags.multi_output)


class FittedClassifier:
    """A classifier with its preprocessing, both fitted on the same rows.

    Parameters
    ----------
    classifier : classifier
        Will be cloned.
    preprocessor : TablePreprocessor, transformer, "passthrough" or None
        As in `HeldOutPipeline`.
    X, y
        The rows to fit on, as the user has them.
    """

    def __init__(self, classifier: Any, preprocessor: Any, X: Any, y: Any) -> None:  # noqa: N803
        self.classifier = clone(classifier)
        self.encoder = None if sparse.issparse(X) else _make_encoder(classifier, preprocessor)
        features = X if self.encoder is None else self.encoder.fit_transform(X, y)
        # Passing None, rather than nothing, means that no column is a category.
        if (
            isinstance(self.encoder, TableEncoder)
            and self.encoder.encoding == "codes"
            and _each_label(self.classifier).categorical_features is not None
        ):
            _each_label(self.classifier).set_params(categorical_features=self.encoder.is_categorical_)
        self.classifier.fit(features, y)

    def features(self, X: Any) -> Any:  # noqa: N803
        """Return rows in the form that the classifier needs."""
        return X if self.encoder is None else self.encoder.transform(X)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Return the label of each row."""
        return self.classifier.predict(self.features(X))

    @available_if(lambda self: hasattr(self.classifier, "predict_proba"))
    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """Return what the classifier gives for each of its classes."""
        return self.classifier.predict_proba(self.features(X))

    @available_if(lambda self: hasattr(self.classifier, "decision_function"))
    def decision_function(self, X: Any) -> Any:  # noqa: N803
        """Return the score of the classifier."""
        return self.classifier.decision_function(self.features(X))

    @property
    def classes_(self) -> Any:
        """The labels among the rows of the fit."""
        return self.classifier.classes_

    @property
    def preprocessing(self) -> PreprocessingRecord:
        """What was done to the rows, in words."""
        if self.encoder is None:
            return NO_PREPROCESSING
        if isinstance(self.encoder, TableEncoder):
            return PreprocessingRecord("inside", ENCODINGS[self.encoder.encoding])
        return PreprocessingRecord("inside", type(self.encoder).__name__)


def with_seed(classifier: Any, seed: int) -> Any:
    """Return a copy of a classifier in which everything random without a seed gets one."""
    seeded = clone(classifier)
    parameters = seeded.get_params()
    places = [name for name in parameters if name == "random_state" or name.endswith("__random_state")]
    return seeded.set_params(**{name: seed for name in places if parameters[name] is None})


def wrong_rows(answers: Any, truth: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows are answered wrongly, in any of several labels."""
    values = answers.toarray() if sparse.issparse(answers) else np.asarray(answers)
    wrong = values != truth
    return np.asarray(wrong if wrong.ndim == 1 else wrong.any(axis=1))


def library_of(classifier: Any) -> str:
    """Return name and version of the library that a classifier comes from."""
    name = type(classifier).__module__.partition(".")[0]
    version = getattr(importlib.import_module(name), "__version__", "of unknown version")
    return f"{'scikit-learn' if name == 'sklearn' else name} {version}"


def told(classifier: Any) -> str:
    """Return a classifier as Python writes it, in one line."""
    return " ".join(repr(classifier).split())


def _each_label(classifier: Any) -> Any:
    """Return what is fitted for each of several labels, if it is the same for all; or the classifier."""
    return classifier.estimator if isinstance(classifier, MultiOutputClassifier) else classifier


def _make_encoder(classifier: Any, preprocessor: Any) -> Any:
    """Return what is fitted before a classifier; None if it receives the table itself."""
    classifier = _each_label(classifier)
    if preprocessor == "passthrough":
        return None
    if preprocessor is not None and not isinstance(preprocessor, TablePreprocessor):
        return clone(preprocessor)
    if isinstance(preprocessor, TablePreprocessor) and preprocessor.numbers != "auto":
        return clone(preprocessor)
    if preprocessor is None and isinstance(classifier, Pipeline):
        return None  # it has steps of its own
    template = TablePreprocessor() if preprocessor is None else clone(preprocessor)
    if isinstance(classifier, HistGradientBoostingClassifier):
        if _names_categories(classifier):
            return None  # by the user's own columns
        most = max(1, min(template.max_categories, int(classifier.max_bins) - SPARE_CODES))
        return TableEncoder("codes", template.set_params(max_categories=most))
    return TableEncoder("values" if isinstance(classifier, TREES) else "standard", template)


def _names_categories(classifier: BaseEstimator) -> bool:
    """Whether the user has told gradient boosting which columns are categories."""
    given = classifier.get_params()["categorical_features"]
    return given is not None and not (isinstance(given, str) and given == "from_dtype") and np.size(given) > 0
