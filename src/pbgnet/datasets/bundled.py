"""Data sets that need no files: breast cancer, which comes with scikit-learn, and two generated toys."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, make_circles, make_moons

from pbgnet.datasets.dataset import Dataset, SourceRecord
from pbgnet.exceptions import DomainError
from pbgnet.validation import positive_int


def load_breast() -> Dataset:
    """Breast Cancer Wisconsin (Diagnostic): 569 rows of 30 numbers, +1 for benign."""
    bunch = load_breast_cancer()
    return Dataset(
        name="breast",
        X=bunch.data.astype(np.float32),
        y=2 * bunch.target.astype(np.int64) - 1,
        label_names=("malignant", "benign"),
        feature_names=tuple(str(name) for name in bunch.feature_names),
        source=SourceRecord("scikit-learn"),
        numeric=tuple(range(bunch.data.shape[1])),
        standardised_in_paper=True,
    )


def load_moons(*, n: int = 500, noise: float = 0.1, seed: int = 0) -> Dataset:
    """Two interleaved half moons."""
    return _toy("moons", ("upper", "lower"), make_moons, n, noise, seed)


def load_circles(*, n: int = 500, noise: float = 0.1, seed: int = 0) -> Dataset:
    """A circle inside another of twice its radius."""
    return _toy("circles", ("outer", "inner"), partial(make_circles, factor=0.5), n, noise, seed)


def _toy(
    name: str, labels: tuple[str, str], make: Callable[..., Any], n: int, noise: float, seed: int
) -> Dataset:
    count = positive_int("n", n)
    if not 0 <= noise < np.inf:
        raise DomainError(f"noise must be at least 0 and finite, got {noise!r}.")
    points, classes = make(n_samples=count, noise=noise, random_state=seed)
    return Dataset(
        name=name,
        X=points.astype(np.float32),
        y=2 * classes.astype(np.int64) - 1,
        label_names=labels,
        feature_names=("x", "y"),
        source=SourceRecord("generated", note=f"n={count}, noise={noise}, seed={seed}"),
    )
