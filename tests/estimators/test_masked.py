"""What hides below a mask is no value: estimators and preprocessing refuse it rather than use it."""

import numpy as np
import pytest

from pbgnet.certificates import verify
from pbgnet.estimators import PBGDClassifier, make_certified_pipeline
from pbgnet.exceptions import DomainError
from pbgnet.preprocessing import TablePreprocessor

X = np.random.default_rng(0).normal(size=(120, 3))
y = (X[:, 0] > 0).astype(int)
TABLE = np.ma.array(np.where(X > 1, 1e6, X), mask=X > 1)
LABELS = np.ma.array(y, mask=np.arange(120) < 5)


@pytest.mark.parametrize("make", [PBGDClassifier, make_certified_pipeline])
def test_estimators_refuse_masked_values(make):
    with pytest.raises(DomainError, match="X is masked in"):
        make().fit(TABLE, y)
    with pytest.raises(DomainError, match="y is masked in 5 of 120 places"):
        make().fit(X, LABELS)
    fitted = make().fit(np.ma.array(X), np.ma.array(y))
    with pytest.raises(DomainError, match="is masked in"):
        fitted.predict(TABLE)
    for data in ((X, LABELS), (TABLE, y)):
        report = verify(fitted.certified_model_, *data)
        assert not report.ok
        assert "is masked in" in str(report)
    with pytest.raises(DomainError, match="is masked in"):
        fitted.certified_model_.predict(TABLE)


def test_preprocessing_refuses_masked_values():
    with pytest.raises(DomainError, match="masked"):
        TablePreprocessor().fit(TABLE)
    with pytest.raises(DomainError, match="masked"):
        TablePreprocessor().fit(X).transform(TABLE)
