"""Any classifier: certified by a count, saved without pickle, verified with or without it."""

import dataclasses
import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.certificates.conftest import failed, verify

from pbgnet.bounds import clopper_pearson_bound, split_delta
from pbgnet.certificates import (
    DUPLICATES_ADVICE,
    Certificate,
    certify,
    load_certified,
    load_model,
    load_predictions,
    round_up,
    save_predictions,
)
from pbgnet.certificates.format import ClassifierSubject
from pbgnet.certificates.verification.steps import ANSWERS_STEPS
from pbgnet.estimators import PBGDClassifier, make_certified_pipeline
from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
    DtypeError,
    DuplicateRowsWarning,
    LabelError,
    OptionError,
    OutputExistsError,
    PriorLeakageError,
    ShapeError,
)


def make_data(n, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    score = x[:, 0] + 0.3 * rng.normal(size=n)
    return x, np.digitize(score, np.linspace(-0.5, 0.5, n_classes - 1) if n_classes > 2 else [0.0])


def names(y):
    return np.array(["no", "yes", "perhaps"])[y]


@pytest.fixture
def data():
    return make_data(200)


def sign(X):
    return (np.asarray(X)[:, 0] > 0).astype(int)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_bound_is_the_limit_of_the_count(n_classes):
    x, y = make_data(200, n_classes=n_classes)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(*make_data(300, 1, n_classes))
    certified = certify(tree, x, y, confidence=0.9, n_models=3)
    certificate, wrong = certified.certificate, int(np.sum(tree.predict(x) != y))
    share = split_delta(0.1, 3)
    assert certificate.error_rate.value == clopper_pearson_bound(wrong, 200, share)
    assert (certificate.inputs.n_errors, certificate.inputs.n) == (wrong, 200)
    assert (certificate.error_rate.route, certificate.error_rate.predictor) == (
        "clopper-pearson",
        "classifier",
    )
    assert certificate.linear_loss is None
    assert certificate.subject == ClassifierSubject(certified.fingerprint(), certified.rows.fingerprint())
    assert not certificate.of_network
    with pytest.raises(DomainError, match="is for a classifier that is not a pbgnet network"):
        _ = certificate.network
    np.testing.assert_array_equal(certified.labels, tree.predict(x))
    assert "error rate of the classifier is at most" in certificate.statement
    assert "one of at most 3 classifiers" in " ".join(certificate.assumptions)
    assert Certificate.from_json(certificate.to_json()) == certificate


def test_one_row_is_no_rows(data):
    x, y = data
    assert (
        "over the draw of the 1 certified row, "
        in certify(sign, x[:1], y[:1], classes=[0, 1]).certificate.statement
    )
    assert (
        "over the draw of the 2 certified rows, "
        in certify(sign, x[:2], y[:2], classes=[0, 1]).certificate.statement
    )


def test_bounds_are_rounded_up_in_print(data):
    for confidence in np.linspace(0.8, 0.99, 12):
        certificate = certify(sign, *data, float(confidence)).certificate
        assert certificate.statement.endswith(f"is at most {round_up(certificate.error_rate.value)}.")


def test_printed_it_is_the_summary(data):
    certified = certify(sign, *data)
    assert str(certified) == str(certified.certificate) == certified.certificate.summary


def test_pipelines_functions_text_frames_and_sparse_rows_work(data):
    pd = pytest.importorskip("pandas")
    x, y = data
    fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(*make_data(100, 1))
    wrong = int(np.sum(fitted.predict(x) != y))
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    assert certify(fitted, x, y).certificate.inputs.n_errors == wrong
    on_frame = certify(lambda table: fitted.predict(table.to_numpy()), frame, pd.Series(y))
    assert on_frame.certificate.inputs.n_errors == wrong
    assert on_frame.certificate.fingerprints.columns is not None
    rows = certify(lambda table: sign(table.toarray()), sparse.csr_matrix(x), y)
    assert verify(rows, sparse.csr_matrix(x), y).ok
    text = certify(lambda table: names(sign(table)), x, names(y))
    assert text.classes == ("no", "yes")
    assert verify(text, x, names(y), model=lambda table: names(sign(table))).ok
    column = certify(lambda table: sign(table)[:, None], x, y[:, None])
    assert column.certificate.claims == certify(sign, x, y).certificate.claims


def test_verification_with_and_without_the_classifier(data, tmp_path):
    x, y = data
    folder = certify(sign, x, y).save(tmp_path / "certified")
    assert sorted(path.name for path in folder.iterdir()) == [
        "certificate.json",
        "predictions.json",
        "report.html",
        "rows.safetensors",
    ]
    alone = verify(folder, x, y)
    assert alone.ok
    assert [step.name for step in alone.trusted] == ["answers", "certified rows"]
    assert [step.name for step in alone.steps] == ["files", *ANSWERS_STEPS]
    (step,) = verify(folder, x, y, model=sign).trusted
    assert step.name == "certified rows"
    assert (
        "the classifier was fixed without these rows; the classifier is the only one tried on them"
        in step.detail
    )
    assert "its answer on a row does not depend on other rows; the claims (with or without" in step.detail
    assert "a loss or classes, and the confidence) were chosen before looking at the rows" in step.detail
    several = verify(certify(sign, x, y, n_models=7), x, y, model=sign)
    assert "one of at most 7 tried on them" in str(several)
    other = verify(folder, x, y, model=lambda X: 1 - sign(X))
    assert failed(other) == {"answers"}
    assert "200 different answers" in str(other)
    assert failed(verify(folder, x, y, model=lambda X: sign(X)[:3])) == {"answers"}
    flipped = y.copy()
    flipped[0] = 1 - y[0]
    assert failed(verify(folder, x, flipped)) == {
        "data: labels",
        "error rate",
        "majority answer",
        "evidence",
    }
    assert "data: features" in failed(verify(folder, x + 1, y))
    assert {"data: number of rows", "certified rows", "error rate"} <= failed(verify(folder, x[:-1], y[:-1]))


@pytest.mark.parametrize(
    ("path", "value", "step"),
    [
        ("claims.0.value", lambda v: v / 2, "bound"),
        ("claims.0.evidence.n_errors", 0, "evidence"),
        ("claims.0.evidence.n", 100000, "evidence"),
        ("claims.0.delta", 0.5, "delta"),
        ("choices.unions", [{"what": "x", "count": 2}], "shares of delta"),
        ("choices.unions", [{"what": "x", "count": 1}], "shares of delta"),
        ("choices.on_prior_rows", ["the classifier"], "shares of delta"),
        ("choices.candidates", ["clopper-pearson", "vote"], "shares of delta"),
        ("choices.certificate", "auto", "shares of delta"),
        ("claims.0.settings.constant", "maurer", "files"),
        ("subject.posterior_weights", "0" * 64, "files"),
        ("subject.exported", "0" * 64, "files"),
        ("subject.kind", "disagreement", "files"),
        ("subject.kind", "network", "files"),
        ("inputs.n_errors", 0, "error rate"),
        ("inputs.n_duplicates", 3, "data: duplicates"),
        ("subject.answers", "0" * 64, "answers stored"),
        ("confidence", 0.99, "delta"),
        ("statement", "Trust me.", "statement"),
        ("predictors", [], "statement"),
        ("versions.numpy", "0", "certificate text"),
        ("claims.0.predictor", "vote", "files"),
    ],
)
def test_a_changed_certificate_is_caught(data, tmp_path, path, value, step):
    x, y = data
    folder = certify(sign, x, y).save(tmp_path / "certified")
    file = folder / "certificate.json"
    content = json.loads(file.read_text())
    place, *keys = content, *path.split(".")
    for key in keys[:-1]:
        place = place[int(key) if isinstance(place, list) else key]
    place[keys[-1]] = value(place[keys[-1]]) if callable(value) else value
    file.write_text(json.dumps(content))
    found = failed(verify(folder, x, y, model=sign))
    assert step in found
    assert ("files" in found) == (step == "files")


def test_changed_answers_are_caught(data, tmp_path):
    x, y = data
    certified = certify(sign, x, y)
    better = dataclasses.replace(certified, predictions=y)  # as if it never erred
    assert failed(verify(better, x, y)) == {"answers stored", "error rate", "evidence"}
    folder = certified.save(tmp_path / "certified")
    file = folder / "predictions.json"
    genuine = json.loads(file.read_text())
    for key, value in (
        ("predictions", [0.5] * 200),
        ("predictions", [2] * 200),
        ("predictions", "abc"),
        ("predictions", []),
        ("classes", [0, "a"]),
        ("classes", [0, 0]),
        ("classes", 3),
        ("version", 2),
        ("version", True),
        ("schema", "x"),
        ("reference", [0] * 200),
        ("extra", 1),
        ("feature_names", "abc"),
        ("feature_names", [1]),
        ("exported", "sign"),
        ("exported", {"network": "sign", "dtype": "float64", "weights": "0" * 64, "inputs": "x"}),
    ):
        file.write_text(json.dumps({**genuine, key: value}))
        with pytest.raises(DamagedFileError, match=r"predictions\.json"):
            load_predictions(folder)
        assert failed(verify(folder, x, y)) == {"files"}


def test_folders_are_told_apart(data, tmp_path, model):
    from pbgnet.certificates import save_model

    x, y = data
    certified = certify(sign, x, y)
    ours, theirs = save_predictions(certified, tmp_path / "a"), save_model(model, tmp_path / "b")
    assert load_certified(ours).certificate == certified.certificate
    assert load_certified(theirs).certificate == model.certificate
    with pytest.raises(DamagedFileError, match=r"pbgnet\.certificates\.load_predictions.* --keep FILE"):
        load_model(ours)
    with pytest.raises(DamagedFileError, match=r"read it with pbgnet\.load_model"):
        load_predictions(theirs)
    with pytest.raises(OutputExistsError):
        certified.save(ours)
    certified.save(theirs, overwrite=True)
    assert sorted(path.name for path in theirs.iterdir()) == [
        "certificate.json",
        "predictions.json",
        "report.html",
        "rows.safetensors",
    ]


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda X: np.zeros((len(X), 2)), ShapeError, r"got shape \(200, 2\).*label with the largest"),
        (lambda X: np.zeros(3), ShapeError, r"one label for each of the 200 rows, got shape \(3,\)"),
        (lambda X: 1, ShapeError, r"got shape \(\)"),
        (lambda X: np.full(len(X), 0.73), LabelError, "numbers with decimals, such as 0.73.*Probabilities"),
        (lambda X: np.full(len(X), np.nan), LabelError, "NaN or infinity .* on 200 of 200 rows"),
        (lambda X: np.full(len(X), 7), LabelError, "the unknown label 7; known are 0, 1.*classes"),
        (lambda X: ["yes"] * len(X), LabelError, "the unknown label 'yes'"),
        (lambda X: [None] * len(X), LabelError, "does not return labels"),
        (lambda X: sign(X) > 0, LabelError, "unknown label (True|False)"),
    ],
)
def test_answers_that_are_no_labels_are_refused(data, answer, error, message):
    with pytest.raises(error, match=message):
        certify(answer, *data)


