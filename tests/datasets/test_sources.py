"""The paper's files against independent readings of them."""

import gzip
import shutil

import numpy as np
import pytest

from pbgnet.datasets import load_dataset, load_mnist
from pbgnet.datasets.ads import ADS
from pbgnet.datasets.adult import ADULT
from pbgnet.datasets.mnist import MNIST
from pbgnet.datasets.sources import RawTable, load_raw, rows_sha256
from pbgnet.exceptions import DamagedFileError

DIGIT_COUNTS = [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]
NUMBERS = (0, 2, 4, 10, 11, 12)


@pytest.fixture(scope="module")
def adult_cells(data_dir):
    lines = [(data_dir / "adult" / name).read_text().splitlines() for name in ("adult.data", "adult.test")]
    cells = [[cell.strip().rstrip(".") for cell in line.split(",")] for line in lines[0] + lines[1]]
    return np.array([row for row in cells if len(row) == 15])


def test_digits_and_pixels(data_dir):
    low_high = load_dataset("mnistLH", data_dir)
    raw = gzip.decompress((data_dir / "mnist" / "train-images-idx3-ubyte.gz").read_bytes())
    first = np.frombuffer(raw, np.uint8, offset=16)[: 300 * 784].reshape(300, 784)
    assert np.array_equal(low_high.X[:300], (first / 255).astype(np.float32))
    assert low_high.X.min() == 0
    assert low_high.X.max() == 1
    assert (low_high.y == -1).sum() == sum(DIGIT_COUNTS[:5])
    even_odd = load_dataset("mnistEO", data_dir)
    assert (even_odd.y == -1).sum() == sum(DIGIT_COUNTS[::2])
    assert np.shares_memory(low_high.X, even_odd.X) is False


def test_a_pair_is_the_rows_of_its_digits_in_order(data_dir):
    labels = gzip.decompress((data_dir / "mnist" / "train-labels-idx1-ubyte.gz").read_bytes())[8:]
    expected = [-1 if label == 8 else 1 for label in labels if label in (3, 8)]
    pair, turned = load_dataset("mnist83", data_dir), load_dataset("mnist38", data_dir)
    assert pair.y[: len(expected)].tolist() == expected
    assert pair.n_rows == DIGIT_COUNTS[3] + DIGIT_COUNTS[8]
    assert pair.label_names == ("8", "3")
    assert np.array_equal(pair.X, turned.X)
    assert np.array_equal(pair.y, -turned.y)
    assert load_mnist([8], [3], data_dir).name == "mnist83"
    assert load_mnist([0, 1], [3], data_dir).name == "mnist01_3"


def test_ads_keeps_its_repeated_rows(data_dir):
    ads = load_dataset("ads", data_dir)
    assert ads.label_names[0] == "ad"
    assert ((ads.y == -1).sum(), (ads.y == 1).sum()) == (459, 2820)
    lines = gzip.decompress((data_dir / "ads" / "ad.data.gz").read_bytes()).decode().splitlines()
    assert len(lines) - len(set(lines)) == 856
    for row in (0, 458, 459, 3278):
        assert ads.X[row].tolist() == [float(cell) for cell in lines[row].split(",")[4:-1]]


def test_adult_is_one_hot_with_a_category_for_what_is_missing(data_dir, adult_cells):
    adult = load_dataset("adult", data_dir)
    assert [name for name in adult.feature_names if name.endswith("=?")] == [
        "workclass=?",
        "occupation=?",
        "native-country=?",
    ]
    assert np.array_equal(adult.X[:, adult.numeric], adult_cells[:, NUMBERS].astype(np.float32))
    start = len(NUMBERS)
    for column in (k for k in range(14) if k not in NUMBERS):
        values = np.unique(adult_cells[:, column])
        block = adult.X[:, start : start + len(values)]
        assert [name.split("=", 1)[1] for name in adult.feature_names[start : start + len(values)]] == list(
            values
        )
        assert np.array_equal(block, adult_cells[:, column, None] == values)
        start += len(values)
    assert start == adult.n_features == 108
    assert np.array_equal(adult.y > 0, adult_cells[:, 14] == ">50K")


def test_variants_of_adult_give_the_same_arrays(data_dir, tmp_path):
    train, test = ((data_dir / "adult" / name).read_bytes() for name in ("adult.data", "adult.test"))
    (tmp_path / "adult.data").write_bytes(train.rstrip(b"\n").replace(b"\n", b"\r\n"))
    with gzip.open(tmp_path / "adult.test.gz", "wb", compresslevel=1) as file:
        file.write(b"|1x3 Cross validator\n" + test.replace(b".\n", b"\n"))
    one, two = load_dataset("adult", data_dir), load_dataset("adult", tmp_path)
    assert np.array_equal(one.X, two.X)
    assert np.array_equal(one.y, two.y)
    assert one.source == two.source


def test_one_changed_character_is_noticed(data_dir, tmp_path):
    for name in ("adult.data", "adult.test"):
        shutil.copyfile(data_dir / "adult" / name, tmp_path / name)
    content = bytearray((tmp_path / "adult.test").read_bytes())
    content[0] = ord("3")
    (tmp_path / "adult.test").write_bytes(content)
    with pytest.raises(DamagedFileError, match=f"adult.test is damaged.*{ADULT.files[1].sha256}, found "):
        load_dataset("adult", tmp_path)


@pytest.mark.parametrize("source", [ADS, ADULT, MNIST], ids=lambda source: source.name)
def test_checksum_of_the_rows_is_that_of_the_files(source, data_dir):
    table, record = load_raw(source, data_dir, download=False)
    assert rows_sha256(table) == source.rows_sha256
    assert record.same_rows


def test_checksum_of_the_rows_knows_labels_but_no_order():
    table = RawTable(np.array([[1, 2], [3, 4]], np.uint8), np.array([0, 1], np.uint8))
    assert rows_sha256(RawTable(table.features[::-1], table.labels[::-1])) == rows_sha256(table)
    assert rows_sha256(RawTable(table.features, table.labels[::-1])) != rows_sha256(table)
