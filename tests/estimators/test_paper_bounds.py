"""Bounds and errors on the paper's data, at least as good as the paper's with one hidden layer of 10.

The rows are split 75/25 at random and delta is shared by nine architectures, as in the paper. One split and
one seed are checked, neither chosen for its result. Bounds scatter: over three splits and three seeds
pbgnet_pre on mnist17 has a mean bound of 0.0101 (0.0078 to 0.0126; the paper 0.010 with a deviation of
0.001), so its limit here leaves room. docs/reference/training.md has the other ranges. Adult is standardised
before the split, as in the paper too: a protocol for comparison, not for certificates.
"""

import gzip
import time
from pathlib import Path

import numpy as np
import pytest

from pbgnet.estimators import PBGNetClassifier

pytestmark = pytest.mark.statistical

N_TRAIN = {"mnist17": 11377, "adult": 36631}


def read_idx(path: Path) -> np.ndarray:
    raw = gzip.decompress(path.read_bytes())
    if "images" in path.name:
        return np.frombuffer(raw, np.uint8, offset=16).reshape(-1, 784)
    return np.frombuffer(raw, np.uint8, offset=8)


def load_mnist17(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    parts = sorted((folder / "mnist").glob("*.gz"), reverse=True)  # the training files first
    images = np.concatenate([read_idx(path) for path in parts if "images" in path.name])
    digits = np.concatenate([read_idx(path) for path in parts if "labels" in path.name])
    chosen = np.isin(digits, (1, 7))
    return images[chosen] / 255.0, digits[chosen]


def load_adult(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    lines = [(folder / "adult" / name).read_text().splitlines() for name in ("adult.data", "adult.test")]
    cells = [[cell.strip().rstrip(".") for cell in line.split(",")] for line in lines[0] + lines[1]]
    rows = np.array([row for row in cells if len(row) == 15])
    columns = []
    for j, column in enumerate(rows[:, :-1].T):
        if j in (0, 2, 4, 10, 11, 12):
            numbers = column.astype(float)
            columns.append((numbers[:, None] - numbers.mean()) / numbers.std())
        else:
            columns.append((column[:, None] == np.unique(column)).astype(float))
    return np.hstack(columns), rows[:, -1]


@pytest.fixture(scope="module")
def split(request, data_dir):
    name = request.param
    X, y = {"mnist17": load_mnist17, "adult": load_adult}[name](data_dir)
    order = np.random.default_rng(1).permutation(len(y))
    train, test = np.split(order, [N_TRAIN[name]])
    return X[train], y[train], X[test], y[test]


@pytest.mark.filterwarnings("ignore::pbgnet.exceptions.DuplicateRowsWarning")  # adult repeats a few rows
@pytest.mark.parametrize(
    ("split", "algorithm", "largest_bound", "largest_error"),
    [
        ("mnist17", "pbgnet", 0.042, 0.009),
        ("mnist17", "pbgnet_pre", 0.012, 0.009),
        ("adult", "pbgnet", 0.220, 0.163),
        ("adult", "pbgnet_pre", 0.166, 0.159),
    ],
    indirect=["split"],
)
def test_bound_and_error_reach_the_papers(split, algorithm, largest_bound, largest_error):
    X, y, X_test, y_test = split
    start = time.perf_counter()
    options = {"n_priors": 9, "constant": "paper", "certificate": "seeger", "random_state": 0}
    classifier = PBGNetClassifier(algorithm=algorithm, **options).fit(X, y)
    seconds = time.perf_counter() - start
    bound, error = classifier.certificate_.linear_loss.value, 1 - classifier.score(X_test, y_test)
    print(f"{algorithm}: bound {bound:.4f}, test error {error:.4f}, {seconds:.1f} s")
    assert bound <= largest_bound
    assert error <= largest_error
    assert classifier.certificate_.alternative("error rate", "clopper-pearson").evidence.n_errors >= 0