def test_other_bad_input_is_refused(data):
    x, y = data
    with pytest.raises(DtypeError, match="must have a predict method, or be a function"):
        certify("model", x, y)
    with pytest.raises(DtypeError, match="the class LogisticRegression instead of an instance"):
        certify(LogisticRegression, x, y)
    with pytest.raises(ShapeError, match="200 rows, but there are 199 labels"):
        certify(sign, x, y[:-1])
    with pytest.raises(DomainError, match="no rows to certify"):
        certify(sign, x[:0], y[:0])
    with pytest.raises(DomainError, match="confidence must be"):
        certify(sign, x, y, confidence=95)
    with pytest.raises(DomainError, match="must be at least 1"):
        certify(sign, x, y, n_models=0)
    with pytest.raises(LabelError, match="missing values"):
        certify(sign, x, np.where(np.arange(200) < 3, np.nan, y))
    with pytest.raises(LabelError, match="of different kinds"):
        certify(sign, x, y, classes=["no", "yes"])


def test_a_class_that_no_row_has_may_be_answered_if_it_is_known(data):
    x, y = data
    third = DecisionTreeClassifier(random_state=0).fit(*make_data(300, 1, n_classes=3))
    only_two = y < 2
    assert certify(third, x[only_two], y[only_two]).classes == (0, 1, 2)
    assert certify(lambda X: 2 * sign(X), x, y, classes=[0, 1, 2]).certificate.inputs.n_errors > 90


