"""The confusion matrix as a parameter: bounded together, and refused before any work where it cannot be."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from pbgnet.estimators import PBGNetClassifier
from pbgnet.exceptions import LabelError, OptionError

QUICK = {"n_members": 2, "max_epochs": 2, "device": "cpu", "random_state": 0}


def test_the_cells_share_delta_with_everything_else():
    X, y = load_wine(return_X_y=True)
    classifier = PBGNetClassifier(confusion=True, **QUICK).fit(X, y)
    certificate = classifier.certificate_
    assert len(certificate.confusion) == 6
    assert len(certificate.class_conditional) == 3
    assert [claim.delta for claim in certificate.claims] == pytest.approx([0.05 / 10] * 10)
    answers = classifier.predict(X[classifier.certified_rows_])
    truth = y[classifier.certified_rows_]
    for claim in certificate.confusion:
        among = truth == int(claim.given_class)
        assert claim.evidence.n == among.sum()
        assert claim.empirical_risk == np.mean(answers[among] == int(claim.answered))
    assert classifier.verify(X, y).ok


@pytest.mark.parametrize(
    ("options", "labels", "error", "words"),
    [
        ({"certificate": "vote"}, lambda y: y, OptionError, "held-out"),
        ({"algorithm": "pbgnet_pre"}, lambda y: y, OptionError, "held-out"),
        ({}, lambda y: np.where(np.arange(len(y)) == 7, 9, y), LabelError, "at least 2 in each class"),
    ],
)
def test_what_cannot_be_is_refused_before_training(options, labels, error, words, monkeypatch):
    X, y = load_wine(return_X_y=True)
    monkeypatch.setattr(PBGNetClassifier, "_learn", lambda *_: pytest.fail("it was trained"))
    with pytest.raises(error, match=words):
        PBGNetClassifier(confusion=True, **QUICK, **options).fit(X, labels(y))


def test_too_many_classes_for_a_matrix_are_refused_before_training(monkeypatch):
    monkeypatch.setattr(PBGNetClassifier, "_learn", lambda *_: pytest.fail("it was trained"))
    y = np.repeat(np.arange(256), 8)
    X = np.random.default_rng(0).normal(size=(y.size, 2))
    with pytest.raises(OptionError, match=r"256 classes has more cells .* class_conditional"):
        PBGNetClassifier(confusion=True, **QUICK).fit(X, y)
