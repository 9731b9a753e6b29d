"""From a set of images to the rows of a run: prior rows, certified rows and test rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.datasets import ImageDataset
from pbgnet.experiments.comparisons.comparison import ComparedRun

TEST_SHARE = 4
"""One row in this many is a test row, if the data set does not say which ones are."""


@dataclass(frozen=True, eq=False)
class Material:
    """The rows of a run.

    Attributes
    ----------
    X, X_test : ndarray of uint8
        Images, (n, height, width), or their pixels, (n, d).
    y, y_test : ndarray of int64
        Digits, (n,), or which labels they have, (n, r).
    prior_rows : ndarray of int64
        Rows of X that are not certified.
    """

    X: NDArray[np.uint8]
    y: NDArray[np.int64]
    prior_rows: NDArray[np.int64]
    X_test: NDArray[np.uint8]
    y_test: NDArray[np.int64]


def material_of(run: ComparedRun, dataset: ImageDataset) -> Material:
    """Draw the rows of a run; runs with equal seeds and sizes share them, for all methods."""
    generator = np.random.default_rng(run.seed)
    n = len(dataset.y)
    if dataset.n_train is None:
        order = generator.permutation(n)
        test, train = np.sort(order[: n // TEST_SHARE]), np.sort(order[n // TEST_SHARE :])
    else:
        train, test = np.arange(dataset.n_train), np.arange(dataset.n_train, n)
    train, test = _some(train, run.n_train, generator), _some(test, run.n_test, generator)
    n_prior = len(train) - round(run.certified_fraction * len(train))
    prior_rows = np.sort(generator.permutation(len(train))[:n_prior])
    y = _targets(dataset.y, run)
    X = dataset.images if run.rows == "images" else dataset.images.reshape(n, -1)  # noqa: N806
    return Material(X[train], y[train], prior_rows, X[test], y[test])


def _some(rows: NDArray[Any], count: int | None, generator: np.random.Generator) -> NDArray[Any]:
    if count is None or count >= len(rows):
        return rows
    return np.sort(generator.permutation(rows)[:count])


def _targets(digits: NDArray[np.int64], run: ComparedRun) -> NDArray[np.int64]:
    if not run.labels:
        return digits
    return np.stack([np.isin(digits, list(having)) for having in run.labels.values()], axis=1).astype(
        np.int64
    )
