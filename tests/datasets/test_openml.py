"""The way through OpenML, with frames such as scikit-learn makes of its files."""

import json
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest

from pbgnet.datasets import load_dataset, load_mnist
from pbgnet.datasets.adult import CATEGORIES, NUMBERS
from pbgnet.datasets.openml import cache_folder
from pbgnet.exceptions import DamagedFileError, MissingDataError

pd = pytest.importorskip("pandas", reason="OpenML is read through pandas")

ROWS = 60


def adult_frame(rng):
    columns = {name: rng.integers(1, 90, ROWS) for name in NUMBERS}
    for name, texts in CATEGORIES.items():
        values = rng.choice(texts, ROWS).astype(object)
        columns[name] = pd.Categorical(np.where(values == "?", None, values))  # OpenML reads ? as missing
    order = rng.permutation(list(columns))
    target = pd.Series(pd.Categorical(rng.choice(["<=50K", ">50K"], ROWS)), name="class")
    return pd.DataFrame({name: columns[name] for name in order}), target


def ads_frame(rng):
    bits = pd.DataFrame(rng.integers(0, 2, (ROWS, 1554)).astype(str), dtype="category")
    bits.columns = [f"bit{k}" for k in range(1554)]
    first = pd.DataFrame({name: rng.random(ROWS) for name in ("height", "width", "aratio", "local")})
    first.iloc[0, 0] = np.nan
    return pd.concat([first, bits], axis=1), pd.Series(rng.choice(["ad", "noad"], ROWS), dtype="category")


def mnist_frame(rng):
    pixels = pd.DataFrame(rng.integers(0, 256, (ROWS, 784)), columns=[f"pixel{k}" for k in range(1, 785)])
    return pixels, pd.Series(rng.integers(0, 10, ROWS).astype(str), dtype="category", name="class")


FRAMES = {1590: adult_frame, 40978: ads_frame, 554: mnist_frame}
NUMBERED = {"adult": 1590, "ads": 40978, "mnistLH": 554}


@pytest.fixture
def openml(monkeypatch):
    """A stand-in for OpenML that counts its calls and hands out `served`, by number."""
    served = {number: make(np.random.default_rng(number)) for number, make in FRAMES.items()}
    calls = []

    def fetch(*, data_id, as_frame, cache, parser):
        calls.append(data_id)
        assert as_frame
        data, target = served[data_id]
        return SimpleNamespace(data=data, target=target)

    monkeypatch.setattr("pbgnet.datasets.openml.fetch_openml", fetch)
    return SimpleNamespace(served=served, calls=calls)


@pytest.mark.parametrize("name", NUMBERED)
def test_fetched_once_then_kept(name, openml, cache, monkeypatch):
    first = load_dataset(name)
    again = load_dataset(name, download=False)
    assert openml.calls == [NUMBERED[name]]
    assert np.array_equal(first.X, again.X)
    assert np.array_equal(first.y, again.y)
    assert first.source == again.source
    assert first.source.openml_id == NUMBERED[name]
    assert not first.source.original_order
    assert first.source.same_rows is False  # these frames are made up
    assert "order of the rows may differ" in first.source.note
    assert [path.suffix for path in cache.iterdir()] == [".npz"]
    json.dumps(first.source.to_dict())


def test_adult_has_the_same_columns_as_from_the_files(openml):
    adult = load_dataset("adult")
    data, target = openml.served[1590]
    assert adult.X.shape == (ROWS, 108)
    assert np.array_equal(adult.X[:, :6], data[NUMBERS].to_numpy())
    assert (adult.X[:, 6:].reshape(ROWS, -1).sum(axis=1) == len(CATEGORIES)).all()
    missing = adult.X[:, adult.feature_names.index("workclass=?")]
    assert np.array_equal(missing == 1, data["workclass"].isna())
    assert missing.any()
    private = adult.X[:, adult.feature_names.index("workclass=Private")]
    assert np.array_equal(private == 1, data["workclass"] == "Private")
    assert np.array_equal(adult.y > 0, target == ">50K")


def test_ads_leaves_out_the_four_by_name(openml):
    ads = load_dataset("ads")
    data, target = openml.served[40978]
    assert np.array_equal(ads.X, data.iloc[:, 4:].astype(float))
    assert np.array_equal(ads.y == -1, target == "ad")


