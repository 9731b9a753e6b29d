"""Several labels answered by any classifier: what is counted, claimed, refused, saved and read."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier

from pbgnet.bounds import clopper_pearson_bound
from pbgnet.certificates import certify, load_predictions, verify
from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
    LabelError,
    OptionError,
    PriorLeakageError,
    ShapeError,
)

NAMES = ["wet", "warm", "windy"]


@pytest.fixture(scope="module")
def data():
    X, Y = make_multilabel_classification(n_samples=360, n_features=6, n_classes=3, random_state=0)
    return (X[:160], Y[:160]), (X[160:], Y[160:])


@pytest.fixture(scope="module")
def forest(data):
    return RandomForestClassifier(10, random_state=0).fit(*data[0])


@pytest.fixture(scope="module")
def certified(data, forest):
    X, Y = data[1]
    return certify(forest, X, pd.DataFrame(Y, columns=NAMES), per_label=True)


def test_each_claim_is_its_own_count(data, forest, certified):
    X, Y = data[1]
    wrong, certificate = forest.predict(X) != Y, certified.certificate
    share = 0.05 / 5
    rows = clopper_pearson_bound(int(wrong.any(axis=1).sum()), 200, share)
    assert certificate.error_rate.value == pytest.approx(float(rows))
    assert certificate.hamming_loss.route == "betting"
    assert certificate.hamming_loss.empirical_risk == pytest.approx(wrong.mean())
    assert wrong.mean() < certificate.hamming_loss.value < certificate.error_rate.value
    for k, claim in enumerate(certificate.per_label):
        assert claim.label == repr(NAMES[k])
        assert claim.evidence.n_errors == wrong[:, k].sum()
        assert claim.value == pytest.approx(float(clopper_pearson_bound(int(wrong[:, k].sum()), 200, share)))
    assert certified.classes == tuple(NAMES)
    assert (certified.labels == forest.predict(X)).all()
    assert "in label 'windy'" in certificate.statement
    assert "The set of labels was fixed before looking at the certified rows." in certificate.assumptions


def test_without_each_label_less_is_paid(data, forest, certified):
    plain = certify(forest, *data[1]).certificate
    assert plain.choices.n_shares == 2
    assert plain.per_label == ()
    assert plain.error_rate.value < certified.certificate.error_rate.value
    assert plain.hamming_loss.value < certified.certificate.hamming_loss.value


@pytest.mark.parametrize("wrapper", [MultiOutputClassifier, ClassifierChain])
def test_any_classifier_of_labels_is_certified_and_verified(data, wrapper):
    learned, (X, Y) = data
    model = wrapper(LogisticRegression(max_iter=1000)).fit(*learned)
    certified = certify(model, X, Y, per_label=True, training_data=learned)
    assert certified.classes == (0, 1, 2)
    assert certified.certificate.inputs.n_errors == (model.predict(X) != Y).any(axis=1).sum()
    assert verify(certified, X, Y, model=model).ok


@pytest.mark.parametrize(
    "form", [sparse.csr_matrix, lambda Y: Y.astype(bool), np.ndarray.tolist, pd.DataFrame, np.float64]
)
def test_labels_and_answers_come_in_any_form(data, forest, form):
    X, Y = data[1]
    answers = forest.predict(X)
    found = certify(lambda X: form(answers), X, form(Y)).certificate
    expected = certify(forest, X, Y).certificate
    assert found.claims == expected.claims
    assert found.fingerprints == expected.fingerprints


def test_what_was_saved_is_read_and_verified(data, forest, certified, tmp_path):
    X, Y = data[1]
    folder = certified.save(tmp_path / "certified")
    loaded = load_predictions(folder)
    assert (loaded.predictions == certified.predictions).all()
    assert loaded.certificate == certified.certificate
    assert verify(folder, X, Y, model=forest).ok


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda rows: [row[:2] for row in rows], "3 numbers per row"),
        (lambda rows: [[2, *row[1:]] for row in rows], "only 0 and 1, got 2"),
        (lambda rows: [1] * len(rows), "lists of whole numbers"),
        (lambda rows: [[0.5, *row[1:]] for row in rows], "lists of whole numbers"),
        (lambda rows: [[*row] for row in rows[1:]], "an answer, a loss, a score or a class was changed"),
        (lambda rows: [], "3 numbers per row"),
        (lambda rows: 3, "lists of whole numbers"),
    ],
)
def test_damaged_answers_are_refused(certified, tmp_path, change, told):
    path = certified.save(tmp_path / "certified") / "predictions.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "predictions": change(content["predictions"])}))
    with pytest.raises(DamagedFileError, match=told):
        load_predictions(path.parent)


@pytest.mark.parametrize(
    ("answer", "error", "told"),
    [
        (lambda Y: Y[:, 0], ShapeError, r"shape \(200, 3\), got \(200,\)"),
        (lambda Y: Y[:, :2], ShapeError, r"got \(200, 2\)"),
        (lambda Y: Y[1:], ShapeError, r"got \(199, 3\)"),
        (lambda Y: 0.8 * Y, LabelError, "with a threshold.*got 0.8"),
        (lambda Y: np.where(Y, "yes", "no"), LabelError, "0 and 1, or true and false"),
    ],
)
def test_answers_that_are_no_labels_are_refused(data, answer, error, told):
    X, Y = data[1]
    with pytest.raises(error, match=told):
        certify(lambda X: answer(Y), X, Y)


def test_seen_rows_are_refused(data, forest):
    (X, Y), _ = data
    with pytest.raises(PriorLeakageError, match="160 of the 160 rows"):
        certify(forest, X, Y, training_data=(X, Y))
    certify(forest, X, Y, training_data=(X, 1 - Y))  # other labels: not the same examples


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"class_conditional": True}, "use per_label"),
        ({"confusion": True}, "use per_label"),
        ({"loss": "brier"}, "Hamming loss.*always"),
        ({"classes": ["a", "b", "c"]}, "the column names of y"),
    ],
)
def test_what_is_for_classes_is_refused(data, forest, options, told):
    with pytest.raises(OptionError, match=told):
        certify(forest, *data[1], **options)


def test_what_is_for_labels_is_refused_of_classes(data, forest):
    X, Y = data[1]
    with pytest.raises(OptionError, match="For classes, use class_conditional"):
        certify(lambda X: Y[:, 0], X, Y[:, 0], per_label=True)


def test_rows_and_labels_must_match(data, forest):
    X, Y = data[1]
    with pytest.raises(ShapeError, match="200 rows, but there are 199"):
        certify(forest, X, Y[1:])
    with pytest.raises(DomainError, match="no rows to certify"):
        certify(forest, X[:0], Y[:0])
