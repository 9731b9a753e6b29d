"""scikit-learn's own checks of estimators, without exceptions."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from pbgnet.estimators import PBGDClassifier, PBGNetClassifier


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [
        PBGNetClassifier(),
        PBGNetClassifier((3, 2), algorithm="pbgnet", solver="adam", max_epochs=3),
        PBGNetClassifier((4,), algorithm="mlp", max_epochs=20),
        PBGDClassifier(),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)
