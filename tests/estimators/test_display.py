"""What notebooks show of estimators: scikit-learn's diagram, and above it the card of the certificate."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.dummy import DummyClassifier

from pbgnet import PBGDClassifier, PBGNetClassifier, make_certified_pipeline

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2))
Y = np.where(X[:, 0] > 0, "<script>", "no")


def estimators():
    return [
        PBGDClassifier(random_state=0),
        make_certified_pipeline(PBGDClassifier(random_state=0)),
        make_certified_pipeline(DummyClassifier(), random_state=0),
    ]


@pytest.mark.parametrize("estimator", estimators(), ids=lambda made: type(made).__name__)
def test_the_card_comes_with_the_fit(estimator):
    name = f"{type(estimator).__name__}</div>"
    before = estimator._repr_html_()
    assert name in before
    assert "pbgnet-card" not in before
    assert "pbgnet-card" not in estimator._repr_mimebundle_()["text/html"]
    estimator.fit(X, Y)
    card = estimator.certificate_._repr_html_()
    for page in (estimator._repr_html_(), estimator._repr_mimebundle_()["text/html"]):
        assert page.startswith(card)
        assert page.count("What would break this certificate") == 1
        assert name in page
        assert "<script>'" not in page
    assert estimator._repr_mimebundle_()["text/plain"] == repr(estimator)


def test_text_display_shows_text():
    estimator = estimators()[2].fit(X, Y)
    with config_context(display="text"):
        assert not hasattr(estimator, "_repr_html_")
        assert list(estimator._repr_mimebundle_()) == ["text/plain"]


def test_an_estimator_without_a_certificate_shows_its_diagram():
    network = PBGNetClassifier(algorithm="mlp", max_epochs=1, n_restarts=1, random_state=0).fit(X, Y)
    assert "pbgnet-card" not in network._repr_html_()
    assert not hasattr(network, "certificate_")
