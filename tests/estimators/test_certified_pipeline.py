"""Mixed tables with gaps, preprocessed inside the proof."""

import io

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from pbgnet.certificates import LabelledRows, load_model, verify
from pbgnet.estimators import CertifiedPipeline, PBGDClassifier, PBGNetClassifier, make_certified_pipeline
from pbgnet.exceptions import (
    DomainError,
    DtypeError,
    FewRowsWarning,
    LabelError,
    OptionError,
    PBGNetError,
    ShapeError,
    UnseenCategoryWarning,
)

pd = pytest.importorskip("pandas")


def make_table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "job": rng.choice(["clerk", "nurse", "smith"], n),
            "member": rng.random(n) < 0.5,
            "income": rng.lognormal(3, 1, n),
        }
    )
    y = np.where((frame["age"] > 40) ^ (frame["job"] == "smith"), "good", "bad")
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "job"] = None
    return frame, y


@pytest.fixture(scope="module")
def fitted():
    frame, y = make_table()
    return make_certified_pipeline(PBGNetClassifier(random_state=0)).fit(frame, y)


def test_table_with_gaps_is_learned_and_certified(fitted, tmp_path):
    frame, y = make_table()
    assert fitted.score(frame, y) > 0.8
    assert fitted.certificate_.network.preprocessing.status == "inside"
    assert fitted.feature_names_in_.tolist() == ["age", "job", "member", "income"]
    assert fitted.n_features_in_ == 4
    assert fitted.verify(frame, y).ok
    fitted.save(tmp_path / "model")
    assert verify(tmp_path / "model", frame, y).ok
    assert (load_model(tmp_path / "model").predict(frame) == fitted.predict(frame)).all()


@pytest.mark.filterwarnings("ignore::pbgnet.exceptions.UnseenCategoryWarning")
def test_a_text_in_a_certified_cell_decides_nothing():
    frame, y = make_table(120)
    lines = frame.to_csv(index=False).splitlines()
    spoiled = [*lines[:100], "many" + lines[100][lines[100].index(",") :], *lines[101:]]
    read = [pd.read_csv(io.StringIO("\n".join(each))) for each in (lines, spoiled)]
    assert read[0]["age"].dtype != read[1]["age"].dtype
    options = {"classifier__max_epochs": 2, "classifier__random_state": 0}
    typed, texts = (
        make_certified_pipeline().set_params(**options).fit(table, y, prior_rows=range(60)) for table in read
    )
    assert typed.preprocessor_.to_dict() == texts.preprocessor_.to_dict()
    steps = {step.name: step for step in texts.verify(read[1], y).steps}
    assert steps["preprocessing refitted"].status == "ok"
    fixed = read[0].astype({"job": "category"})
    by_table = make_certified_pipeline().set_params(**options).fit(fixed, y, prior_rows=range(60))
    steps = {step.name: step for step in by_table.verify(fixed, y).steps}
    assert steps["preprocessing refitted"].status == "trusted"
    assert "column types were fixed without looking at" in steps["preprocessing refitted"].detail
    assert any("If the table itself fixes column types" in each for each in by_table.certificate_.assumptions)


def test_preprocessing_sees_prior_rows_only(fitted):
    frame, y = make_table()
    spoiled = frame.copy()
    spoiled.loc[fitted.certified_rows_, "income"] *= 1000
    make = make_certified_pipeline(PBGNetClassifier(random_state=0, max_epochs=1))
    other = clone(make).fit(spoiled, y, prior_rows=fitted.prior_rows_)
    assert other.preprocessor_.to_dict() == fitted.preprocessor_.to_dict()
    spoiled.loc[fitted.prior_rows_, "income"] *= 1000
    other = clone(make).fit(spoiled, y, prior_rows=fitted.prior_rows_)
    assert other.preprocessor_.to_dict() != fitted.preprocessor_.to_dict()


@pytest.mark.filterwarnings("ignore::pbgnet.exceptions.UnseenCategoryWarning")
def test_a_text_in_a_certified_row_of_a_list_changes_no_other_row():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = np.where(X[:, 0] > 0, "good", "bad")
    make = make_certified_pipeline(PBGDClassifier(random_state=0))
    plain = clone(make).fit(X.tolist(), y)
    spoiled = X.tolist()
    spoiled[int(plain.certified_rows_[0])][0] = "oops"
    other = clone(make).fit(spoiled, y, prior_rows=plain.prior_rows_)
    assert [column.kind for column in other.preprocessor_.columns_] == ["numeric", "numeric"]
    assert other.preprocessor_.to_dict() == plain.preprocessor_.to_dict()
    assert other.verify(spoiled, y).ok
    rows = plain.certified_rows_[1:]
    alike = (other.decision_function(spoiled)[rows], other.decision_function(X[rows]))
    np.testing.assert_allclose(*alike, rtol=1e-12)  # a matrix product may round differently for fewer rows


