"""Digits 1 and 7, and public tables: exported networks and preprocessing on real rows."""

import warnings

import numpy as np
import pytest
import torch

from pbgnet.datasets import load_dataset
from pbgnet.networks import AggregatedNetwork
from pbgnet.preprocessing import TablePreprocessor


@pytest.fixture(scope="module")
def digits(data_dir):
    return load_dataset("mnist17", data_dir, download=False)


@pytest.fixture(scope="module")
def network(digits):
    """A network that separates the digits: 20 neurons along noisy differences of their means."""
    rng = np.random.default_rng(0)
    x, y = np.asarray(digits.X[:2000], dtype=np.float64), np.asarray(digits.y[:2000])
    neurons = []
    for _ in range(20):
        rows = rng.choice(2000, 200)
        neurons.append(x[rows][y[rows] > 0].mean(axis=0) - x[rows][y[rows] < 0].mean(axis=0))
    first = np.concatenate([8 * np.stack(neurons), np.zeros((20, 1))], axis=1)
    last = np.concatenate([rng.normal(1.0, 0.3, (1, 20)), np.zeros((1, 1))], axis=1)
    return AggregatedNetwork([torch.from_numpy(first), torch.from_numpy(last)])


def test_both_networks_agree_on_real_rows(ship, digits, network):
    rows = np.asarray(digits.X[2000:3000], dtype=np.float64)
    with torch.no_grad():
        vote, plain = network(torch.from_numpy(rows)), network.sign_network()(torch.from_numpy(rows))
    assert (vote.abs() > 1e-6).all()
    found = ship(network).decision_function(rows)
    assert np.abs(found - vote.numpy()).max() < 1e-9
    assert (ship(network, "sign").decision_function(rows) == plain.numpy()).all()
    right = np.mean((found > 0) == (np.asarray(digits.y[2000:3000]) > 0))
    assert right > 0.9  # so that the rows say something
    single = ship(network, dtype="float32").decision_function(rows)
    assert np.abs(single - vote.numpy()).max() < 1e-4


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["crx", "german", "phoneme", "spambase", "tic-tac-toe"])
def test_real_tables_become_the_same_numbers_inside_the_file(preprocess, data_dir, name, dtype):
    pd = pytest.importorskip("pandas", reason="the tables are read as frames")
    path = data_dir / "tables" / f"{name}.csv"
    if not path.is_file():
        pytest.skip(f"the public tables are not here: {path.name}")
    frame = pd.read_csv(path).drop(columns="class")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        preprocessor = TablePreprocessor(max_categories=5).fit(frame.iloc[::2])
        expected, found = preprocessor.transform(frame), preprocess(preprocessor, dtype, frame)
    assert np.array_equal(found, expected.astype(dtype))
    assert len(np.unique(expected, axis=0)) > len(frame) / 3
