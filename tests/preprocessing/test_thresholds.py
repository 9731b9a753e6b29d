"""Counting thresholds by halves or by cells gives what searchsorted gives."""

import numpy as np
import pytest

from pbgnet.preprocessing.thresholds import FEW_NUMBERS, N_CELLS, count_up_to


@pytest.mark.parametrize("n_numbers", [0, 3, FEW_NUMBERS, 5000])
@pytest.mark.parametrize("n_thresholds", [0, 1, 2, 3, 4, 7, 8, 100, 254, 255, 256, 1000])
def test_thresholds_are_counted_as_searchsorted_does(n_thresholds, n_numbers):
    rng = np.random.default_rng(n_thresholds)
    thresholds = np.unique(rng.integers(-500, 500, size=4 * n_thresholds).astype(np.float64))[:n_thresholds]
    numbers = rng.integers(-600, 600, size=n_numbers) / 2
    numbers[: n_numbers // 10] = rng.choice([np.inf, -np.inf, -0.0], n_numbers // 10)
    found = count_up_to(thresholds, numbers)
    assert found.dtype == np.int64
    assert (found == np.searchsorted(thresholds, numbers, side="right")).all()


@pytest.mark.parametrize("spread", [1e-3, 1.0, 1e300])
@pytest.mark.parametrize("shape", ["even", "skewed", "crowded", "wide", "near"])
def test_many_numbers_are_counted_as_searchsorted_does(shape, spread):
    rng = np.random.default_rng(0)
    made = {
        "even": np.linspace(-1, 1, 255),
        "skewed": np.exp(rng.normal(size=255)),
        "crowded": np.append(np.arange(254) * 1e-9, 1.0),
        "wide": np.array([-1.7e8, 0.5, 1.7e8]),
        "near": np.nextafter(1.0, np.arange(3.0)),
    }
    thresholds = np.unique(made[shape] * spread)
    edges = np.concatenate([np.nextafter(thresholds, end) for end in (-np.inf, np.inf)])
    numbers = np.concatenate([thresholds, edges, rng.normal(size=N_CELLS) * spread, [np.inf, -np.inf]])
    found = count_up_to(thresholds, numbers)
    assert (found == np.searchsorted(thresholds, numbers, side="right")).all()
