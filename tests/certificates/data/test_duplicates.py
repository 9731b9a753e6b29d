"""Rows that occur twice are counted and named."""

import numpy as np
import pytest

from pbgnet.certificates.data import (
    check_apart,
    count_duplicates,
    duplicates,
    note_on_near_copies,
    row_fingerprints,
    single_columns,
)
from pbgnet.exceptions import PriorLeakageError


def test_rows_may_repeat_those_of_another_table():
    rows = np.array([1, 1, 2, 3], dtype=np.uint64)
    others = np.array([3, 3, 1, 9], dtype=np.uint64)
    assert count_duplicates(rows) == 1
    assert count_duplicates(rows, others) == 3
    assert count_duplicates(rows, others[:0]) == 1
    assert count_duplicates(rows[2:3], rows[2:3]) == 1, "the only one of them, but not in both tables"


def test_rows_that_are_equal_to_six_digits_are_told_from_copies():
    X = np.array([[1.0, -3.25], [1.0 + 1e-9, -3.25], [1.0 + 1e-4, -3.25], [1.0, -3.25]])
    near = row_fingerprints(X, rounding="six digits")
    said = "1 more row equals another to six digits; taken on trust: they are separate draws"
    assert note_on_near_copies(near, count_duplicates(row_fingerprints(X))) == said
    assert note_on_near_copies(near[1:3], 0) == ""
    assert note_on_near_copies(near[1:3], 0, near[:1]) == said


def test_rows_that_meet_are_counted_and_one_is_named():
    seen, rows = row_fingerprints(np.arange(6.0)[:, None]), row_fingerprints(np.array([[9.0], [5.0], [3.0]]))
    check_apart(rows[:1], seen, "somebody")
    with pytest.raises(PriorLeakageError, match=r"2 of the 3 rows to certify were seen by somebody.* row 1:"):
        check_apart(rows, seen, "somebody")


def test_columns_that_float32_holds_are_told_over_all_parts(monkeypatch):
    pd = pytest.importorskip("pandas")
    monkeypatch.setattr("pbgnet.preprocessing.parts.PART_ROWS", 2)
    frame = pd.DataFrame({"a": [0.5, None, 2.0], "b": [0.5, 1.0, 0.1], "c": ["x", "y", "z"]})
    assert single_columns(frame).tolist() == [True, False, False]
    assert single_columns(frame, ["b", "a"]).tolist() == [False, True]
    assert single_columns(frame[["b", "a"]].to_numpy()).tolist() == [False, True]


def test_runs_of_equal_rows_may_cross_the_border_of_a_block(monkeypatch):
    rng = np.random.default_rng(0)
    rows, others = (rng.integers(0, 40, n).astype(np.uint64) for n in (60, 15))
    for block in (1, 2, 3, 7, 1000):
        monkeypatch.setattr(duplicates, "BLOCK", block)
        assert count_duplicates(rows) == 60 - len(set(rows.tolist()))
        assert count_duplicates(rows, others) == 60 - len(set(rows.tolist()) - set(others.tolist()))
    assert count_duplicates(rows[:0], others) == 0
