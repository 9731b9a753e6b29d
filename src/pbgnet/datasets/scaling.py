"""Standardisation of columns, fitted only on given rows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pbgnet.datasets.dataset import Dataset
from pbgnet.exceptions import DomainError
from pbgnet.validation import check_name

SCALINGS = {
    "paper": "every column, for the sets that the paper's authors standardised: ads, adult, breast",
    "numeric": "the columns that are measured on scales of their own: six of adult, all of breast",
    "none": "no column",
}
"""What can be standardised, by name."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """(value - mean) / scale for k columns."""

    columns: NDArray[np.int64]
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]  # 1 for a column that is constant in the fitted rows
    n_fitted: int

    def apply(self, X: NDArray[np.float32]) -> NDArray[np.float32]:  # noqa: N803
        """Return scaled rows; the same array if there is nothing to scale."""
        if self.columns.size == 0:
            return X
        scaled = X.copy()
        scaled[:, self.columns] = (X[:, self.columns] - self.mean) / self.scale
        return scaled


def columns_to_scale(dataset: Dataset, scaling: str) -> NDArray[np.int64]:
    """Return the columns of a data set to which a scaling of this name applies."""
    kind = check_name("scaling", scaling, SCALINGS)
    if kind == "paper":
        return np.arange(dataset.n_features if dataset.standardised_in_paper else 0, dtype=np.int64)
    return np.array(dataset.numeric if kind == "numeric" else (), dtype=np.int64)


def fit_scaling(dataset: Dataset, scaling: str, rows: NDArray[np.int64]) -> Scaling:
    """Compute mean and deviation of the columns from these rows of the data set, and no others."""
    columns = columns_to_scale(dataset, scaling)
    if columns.size == 0:
        return Scaling(columns, np.empty(0), np.empty(0), 0)
    if rows.size == 0:
        raise DomainError(
            f"scaling={scaling!r} of {dataset.name!r} needs rows that are not certified; raise "
            "prior_fraction, or use scaling='none'."
        )
    fitted = dataset.X[np.ix_(rows, columns)].astype(np.float64)
    constant = fitted.min(axis=0) == fitted.max(axis=0)  # a computed deviation may be a rounding error
    mean = np.where(constant, fitted[0], fitted.mean(axis=0))
    scale = np.where(constant, 1.0, fitted.std(axis=0))
    return Scaling(columns, mean, scale, len(rows))
