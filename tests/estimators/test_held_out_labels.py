"""Any classifier of several labels in the frame of a certificate."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.preprocessing import StandardScaler

from pbgnet.certificates import load_predictions, verify
from pbgnet.estimators import HeldOutPipeline, compare_classifiers, make_certified_pipeline
from pbgnet.estimators.wrapped import FittedClassifier, make_classifier, takes_several_labels
from pbgnet.exceptions import ConstantLabelWarning, LabelError, OptionError, ShapeError

NAMES = ["sport", "music", "art"]


@pytest.fixture(scope="module")
def data():
    X, Y = make_multilabel_classification(n_samples=240, n_features=5, n_classes=3, random_state=0)
    table = pd.DataFrame(X).add_prefix("x").assign(kind=np.where(X[:, 0] > 4, "many", "few"))
    table.loc[3, "x1"] = np.nan
    return table, pd.DataFrame(Y, columns=NAMES)


@pytest.fixture(scope="module")
def fitted(data):
    forest = RandomForestClassifier(10)
    return make_certified_pipeline(forest, per_label=True, random_state=0).fit(*data)


def test_it_is_fitted_on_some_rows_and_counted_on_the_others(data, fitted, tmp_path):
    table, labels = data
    certificate, rows = fitted.certificate_, fitted.certified_rows_
    wrong = (fitted.predict(table) != labels.to_numpy())[rows]
    assert certificate.inputs.n_errors == wrong.any(axis=1).sum()
    assert certificate.hamming_loss.empirical_risk == pytest.approx(wrong.mean())
    assert [claim.evidence.n_errors for claim in certificate.per_label] == wrong.sum(axis=0).tolist()
    assert certificate.majority.chosen_on == "prior rows"
    assert fitted.classes_.tolist() == NAMES
    assert fitted.score(table.iloc[rows], labels.iloc[rows]) == pytest.approx(
        1 - certificate.inputs.empirical_error_rate
    )
    report = fitted.verify(table, labels)
    assert report.ok, str(report)
    fitted.save(tmp_path / "certified")
    assert load_predictions(tmp_path / "certified").classes == tuple(NAMES)
    assert verify(tmp_path / "certified", table, labels.to_numpy()).ok
    changed = labels.copy()
    changed.iloc[rows[0], 0] = 1 - changed.iloc[rows[0], 0]
    assert not fitted.verify(table, changed).ok


def test_candidates_are_compared_by_rows_with_any_wrong_label(data):
    table, labels = data
    chain = ClassifierChain(LogisticRegression(max_iter=500))
    pipeline = make_certified_pipeline(["logistic_regression", chain], random_state=0).fit(table, labels)
    fit = pipeline.certificate_.subject.fit
    assert len(fit.candidates) == 2
    n_prior, best = pipeline.prior_rows_.size, min(fit.candidates, key=lambda each: each.n_errors)
    assert all(0 < candidate.n_errors < n_prior for candidate in fit.candidates)
    assert fit.classifier == best.classifier
    assert pipeline.verify(table, labels).ok


@pytest.mark.parametrize(("name", "wrapped"), [("logistic_regression", True), ("random_forest", False)])
def test_classifiers_by_name_take_several_labels(name, wrapped):
    made = make_classifier(name, several_labels=True)
    assert isinstance(made, MultiOutputClassifier) == wrapped
    assert takes_several_labels(made)
    assert not isinstance(make_classifier(name), MultiOutputClassifier)


def test_gradient_boosting_of_each_label_gets_categories_as_such(data):
    table, labels = data
    fitted = FittedClassifier(MultiOutputClassifier(HistGradientBoostingClassifier()), None, table, labels)
    assert fitted.encoder.encoding == "codes"
    assert fitted.classifier.estimators_[0].is_categorical_.tolist() == [False] * 5 + [True]


def test_other_classifiers_are_compared(data, fitted):
    found = compare_classifiers(fitted, *data, classifiers=["logistic_regression"])
    claim = found["logistic_regression"]
    assert claim.evidence.n == fitted.certificate_.inputs.n
    assert 0 < claim.evidence.n_errors < claim.evidence.n


def test_what_cannot_be_is_refused(data):
    table, labels = data
    advice = r"LogisticRegression predicts one label per row\. .* wrap it in .*\.MultiOutputClassifier"
    with pytest.raises(OptionError, match=advice):
        make_certified_pipeline(LogisticRegression()).fit(table, labels)
    with pytest.raises(OptionError, match="For several labels, use per_label"):
        make_certified_pipeline("random_forest", confusion=True).fit(table, labels)
    with pytest.raises(OptionError, match="For classes, use class_conditional"):
        make_certified_pipeline("random_forest", per_label=True).fit(table, labels["art"])
    with pytest.raises(LabelError, match="only 0 and 1, got 2"):
        make_certified_pipeline("random_forest").fit(table, 2 * labels)
    with pytest.raises(ShapeError, match="240 rows, but there are 239"):
        make_certified_pipeline("random_forest").fit(table, labels[1:])


def test_a_label_that_no_prior_row_has_is_told(data):
    table, labels = data
    forest = RandomForestClassifier(3)
    with pytest.warns(ConstantLabelWarning, match="the label 'music'"):
        pipeline = make_certified_pipeline(forest, random_state=0).fit(table, labels.assign(music=0))
    assert pipeline.predict(table)[:, 1].tolist() == [0] * 240


def test_tags_tell_whether_several_labels_can_be_had():
    for classifier, several in [
        (None, True),
        ("logistic_regression", True),
        (RandomForestClassifier(), True),
        (LogisticRegression(), False),
        ([RandomForestClassifier(), LogisticRegression()], False),
        (["mlp", RandomForestClassifier()], True),
    ]:
        tags = HeldOutPipeline(classifier).__sklearn_tags__()
        assert tags.classifier_tags.multi_label is several
    assert not takes_several_labels(clone(StandardScaler()))
