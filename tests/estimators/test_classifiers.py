"""The classifiers as a scikit-learn user meets them."""

import html
import re
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pbgnet.certificates import DUPLICATES_ADVICE, certify, draw_prior_rows, load_model, verify
from pbgnet.estimators import CertifiedPipeline, PBGDClassifier, PBGNetClassifier, make_certified_pipeline
from pbgnet.exceptions import (
    DomainError,
    DtypeError,
    DuplicateRowsWarning,
    FewRowsWarning,
    LabelError,
    OptionError,
    PriorLeakageError,
    ShapeError,
    UncertifiedError,
)
from pbgnet.report import report_difference

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_moons(400, noise=0.15, random_state=0)
    return X, np.where(y == 1, "yes", "no")


@pytest.fixture(scope="module")
def fitted(table) -> PBGNetClassifier:
    return PBGNetClassifier(random_state=0).fit(*table)


def test_fit_gives_a_classifier_with_a_certificate(fitted, table):
    X, y = table
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.score(X, y) > 0.85
    certificate = fitted.certificate_
    assert certificate.inputs.n == len(fitted.certified_rows_) == 200
    assert 0 < certificate.error_rate.value < 0.5
    assert certificate.network.preprocessing.status == "outside"
    assert certificate.network.prior.how == "pretrained"
    assert certificate.network.split.how == "drawn"
    assert fitted.verify(X, y).ok


def test_predictions_agree_with_each_other(fitted, table):
    X, _ = table
    G = fitted.decision_function(X)
    proba = fitted.predict_proba(X)
    assert G.dtype == proba.dtype == np.float64
    assert np.abs(G).max() <= 1
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_allclose(proba[:, 1], (1 + G) / 2)
    assert (fitted.predict(X) == np.where(G > 0, "yes", "no")).all()


def test_the_certified_model_predicts_as_the_classifier(fitted, table, tmp_path):
    X, y = table
    fitted.save(tmp_path / "model")
    model = load_model(tmp_path / "model")
    assert (model.predict(X) == fitted.predict(X)).all()
    np.testing.assert_array_equal(model.decision_function(X), fitted.decision_function(X))
    assert verify(tmp_path / "model", X, y).ok
    assert fitted.certificate_.statement in html.unescape((tmp_path / "model" / "report.html").read_text())
    assert report_difference(tmp_path / "model", X, y) == ""
    flipped = y.copy()
    flipped[fitted.certified_rows_[0]] = "no" if flipped[fitted.certified_rows_[0]] == "yes" else "yes"
    report = verify(tmp_path / "model", X, flipped)
    assert not report.ok
    assert any("data" in step.name for step in report.steps if not step.ok)


