"""Any classifier of scikit-learn: fitted on rows set apart, certified by a count on the others."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.estimators.test_certified_pipeline import make_table

from pbgnet.bounds import clopper_pearson_bound
from pbgnet.certificates import by_hash_of, certify, draw_prior_rows, verify
from pbgnet.choices import CLASSIFIERS
from pbgnet.estimators import HeldOutPipeline, PBGNetClassifier, make_certified_pipeline
from pbgnet.estimators.table_encoder import TableEncoder
from pbgnet.exceptions import DomainError, LabelError, OptionError, PriorLeakageError, UnknownNameError
from pbgnet.preprocessing import TablePreprocessor

TREE = DecisionTreeClassifier(max_depth=3)


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def fitted(table):
    return make_certified_pipeline(TREE, random_state=0).fit(*table)


def test_the_count_on_the_other_rows_is_what_is_certified(table, fitted):
    X, y = table
    rows = fitted.certified_rows_
    wrong = int(np.sum(fitted.predict(X.iloc[rows]) != y[rows]))
    claim = fitted.certificate_.error_rate
    assert claim.evidence.n_errors == wrong > 0
    assert claim.value == clopper_pearson_bound(wrong, rows.size, fitted.certificate_.delta)
    assert fitted.certificate_.choices.certificate == "held-out"
    assert sorted([*rows, *fitted.prior_rows_]) == list(range(len(y)))


def test_the_split_is_that_of_our_own_classifiers_whatever_the_order(table, fitted):
    X, y = table
    ours = make_certified_pipeline(PBGNetClassifier((), algorithm="pbgnet_pre", max_epochs=1, random_state=0))
    assert np.array_equal(ours.fit(X, y).prior_rows_, fitted.prior_rows_)
    turned = make_certified_pipeline(TREE, random_state=0).fit(X[::-1], y[::-1])
    assert np.array_equal(np.sort(len(y) - 1 - turned.prior_rows_), fitted.prior_rows_)
    record = fitted.certificate_.subject.split
    assert np.array_equal(draw_prior_rows(X, y, record.fraction, record.seed), fitted.prior_rows_)


def test_nothing_of_the_certified_rows_gets_into_the_fit(table, fitted):
    X, y = table
    changed, labels = X.copy(), y.copy()
    rows = fitted.certified_rows_
    changed.loc[rows, "age"] = 1e6
    changed.loc[rows, "job"] = "pilot"
    labels[rows] = "good"
    for classifier in (TREE, "hist_gradient_boosting", [TREE, "logistic_regression"]):
        pair = [
            make_certified_pipeline(classifier, random_state=0).fit(a, b, prior_rows=fitted.prior_rows_)
            for a, b in ((X, y), (changed, labels))
        ]
        probabilities = [model.predict_proba(X.iloc[:50]) for model in pair]
        assert np.array_equal(*probabilities)
        assert pair[0].certificate_.subject.fit == pair[1].certificate_.subject.fit


def test_candidates_are_compared_on_the_prior_rows_at_no_cost(table):
    X, y = table
    candidates = [DummyClassifier(), TREE, RidgeClassifier()]
    one = make_certified_pipeline(TREE, random_state=0).fit(X, y)
    best = make_certified_pipeline(candidates, random_state=0).fit(X, y)
    fit = best.certificate_.subject.fit
    assert isinstance(best.classifier_, DecisionTreeClassifier)
    assert [c.classifier.partition("(")[0] for c in fit.candidates] == [
        "DummyClassifier",
        "DecisionTreeClassifier",
        "RidgeClassifier",
    ]
    assert fit.candidates[1].n_errors < fit.candidates[0].n_errors
    assert best.certificate_.error_rate == one.certificate_.error_rate
    told = "the classifier, among 3 candidates, by cross-validation with 5 folds"
    assert f"Chosen only on the prior rows, at no cost: {told}." in best.certificate_.assumptions
    assert best.verify(X, y).ok


@pytest.mark.parametrize("strategies", [("prior", "most_frequent"), ("most_frequent", "prior")])
def test_of_equal_candidates_the_first_is_taken(strategies, table):
    pair = [DummyClassifier(strategy=strategy) for strategy in strategies]
    fitted = make_certified_pipeline(pair, random_state=0).fit(*table)
    assert fitted.classifier_.strategy == strategies[0]
    errors = {candidate.n_errors for candidate in fitted.certificate_.subject.fit.candidates}
    assert len(errors) == 1


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_each_name_makes_a_classifier_that_learns_from_mixed_columns(name, table):
    X, y = table
    fitted = make_certified_pipeline(name, random_state=0).fit(X, y)
    share = np.mean(y[fitted.certified_rows_] == "good")
    assert fitted.certificate_.inputs.empirical_error_rate < min(share, 1 - share) - 0.02
    assert fitted.verify(X, y).ok
    assert fitted.score(X, y) > 0.5


def test_a_saved_folder_holds_certificate_and_answers(table, fitted, tmp_path):
    X, y = table
    fitted.save(tmp_path / "folder")
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == [
        "certificate.json",
        "predictions.json",
        "report.html",
        "rows.safetensors",
    ]
    alone = verify(tmp_path / "folder", X, y)
    assert alone.ok
    assert [step.name for step in alone.trusted] == ["answers", "fit", "settled beforehand"]
    assert [step.name for step in verify(tmp_path / "folder", X, y, model=fitted).trusted] == [
        "fit",
        "settled beforehand",
    ]
    other = make_certified_pipeline(DummyClassifier(), random_state=0).fit(X, y)
    asked = verify(tmp_path / "folder", X, y, model=other)
    assert [step.name for step in asked.failures] == ["answers"]


def test_hist_gradient_boosting_gets_the_table_as_scikit_learn_would_have_it(table):
    X, y = table
    fitted = make_certified_pipeline(HistGradientBoostingClassifier(random_state=0), random_state=0).fit(X, y)
    assert fitted.classifier_.is_categorical_.tolist() == [False, True, True, False]
    typed = X.assign(job=X["job"].astype("category"), member=X["member"].astype("category"))
    own = HistGradientBoostingClassifier(random_state=0)
    own.fit(typed.iloc[fitted.prior_rows_], y[fitted.prior_rows_])
    assert np.array_equal(own.predict_proba(typed), fitted.predict_proba(X))


def test_the_user_says_which_columns_are_categories(table):
    X, y = table
    none = HistGradientBoostingClassifier(categorical_features=None)
    assert make_certified_pipeline(none, random_state=0).fit(X, y).classifier_.is_categorical_ is None
    own = HistGradientBoostingClassifier(categorical_features=["income"])
    rounded = X[["income"]].assign(income=np.minimum(X["income"] // 20, 9), row=np.arange(len(y)))
    fitted = make_certified_pipeline(own, random_state=0).fit(rounded, y)
    assert fitted.certificate_.subject.fit.preprocessing.status == "none"
    assert fitted.classifier_.is_categorical_.tolist() == [True, False]


def test_an_encoder_reads_commas_units_and_dates_as_the_preprocessor_does():
    pd = pytest.importorskip("pandas")
    lengths, days = [1.5, 2.25, 4.0, 3.5] * 3, ["2024-01-31", "2024-02-29", "2024-07-01", None] * 3
    table = pd.DataFrame(
        {
            "length": [f"{length:.2f}".replace(".", ",") for length in lengths],
            "seen": days,
            "price": [f"{length:.2f} €" for length in lengths],
            "shape": ["round", "flat", "flat", "round"] * 3,
        }
    )
    encoder = TableEncoder("codes").fit(table)
    codes = encoder.transform(table)
    assert encoder.is_categorical_.tolist() == [False] * (codes.shape[1] - 1) + [True]
    np.testing.assert_array_equal(codes[:, 0], lengths)
    np.testing.assert_array_equal(codes[:, -2], lengths)
    np.testing.assert_array_equal(codes[:, -1], [1.0, 0.0, 0.0, 1.0] * 3)
    assert codes[:4, 1].tolist()[:3] == [19753.0, 19782.0, 19905.0]
    assert np.isnan(codes[3, 1])
    values = TableEncoder("values").fit_transform(table)
    np.testing.assert_array_equal(values[:, 0], lengths)


def test_each_kind_of_classifier_gets_what_it_wants():
    table = np.array([[1.5, "red"], [3.0, "blue"], [None, "red"], [2.0, None]], dtype=object)
    values = TableEncoder("values").fit_transform(table)
    assert values.tolist() == [[1.5, 0, 0, 1, 0], [3, 0, 1, 0, 0], [2, 1, 0, 1, 0], [2, 0, 0, 0, 1]]
    codes = TableEncoder("codes").fit(table)
    np.testing.assert_array_equal(codes.transform(table), [[1.5, 1], [3, 0], [np.nan, 1], [2, np.nan]])
    with pytest.warns(UserWarning, match="Not seen in the fitted rows"):
        later = codes.transform(np.array([["7", "green"]], dtype=object))
    np.testing.assert_array_equal(later, [[7, np.nan]])
    standard = TableEncoder("standard").fit_transform(table)
    expected = TablePreprocessor("standard").fit_transform(table)
    np.testing.assert_array_equal(standard, expected)


def test_more_categories_than_bins_share_a_code():
    names = np.array([[f"name {k % 400}", float(k % 7)] for k in range(1200)], dtype=object)
    y = np.arange(1200) % 2
    with pytest.warns(UserWarning, match="categories"):
        fitted = make_certified_pipeline("hist_gradient_boosting", random_state=0).fit(names, y)
    assert fitted.certificate_.inputs.n == 600


def test_a_pipeline_of_the_user_gets_the_table_itself(table):
    X, y = table
    steps = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    words = X.assign(row=np.arange(len(y))).astype(str)
    fitted = make_certified_pipeline(steps, random_state=0).fit(words, y)
    assert fitted.certificate_.subject.fit.preprocessing.status == "none"
    own = make_certified_pipeline(LogisticRegression(), preprocessor=StandardScaler(), random_state=0)
    numbers = X[["income"]]
    assert own.fit(numbers, y).certificate_.subject.fit.preprocessing.description == "StandardScaler"
    assert own.verify(numbers, y).ok


def test_sparse_rows_and_three_classes():
    rng = np.random.default_rng(0)
    dense = rng.poisson(0.5, size=(300, 20)).astype(float)
    y = np.clip(dense[:, 0] + dense[:, 1], 0, 2).astype(int)
    X = sparse.csr_matrix(dense)
    fitted = make_certified_pipeline(LogisticRegression(), class_conditional=True, random_state=0).fit(X, y)
    assert [claim.given_class for claim in fitted.certificate_.class_conditional] == ["0", "1", "2"]
    assert fitted.certificate_.choices.n_shares == 4
    assert fitted.verify(X, y).ok


def test_rows_of_the_user_and_rules(table):
    X, y = table
    X = X.assign(case=np.arange(len(y)) // 2)
    given = make_certified_pipeline(TREE, random_state=0).fit(X, y, prior_rows=np.arange(100))
    trusted = {step.name for step in given.verify(X, y).trusted}
    assert "split redrawn" in trusted
    hashed = make_certified_pipeline(TREE, random_state=0).fit(X, y, prior_rows=by_hash_of("case"))
    assert not set(X["case"][hashed.prior_rows_]) & set(X["case"][hashed.certified_rows_])
    assert hashed.verify(X, y).ok
    small = make_certified_pipeline(TREE, prior_fraction=0.8, random_state=0).fit(X, y)
    assert small.certificate_.inputs.n == 80


def test_rows_of_the_table_are_refused_later(table, fitted):
    X, y = table
    with pytest.raises(PriorLeakageError):
        certify(fitted, X.iloc[:50], y[:50])


def test_what_makes_no_sense_is_refused(table, fitted):
    X, y = table
    with pytest.raises(OptionError, match="sets rows apart itself"):
        make_certified_pipeline([PBGNetClassifier(), TREE]).fit(X, y)
    with pytest.raises(OptionError, match="on the classifier itself"):
        make_certified_pipeline(PBGNetClassifier(), confidence=0.9)
    with pytest.raises(OptionError, match="at least one"):
        make_certified_pipeline([]).fit(X, y)
    with pytest.raises(UnknownNameError, match="random_forest"):
        make_certified_pipeline("random_forrest").fit(X, y)
    with pytest.raises(OptionError, match="sample_weight"):
        make_certified_pipeline(TREE).fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(LabelError, match="1 class"):
        make_certified_pipeline(TREE).fit(X, np.full(len(y), "good"))
    with pytest.raises(LabelError, match="0 class"):
        make_certified_pipeline(TREE).fit(X[:0], y[:0])
    with pytest.raises(DomainError, match="prior rows contain 1 class"):
        make_certified_pipeline(TREE).fit(X, y, prior_rows=np.flatnonzero(y == "good")[:20])
    labels = y.astype(object)
    labels[fitted.certified_rows_[0]] = "unheard of"
    chosen = {"prior_rows": fitted.prior_rows_}
    with pytest.raises(LabelError, match="prior rows"):
        make_certified_pipeline(TREE, class_conditional=True).fit(X, labels, **chosen)
    assert make_certified_pipeline(TREE).fit(X, labels, **chosen).certificate_.inputs.n_errors > 0


def test_a_fit_that_fails_leaves_the_old_one(table):
    X, y = table
    pipeline = make_certified_pipeline(TREE, random_state=0).fit(X, y)
    before = pipeline.certificate_
    with pytest.raises(DomainError):
        pipeline.fit(X, y, prior_rows=np.flatnonzero(y == "good")[:20])
    assert pipeline.certificate_ is before


def test_it_is_a_scikit_learn_estimator(table):
    X, y = table
    pipeline = HeldOutPipeline(RandomForestClassifier(n_estimators=5), random_state=3)
    again = clone(pipeline).set_params(classifier__n_estimators=7).fit(X, y)
    assert len(again.classifier_.estimators_) == 7
    assert np.array_equal(again.predict(X), clone(again).fit(X, y).predict(X))
    assert not hasattr(make_certified_pipeline(RidgeClassifier()).fit(X, y), "predict_proba")


def test_the_cells_of_the_confusion_matrix_are_bounded():
    X, y = load_wine(return_X_y=True)
    fitted = make_certified_pipeline(LogisticRegression(), confusion=True, random_state=0).fit(X, y)
    cells = {(claim.given_class, claim.answered) for claim in fitted.certificate_.confusion}
    assert cells == {(a, b) for a in "012" for b in "012" if a != b}
    assert fitted.verify(X, y).ok