def test_mnist(openml):
    data, target = openml.served[554]
    pair = load_mnist([1, 2, 3, 4, 5], [7])
    chosen = target.isin(list("123457"))
    assert np.array_equal(pair.X, (data[chosen] / 255).to_numpy(np.float32))
    assert np.array_equal(pair.y > 0, target[chosen] == "7")


def test_same_rows_in_another_order_are_recognised(data_dir, openml):
    original = load_dataset("ads", data_dir)
    order = np.random.default_rng(0).permutation(original.n_rows)
    frame = pd.DataFrame(original.X[order].astype(int), columns=original.feature_names)
    frame[["height", "width", "aratio", "local"]] = 0.0
    openml.served[40978] = frame, pd.Series(np.where(original.y[order] > 0, "noad", "ad"))
    fetched = load_dataset("ads")
    assert fetched.source.same_rows
    assert np.array_equal(fetched.X, original.X[order])


@pytest.mark.parametrize(
    ("name", "spoil", "message"),
    [
        ("adult", lambda data: data.drop(columns="age"), "the columns"),
        ("adult", lambda data: data.assign(sex="other"), "'other'"),
        ("ads", lambda data: data.drop(columns="bit7"), "1557 features"),
        ("ads", lambda data: data.assign(bit7=2), "values other than 0 and 1"),
        ("mnistLH", lambda data: data + 0.5, "not whole numbers"),
        ("mnistLH", lambda data: data.iloc[:, 1:], "not of 784 pixels"),
    ],
)
def test_anything_else_from_openml_is_refused_and_not_kept(name, spoil, message, openml, cache):
    data, target = openml.served[NUMBERED[name]]
    openml.served[NUMBERED[name]] = spoil(data), target
    with pytest.raises(DamagedFileError, match=f"{NUMBERED[name]} is not as expected: .*{message}"):
        load_dataset(name)
    assert not cache.exists()


@pytest.mark.parametrize(
    ("name", "file"), [("adult", "adult.data"), ("ads", "ad.data"), ("mnist17", "train-")]
)
def test_without_files_and_network_both_ways_are_told(name, file, cache, tmp_path):
    ways = f"with {file}.* as data_dir or in PBGNET_DATA, or load the data set once .* cached in {cache}"
    with pytest.raises(MissingDataError, match=f"no folder was given, and .*no route to host.* {ways}"):
        load_dataset(name)
    with pytest.raises(MissingDataError, match=f"does not have the files, and download=False. .*{ways}"):
        load_dataset(name, tmp_path, download=False)
    assert not cache.exists()


def test_without_pandas_the_message_says_so(monkeypatch):
    def fetch(**options):
        raise ImportError("pandas")

    monkeypatch.setattr("pbgnet.datasets.openml.fetch_openml", fetch)
    with pytest.raises(MissingDataError, match="requires pandas"):
        load_dataset("adult")


def test_files_are_preferred_to_openml(data_dir, openml):
    assert load_dataset("ads", data_dir).source.kind == "files"
    assert openml.calls == []


def test_a_damaged_cache_is_noticed_and_can_be_fetched_again(openml, cache):
    load_dataset("ads")
    (path,) = cache.iterdir()
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DamagedFileError, match=f"Delete {path} to download it again"):
        load_dataset("ads")
    path.unlink()
    assert load_dataset("ads").n_rows == ROWS


def test_an_interrupted_write_leaves_nothing(openml, cache, monkeypatch):
    def full(*args, **options):
        raise OSError("no space left on device")

    monkeypatch.setattr("pbgnet.datasets.store.np.savez_compressed", full)
    with pytest.raises(OSError, match="no space left"):
        load_dataset("ads")
    assert list(cache.iterdir()) == []


def test_the_offline_error_is_one_a_programmer_would_expect():
    with pytest.raises(FileNotFoundError) as caught:
        load_dataset("adult")
    assert isinstance(caught.value.__cause__, URLError)


def test_the_cache_is_an_absolute_folder(monkeypatch):
    monkeypatch.delenv("PBGNET_CACHE")
    assert cache_folder().is_absolute()
    assert cache_folder().name == "pbgnet"
