"""The prior rows that columns are learned from, where there are very many."""

import numpy as np
import pytest

from pbgnet.certificates.data import LabelledRows, Split, SplitRecord, rows_to_fit
from pbgnet.certificates.data.fitting_sample import FITTED_ROWS, quantile_error


def drawn_values(X, y, prior, seed=0, most=50):
    record = SplitRecord("drawn", seed, 0.5)
    certified = np.setdiff1d(np.arange(len(X)), prior)
    return X[rows_to_fit(LabelledRows(X, y), Split(prior, certified, record), most)]


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.standard_normal((400, 2)), rng.integers(0, 2, 400)


def test_few_rows_are_all_learned_from(table):
    X, y = table
    prior = np.arange(300)[::-1]
    np.testing.assert_array_equal(rows_to_fit(LabelledRows(X, y), Split(prior, [301])), prior)


def test_the_draw_depends_on_the_prior_rows_as_a_set_and_the_seed_alone(table):
    X, y = table
    prior = np.arange(0, 400, 2)
    first = drawn_values(X, y, prior)
    assert len(np.unique(first, axis=0)) == 50
    turned = drawn_values(X[::-1], y[::-1], 399 - prior)
    np.testing.assert_array_equal(np.sort(turned, axis=0), np.sort(first, axis=0))
    others = X.copy()
    others[1::2] += 1.0  # the certified rows have no say
    np.testing.assert_array_equal(drawn_values(others, 1 - y, prior), first)
    assert not np.array_equal(drawn_values(X, y, prior, seed=1), first)


def test_quantiles_are_within_the_proved_error():
    """Each of 60 draws of 1000 rows; at p = 0.01 about one in a hundred may be further off."""
    y = np.zeros(3000, dtype=int)
    beyond = 0
    for seed in range(60):
        X = np.random.default_rng(seed).random((3000, 1))
        some = np.sort(drawn_values(X, y, np.arange(2900), seed, most=1000)[:, 0])
        ranks = np.arange(1, 1001) / 1000
        beyond += max(np.max(ranks - some), np.max(some - ranks + 1 / 1000)) > quantile_error(1000, 0.01)
    assert beyond <= 4
    assert quantile_error(FITTED_ROWS) < 0.0053
