"""From a run to the rows it is trained and tested on: the paper's protocol on its data sets."""

from dataclasses import dataclass

import numpy as np

from pbgnet.datasets import Dataset, load_dataset, paper_split, training_subset
from pbgnet.experiments.runs.batch import Rows, Table
from pbgnet.experiments.runs.keeping import kept
from pbgnet.experiments.runs.specification import RunSpec


@dataclass(frozen=True)
class PaperRows:
    """The paper's random 75/25 splits, and subsets of their training rows.

    Attributes
    ----------
    data_dir : str or None
        Folder of the data, or a packed file; see `pbgnet.datasets.load_dataset`.
    """

    data_dir: str | None = None

    def __call__(self, run: RunSpec) -> Rows:
        """Return the rows of a run; the same object for runs that share them."""
        return _rows(run.dataset, self.data_dir, run.split_seed, run.n_train, run.scaling)


@kept(6)
def _dataset(name: str, data_dir: str | None) -> Dataset:
    return load_dataset(name, data_dir)


@kept(6)
def _table(name: str, data_dir: str | None, scaling: str) -> Table:
    """All rows, scaled; the paper's scaling does not depend on the split."""
    dataset = _dataset(name, data_dir)
    split = paper_split(dataset, 0, scaling=scaling)
    x = np.empty_like(split.X_train, shape=dataset.X.shape)
    x[split.train_rows], x[split.test_rows] = split.X_train, split.X_test
    return Table(x, dataset.y)


@kept(256)
def _rows(name: str, data_dir: str | None, split_seed: int, n_train: int | None, scaling: str) -> Rows:
    split = paper_split(_dataset(name, data_dir), split_seed, scaling=scaling)
    if n_train is not None and n_train < len(split.train_rows):
        split = training_subset(split, n_train, split_seed)
    return Rows(_table(name, data_dir, scaling), split.train_rows, split.test_rows)