def test_one_random_state_governs_everything(table):
    X, y = table
    one, two, other = (PBGNetClassifier(random_state=seed, max_epochs=5).fit(X, y) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert (one.prior_rows_ == two.prior_rows_).all()
    assert not np.array_equal(one.prior_rows_, other.prior_rows_)


def test_split_is_random_and_complete(fitted, table):
    rows = np.concatenate([fitted.prior_rows_, fitted.certified_rows_])
    assert sorted(rows) == list(range(len(table[1])))
    # A plain random split: the classes are not balanced exactly, as a stratified one would.
    shares = [np.mean(table[1][draw_prior_rows(*table, 0.5, s)] == "yes") for s in range(30)]
    assert np.std(shares) > 0.01


def test_prior_rows_can_be_chosen(table):
    X, y = table
    chosen = np.arange(100)
    classifier = PBGNetClassifier(random_state=0, max_epochs=2).fit(X, y, prior_rows=chosen)
    assert (classifier.prior_rows_ == chosen).all()
    assert classifier.certificate_.inputs.n == 300
    assert classifier.certificate_.network.split.how == "given"
    assert "chosen by the user" in " ".join(classifier.certificate_.assumptions)
    mask = np.arange(400) < 100
    masked = PBGNetClassifier(random_state=0, max_epochs=2).fit(X, y, prior_rows=mask)
    assert (masked.prior_rows_ == chosen).all()
    assert masked.certificate_.error_rate == classifier.certificate_.error_rate


def test_rows_chosen_by_their_features_are_a_lie_that_is_named():
    """All noise is among the prior rows: no program can tell, so the certificate and `verify` say it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 1))
    hard = np.abs(x[:, 0]) <= 1
    y = (x[:, 0] > 0) ^ (hard & (rng.random(2000) < 0.3))
    classifier = PBGNetClassifier((2,), random_state=0, max_epochs=5)
    classifier.fit(x, y, prior_rows=np.flatnonzero(hard))
    truth = 0.3 * 0.6827
    assert classifier.certificate_.error_rate.value < truth / 30, "it is broken"
    report = classifier.verify(x, y)
    assert report.ok, "the numbers are right"
    (assumed,) = [each for each in classifier.certificate_.assumptions if "chosen by the user" in each]
    (on_trust,) = [step.detail for step in report.trusted if step.name == "split redrawn"]
    for words in (assumed, on_trust):
        assert "without looking at" in words
        assert "features or labels" in words
        assert "Choosing them by their values invalidates the certificate" in words
    for fit in (PBGNetClassifier.fit, CertifiedPipeline.fit):
        assert (
            "Choose them without looking at the content of the rows, neither labels nor features"
            in fit.__doc__
        )


def test_paying_for_more_priors_loosens_the_bound(table):
    X, y = table
    one, nine = (PBGNetClassifier(random_state=0, n_priors=k, max_epochs=2).fit(X, y) for k in (1, 9))
    assert nine.certificate_.error_rate.value > one.certificate_.error_rate.value
    assert nine.certificate_.n_priors == 9


@pytest.mark.parametrize("algorithm", ["pbgnet", "pbgnet_l", "pbgnet_l_bnd"])
def test_algorithms_without_prior_rows_certify_all_rows(algorithm, table):
    X, y = table
    classifier = PBGNetClassifier((5,), algorithm=algorithm, random_state=0, max_epochs=5).fit(X, y)
    assert len(classifier.prior_rows_) == 0
    assert classifier.certificate_.inputs.n == len(y)
    assert classifier.certificate_.network.prior.how == "random"
    assert classifier.verify(X, y).ok


def test_mlp_has_no_certificate(table):
    X, y = table
    classifier = PBGNetClassifier(algorithm="mlp", random_state=0, max_epochs=30).fit(X, y)
    assert classifier.score(X, y) > 0.8
    with pytest.raises(UncertifiedError, match="no certificate"):
        _ = classifier.certificate_


def test_monte_carlo_training_is_certified_exactly(table):
    X, y = table
    classifier = PBGNetClassifier(
        aggregation="monte_carlo", n_samples=20, solver="adam", random_state=0, max_epochs=3
    ).fit(X, y)
    assert classifier.certificate_.network.aggregation.method == "fourier"
    assert classifier.verify(X, y).ok


def test_what_is_free_does_not_change_the_prior(table):
    X, y = table
    options = [
        {},
        {"n_restarts": 2},
        {"max_epochs": 3},
        {"solver": "adam", "max_epochs": 2},
        {"solver": "adam", "objective": "catoni", "max_epochs": 2},
        {"confidence": 0.9, "constant": "paper", "n_priors": 4},
    ]
    for algorithm in ("pbgnet_pre", "pbgnet"):
        priors = {
            PBGNetClassifier((3,), algorithm=algorithm, random_state=0, **{"max_epochs": 1, **option})
            .fit(X, y)
            .certificate_.network.prior_weights
            for option in options
        }
        assert len(priors) == 1


def test_a_refit_that_fails_leaves_the_old_fit(table):
    X, y = table
    classifier = PBGNetClassifier(random_state=0, max_epochs=1).fit(X, y)
    before = classifier.certificate_
    with pytest.raises(DomainError, match="twice"):
        classifier.fit(X, y, prior_rows=[1, 1, 2])
    assert classifier.certificate_ == before


def test_linear_classifier_and_depth(table):
    X, y = table
    for sizes in ((), (4, 3), (1,), 2):
        classifier = PBGNetClassifier(sizes, random_state=0, max_epochs=2).fit(X, y)
        assert classifier.verify(X, y).ok


def test_frames_keep_their_names(table):
    X, y = table
    frame = pd.DataFrame(X, columns=["left", "right"])
    classifier = PBGNetClassifier(random_state=0, max_epochs=2).fit(frame, pd.Series(y))
    assert classifier.feature_names_in_.tolist() == ["left", "right"]
    assert classifier.certified_model_.feature_names == ("left", "right")
    assert classifier.verify(frame, y).ok
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(frame.rename(columns={"left": "other"}))


def test_frames_are_answered_without_a_word():
    """In a process of its own: PyTorch warns once of arrays that are not to be written to, as frames give."""
    code = (
        "import warnings; warnings.simplefilter('error')\n"
        "import numpy as np, pandas as pd\n"
        "from pbgnet.estimators import PBGDClassifier\n"
        "X = pd.DataFrame(np.random.default_rng(0).normal(size=(2000, 2)), columns=['a', 'b'])\n"
        "PBGDClassifier(random_state=0).fit(X, X['a'] > 0).predict(X)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_sparse_matrices_train_and_predict_as_dense_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 30)) * (rng.random((200, 30)) < 0.2)
    y = X[:, :5].sum(axis=1) > 0
    dense = PBGNetClassifier(preprocessing="none", random_state=0, max_epochs=2).fit(X, y)
    thin = PBGNetClassifier(random_state=0, max_epochs=2).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(dense.decision_function(X), thin.decision_function(X), atol=1e-3)
    np.testing.assert_allclose(
        thin.decision_function(X), thin.decision_function(sparse.csc_array(X)), atol=1e-12
    )
    assert thin.verify(sparse.csr_array(X), y).ok


def test_works_in_pipelines_and_searches(table):
    X, y = table
    pipeline = make_pipeline(StandardScaler(), PBGNetClassifier((3,), random_state=0, max_epochs=2))
    assert cross_val_score(pipeline, X, y, cv=2).mean() > 0.7
    search = GridSearchCV(clone(pipeline), {"pbgnetclassifier__hidden_layer_sizes": [(2,), (3,)]}, cv=2).fit(
        X, y
    )
    certificate = search.best_estimator_[-1].certificate_
    assert "outside the proof" in " ".join(certificate.assumptions)


def test_the_linear_classifier_takes_more_classes_through_one_versus_rest():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    X = np.eye(3)[y] + 0.2 * rng.normal(size=(150, 3))
    wrapped = OneVsRestClassifier(PBGDClassifier(random_state=0)).fit(X, y)
    assert wrapped.score(X, y) > 0.9
    assert all(0 < one.certificate_.linear_loss.value < 1 for one in wrapped.estimators_)


@pytest.mark.parametrize(
    ("labels", "kind"), [([True, False], bool), ([3, 7], int), (["a", "b"], str), ([-1.0, 1.0], float)]
)
def test_labels_of_every_kind_come_back(labels, kind, table):
    X, y = table
    target = np.where(y == "yes", labels[1], labels[0])
    classifier = PBGDClassifier(random_state=0).fit(X, target)
    assert set(classifier.predict(X).tolist()) <= set(labels)
    assert all(isinstance(label, kind) for label in classifier.certified_model_.classes)


class TestPBGD:
    def test_bound_and_trade_off(self):
        X, y = load_breast_cancer(return_X_y=True)
        X = X**0.25
        bound = PBGDClassifier(random_state=0).fit(X, y)
        catoni = PBGDClassifier(objective="catoni", random_state=0).fit(X, y)
        assert bound.certificate_.linear_loss.value <= catoni.certificate_.linear_loss.value + 1e-6
        assert catoni.score(X, y) >= bound.score(X, y) - 0.02
        for classifier in (bound, catoni):
            assert classifier.certificate_.network.prior.how == "zero"
            assert classifier.verify(X, y).ok
            assert classifier.n_iter_ >= 1

    def test_fixed_c(self, table):
        X, y = table
        lengths = [
            PBGDClassifier(objective="catoni", c=c, random_state=0)
            .fit(X, y)
            .network_.weights[0]
            .norm()
            .item()
            for c in (0.01, 1.0)
        ]
        assert lengths[0] < lengths[1]


class TestBadInput:
    def test_labels(self, table):
        X, y = table
        with pytest.raises(LabelError, match="only one class"):
            PBGNetClassifier().fit(X, np.ones(len(y)))
        with pytest.raises(LabelError, match=r"3 classes.*Use PBGNetClassifier"):
            PBGDClassifier().fit(X, np.arange(len(y)) % 3)
        with pytest.raises(LabelError, match="all text, all numbers or all true/false"):
            PBGNetClassifier().fit(X, np.array([1, "a"] * 200, dtype=object))

    def test_missing_values_and_infinity(self, table):
        X, y = table
        for bad in (np.nan, np.inf):
            spoiled = X.copy()
            spoiled[3, 1] = bad
            with pytest.raises(ValueError, match=r"NaN|infinity"):
                PBGNetClassifier().fit(spoiled, y)

    def test_rows(self, table):
        X, y = table
        with pytest.raises(ValueError, match="0 sample"):
            PBGNetClassifier().fit(X[:0], y[:0])
        with pytest.warns(FewRowsWarning, match="too few"):
            PBGDClassifier().fit(X[:8], ["a", "b"] * 4)
        with pytest.warns(FewRowsWarning, match="9 rows are too few"):
            PBGNetClassifier(max_epochs=1, random_state=0).fit(X[:9], ["a", "b", "a"] * 3)

    def test_copies_are_told(self, table):
        X, y = (part[:200] for part in table)
        twice, prior_rows = np.vstack([X, X]), np.arange(200)
        options = {"algorithm": "pbgnet_pre", "max_epochs": 2, "device": "cpu"}
        message = f"200 of the 200 certified rows repeat another row of the table. {DUPLICATES_ADVICE}"
        with pytest.warns(DuplicateRowsWarning, match=re.escape(message)):
            fitted = PBGNetClassifier((2,), **options).fit(twice, np.r_[y, y], prior_rows=prior_rows)
        assert any(each.startswith("200 of the certified rows") for each in fitted.certificate_.assumptions)

    def test_sample_weight(self, table):
        X, y = table
        with pytest.raises(OptionError, match="does not accept sample_weight"):
            PBGNetClassifier().fit(X, y, sample_weight=np.ones(len(y)))
        assert PBGDClassifier().fit(X, y, sample_weight=None).classes_.tolist() == ["no", "yes"]
        with pytest.raises(OptionError, match="no parameter named weights"):
            PBGNetClassifier().fit(X, y, weights=y)

    def test_prior_rows(self, table):
        X, y = table
        with pytest.raises(DtypeError, match="prior_rows must contain row indices"):
            PBGNetClassifier().fit(X, y, prior_rows=[0.5, 1.0])
        with pytest.raises(ShapeError, match=r"mask of shape \(399,\), but there are 400 rows"):
            PBGNetClassifier().fit(X, y, prior_rows=np.ones(399, dtype=bool))
        with pytest.raises(DomainError, match="no rows are left to certify"):
            PBGNetClassifier().fit(X, y, prior_rows=np.ones(len(y), dtype=bool))
        with pytest.raises(DomainError, match="between 0 and 399"):
            PBGNetClassifier().fit(X, y, prior_rows=[0, 400])
        with pytest.raises(DomainError, match="no rows are left to certify"):
            PBGNetClassifier().fit(X, y, prior_rows=np.arange(400))
        with pytest.raises(DomainError, match="prior_rows is empty"):
            PBGNetClassifier().fit(X, y, prior_rows=[])

    @pytest.mark.parametrize(
        "parameters",
        [
            {"algorithm": "pbgnet_post"},
            {"confidence": 1.0},
            {"confidence": 95},
            {"prior_fraction": 0.0},
            {"n_restarts": 0},
            {"learning_rate": -1.0},
            {"hidden_layer_sizes": 0},
            {"n_priors": 0},
        ],
    )
    def test_parameters(self, parameters, table):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            PBGNetClassifier(**parameters).fit(*table)

    @pytest.mark.parametrize("sizes", [(0,), (3, -1), (2.5,)])
    def test_hidden_layer_sizes(self, sizes, table):
        with pytest.raises((DomainError, DtypeError), match="hidden_layer_sizes"):
            PBGNetClassifier(sizes).fit(*table)

    def test_combinations_that_cannot_work(self, table):
        with pytest.raises(OptionError, match="weight_decay has no effect"):
            PBGNetClassifier(algorithm="pbgnet_pre", weight_decay=0.1).fit(*table)
        with pytest.raises(OptionError, match="solver='adam'"):
            PBGNetClassifier(algorithm="pbgnet_pre", aggregation="monte_carlo").fit(*table)
        with pytest.raises(OptionError, match="solver='adam'"):
            PBGNetClassifier(algorithm="pbgnet_pre", objective="catoni").fit(*table)

    @pytest.mark.parametrize("device", ["cuda:77", "abacus"])
    def test_device(self, device, table):
        with pytest.raises(OptionError, match="use 'cpu' or 'auto'"):
            PBGNetClassifier(device=device).fit(*table)


class TestRoutes:
    @pytest.mark.parametrize("certificate", ["auto", "seeger", "mixture", "vote", "held-out"])
    def test_what_predicts_is_what_is_certified(self, table, certificate):
        X, y = table
        classifier = PBGNetClassifier(
            (3,), algorithm="pbgnet_pre", certificate=certificate, max_epochs=1, random_state=0
        ).fit(X, y)
        issued = classifier.certificate_
        assert issued.choices.certificate == certificate
        rows = classifier.certified_rows_
        assert issued.inputs.n_errors == int(np.sum(classifier.predict(X[rows]) != y[rows]))
        np.testing.assert_array_equal(classifier.predict(X), classifier.certified_model_.predict(X))
        prior = issued.error_rate.predictor == "prior's vote"
        assert prior == (issued.network.prior_weights == issued.network.posterior_weights)
        assert classifier.verify(X, y).ok
        with pytest.raises(PriorLeakageError, match="seen by the classifier in fit"):
            certify(classifier, X[:9], y[:9])

    def test_class_conditional_bounds_come_through_pipelines(self, table):
        X, y = table
        for inner in (PBGNetClassifier((3,), max_epochs=1, random_state=0), PBGDClassifier(random_state=0)):
            pipeline = make_certified_pipeline(inner.set_params(class_conditional=True)).fit(X, y)
            assert len(pipeline.certificate_.class_conditional) == 2
            assert pipeline.verify(X, y).ok
            assert pipeline.row_fingerprints_.shape == (len(y),)

    def test_a_thorough_prior_chooses_by_its_validation_rows(self, table):
        X, y = table
        classifier = PBGNetClassifier((3,), prior_training="thorough", random_state=0).fit(X, y)
        assert classifier.certificate_.error_rate.value < 0.25
        report = classifier.verify(X, y)
        assert report.ok, str(report)
        assert {step.name for step in report.trusted} >= {"settings", "prior regenerated"}

    def test_unknown_routes_are_refused(self, table):
        with pytest.raises(ValueError, match="certificate"):
            PBGNetClassifier(certificate="votes").fit(*table)