def test_rows_that_were_trained_on_are_refused(data):
    pd = pytest.importorskip("pandas")
    x, y = data
    train_x, train_y = make_data(100, 1)
    leaked = np.r_[train_x, x[7:8]]
    with pytest.raises(PriorLeakageError, match=r"1 of the 200 rows to certify were seen.*row 7.*set aside"):
        certify(sign, x, y, training_data=leaked)
    with pytest.raises(PriorLeakageError, match="with their labels"):
        certify(sign, x, y, training_data=(leaked, np.r_[train_y, y[7:8]]))
    # Another label is another row, where labels are given.
    certify(sign, x, y, training_data=(leaked, np.r_[train_y, 1 - y[7:8]]))
    certify(sign, x, y, training_data=(train_x, train_y))
    frame = pd.DataFrame(leaked, columns=["a", "b", "c"])[["c", "a", "b"]]
    with pytest.raises(PriorLeakageError):
        certify(
            lambda t: sign(t.to_numpy()), pd.DataFrame(x, columns=["a", "b", "c"]), y, training_data=frame
        )
    with pytest.raises(PriorLeakageError):
        certify(lambda t: sign(t.toarray()), sparse.csr_matrix(x), y, training_data=leaked)


def test_rows_that_were_trained_on_are_refused_in_another_precision_or_table(data):
    pd = pytest.importorskip("pandas")
    x, y = data
    train_x, train_y = make_data(100, 1)
    leaked = np.r_[train_x, x[7:8]]
    coarse = np.r_[train_x, x[7:8].astype(np.float32)]  # in a table of float64
    for table in (leaked.astype(np.float32), coarse, sparse.csr_matrix(leaked.astype(np.float32))):
        with pytest.raises(PriorLeakageError, match=r"1 of the 200 rows .* float32"):
            certify(sign, x, y, training_data=table)
    with pytest.raises(PriorLeakageError, match=r"with their labels.* float32"):
        certify(sign, x.astype(np.float32), y, training_data=(leaked, np.r_[train_y, y[7:8]]))
    certify(sign, x, y, training_data=train_x.astype(np.float32))
    # In a frame each column has a precision of its own.
    mixed = pd.DataFrame(leaked, columns=["a", "b", "c"]).astype({"b": np.float32})
    other = pd.DataFrame(x, columns=["a", "b", "c"]).astype({"a": np.float32})
    for word in ({}, {"word": "w"}):
        with pytest.raises(PriorLeakageError, match="partly as float32, for example row 7"):
            certify(
                lambda t: sign(t[["a", "b", "c"]].to_numpy()), other.assign(**word), y,
                training_data=mixed.assign(**word),
            )  # fmt: skip
    certify(lambda t: sign(t.to_numpy()), other, y, training_data=mixed[:100])
    # One more column: its target, say. Named columns are compared by name, others cannot be.
    names = ["a", "b", "c"]
    frame = pd.DataFrame(leaked, columns=names).assign(target=0)
    for mine, theirs in [(names, ["target", "c", "a", "b"]), (["c", "b", "a"], ["b", "a"])]:
        rows = pd.DataFrame(x, columns=names)[mine]
        with pytest.raises(PriorLeakageError, match="row 7"):
            certify(lambda t: sign(t[names].to_numpy()), rows, y, training_data=frame[theirs])
        texts = frame[theirs].astype(np.float32).assign(word="w")
        with pytest.raises(PriorLeakageError, match="float32"):
            certify(lambda t: sign(t[names].to_numpy()), rows.assign(word="w"), y, training_data=texts)
    with pytest.raises(ShapeError, match=r"columns of shape \(4,\).* column names"):
        certify(sign, x, y, training_data=np.c_[np.zeros(101), leaked])
    with pytest.raises(ShapeError, match="column names"):
        certify(
            lambda t: sign(t.to_numpy()), pd.DataFrame(x, columns=names), y, training_data=frame.to_numpy()
        )