def test_classifiers_without_prior_rows_still_set_rows_apart_for_preprocessing():
    frame, y = make_table()
    for classifier in (
        PBGNetClassifier(algorithm="pbgnet", random_state=0, max_epochs=2),
        PBGDClassifier(random_state=0),
    ):
        pipeline = make_certified_pipeline(classifier, prior_fraction=0.2).fit(frame, y)
        assert len(pipeline.prior_rows_) == 80
        assert pipeline.certificate_.inputs.n == 320
        assert pipeline.verify(frame, y).ok


def test_unseen_categories_are_announced(fitted):
    frame, _ = make_table()
    frame.loc[0, "job"] = "astronaut"
    with pytest.warns(UnseenCategoryWarning, match="astronaut"):
        assert fitted.predict(frame.head(3)).shape == (3,)


def test_clone_and_search():
    frame, y = make_table(200)
    pipeline = make_certified_pipeline(PBGNetClassifier(random_state=0, max_epochs=2))
    assert clone(pipeline).get_params()["classifier__random_state"] == 0
    search = GridSearchCV(pipeline, {"classifier__hidden_layer_sizes": [(2,), (4,)]}, cv=2).fit(frame, y)
    assert search.best_estimator_.certificate_.network.preprocessing.status == "inside"


def test_prior_rows_can_be_chosen():
    frame, y = make_table(100)
    pipeline = make_certified_pipeline(PBGNetClassifier(random_state=0, max_epochs=2))
    pipeline.fit(frame, y, prior_rows=np.arange(30))
    assert pipeline.prior_rows_.tolist() == list(range(30))
    assert pipeline.certificate_.inputs.n == 70


def test_default_classifier():
    # The default has no seed: only columns without gaps or categories that a random split could miss.
    frame, y = make_table(60)
    assert CertifiedPipeline().fit(frame[["income"]], y).classifier_.algorithm == "ensemble"


class TestBadInput:
    def test_labels(self):
        frame, y = make_table(50)
        with pytest.raises(LabelError, match="2 of 50 labels are missing"):
            CertifiedPipeline().fit(frame, [None, np.nan, *y[2:]])
        with pytest.raises(LabelError, match="only one class"):
            CertifiedPipeline().fit(frame, ["a"] * 50)

    def test_rows_and_columns(self, fitted):
        frame, y = make_table(50)
        # Few rows are certified all the same, as long as they can be split.
        with pytest.warns(FewRowsWarning, match="9 rows are too few for a useful certificate"):
            few = CertifiedPipeline(PBGDClassifier()).fit(frame[["income"]][:9], ["good", "bad", "good"] * 3)
        assert few.certificate_.n_rows_total == 9
        with pytest.warns(FewRowsWarning, match="5 certified rows of 50 are too few"):
            make_certified_pipeline("logistic_regression", prior_fraction=0.9, random_state=0).fit(frame, y)
        with pytest.raises(DomainError, match="Found 1 sample: at least one is needed for the prior"):
            PBGNetClassifier().split_rows(LabelledRows(frame[:1], y[:1]), [0])
        with pytest.raises(ShapeError, match="50 rows but there are 49 labels"):
            CertifiedPipeline().fit(frame, y[:49])
        with pytest.raises(ShapeError, match="two-dimensional table"):
            CertifiedPipeline().fit(np.arange(50), y)
        with pytest.raises(PBGNetError, match="age"):
            fitted.predict(frame.drop(columns="age"))
        with pytest.raises(PBGNetError, match="shoe"):
            fitted.predict(frame.assign(shoe=43))

    def test_parameters(self):
        frame, y = make_table(50)
        for parameters in (
            {"prior_fraction": 1.5},
            {"prior_fraction": "x"},
            {"classifier": LogisticRegression()},
        ):
            with pytest.raises(ValueError, match=next(iter(parameters))):
                CertifiedPipeline(**parameters).fit(frame, y)
        with pytest.raises(DtypeError, match="PBGNetClassifier directly"):
            CertifiedPipeline().fit(sparse.eye_array(50).tocsr(), y)
        with pytest.raises(OptionError, match="sample_weight"):
            CertifiedPipeline().fit(frame, y, sample_weight=np.ones(50))
