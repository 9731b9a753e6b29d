"""Rows have one fingerprint, whatever container they come in."""

import hashlib
import io
import math
import struct

import numpy as np
import pytest
from scipy import sparse

from pbgnet.certificates.data import check_apart, count_duplicates, note_on_near_copies, row_fingerprints
from pbgnet.exceptions import PriorLeakageError, ShapeError
from pbgnet.preprocessing import parse_number


def test_the_container_does_not_matter():
    pd = pytest.importorskip("pandas")
    X = np.array([[1.0, 0.0], [2.0, 3.0], [1.0, -0.0]])
    expected = row_fingerprints(X)
    assert expected[0] == expected[2], "-0.0 is 0.0"
    forms = (
        X.tolist(),
        X.astype(np.float32),
        X.astype(int),
        X.astype(object),
        np.asfortranarray(X),
        sparse.csr_matrix(X),
        sparse.coo_array(X),
        pd.DataFrame(X, columns=["a", "b"]),
        pd.DataFrame(X, columns=["b", "a"]),
    )
    for form in forms:
        np.testing.assert_array_equal(row_fingerprints(form), expected)


def test_a_frame_is_read_in_the_order_of_the_columns_it_is_compared_with():
    pd = pytest.importorskip("pandas")
    X = np.array([[1.0, 0.0], [2.0, 3.0]])
    turned = pd.DataFrame(X[:, ::-1], columns=["b", "a"])
    expected = row_fingerprints(X)
    np.testing.assert_array_equal(row_fingerprints(turned, columns=["a", "b"]), expected)
    assert not np.isin(row_fingerprints(turned), expected).any()
    np.testing.assert_array_equal(row_fingerprints(turned, columns=["a", "c"]), row_fingerprints(turned))
    np.testing.assert_array_equal(row_fingerprints(X, columns=["b", "a"]), expected)


def test_a_text_in_a_list_leaves_the_other_rows_as_they_are():
    rows = [[1, "red"], [2, "blue"]]
    np.testing.assert_array_equal(row_fingerprints(rows), row_fingerprints(np.array(rows, dtype=object)))


def test_a_row_is_the_same_in_a_part_of_the_table_and_in_a_table_of_texts():
    pd = pytest.importorskip("pandas")
    text = "a,b,c\n1,2.50,red\n-0,,7\n3,1e3,8\n, x ,\n"
    typed = pd.read_csv(io.StringIO(text))
    as_text = pd.read_csv(io.StringIO(text), dtype=str).astype(object)
    as_text = as_text.where(as_text.notna(), None)
    expected = row_fingerprints(as_text)
    assert len(set(expected.tolist())) == 4
    np.testing.assert_array_equal(row_fingerprints(typed), expected)
    # The last columns of this part hold numbers alone.
    np.testing.assert_array_equal(row_fingerprints(typed.iloc[1:3]), expected[1:3])
    part = np.array([[0.0, np.nan, 7.0], [3.0, 1000.0, 8.0]])
    np.testing.assert_array_equal(row_fingerprints(part), expected[1:3])
    assert row_fingerprints(np.array([["1_0", "nan", ""]], dtype=object))[0] != row_fingerprints(
        np.array([[10.0, np.nan, np.nan]])
    )


def test_rows_may_repeat_those_of_another_table():
    rows = np.array([1, 1, 2, 3], dtype=np.uint64)
    others = np.array([3, 3, 1, 9], dtype=np.uint64)
    assert count_duplicates(rows) == 1
    assert count_duplicates(rows, others) == 3
    assert count_duplicates(rows, others[:0]) == 1
    assert count_duplicates(rows[2:3], rows[2:3]) == 1, "the only one of them, but not in both tables"


def test_mixed_tables_gaps_and_labels_count():
    table = np.array([["red", 1.5], ["red", None], [None, 1.5], ["red", 1.5], ["1.5", 1.5]], dtype=object)
    prints = row_fingerprints(table)
    assert prints[0] == prints[3]
    assert len(set(prints.tolist())) == 4
    gaps = row_fingerprints(np.array([[np.nan, 1.0], [-np.nan, 1.0], [1.0, np.nan]]))
    assert gaps[0] == gaps[1] != gaps[2]
    X = np.ones((3, 2))
    assert count_duplicates(row_fingerprints(X)) == 2
    assert count_duplicates(row_fingerprints(X, ["a", "b", "a"])) == 1
    assert row_fingerprints(X, [0, 1, 1])[1] == row_fingerprints(X[:1], [1.0])[0], "1 and 1.0 are one label"
    with pytest.raises(ShapeError, match="3 rows, but there are 2 labels"):
        row_fingerprints(X, [0, 1])