def test_masked_values_are_refused(data):
    x, y = data
    table, labels = np.ma.array(x, mask=x > 1), np.ma.array(y, mask=np.arange(200) < 3)
    with pytest.raises(DomainError, match=r"X is masked in \d+ of 600 places"):
        certify(sign, table, y)
    with pytest.raises(DomainError, match=r"y is masked in 3 of 200 places.*drop those rows"):
        certify(sign, x, labels)
    with pytest.raises(DomainError, match="masked"):
        certify(sign, x, y, training_data=table)
    certify(sign, np.ma.array(x), np.ma.array(y))  # nothing is hidden


def test_our_estimators_remember_their_rows(data):
    x, y = data
    fitted = PBGDClassifier(random_state=0).fit(x, y)
    fresh_x, fresh_y = make_data(60, 5)
    with pytest.raises(PriorLeakageError, match=r"200 of the 200 rows .* seen by the classifier in fit"):
        certify(fitted, x, y)
    with pytest.raises(PriorLeakageError, match="1 of the 61 rows"):
        certify(fitted, np.r_[fresh_x, x[:1]], np.r_[fresh_y, y[:1]])
    with pytest.raises(PriorLeakageError, match="200 of the 200 rows to certify were seen by the certified"):
        certify(fitted.certified_model_, x, y)
    assert verify(certify(fitted, fresh_x, fresh_y), fresh_x, fresh_y, model=fitted).ok
    with pytest.raises(PriorLeakageError, match=r"200 of the 200 .* before they were rounded to float32"):
        certify(fitted, x.astype(np.float32), y)
    coarse = PBGDClassifier(random_state=0).fit(x.astype(np.float32), y)
    for model in (coarse, coarse.certified_model_):
        with pytest.raises(PriorLeakageError, match=r"200 of the 200 rows .*, as float32"):
            certify(model, x, y)
    pipeline = make_certified_pipeline(PBGDClassifier(random_state=0)).fit(x, y)
    search = GridSearchCV(PBGDClassifier(random_state=0), {"objective": ["bound"]}, cv=2).fit(x, y)
    for seen in (pipeline, search):
        with pytest.raises(PriorLeakageError):
            certify(seen, x[:20], y[:20])


