"""Where runs find their rows: of one table, scaled once, by their numbers."""

import numpy as np
import pytest

from pbgnet.datasets import load_dataset, paper_split, training_subset
from pbgnet.experiments import PaperRows
from pbgnet.experiments.runs import RunSpec


@pytest.mark.parametrize("scaling", ["paper", "none"])
@pytest.mark.parametrize("n_train", [None, 50])
def test_rows_of_the_table_are_those_of_the_split(scaling, n_train):
    split = paper_split(load_dataset("breast"), 3, scaling=scaling)
    if n_train is not None:
        split = training_subset(split, n_train, 3)
    rows = PaperRows()(RunSpec("breast", split_seed=3, scaling=scaling, n_train=n_train))
    for numbers, x, y in (
        (rows.train, split.X_train, split.y_train),
        (rows.test, split.X_test, split.y_test),
    ):
        np.testing.assert_array_equal(rows.table.x[numbers], x)
        np.testing.assert_array_equal(rows.table.y[numbers], y)


def test_splits_share_a_table_and_runs_of_one_split_their_rows():
    source = PaperRows()
    one, again, other = (source(RunSpec("breast", split_seed=split, seed=split)) for split in (0, 0, 1))
    assert one is again
    assert one is not other
    assert one.table is other.table
    assert set(one.train) != set(other.train)
