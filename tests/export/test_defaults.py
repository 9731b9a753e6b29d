"""What users get without any option, exported and compared row by row."""

import warnings

import numpy as np
import pytest

from pbgnet.certificates import load_model, save_model
from pbgnet.estimators import PBGNetClassifier, make_certified_pipeline
from pbgnet.exceptions import UnseenCategoryWarning


@pytest.fixture(scope="module")
def on_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3)) * [1.0, 100.0, 1e-6]
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    return PBGNetClassifier(random_state=0).fit(X, y)


def make_table(n=900, seed=0):
    pd = pytest.importorskip("pandas", reason="the table is a frame")
    rng = np.random.default_rng(seed)
    # Three frequent towns, and more of which there are one or two each than have an output of their own.
    town = np.where(rng.random(n) < 0.1, rng.integers(0, 3, n), rng.integers(0, 2000, n))
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": np.where(rng.random(n) < 0.2, np.nan, rng.lognormal(10, 1, n)),
            "town": np.char.add("town ", town.astype(str)).astype(object),
            "member": rng.random(n) > 0.5,
            "colour": rng.choice(np.array(["red", "blue", None], dtype=object), n),
        }
    )
    y = np.where((frame["age"] > 50) ^ (frame["colour"] == "red"), 1, 0)
    return frame, y


@pytest.fixture(scope="module")
def on_a_table():
    frame, y = make_table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_certified_pipeline(PBGNetClassifier(random_state=0)).fit(frame, y)


def make_odd_rows():
    frame, _ = make_table(60, seed=1)
    frame["age"] = frame["age"].astype(float)
    frame.loc[0, "age"], frame.loc[1, "age"], frame.loc[2, "age"] = 1e9, -1e300, np.nan
    frame.loc[3, "income"], frame.loc[4, "income"] = np.inf, 5e-324
    frame.loc[5, "town"], frame.loc[6, "town"] = "elsewhere", None
    frame.loc[7, "colour"], frame.loc[8, "colour"] = "green", ""
    return frame


def assert_alike(ship, estimator, rows):
    model = estimator.certified_model_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenCategoryWarning)
        expected, features = model.decision_function(rows), model.inputs.features(rows).toarray()
        assert np.abs(expected - estimator.decision_function(rows)).max() < 1e-9
        shipped = ship(model)
        assert np.abs(shipped.decision_function(rows) - expected).max() < 1e-9
        assert (shipped.predict(rows) == model.predict(rows)).all()
        assert (shipped.predict(rows) == estimator.predict(rows)).all()
        single = ship(model, dtype="float32").decision_function(rows)
        assert np.abs(single - expected).max() < 1e-4
        signs = ship(model, "sign").decision_function(rows)
    plain = model.network.sign_network()
    by_member = plain(plain.weights[0].new_tensor(features)).numpy()
    assert np.abs(signs - by_member.mean(axis=0)).max() < 1e-15
    assert len(set(expected.round(6))) > 10, "the rows say something"
    assert shipped.metadata.architecture == str(model.network.architecture)


def test_the_classifier_on_raw_numbers(ship, on_numbers):
    assert on_numbers.network_.architecture.n_members in (5, 10)
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 3)) * [1.0, 100.0, 1e-6]
    thresholds = np.array(on_numbers.preprocessor_.columns_[0].thresholds)
    at = np.zeros((2 * thresholds.size, 3))
    at[:, 0] = np.concatenate([thresholds, np.nextafter(thresholds, -np.inf)])
    far = np.array([[1e300, -1e300, 1.0], [-1e308, 0.0, -1.0], [5e-324, 1e39, -1e39]])
    assert_alike(ship, on_numbers, np.concatenate([rows, at, far]))


def test_the_classifier_reads_gaps_as_the_model_does(ship, on_numbers):
    """Its own predict refuses them; a certified model and a file take them as the median."""
    rows = np.array([[np.nan, 1.0, 1e-6], [1.0, np.nan, np.nan], [-1.0, 2.0, 0.0]])
    model = on_numbers.certified_model_
    assert np.abs(ship(model).decision_function(rows) - model.decision_function(rows)).max() < 1e-9


def test_the_pipeline_on_a_mixed_table(ship, on_a_table):
    rows = make_odd_rows()
    fitted = {column.name: column for column in on_a_table.preprocessor_.columns_}
    assert fitted["income"].missing
    assert fitted["town"].rare
    assert fitted["colour"].missing
    assert not fitted["colour"].rare
    with pytest.warns(UnseenCategoryWarning, match="'green'"):
        ship(on_a_table.certified_model_).predict(rows)
    assert_alike(ship, on_a_table, rows)
    assert_alike(ship, on_a_table, make_table()[0])


def test_the_bare_runtime_reads_the_mixed_table(ship, on_a_table):
    model, rows = on_a_table.certified_model_, make_odd_rows()
    shipped = ship(model)
    record = shipped.metadata
    texts = rows[list(record.text_columns)].astype(object)
    texts = texts.where(texts.notna(), record.missing_text).map(str).to_numpy()
    feed = {"x": rows[list(record.numeric_columns)].to_numpy(dtype=float), "text": texts}
    with pytest.warns(UnseenCategoryWarning):
        expected = model.decision_function(rows)
    decision, label = shipped._session.run(None, feed)
    assert np.abs(decision - expected).max() < 1e-9
    assert label.tolist() == np.where(expected > 0, 1, 0).tolist()


def test_a_saved_default_model_is_exported(ship, tmp_path, on_a_table):
    model = on_a_table.certified_model_
    save_model(model, tmp_path / "model")
    one, two = (ship(source).fingerprint for source in (model, load_model(tmp_path / "model")))
    assert one == two