def test_seen_rows_are_known_in_frames_arrays_and_pipelines(data):
    pd = pytest.importorskip("pandas")
    x, y = data
    frame = pd.DataFrame(x, columns=["c", "a", "b"])
    fresh_x, fresh_y = make_data(60, 5)
    fresh = pd.DataFrame(fresh_x, columns=["c", "a", "b"])
    fitted = PBGDClassifier(random_state=0).fit(frame, y)
    pipeline = make_certified_pipeline(PBGDClassifier(random_state=0)).fit(frame, y)
    in_fit = r"20 of the 20 rows .* in fit"
    for model, seen in (
        (pipeline, frame[:20]),
        (pipeline, frame[["a", "b", "c"]][:20]),
        (pipeline, x[:20]),
        (pipeline.predict, x[:20]),
        (fitted, frame[:20]),
        (fitted.certified_model_, frame),
    ):
        told = in_fit if len(seen) == 20 else "seen by the certified model"
        with pytest.raises(PriorLeakageError, match=told):
            certify(model, seen, y[: len(seen)])
    certify(pipeline, fresh, fresh_y)
    steps = make_pipeline(StandardScaler(), "passthrough", PBGDClassifier(random_state=0)).fit(x, y)
    alone = make_pipeline(PBGDClassifier(random_state=0)).fit(x, y)
    grid = {"pbgdclassifier__objective": ["bound"]}
    search = GridSearchCV(make_pipeline(StandardScaler(), PBGDClassifier(random_state=0)), grid, cv=2)
    for model in (steps, alone, search.fit(x, y)):
        with pytest.raises(PriorLeakageError, match=in_fit):
            certify(model, x[:20], y[:20])
        certify(model, fresh_x, fresh_y)


def test_duplicates_are_reported(data):
    x, y = data
    rows = np.r_[np.arange(200), 3, 3, 5]
    with pytest.warns(DuplicateRowsWarning, match="3 of the 203 rows repeat another row") as told:
        certified = certify(sign, x[rows], y[rows])
    (message,) = [str(each.message) for each in told]
    assert message.endswith(f" {DUPLICATES_ADVICE}")
    assert certified.certificate.inputs.n_duplicates == 3
    assert "3 of the certified rows repeat another one" in " ".join(certified.certificate.assumptions)
    assert verify(certified, x[rows], y[rows]).ok


