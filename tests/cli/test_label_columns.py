"""Which values of a column mean that a row has a label, and what is told where that is not clear."""

from pathlib import Path

import pytest

from pbgnet.cli.folder import TableReading
from pbgnet.cli.label_columns import PAIRS, label_matrix, targets_of
from pbgnet.exceptions import LabelError, OptionError, UnknownNameError

pd = pytest.importorskip("pandas")


def read(folder, a, b=("0", "1", "0"), missing=None):
    """The labels of a CSV with these cells in two columns."""
    path = folder / "table.csv"
    lines = [f"{k},{one},{two}" for k, (one, two) in enumerate(zip(a, b, strict=True))]
    path.write_text("\n".join(["k,a,b", *lines]) + "\n")
    reading = TableReading(("a", "b")).amended(missing=missing)
    return targets_of(reading.read(path), reading.targets, path)


@pytest.mark.parametrize(
    "cells",
    [
        *PAIRS,
        ("0.0", "1.0"),
        ("FALSE", "True"),
        (" No ", "YES"),
        ("N", "y"),
        ("", "X"),
    ],
)
def test_each_pair_has_one_value_for_has_it(tmp_path, cells):
    has_not, has = cells
    found = read(tmp_path, [has, has_not, has])
    assert found.columns.tolist() == ["a", "b"]
    assert found.to_numpy().tolist() == [[1, 0], [0, 1], [1, 0]]


@pytest.mark.parametrize(("cells", "expected"), [(["no"] * 3, 0), (["yes"] * 3, 1), (["x"] * 3, 1)])
def test_a_label_may_be_that_of_all_rows_or_none(tmp_path, cells, expected):
    assert read(tmp_path, cells)["a"].tolist() == [expected] * 3


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (["yes", "no", "maybe"], r"'a' must say .* no and yes.* contains 'maybe' in line 4.* only --target"),
        (["0", "1", "2"], "contains '2' in line 4"),
        (["red", "blue", "red"], "contains 'red' in line 2"),
        (["1", "yes", "0"], "contains 'yes' in line 3"),
        (["yes", "", "no"], "1 of 3 rows have no label in column 'a', the first of them line 3"),
        (["x", "?", ""], "1 of 3 rows have no label in column 'a', the first of them line 3"),
        (["x", "", "u"], "contains 'u' in line 4"),
        (["1", "", ""], "2 of 3 rows have no label in column 'a', .* for example with 0"),
        (["", "", ""], "'a' is empty"),
    ],
)
def test_other_values_are_named_with_their_line(tmp_path, cells, told):
    with pytest.raises(LabelError, match=told):
        read(tmp_path, cells)


def test_a_text_for_missing_is_no_label(tmp_path):
    with pytest.raises(LabelError, match="no label in column 'a'"):
        read(tmp_path, ["0", "1", "none"], missing=["none"])


def test_typed_tables_are_read_alike():
    frame = pd.DataFrame({"a": [True, False], "b": [1.0, 0.0], "c": ["Yes", "no"], "d": [None, "x"]})
    found = label_matrix(frame, ["a", "b", "c"], Path("table.parquet"))
    assert found.to_numpy().tolist() == [[1, 1, 1], [0, 0, 0]]
    with pytest.raises(LabelError, match="no label in column 'd', the first of them row 1"):
        label_matrix(frame, ["a", "d"], Path("table.parquet"))


def test_targets_are_columns_named_once(tmp_path):
    frame = pd.DataFrame({"a": [0, 1], "b": [0, 1]})
    with pytest.raises(OptionError, match="'a' twice"):
        label_matrix(frame, ["a", "b", "a"], tmp_path / "t.csv")
    with pytest.raises(UnknownNameError, match="Did you mean 'a'"):
        label_matrix(frame, ["b", "A"], tmp_path / "t.csv")


def test_one_target_is_read_as_ever(tmp_path):
    """An empty cell among classes is missing, and an x is a word."""
    path = tmp_path / "table.csv"
    path.write_text("k,a\n1,x\n2,\n3,y\n")
    reading = TableReading(("a",))
    with pytest.raises(LabelError, match="no label"):
        targets_of(reading.read(path), reading.targets, path)
