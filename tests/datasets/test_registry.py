import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from pbgnet.datasets import DATASETS, PAPER_DATASETS, Dataset, SourceRecord, load_dataset, load_mnist
from pbgnet.exceptions import (
    DomainError,
    LabelError,
    MissingDataError,
    OptionError,
    ShapeError,
    UnknownNameError,
)

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "reference" / "datasets.md"

# Table 3 of the paper: rows for training, for testing, features
PAPER_TABLE = {
    "ads": (2459, 820, 1554),
    "adult": (36631, 12211, 108),
    "mnist17": (11377, 3793, 784),
    "mnist49": (10336, 3446, 784),
    "mnist56": (9891, 3298, 784),
    "mnistLH": (52500, 17500, 784),
}

WITHOUT_FILES = [
    name for name, entry in DATASETS.items() if "data_dir" not in inspect.signature(entry.load).parameters
]


def test_registry_has_the_papers_sets_with_the_papers_sizes():
    assert {name: DATASETS[name].paper_rows for name in PAPER_DATASETS} == {
        name: sizes[:2] for name, sizes in PAPER_TABLE.items()
    }


def test_every_set_has_a_row_in_the_document_and_every_row_a_set():
    rows = re.findall(r"^\| `(\w+)` \|", DOCUMENT.read_text(), re.MULTILINE)
    assert rows == list(DATASETS)


@pytest.mark.parametrize("name", PAPER_DATASETS)
def test_sizes_are_the_papers(name, data_dir):
    dataset = load_dataset(name, data_dir)
    n_train, n_test, d = PAPER_TABLE[name]
    assert dataset.X.shape == (n_train + n_test, d)
    assert dataset.name == name
    assert dataset.X.dtype == np.float32
    assert dataset.source.kind == "files"
    assert dataset.source.original_order
    assert all(len(file.sha256) == 64 for file in dataset.source.files)


def test_folder_may_come_from_the_environment(data_dir, monkeypatch):
    monkeypatch.setenv("PBGNET_DATA", str(data_dir))
    assert load_dataset("ads").n_rows == 3279


@pytest.mark.parametrize("name", WITHOUT_FILES)
def test_sets_without_files_need_no_folder(name, tmp_path):
    dataset = load_dataset(name, tmp_path / "nowhere")
    assert set(dataset.y.tolist()) == {-1, 1}
    assert len(dataset.feature_names) == dataset.n_features


def test_toys_follow_their_seed():
    first, again, other = (load_dataset("moons", n=40, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)


def test_circles_without_noise_lie_on_two_circles():
    circles = load_dataset("circles", n=60, noise=0.0)
    radius = np.linalg.norm(circles.X, axis=1)
    np.testing.assert_allclose(radius, np.where(circles.y > 0, 0.5, 1.0), rtol=1e-6)


def test_unknown_names_are_told_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"choose one of ads, adult, .*Did you mean 'mnistLH'\?"):
        load_dataset("mnistHL")
    with pytest.raises(UnknownNameError, match="of MNIST also make a data set, such as mnist38"):
        load_dataset("mnist33")
    with pytest.raises(UnknownNameError, match="Unknown data set 7"):
        load_dataset(7)


def test_unknown_options_are_told_the_known_ones():
    with pytest.raises(OptionError, match="'moons' has no option size; its options are n, noise, seed"):
        load_dataset("moons", size=3)
    with pytest.raises(OptionError, match="'breast' has no option n; its options are none"):
        load_dataset("breast", n=3)
    with pytest.raises(OptionError, match="'adult' takes no options, got n"):
        load_dataset("adult", n=3)
    with pytest.raises(DomainError, match="noise must be at least 0"):
        load_dataset("moons", noise=-1.0)


def test_a_folder_that_does_not_exist_is_an_error_and_no_reason_to_download(tmp_path, monkeypatch):
    with pytest.raises(MissingDataError, match=r"data_dir is .*nowhere, which does not exist"):
        load_dataset("adult", tmp_path / "nowhere")
    monkeypatch.setenv("PBGNET_DATA", str(tmp_path / "gone"))
    with pytest.raises(MissingDataError, match=r"PBGNET_DATA is .*gone"):
        load_dataset("adult")


@pytest.mark.parametrize(
    ("negative", "positive", "message"),
    [
        ([], [1], "negative must hold digits"),
        ([1], [10], "positive must hold"),
        ([1, 2], [2], "both classes: 2"),
    ],
)
def test_impossible_digits(negative, positive, message):
    with pytest.raises(DomainError, match=message):
        load_mnist(negative, positive)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"y": np.ones(3, np.int64)}, ShapeError, r"must have shapes \(n, d\) and \(n,\)"),
        ({"feature_names": ("a",)}, ShapeError, "2 columns, but 1 names"),
        ({"X": np.zeros((2, 2))}, DomainError, "finite numbers of float32"),
        ({"X": np.array([[np.nan, 0], [1, 1]], np.float32)}, DomainError, "finite numbers"),
        ({"y": np.array([0, 1])}, LabelError, r"must be -1 and \+1"),
    ],
)
def test_impossible_data_sets_cannot_be_made(changes, error, message):
    fields = {
        "name": "own",
        "X": np.zeros((2, 2), np.float32),
        "y": np.array([-1, 1]),
        "label_names": ("no", "yes"),
        "feature_names": ("a", "b"),
        "source": SourceRecord("generated"),
    }
    assert Dataset(**fields).n_rows == 2
    with pytest.raises(error, match=message):
        Dataset(**{**fields, **changes})
