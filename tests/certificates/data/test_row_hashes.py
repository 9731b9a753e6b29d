"""Rows have one hash, whatever container they come in."""

import hashlib
import io
import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.certificates.data.conftest import CutSource

from pbgnet.certificates.data import count_duplicates, row_fingerprints
from pbgnet.certificates.data.siphash import siphash
from pbgnet.exceptions import ShapeError
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


def test_true_and_false_are_alike_in_a_frame_and_in_its_values():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [True, False, True, False], "b": [1.5, 2.5, 1.5, 1.5]})
    expected = row_fingerprints(frame)
    assert len(set(expected.tolist())) == 3
    for values in (frame.to_numpy(), frame.astype(float), frame.astype(str), frame.to_numpy().tolist()):
        np.testing.assert_array_equal(row_fingerprints(values), expected)
    only = frame[["a"]]
    np.testing.assert_array_equal(row_fingerprints(only), row_fingerprints(only.to_numpy()))


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


def test_rounded_to_six_digits_near_rows_are_one():
    X = np.array([[1.0, -3.25], [1.0 + 1e-9, -3.25], [1.0 + 1e-4, -3.25], [1.0, -3.25]])
    near = row_fingerprints(X, rounding="six digits")
    assert near[0] == near[1] == near[3] != near[2]
    for form in (sparse.csr_matrix(X), X.astype(object)):
        np.testing.assert_array_equal(row_fingerprints(form, rounding="six digits"), near)
    mixed = np.array([["red", 1.5], ["red", 1.5 + 1e-9], ["blue", 1.5]], dtype=object)
    one, two, three = row_fingerprints(mixed, rounding="six digits")
    assert one == two != three
    extremes = np.array([[5e-324], [1.7e308], [np.inf], [-np.inf], [np.nan], [0.0]])
    assert len(set(row_fingerprints(extremes, rounding="six digits").tolist())) == 6


@pytest.mark.parametrize("rounding", ["exact", "float32", "six digits", np.array([True, False, True])])
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_where_numbers_are_cut_into_blocks_does_not_matter(monkeypatch, rounding, size):
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[X < 0.3] = 0.0
    monkeypatch.setattr("pbgnet.certificates.data.walk.PART_CELLS", size)
    monkeypatch.setattr("pbgnet.certificates.data.row_hashes.BLOCK_CELLS", max(1, size // 2))
    monkeypatch.setattr("pbgnet.preprocessing.parts.PART_ROWS", size)
    whole = row_fingerprints(X, rounding=rounding)
    forms = (sparse.csr_matrix(X), sparse.csc_array(X), X.astype(object), X.tolist())
    for form in forms:
        np.testing.assert_array_equal(row_fingerprints(form, rounding=rounding), whole)
    alone = [row_fingerprints(X[k : k + 1], rounding=rounding)[0] for k in range(len(X))]
    np.testing.assert_array_equal(np.array(alone), whole)


@pytest.mark.parametrize("rounding", ["exact", "float32", "six digits"])
def test_mixed_rows_are_read_in_parts_each_by_itself(monkeypatch, rounding):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(40, 3)).astype(object)
    X[rng.random(X.shape) < 0.3] = "red"
    X[rng.random(X.shape) < 0.1] = None
    whole = row_fingerprints(X, rounding=rounding)
    monkeypatch.setattr("pbgnet.preprocessing.parts.PART_ROWS", 7)
    np.testing.assert_array_equal(row_fingerprints(X, rounding=rounding), whole)
    alone = [row_fingerprints(X[k : k + 1], rounding=rounding)[0] for k in range(len(X))]
    np.testing.assert_array_equal(np.array(alone), whole)
    assert len(set(whole.tolist())) == len({tuple(row) for row in X.tolist()})


MASK = 2**64 - 1


def stirred(value):
    """The finaliser of SplitMix64, as its authors write it."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def first_bits(text):
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "little")


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
def test_rows_are_hashed_cell_by_cell(rows, labels):
    """The rule itself: models keep such hashes, so that it must stay what it is."""
    y = None if labels is None else [f"class {k % 2}" for k in range(len(rows))]

    def bits(cell):
        number = math.nan if cell is None else cell if isinstance(cell, float) else parse_number(cell)
        if number is None:
            return first_bits(cell)
        return int.from_bytes(struct.pack("<d", number + 0.0), "little")

    def salt(place):
        return stirred((place + 1) * 0x9E3779B97F4A7C15 & MASK)

    def expected(k):
        cells = [stirred(bits(cell) + salt(place) & MASK) for place, cell in enumerate(rows[k])]
        label = 0 if y is None else stirred(first_bits(repr(y[k])) + salt(-2) & MASK)
        return int(siphash(np.array([sum(cells) & MASK], dtype=np.uint64))[0]) + label & MASK

    found = row_fingerprints(np.array(rows, dtype=object), y)
    assert found.tolist() == [expected(k) for k in range(len(rows))]


@given(st.floats(allow_nan=False, width=64))
def test_six_digits_are_the_nearest_number_of_twenty_bits(number):
    from pbgnet.certificates.data.row_hashes import ROUNDINGS

    (found,) = ROUNDINGS["six digits"](np.array([[number]]), np.array([0]))[0]
    mantissa, exponent = math.frexp(number)
    if abs(number) < 2.0**-1022 or math.isinf(number):
        assert found == number
        return
    nearest = round(mantissa * 2**20)
    assert found == (math.ldexp(nearest, exponent - 20) if exponent < 1024 or abs(nearest) < 2**20 else found)
    assert math.isinf(found) or abs(found - number) <= math.ldexp(1.0, exponent - 21)


@pytest.mark.parametrize(("values", "n_columns"), [(32, 3), (2, 15)])
def test_near_rows_share_no_hash(values, n_columns):
    """Small whole numbers, which as float64 differ in few bits."""
    grid = np.stack(np.meshgrid(*[np.arange(float(values))] * n_columns), axis=-1).reshape(-1, n_columns)
    assert count_duplicates(row_fingerprints(grid)) == 0


def test_a_table_with_other_rows_than_it_says_is_refused():
    source = CutSource(np.array([[1.0], [2.0]]))
    source.shape = (3, 1)
    with pytest.raises(ShapeError, match="should have 3 rows, but 2 were read"):
        row_fingerprints(source)
