"""What is compared: our classifier with its defaults, and scikit-learn's with theirs, on the same rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

OURS = "pbgnet"

TEXTS = make_column_selector(dtype_exclude="number")
NUMBERS = make_column_selector(dtype_include="number")


def _scaled(classifier: Any, X: Any) -> Any:  # noqa: N803
    """Put standardised numbers and one-hot categories before a classifier."""
    if not hasattr(X, "columns"):
        return make_pipeline(StandardScaler(), classifier)
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), TEXTS), (StandardScaler(), NUMBERS)
    )
    return make_pipeline(columns, classifier)


def logistic_regression(X: Any, seed: int) -> Any:  # noqa: N803
    """Logistic regression on standardised numbers and one-hot categories."""
    return _scaled(LogisticRegression(max_iter=2000), X)


def random_forest(X: Any, seed: int) -> Any:  # noqa: N803
    """A forest of 300 trees."""
    return _scaled(RandomForestClassifier(300, random_state=seed), X)


def gradient_boosting(X: Any, seed: int) -> Any:  # noqa: N803
    """Histogram gradient boosting, which reads categories itself."""
    return HistGradientBoostingClassifier(random_state=seed, categorical_features="from_dtype")


def neural_network(X: Any, seed: int) -> Any:  # noqa: N803
    """scikit-learn's multilayer perceptron."""
    return _scaled(MLPClassifier(random_state=seed, max_iter=500), X)


METHODS = {
    "logistic regression": logistic_regression,
    "random forest": random_forest,
    "gradient boosting": gradient_boosting,
    "neural network": neural_network,
}


def as_categories(X: Any) -> Any:  # noqa: N803
    """Return a frame with its texts as pandas categories, which boosting knows how to read."""
    if not hasattr(X, "columns"):
        return X
    texts = list(TEXTS(X))
    return X.astype(dict.fromkeys(texts, "category")) if texts else X


def errors_of(classifier: Any, X: Any, y: NDArray[Any]) -> int:  # noqa: N803
    """Count the rows that a classifier answers wrongly."""
    return int(np.sum(np.asarray(classifier.predict(X)) != y))
