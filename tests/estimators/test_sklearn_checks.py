"""scikit-learn's own checks of estimators, but for weights of classes where there are none."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from pbgnet.estimators import PBGDClassifier, PBGNetClassifier


def cannot(estimator):
    """Algorithms of the paper know no weights of classes, and refuse them."""
    if getattr(estimator, "algorithm", "ensemble") == "ensemble":
        return {}
    return {"check_class_weight_classifiers": "class_weight is for the ensemble"}


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [
        PBGNetClassifier(n_members=2, max_epochs=20),
        PBGNetClassifier((6,), algorithm="pbgnet", solver="adam", max_epochs=20),
        PBGNetClassifier((4,), algorithm="mlp", max_epochs=20),
        PBGDClassifier(),
    ],
    expected_failed_checks=cannot,
)
def test_sklearn_checks(estimator, check):
    check(estimator)
