"""More than two classes: codes, shapes, shares, certificates, and tables that lack a class."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from pbgnet.certificates import load_model, verify
from pbgnet.estimators import (
    CertifiedPipeline,
    HeldOutPipeline,
    PBGNetClassifier,
    make_certified_pipeline,
)
from pbgnet.estimators.learning.ensembles import row_weights
from pbgnet.exceptions import (
    ClassNeverAnsweredWarning,
    DomainError,
    FewRowsWarning,
    PBGNetWarning,
    ShapeError,
    UnknownNameError,
)
from pbgnet.networks import make_code

NAMES = np.array(["ant", "bee", "cat", "dog", "elk"])


def make_table(n=300, n_classes=5, seed=0):
    X, y = make_blobs(n, centers=3 * np.eye(n_classes), cluster_std=0.8, random_state=seed)
    return X, NAMES[y]


def make_quick(**options):
    # Seed 0 draws 150 certified rows without an error, as one split in thirty does: its bound does not hold.
    return PBGNetClassifier((8,), **({"random_state": 1, "n_members": 2, "max_epochs": 40} | options))


@pytest.fixture(scope="module")
def fitted():
    return make_quick().fit(*make_table())


def test_a_classifier_of_five_classes(fitted, tmp_path):
    X, y = make_table()
    fresh, truth = make_table(seed=1)
    assert fitted.classes_.tolist() == NAMES.tolist()
    assert fitted.score(fresh, truth) > 0.9
    assert fitted.network_.architecture.n_outputs == 7
    assert 1 - fitted.score(fresh, truth) < fitted.certificate_.error_rate.value < 0.2
    assert fitted.verify(X, y).ok
    fitted.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert verify(loaded, X, y).ok
    np.testing.assert_array_equal(loaded.predict(fresh), fitted.predict(fresh))
    np.testing.assert_allclose(loaded.predict_proba(fresh), fitted.predict_proba(fresh))


def test_scores_shares_and_answers_agree(fitted):
    X, _ = make_table(seed=1)
    scores, shares, answers = fitted.decision_function(X), fitted.predict_proba(X), fitted.predict(X)
    assert scores.shape == shares.shape == (300, 5)
    assert np.abs(scores).max() <= 1
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    for values in (scores, shares):
        np.testing.assert_array_equal(fitted.classes_[values.argmax(axis=1)], answers)
    odds = np.log(shares[:, 0] / shares[:, 1]) / fitted.inputs_.temperature
    np.testing.assert_allclose(odds, scores[:, 0] - scores[:, 1], atol=1e-9)


def test_the_temperature_fits_rows_that_were_not_trained_on(fitted):
    """Shares of fresh rows have a smaller log loss than at half of it, or twice."""
    X, y = make_table(2000, seed=2)
    places, scores = np.searchsorted(NAMES, y), fitted.decision_function(X)

    def log_loss(temperature):
        exponents = np.exp(temperature * scores)
        return -np.mean(np.log(exponents[np.arange(2000), places] / exponents.sum(axis=1)))

    own = log_loss(fitted.inputs_.temperature)
    assert own < min(log_loss(2.5 * fitted.inputs_.temperature), log_loss(0.4 * fitted.inputs_.temperature))


@pytest.mark.parametrize(
    ("code", "n_outputs"), [("one-against-rest", 5), ("exhaustive", 15), (make_code("hadamard", 5).matrix, 7)]
)
def test_other_codes(code, n_outputs):
    X, y = make_table()
    classifier = make_quick(code=code).fit(X, y)
    assert classifier.network_.architecture.n_outputs == n_outputs
    assert classifier.score(X, y) > 0.9
    assert classifier.verify(X, y).ok


def test_two_classes_by_several_outputs():
    X, y = make_table(200, 2)
    classifier = make_quick(code=[[-1, -1, 1], [1, 1, -1]]).fit(X, y)
    assert classifier.decision_function(X).shape == (200,)
    assert classifier.predict_proba(X).shape == (200, 2)
    assert classifier.score(X, y) > 0.9


def test_codes_that_do_not_fit():
    X, y = make_table(60)
    with pytest.raises(ShapeError, match="rows for 3 classes, but there are 5"):
        make_quick(code=-np.ones((3, 2)) + 2 * np.eye(3, 2)).fit(X, y)
    with pytest.raises((UnknownNameError, ValueError), match="code"):
        make_quick(code="morse").fit(X, y)
    with pytest.raises(DomainError, match="use 'hadamard'"):
        make_quick(code="exhaustive").fit(np.eye(40), np.arange(40) % 20)


@pytest.mark.parametrize(
    "options",
    [
        {"algorithm": "pbgnet"},
        {"algorithm": "pbgnet_pre"},
        {"algorithm": "pbgnet_pre", "prior_training": "paper"},
        {"algorithm": "pbgnet_l", "weight_decay": 0.0},
        {"algorithm": "mlp", "weight_decay": 0.0},
    ],
)
def test_the_algorithms_of_the_paper(options):
    X, y = make_table(300, 3)
    classifier = PBGNetClassifier((8,), random_state=0, max_epochs=20, **options).fit(X, y)
    assert classifier.score(X, y) > 0.85
    assert classifier.predict_proba(X).shape == (300, 3)
    if classifier.certified_model_ is not None:
        assert classifier.verify(X, y).ok


def test_a_thorough_prior_is_sharpened():
    X, y = make_table(400, 3)
    classifier = PBGNetClassifier((10,), algorithm="pbgnet_pre", certificate="seeger", random_state=0)
    classifier.fit(X, y)
    assert "cross-entropy" in classifier.certificate_.network.prior.description
    assert classifier.certificate_.linear_loss.value < 0.3
    assert classifier.certificate_.error_rate.value < 1


def test_pipelines():
    X, y = make_table(200, 4)
    table = np.c_[X.astype(object), np.where(X[:, 0] > 0, "left", "right")]
    table[::9, 1] = None
    own = make_certified_pipeline(make_quick()).fit(table, y)
    other = make_certified_pipeline("logistic_regression", random_state=0).fit(table, y)
    assert (type(own), type(other)) == (CertifiedPipeline, HeldOutPipeline)
    for pipeline in (own, other):
        assert pipeline.score(table, y) > 0.85
        assert pipeline.predict_proba(table).shape == (200, 4)
        assert pipeline.verify(table, y).ok


def test_classes_weigh_the_same_where_they_are_balanced():
    X, y = make_table(600, 3)
    kept = (y != "cat") | (np.arange(600) % 12 == 0)
    X, y = X[kept], y[kept]
    plain, balanced = (
        make_quick(class_weight=weight, max_epochs=60).fit(X, y) for weight in (None, "balanced")
    )
    fresh, truth = make_table(900, 3, seed=4)
    rare = truth == "cat"
    assert balanced.score(fresh[rare], truth[rare]) >= plain.score(fresh[rare], truth[rare])
    places = np.repeat([0, 1, 2], [6, 3, 1])
    weights = row_weights(places, plain.inputs_.classes, "balanced")
    assert [weights[places == k].sum() for k in range(3)] == pytest.approx([10 / 3] * 3)


@pytest.mark.filterwarnings("ignore::UserWarning")
class TestRareClasses:
    def test_a_class_with_a_single_row(self):
        X, y = make_table(120, 3)
        y[7] = "yak"
        for prior_rows in ([7, *range(20, 60)], range(20, 60)):  # among the prior rows, or certified
            classifier = make_quick().fit(X, y, prior_rows=list(prior_rows))
            assert classifier.classes_.tolist() == ["ant", "bee", "cat", "yak"]
            assert classifier.predict_proba(X).shape == (120, 4)
            assert classifier.verify(X, y).ok

    def test_a_class_that_the_prior_rows_lack_is_an_error_on_each_of_its_rows(self):
        X, y = make_table(300, 3)
        prior_rows = np.flatnonzero(y != "cat")[:100]
        with pytest.warns(ClassNeverAnsweredWarning, match="cat"):
            classifier = make_quick().fit(X, y, prior_rows=prior_rows)
        certified = classifier.certified_rows_
        assert (classifier.predict(X[certified]) != y[certified]).sum() >= (y == "cat").sum()
        assert classifier.certificate_.error_rate.value > 0.4
        assert classifier.verify(X, y).ok

    def test_prior_rows_of_a_single_class(self):
        X, y = make_table(100, 3)
        prior_rows = np.flatnonzero(y == "bee")[:20]
        classifier = make_quick().fit(X, y, prior_rows=prior_rows)
        assert classifier.certificate_.error_rate.value > 0.5

    def test_a_handful_of_rows(self):
        with pytest.warns(FewRowsWarning):
            classifier = make_quick().fit(np.eye(3), ["a", "b", "c"])
        assert classifier.predict(np.eye(3)).shape == (3,)

    def test_a_thousand_classes(self):
        rng = np.random.default_rng(0)
        y = np.arange(2000) % 1000
        classifier = make_quick(max_epochs=1, n_members=1, weight_decay=0.0, preprocessing="none")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PBGNetWarning)
            classifier.fit(rng.normal(size=(2000, 4)), y)
        assert classifier.network_.architecture.n_outputs == 1023
        assert len(classifier.classes_) == 1000
