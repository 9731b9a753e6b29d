"""The rows of a run: who trains, certifies and tests does not depend on the method."""

from dataclasses import replace

import numpy as np
import pytest

from pbgnet.datasets import ImageDataset, SourceRecord, load_images
from pbgnet.experiments.comparisons.comparison import ComparedRun
from pbgnet.experiments.comparisons.material import material_of

RUN = ComparedRun("digits", 0, 0.5, "pbgnet", "images")


@pytest.fixture(scope="module")
def numbered() -> ImageDataset:
    """Images that say their own number, of which the first 300 train."""
    numbers = np.arange(400)
    images = np.stack([numbers // 256, numbers % 256], axis=1).astype(np.uint8)[:, None]
    return ImageDataset("numbered", images, numbers % 10, SourceRecord("generated"), 300)


def numbers_of(images):
    return images[:, 0, 0].astype(int) * 256 + images[:, 0, 1]


def test_rows_that_were_made_for_testing_test(numbered):
    found = material_of(RUN, numbered)
    assert numbers_of(found.X).tolist() == list(range(300))
    assert numbers_of(found.X_test).tolist() == list(range(300, 400))
    assert len(set(found.prior_rows.tolist())) == 150


def test_otherwise_a_quarter_tests_and_no_row_is_in_both():
    digits = load_images("digits")
    found = material_of(RUN, replace(digits, images=digits.images, n_train=None))
    assert (len(found.X), len(found.X_test)) == (1348, 449)
    other = material_of(replace(RUN, seed=1), digits)
    assert not np.array_equal(found.X_test, other.X_test)


def test_methods_with_a_seed_share_their_rows(numbered):
    one = material_of(RUN, numbered)
    two = material_of(replace(RUN, estimator="random_forest", rows="table", parameters={"a": 1}), numbered)
    assert two.X.shape == (300, 2)
    assert np.array_equal(one.X.reshape(300, -1), two.X)
    assert np.array_equal(one.prior_rows, two.prior_rows)
    assert not np.array_equal(one.prior_rows, material_of(replace(RUN, seed=1), numbered).prior_rows)


def test_small_runs_draw_of_each_part(numbered):
    found = material_of(replace(RUN, n_train=60, n_test=20, certified_fraction=0.25), numbered)
    train, test = numbers_of(found.X), numbers_of(found.X_test)
    assert (len(set(train)), len(set(test)), len(found.prior_rows)) == (60, 20, 45)
    assert train.max() < 300 <= test.min()
    assert np.array_equal(found.y, train % 10)


def test_labels_are_made_of_digits(numbered):
    found = material_of(replace(RUN, labels={"even": [0, 2, 4, 6, 8], "large": [8, 9]}), numbered)
    assert found.y[:10].tolist() == [[int(k % 2 == 0), int(k >= 8)] for k in range(10)]
