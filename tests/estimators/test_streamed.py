"""A table that is streamed gives the certificate that it gives in memory, and is never held."""

import gc
import weakref

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from pbgnet import load_model, save_model, verify  # noqa: E402
from pbgnet.certificates.data import fitting_sample  # noqa: E402
from pbgnet.estimators import PBGNetClassifier, make_certified_pipeline  # noqa: E402
from pbgnet.exceptions import ChangedSourceError, DtypeError, UnseenCategoryWarning  # noqa: E402
from pbgnet.preprocessing import TablePreprocessor, code_files  # noqa: E402
from pbgnet.sources import parquet_files, read_parquet, scan_table  # noqa: E402

ROWS = 900


def made_table(n=ROWS):
    rng = np.random.default_rng(3)
    number, word = rng.standard_normal(n), rng.choice(["red", "green", "blue"], n).astype(object)
    word[rng.random(n) < 0.1] = None
    day = np.datetime64("2020-01-01", "s") + rng.integers(0, 10**7, n)
    label = np.where((number > 0) ^ (word == "red"), "yes", "no")
    truth = pd.array(rng.random(n) < 0.5, dtype="boolean")
    truth[rng.random(n) < 0.1] = None
    columns = {"number": number, "word": word, "day": day, "truth": truth, "label": label}
    return pd.DataFrame(columns).assign(count=pd.array(rng.integers(0, 9, n), dtype="Int64"))


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A folder of files, read in many small batches, with codes in files."""
    table = made_table()
    for k, start in enumerate(range(0, ROWS, 350)):
        table[start : start + 350].to_parquet(tmp_path / f"part-{k}.parquet", row_group_size=97)
    monkeypatch.setattr(parquet_files, "PART_ROWS", 50)
    monkeypatch.setattr(code_files, "HELD_BYTES", 0)
    monkeypatch.setattr(code_files, "GATHERED_ROWS", 64)
    return tmp_path


def small_pipeline():
    classifier = PBGNetClassifier(hidden_layer_sizes=(4,), max_epochs=3, random_state=1)
    return make_certified_pipeline(classifier)


def in_memory(path):
    return pd.concat([read_parquet(file) for file in sorted(path.glob("*.parquet"))], ignore_index=True)


def test_the_certificate_is_that_of_the_table_in_memory(path, tmp_path_factory):
    frame, source = in_memory(path), scan_table(path)
    expected = small_pipeline().fit(frame.drop(columns="label"), frame["label"])
    streamed = small_pipeline().fit(source.drop("label"), source["label"])
    assert isinstance(streamed.preprocessor_.encode(source.drop("label")).codes, np.memmap)
    assert streamed.preprocessor_.to_dict() == expected.preprocessor_.to_dict()
    stated, found = (pipeline.certificate_.to_dict() for pipeline in (expected, streamed))
    for content in (stated, found):
        del content["issued_at"], content["seal"]
    assert found == stated
    features = source.drop("label")
    np.testing.assert_array_equal(streamed.output(features), expected.output(frame.drop(columns="label")))
    np.testing.assert_array_equal(streamed.predict(features), expected.predict(frame.drop(columns="label")))
    folder = tmp_path_factory.mktemp("model") / "m"
    save_model(expected.certified_model_, folder)
    assert verify(load_model(folder), features, source["label"]).ok
    assert streamed.verify(frame.drop(columns="label"), frame["label"]).ok


def test_nobody_holds_the_batches(path):
    """Of all batches that were handed out, few are alive at any time."""
    source = scan_table(path)
    features, labels = source.drop("label"), source["label"]
    alive, most, walk = weakref.WeakSet(), 0, type(source)._walk

    def counted(self, names):
        nonlocal most
        for batch in walk(self, names):
            alive.add(batch)
            gc.collect(0)
            most = max(most, len(alive))
            yield batch
            del batch

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(source), "_walk", counted)
        small_pipeline().fit(features, labels)
    assert 0 < most <= 3


def test_a_warning_comes_once_for_the_whole_table(path):
    source = scan_table(path).drop("label")
    frame = in_memory(path)
    preprocessor = TablePreprocessor().fit(frame[frame["word"].isin(["red", "blue"])].drop(columns="label"))
    with pytest.warns(UnseenCategoryWarning) as found:
        preprocessor.encode(source)
    assert len(found) == 1
    assert "'word': 'green', a missing value" in str(found[0].message)


def test_a_file_that_changes_meanwhile_stops_the_fit(path):
    source = scan_table(path)
    labels = source["label"]
    made_table(350).to_parquet(path / "part-0.parquet")
    with pytest.raises(ChangedSourceError, match=r"part-0.parquet has changed"):
        small_pipeline().fit(source.drop("label"), labels)


def test_columns_are_learned_from_a_draw_of_very_many_rows(path, monkeypatch):
    monkeypatch.setattr(fitting_sample.rows_to_fit, "__defaults__", (100,))
    frame, source = in_memory(path), scan_table(path)
    expected = small_pipeline().fit(frame.drop(columns="label"), frame["label"])
    streamed = small_pipeline().fit(source.drop("label"), source["label"])
    assert streamed.preprocessor_.to_dict() == expected.preprocessor_.to_dict()
    report = expected.verify(source.drop("label"), source["label"])
    assert report.ok
    assert any("of which 100 were drawn" in repr(step) for step in report.steps)


def test_a_classifier_alone_says_what_it_needs(path):
    with pytest.raises(DtypeError, match="make_certified_pipeline"):
        PBGNetClassifier().fit(scan_table(path).drop("label"), ["a"] * ROWS)


def test_another_classifier_learns_from_the_prior_rows_of_a_source(path):
    frame, source = in_memory(path), scan_table(path)
    expected = make_certified_pipeline(DecisionTreeClassifier(random_state=0))
    streamed = make_certified_pipeline(DecisionTreeClassifier(random_state=0))
    expected.fit(frame.drop(columns="label"), frame["label"], prior_rows=np.arange(450))
    streamed.fit(source.drop("label"), source["label"], prior_rows=np.arange(450))
    stated, found = (pipeline.certificate_.to_dict() for pipeline in (expected, streamed))
    assert found["inputs"] == stated["inputs"]
    assert streamed.certificate_.fingerprints == expected.certificate_.fingerprints
    assert streamed.verify(source.drop("label"), source["label"]).ok
