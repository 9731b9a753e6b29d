"""Rows for training and testing: the paper's protocol, and one that is valid for certificates.

Both draw the same rows from the same seed. All draws are plain random ones: a stratified split would look at
the labels of rows that are to be certified.
"""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.datasets.dataset import Dataset
from pbgnet.datasets.scaling import Scaling, fit_scaling
from pbgnet.exceptions import DomainError, DtypeError
from pbgnet.validation import check_kind, positive_int

# Second words of seeds, so that no two draws use the same numbers. Not 0, which would change nothing.
PRIOR_DRAW, SUBSET_DRAW = 1, 2

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class TrainTest:
    """A data set split into rows for training and for testing, and scaled.

    Attributes
    ----------
    dataset : Dataset
    protocol : {"paper", "certified"}
        "paper": scaling used all rows, so it is only for comparison with the paper, and no certificate holds
        unless nothing was scaled. "certified": scaling used only the prior rows.
    seed : int
    X_train, X_test : ndarray of float32
    y_train, y_test : ndarray of int64
    train_rows, test_rows : ndarray of int64
        The rows of the data set, in this order.
    prior_rows, certified_rows : ndarray of int64
        Positions in X_train: the rows from which preprocessing and a prior may learn, and the others. The
        paper's protocol has no prior rows; there an algorithm draws its own.
    scaling : Scaling
        The scaling of the columns.
    scaling_name : str

    Examples
    --------
    >>> from pbgnet.datasets import certified_split, load_dataset
    >>> certified_split(load_dataset("breast"), seed=0)
    TrainTest('breast', protocol='certified', seed=0, train 426 (213 prior, 213 certified), test 143)
    """

    dataset: Dataset
    protocol: str
    seed: int
    X_train: NDArray[np.float32]
    y_train: NDArray[np.int64]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]
    train_rows: Rows
    test_rows: Rows
    prior_rows: Rows
    certified_rows: Rows
    scaling: Scaling
    scaling_name: str

    def __repr__(self) -> str:
        roles = ""
        if self.protocol == "certified":
            roles = f" ({len(self.prior_rows)} prior, {len(self.certified_rows)} certified)"
        return (
            f"TrainTest({self.dataset.name!r}, protocol={self.protocol!r}, seed={self.seed}, train "
            f"{len(self.train_rows)}{roles}, test {len(self.test_rows)})"
        )


def paper_split(dataset: Dataset, seed: int, *, scaling: str = "paper") -> TrainTest:
    """Split 75/25 as in the paper, standardised before the split: only for comparison with the paper.

    Parameters
    ----------
    dataset : Dataset
    seed : int
        Of the draw.
    scaling : {"paper", "numeric", "none"}, default="paper"
        Which columns are standardised. Mean and deviation come from all rows, test rows included, so strictly
        speaking a bound computed on such data proves nothing, unless nothing was scaled.

    Examples
    --------
    >>> from pbgnet.datasets import load_dataset, paper_split
    >>> split = paper_split(load_dataset("breast"), seed=0)
    >>> split
    TrainTest('breast', protocol='paper', seed=0, train 426, test 143)
    >>> split.X_train.shape, split.y_test.shape
    ((426, 30), (143,))
    """
    train, test = _draw(dataset, seed)
    return _build(dataset, "paper", seed, train, test, np.empty(0, dtype=np.int64), scaling)


def certified_split(
    dataset: Dataset, seed: int, *, prior_fraction: float = 0.5, scaling: str = "numeric"
) -> TrainTest:
    """Split 75/25 and divide the training part; preprocessing only sees the prior rows.

    The rows for training and testing are those of `paper_split` with the same seed. Pass `prior_rows` to an
    estimator, so that it certifies the others.

    Parameters
    ----------
    dataset : Dataset
    seed : int
    prior_fraction : float, default=0.5
        Share of the training rows that become prior rows, as for the paper's pretrained prior. 0 is possible
        if nothing is scaled.
    scaling : {"paper", "numeric", "none"}, default="numeric"
        Which columns are standardised.

    Examples
    --------
    >>> from pbgnet.datasets import certified_split, load_dataset
    >>> split = certified_split(load_dataset("breast"), seed=0)
    >>> split.scaling.n_fitted == len(split.prior_rows) == 213
    True
    """
    check_kind("prior_fraction", prior_fraction, Real)
    if isinstance(prior_fraction, bool) or not 0 <= prior_fraction < 1:
        raise DomainError(f"prior_fraction must lie in [0, 1), got {prior_fraction!r}.")
    train, test = _draw(dataset, seed)
    count = min(round(prior_fraction * len(train)), len(train) - 1)
    if prior_fraction > 0:
        count = max(count, 1)
    order = np.random.default_rng([seed, PRIOR_DRAW]).permutation(len(train))
    return _build(dataset, "certified", seed, train, test, np.sort(order[:count]).astype(np.int64), scaling)