def test_dropping_equal_rows_that_are_draws_breaks_the_bound():
    """Few frequent cases that are mostly wrong, many rare ones that are right: all of them honest draws."""
    rng = np.random.default_rng(0)
    frequent = rng.random(2000) < 0.4
    x = np.where(frequent, rng.integers(1, 5, 2000), rng.uniform(5, 9, 2000))[:, None]
    y = np.where(frequent & (rng.random(2000) < 0.5), -1, 1)
    truth = 0.4 * 0.5
    with pytest.warns(DuplicateRowsWarning) as told:
        kept = certify(sign, x, y)
    assert kept.certificate.error_rate.value > truth
    _, first = np.unique(x, axis=0, return_index=True)
    assert certify(sign, x[first], y[first]).certificate.error_rate.value < truth / 10, "as was once advised"
    advice = str(told[0].message)
    for words in ("keep those rows", "Remove a row only if it is not a separate draw", "values cannot tell"):
        assert words in advice
    assert "drop" not in advice


def test_class_conditional_bounds_share_delta(data):
    x, y = data
    certified = certify(sign, x, y, confidence=0.94, class_conditional=True, classes=[0, 1])
    certificate = certified.certificate
    share = split_delta(0.06, 3)
    assert [claim.delta for claim in certificate.claims] == [share] * 3
    assert [claim.given_class for claim in certificate.claims] == [None, "0", "1"]
    for claim in certificate.class_conditional:
        rows = y == int(claim.given_class)
        wrong = int(np.sum(sign(x)[rows] != y[rows]))
        assert claim.value == clopper_pearson_bound(wrong, int(rows.sum()), share)
        assert (
            f"at most {round_up(claim.value)} among rows of class {claim.given_class}"
            in certificate.statement
        )
    assert certificate.error_rate.value > certify(sign, x, y, 0.94).certificate.error_rate.value
    assert "Delta is divided by 3" in " ".join(certificate.assumptions)
    assert verify(certified, x, y, model=sign).ok
    lie = dataclasses.replace(certificate, choices=dataclasses.replace(certificate.choices, unions=()))
    assert {"delta", "shares of delta"} <= failed(
        verify(dataclasses.replace(certified, certificate=lie), x, y)
    )
    for claims in (certificate.claims[:2], (*certificate.claims, certificate.claims[1])):
        more = dataclasses.replace(certificate, claims=claims)
        assert "shares of delta" in failed(verify(dataclasses.replace(certified, certificate=more), x, y))
    three = certify(sign, *make_data(200, n_classes=3), class_conditional=True, classes=[0, 1, 2]).certificate
    assert [claim.delta for claim in three.claims] == [split_delta(0.05, 4)] * 4


def test_a_class_needs_two_rows(data):
    x, y = data
    few = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:1]]
    with pytest.raises(LabelError, match=r"Class 1 has 1 certified rows.*at least 2.*Certify more") as told:
        certify(sign, x[few], y[few], class_conditional=True, classes=[0, 1])
    assert "that would be a choice based on the labels" in str(told.value)
    zeros = lambda X: np.zeros(len(X), dtype=int)  # noqa: E731
    with pytest.raises(OptionError, match="at least two classes"):
        certify(zeros, x[y == 0], y[y == 0], class_conditional=True, classes=[0])


def test_how_many_classes_share_delta_does_not_depend_on_labels_seen(data):
    x, y = data
    with pytest.raises(OptionError, match=r"must not depend on the labels.*pass all possible classes"):
        certify(sign, x, y, class_conditional=True)
    with pytest.raises(LabelError, match="y contains the unknown label 2"):
        certify(sign, x, np.where(x[:, 0] > 2, 2, y), class_conditional=True, classes=[0, 1])

    class Fitted:
        classes_ = np.array([0, 1])
        predict = staticmethod(sign)

    assert len(certify(Fitted(), x, y, class_conditional=True).certificate.claims) == 3
    assert certify(sign, x, y).certificate.claims, "without bounds for each class they need no names"
