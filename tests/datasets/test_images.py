"""Images of several classes: MNIST from its files, scikit-learn's digits."""

import numpy as np
import pytest

from pbgnet.datasets import IMAGES, ImageDataset, SourceRecord, load_images
from pbgnet.exceptions import DamagedFileError, MissingDataError, ShapeError, UnknownNameError


def test_digits_are_those_of_scikit_learn():
    digits = load_images("digits")
    assert (digits.images.shape, digits.images.dtype, digits.images.max()) == ((1797, 8, 8), np.uint8, 16)
    assert (sorted(set(digits.y.tolist())), digits.n_train) == (list(range(10)), None)
    assert digits.source.kind == "scikit-learn"


def test_mnist_has_its_own_split(data_dir):
    found = load_images("mnist10", data_dir)
    assert repr(found) == "ImageDataset('mnist10', n=70000, 28 x 28 pixels, 10 classes)"
    assert found.n_train == 60_000
    assert found.y[:5].tolist() == [5, 0, 4, 1, 9]
    assert found.y[60_000:60_003].tolist() == [7, 2, 1]
    assert np.bincount(found.y[:60_000]).tolist()[:3] == [5923, 6742, 5958]
    assert found.source.original_order


def test_what_is_not_there_is_said(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingDataError, match="mnist is not available"):
        load_images("mnist10", tmp_path / "empty", download=False)
    (tmp_path / "sets.npz").write_bytes(b"")
    with pytest.raises(MissingDataError, match="packed file, which contains data sets with two classes"):
        load_images("mnist10", tmp_path / "sets.npz")
    with pytest.raises(UnknownNameError, match="choose one of digits, mnist10"):
        load_images("mnist")
    assert sorted(IMAGES) == ["digits", "mnist10"]


def test_damaged_files_are_refused(tmp_path):
    (tmp_path / "train-images-idx3-ubyte").write_bytes(b"none")
    with pytest.raises(DamagedFileError, match="but not train-labels-idx1-ubyte"):
        load_images("mnist10", tmp_path)


def test_images_and_labels_must_fit():
    with pytest.raises(ShapeError, match=r"\(n, height, width\) and \(n,\)"):
        ImageDataset("odd", np.zeros((3, 4), np.uint8), np.zeros(3, np.int64), SourceRecord("generated"))