def training_subset(split: TrainTest, n: int, seed: int) -> TrainTest:
    """Keep n of the training rows, drawn at random, and all test rows: for the study of training sizes.

    With the same seed, a smaller subset is contained in a larger one. Prior and certified rows keep their
    roles, and their shares up to rounding. Scaling is fitted again on the remaining prior rows, so nothing is
    known about the rows that were dropped.

    Parameters
    ----------
    split : TrainTest
    n : int
        At most the number of training rows; at least 2 if some are prior rows.
    seed : int

    Examples
    --------
    >>> from pbgnet.datasets import load_dataset, paper_split, training_subset
    >>> split = paper_split(load_dataset("moons"), seed=0)
    >>> small, large = training_subset(split, 10, seed=0), training_subset(split, 100, seed=0)
    >>> small
    TrainTest('moons', protocol='paper', seed=0, train 10, test 125)
    >>> set(small.train_rows) <= set(large.train_rows)
    True
    """
    check_kind("split", split, TrainTest)
    total, n_prior = len(split.train_rows), len(split.prior_rows)
    least, count = (2 if n_prior else 1), positive_int("n", n)
    if not least <= count <= total:
        raise DomainError(f"n must lie between {least} and the {total} training rows there are, got {n}.")
    generator = np.random.default_rng([_seed(seed), SUBSET_DRAW])
    # both counts grow with n, so subsets are nested
    share = max(1, count * n_prior // total) if n_prior else 0
    prior = generator.permutation(split.prior_rows)[:share]
    others = generator.permutation(split.certified_rows)[: count - share]
    positions = np.sort(np.concatenate([prior, others]))
    return _build(
        split.dataset,
        split.protocol,
        split.seed,
        split.train_rows[positions],
        split.test_rows,
        np.flatnonzero(np.isin(positions, prior)).astype(np.int64),
        split.scaling_name,
    )


def _draw(dataset: Dataset, seed: int) -> tuple[Rows, Rows]:
    """Draw three quarters of the rows for training; the rest, rounded up as in Table 2, for testing."""
    check_kind("dataset", dataset, Dataset)
    n = dataset.n_rows
    if n < 4:
        raise DomainError(f"{dataset.name!r} has {n} rows, too few to split; at least 4 are required.")
    order = np.random.default_rng(_seed(seed)).permutation(n).astype(np.int64)
    n_test = -(-n // 4)
    return order[: n - n_test], order[n - n_test :]


def _build(
    dataset: Dataset, protocol: str, seed: int, train: Rows, test: Rows, prior: Rows, scaling: str
) -> TrainTest:
    seen = np.arange(dataset.n_rows, dtype=np.int64) if protocol == "paper" else train[prior]
    fitted = fit_scaling(dataset, scaling, seen)
    return TrainTest(
        dataset=dataset,
        protocol=protocol,
        seed=int(seed),
        X_train=fitted.apply(dataset.X[train]),
        y_train=dataset.y[train],
        X_test=fitted.apply(dataset.X[test]),
        y_test=dataset.y[test],
        train_rows=train,
        test_rows=test,
        prior_rows=prior,
        certified_rows=np.setdiff1d(np.arange(len(train), dtype=np.int64), prior),
        scaling=fitted,
        scaling_name=scaling,
    )


def _seed(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise DtypeError(f"seed must be a whole number, got {value!r:.60}.")
    if int(value) < 0:
        raise DomainError(f"seed must be at least 0, got {value!r}.")
    return int(value)
