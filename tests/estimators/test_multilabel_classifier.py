"""Several labels by one certified ensemble, as scikit-learn knows them."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import hamming_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from pbgnet.certificates import certify, earliest_by, load_model, verify
from pbgnet.estimators import PBGNetMultilabelClassifier, make_certified_pipeline
from pbgnet.exceptions import ConstantLabelWarning, LabelError, OptionError, PriorLeakageError, ShapeError

NAMES = ["sport", "music", "art"]


def quick(**options):
    """A classifier that is trained for a moment."""
    return PBGNetMultilabelClassifier((4,), n_members=2, max_epochs=15, random_state=0, **options)


@pytest.fixture(scope="module")
def data():
    X, Y = make_multilabel_classification(n_samples=300, n_features=6, n_classes=3, random_state=0)
    return X, Y


@pytest.fixture(scope="module")
def fitted(data):
    return quick(per_label=True).fit(*data)


def test_it_learns_and_is_certified(data, fitted):
    X, Y = data
    certificate, answers = fitted.certificate_, fitted.predict(X)
    assert answers.shape == Y.shape
    assert set(np.unique(answers)) == {0, 1}
    rows = fitted.certified_rows_
    wrong = answers[rows] != Y[rows]
    assert certificate.inputs.n_errors == wrong.any(axis=1).sum()
    assert fitted.score(X[rows], Y[rows]) == pytest.approx(1 - certificate.inputs.empirical_error_rate)
    assert hamming_loss(Y[rows], answers[rows]) == pytest.approx(certificate.hamming_loss.empirical_risk)
    assert certificate.hamming_loss.empirical_risk < 0.3 < hamming_loss(Y[rows], 1 - answers[rows])
    assert len(certificate.per_label) == 3
    assert certificate.error_rate.predictor == "prior's vote"
    assert certificate.network.network.n_outputs == 3
    report = fitted.verify(X, Y)
    assert report.ok, str(report)


def test_shapes_are_those_of_scikit_learn(data, fitted):
    X, _ = data
    decision, shares = fitted.decision_function(X[:5]), fitted.predict_proba(X[:5])
    assert decision.shape == shares.shape == (5, 3)
    assert shares == pytest.approx((1 + decision) / 2)
    assert (fitted.predict(X[:5]) == (shares > 0.5)).all()
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert fitted.n_features_in_ == 6
    assert fitted.__sklearn_tags__().classifier_tags.multi_label


def test_the_saved_model_answers_alike(data, fitted, tmp_path):
    X, Y = data
    fitted.save(tmp_path / "model")
    model = load_model(tmp_path / "model")
    assert (model.predict(X) == fitted.predict(X)).all()
    assert model.predict_proba(X) == pytest.approx(fitted.predict_proba(X))
    assert verify(tmp_path / "model", X, Y).ok
    assert (pickle.loads(pickle.dumps(fitted)).predict(X) == fitted.predict(X)).all()


def test_it_is_certified_on_fresh_rows_and_refused_its_own(data, fitted):
    X, Y = make_multilabel_classification(n_samples=100, n_features=6, n_classes=3, random_state=1)
    certified = certify(fitted, X + 0.25, Y, per_label=True)
    assert certified.certificate.inputs.n_errors == (fitted.predict(X + 0.25) != Y).any(axis=1).sum()
    assert verify(certified, X + 0.25, Y, model=fitted).ok
    with pytest.raises(PriorLeakageError, match="300 of the 300 rows"):
        certify(fitted, *data)


@pytest.mark.parametrize("form", [sparse.csr_matrix, lambda Y: Y.astype(bool), np.ndarray.tolist])
def test_labels_in_any_form_give_the_same_classifier(data, fitted, form):
    X, Y = data
    again = clone(fitted).fit(X, form(Y))
    assert again.certificate_.fingerprints.labels == fitted.certificate_.fingerprints.labels
    assert (again.predict(X) == fitted.predict(X)).all()


def test_tables_name_columns_and_labels(data):
    X, Y = data
    table, labels = pd.DataFrame(X).add_prefix("x"), pd.DataFrame(Y, columns=NAMES)
    fitted = quick(per_label=True).fit(table, labels, prior_rows=earliest_by("x0"))
    assert fitted.classes_.tolist() == NAMES
    assert [claim.label for claim in fitted.certificate_.per_label] == [repr(name) for name in NAMES]
    assert "in label 'sport'" in fitted.certificate_.statement
    assert fitted.verify(table, labels).ok


def test_tables_of_any_types_have_labels(data):
    X, Y = data
    table = pd.DataFrame(X).add_prefix("x").assign(kind=np.where(X[:, 0] > 4, "many", "few"))
    table.loc[3, "x1"] = np.nan
    pipeline = make_certified_pipeline(quick()).fit(table, pd.DataFrame(Y, columns=NAMES))
    assert pipeline.classes_.tolist() == NAMES
    assert pipeline.predict(table).shape == Y.shape
    assert pipeline.certificate_.network.preprocessing.status == "inside"
    assert pipeline.verify(table, Y).ok
    with pytest.raises(ShapeError, match="PBGNetClassifier"):
        make_certified_pipeline(quick()).fit(table, Y[:, 0])
    with pytest.raises(ShapeError, match="300 rows, but there are 299"):
        make_certified_pipeline(quick()).fit(table, Y[1:])


@pytest.mark.parametrize("certificate", ["seeger", "mixture", "vote"])
def test_other_routes_bound_the_same_votes(data, certificate):
    X, Y = data
    fitted = quick(certificate=certificate).fit(X, Y)
    found = fitted.certificate_
    assert found.error_rate.predictor == "vote"
    assert found.hamming_loss.value <= found.error_rate.value
    assert fitted.verify(X, Y).ok


def test_sparse_rows_are_used_as_they_are(data):
    X, Y = data
    fitted = quick().fit(sparse.csr_matrix(X), Y)
    assert fitted.certificate_.network.preprocessing.status == "outside"
    assert fitted.predict(X[:3]).shape == (3, 3)


def test_a_label_that_never_varies_is_told(data):
    X, Y = data
    constant = Y.copy()
    constant[:, 1] = 0
    with pytest.warns(ConstantLabelWarning, match="label 1: it"):
        fitted = quick().fit(X, constant)
    assert (fitted.predict(X)[:, 1] == 0).all()
    assert fitted.verify(X, constant).ok
    constant[:, 2] = 1
    with pytest.warns(ConstantLabelWarning, match="labels 1, 2"):
        quick().fit(X, constant)


def test_rows_without_labels_are_fine(data):
    X, Y = data
    with pytest.warns(ConstantLabelWarning):
        fitted = quick().fit(X, np.zeros_like(Y))
    assert fitted.certificate_.inputs.n_errors == 0


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda Y: Y[:, 0], ShapeError),
        (lambda Y: Y[:, :1], ShapeError),
        (lambda Y: Y + 1, LabelError),
        (lambda Y: Y[:-1], ValueError),
        (lambda Y: np.where(Y, np.nan, 0.0), ValueError),
        (lambda Y: np.where(Y, "yes", "no"), LabelError),
    ],
)
def test_what_is_no_matrix_of_labels_is_refused(data, change, error):
    X, Y = data
    with pytest.raises(error):
        quick().fit(X, change(Y))


def test_bad_parameters_are_refused(data):
    X, Y = data
    with pytest.raises(OptionError, match="held-out"):
        quick(per_label=True, certificate="vote").fit(X, Y)
    with pytest.raises(OptionError, match="sample_weight"):
        quick().fit(X, Y, sample_weight=np.ones(len(X)))
    with pytest.raises(ValueError, match="confidence"):
        quick(confidence=95).fit(X, Y)


def as_labels(y):
    """Make two labels of a single column: that it has its largest value, and that it has not."""
    values = np.asarray(y)
    if values.ndim != 2 or values.shape[1] != 1 or pd.isna(values).any() or np.inf in values:
        return y
    largest = values == np.unique(values)[-1]
    return np.hstack([largest, ~largest]).astype(int)


class OfColumns(PBGNetMultilabelClassifier):
    """Takes the single column that most of scikit-learn's checks hand over."""

    def fit(self, X, y, **options):
        """Fit."""
        return super().fit(X, as_labels(y), **options)

    def score(self, X, y):
        """Score."""
        return super().score(X, as_labels(y))


NO_LABELS = {
    "check_classifiers_regression_target": "a number is no matrix of labels, and the message says so",
    "check_classifiers_classes": "classes_ are the names of labels",
    "check_classifiers_train": "answers are compared with a single column",
    "check_classifier_not_supporting_multiclass": "a single column is refused in other words",
    "check_estimator_sparse_array": "a single column of answers is expected",
    "check_estimator_sparse_matrix": "a single column of answers is expected",
    "check_decision_proba_consistency": "a single column of probabilities is expected",
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [OfColumns((3,), n_members=2, max_epochs=3)], expected_failed_checks=lambda estimator: NO_LABELS
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sklearn_multilabel_checks():
    """All checks that hand over a matrix of labels, on the class itself."""
    from sklearn.utils import estimator_checks

    names = [name for name in dir(estimator_checks) if name.startswith("check_classifiers_multilabel")]
    assert len(names) == 4
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(estimator_checks, name)(name, quick())