def test_rows_that_are_equal_to_six_digits_are_told_from_copies():
    X = np.array([[1.0, -3.25], [1.0 + 1e-9, -3.25], [1.0 + 1e-4, -3.25], [1.0, -3.25]])
    near = row_fingerprints(X, rounding="six digits")
    assert near[0] == near[1] == near[3] != near[2]
    for form in (sparse.csr_matrix(X), X.astype(object)):
        np.testing.assert_array_equal(row_fingerprints(form, rounding="six digits"), near)
    mixed = np.array([["red", 1.5], ["red", 1.5 + 1e-9], ["blue", 1.5]], dtype=object)
    one, two, three = row_fingerprints(mixed, rounding="six digits")
    assert one == two != three
    said = "1 more equal another to six digits: that they are draws of their own is taken on trust"
    assert note_on_near_copies(near, count_duplicates(row_fingerprints(X))) == said
    assert note_on_near_copies(near[1:3], 0) == ""
    assert note_on_near_copies(near[1:3], 0, near[:1]) == said
    extremes = np.array([[5e-324], [1.7e308], [np.inf], [-np.inf], [np.nan], [0.0]])
    assert len(set(row_fingerprints(extremes, rounding="six digits").tolist())) == 6


def test_many_sparse_rows_are_read_in_blocks(monkeypatch):
    X = np.random.default_rng(0).integers(0, 2, size=(50, 3)).astype(float)
    monkeypatch.setattr("pbgnet.certificates.data.duplicates.BLOCK", 7)
    np.testing.assert_array_equal(row_fingerprints(sparse.csr_matrix(X)), row_fingerprints(X))


@pytest.mark.parametrize("rounding", ["exact", "float32", "six digits"])
def test_mixed_rows_are_read_in_blocks_each_by_itself(monkeypatch, rounding):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(40, 3)).astype(object)
    X[rng.random(X.shape) < 0.3] = "red"
    X[rng.random(X.shape) < 0.1] = None
    whole = row_fingerprints(X, rounding=rounding)
    monkeypatch.setattr("pbgnet.certificates.data.duplicates.MIXED_BLOCK", 7)
    np.testing.assert_array_equal(row_fingerprints(X, rounding=rounding), whole)
    alone = [row_fingerprints(X[k : k + 1], rounding=rounding)[0] for k in range(len(X))]
    np.testing.assert_array_equal(np.array(alone), whole)
    assert len(set(whole.tolist())) == len({tuple(row) for row in X.tolist()})


def test_rows_that_meet_are_counted_and_one_is_named():
    seen, rows = row_fingerprints(np.arange(6.0)[:, None]), row_fingerprints(np.array([[9.0], [5.0], [3.0]]))
    check_apart(rows[:1], seen, "somebody")
    with pytest.raises(PriorLeakageError, match=r"2 of the 3 rows to certify were seen by somebody.* row 1:"):
        check_apart(rows, seen, "somebody")


@pytest.mark.parametrize(
    "rows",
    [
        [["a", 1.0], ["b", None], [None, 2.5], [None, None], ["3", -0.0], ["", "x"], ["é", "0.10"]],
        [["a"], ["é"], [None], ["'\""], ["1e3"], ["\ud800"]],
        [["a", "b"], ["c", "d"]],
        [["a", "1"], [None, "2"]],
    ],
)
@pytest.mark.parametrize("labels", [None, "labelled"])
def test_rows_are_hashed_as_python_writes_them(rows, labels):
    """The rule itself, cell by cell: it must stay what it is, for models keep such fingerprints."""
    y = None if labels is None else [f"class {k % 2}" for k in range(len(rows))]

    def content(row):
        cells = []
        for cell in row:
            number = math.nan if cell is None else cell if isinstance(cell, float) else parse_number(cell)
            cells.append(cell if number is None else number + 0.0)
        if all(isinstance(cell, float) for cell in cells):
            return struct.pack(f"={len(cells)}d", *cells)
        return repr(tuple(cells)).encode("utf-8", "surrogatepass")

    expected = [
        hashlib.blake2b(content(row) + (b"" if y is None else repr(y[k]).encode()), digest_size=8).digest()
        for k, row in enumerate(rows)
    ]
    table = np.array(rows, dtype=object)
    found = row_fingerprints(table, y)
    assert [int(value).to_bytes(8, "little") for value in found] == expected
