"""One walk through a table: the same facts wherever it is cut, in whatever form it comes."""

import hashlib
import math
import struct

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.certificates.data.conftest import CutSource

from pbgnet.certificates.data import (
    LabelledRows,
    Split,
    TableFacts,
    by_hash_of,
    describe_data,
    fingerprint_features,
    row_fingerprints,
    single_columns,
    unchanged_data,
)
from pbgnet.exceptions import DtypeError, UncertifiedError
from pbgnet.preprocessing import Column, ColumnTable, Words

NAMES = ("exact", "float32", "six digits")


def alike(one: TableFacts, other: TableFacts) -> bool:
    hashes = zip((one.exact, one.single, one.near), (other.exact, other.single, other.near), strict=True)
    return one.features == other.features and all(np.array_equal(*pair) for pair in hashes)


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "number": [1.5, None, 0.1, 1e300, -0.0, 7.0],
            "word": pd.Series(["a", "2.5", None, "a", "ß", ""], dtype=object),
            "mixed": pd.Series([1, "two", 3.5, None, "x", "1"], dtype=object),
            "sure": [True, False, True, True, False, False],
            "kind": pd.Categorical(["u", "v", None, "u", "u", "w"]),
            "day": pd.to_datetime(["2024-05-31", None, "2024-06-01", "2024-06-01", None, "2024-06-02"]),
        }
    )


cells = st.none() | st.floats(allow_nan=False) | st.integers(-3, 3) | st.sampled_from(["a", "b", "1", "0.50"])


@given(st.data(), st.lists(st.tuples(cells, cells, st.floats()), min_size=1, max_size=12))
def test_where_a_source_is_cut_does_not_matter(data, rows):
    table = pd.DataFrame(rows, columns=["a", "b", "c"]).astype({"a": object, "b": object})
    cuts = data.draw(st.lists(st.integers(0, len(rows)), max_size=5))
    whole, source = TableFacts.of(table), CutSource(table, cuts)
    assert alike(TableFacts.of(source), whole)
    assert source.walks == 1
    assert describe_data(source, range(len(rows))) == describe_data(table, range(len(rows)))
    np.testing.assert_array_equal(single_columns(source), single_columns(table))
    for name, found in zip(NAMES, (whole.exact, whole.single, whole.near), strict=True):
        np.testing.assert_array_equal(row_fingerprints(source, rounding=name), found)


@pytest.mark.parametrize("size", [1, 4, 1 << 20])
def test_neither_parts_nor_the_form_of_a_table_matter(frame, monkeypatch, size):
    whole = TableFacts.of(frame)
    monkeypatch.setattr("pbgnet.preprocessing.parts.PART_ROWS", size)
    monkeypatch.setattr("pbgnet.certificates.data.walk.PART_CELLS", size)
    assert alike(TableFacts.of(frame), whole)
    assert alike(TableFacts.of(CutSource(frame, [0, 1, 5])), whole)
    assert alike(TableFacts.of(frame.set_axis(list("abcdef"), axis=1)), whole)
    numbers = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    forms = (
        numbers,
        numbers.tolist(),
        np.asfortranarray(numbers),
        pd.DataFrame(numbers),
        numbers.astype(object),
    )
    assert all(alike(TableFacts.of(form), TableFacts.of(numbers.astype(np.float64))) for form in forms)
    matrix = sparse.random_array((9, 4), density=0.4, rng=0)
    whole = TableFacts.of(matrix.tocsr())
    assert alike(TableFacts.of(matrix.tocsc()), whole)
    np.testing.assert_array_equal(whole.near, TableFacts.of(matrix.toarray()).near)


def test_the_columns_of_a_frame_can_be_chosen(frame):
    some = ["mixed", "number"]
    assert alike(TableFacts.of(frame, some), TableFacts.of(frame[some]))
    assert alike(TableFacts.of(CutSource(frame, [2]), some), TableFacts.of(frame[some]))
    assert alike(TableFacts.of(frame, ["mixed", "other"]), TableFacts.of(frame))


def test_labels_count_where_they_are_given(frame):
    facts, y = TableFacts.of(frame), ["p", "q", "p", "p", "p", "q"]
    np.testing.assert_array_equal(facts.labelled(y).exact, row_fingerprints(frame, y))
    assert not np.isin(facts.labelled(y).near, facts.near).any()
    assert facts.labelled(None) is facts


def test_words_of_a_dictionary_that_stand_elsewhere_do_not_count():
    words, places = [f"w{k}" for k in range(100)], np.array([99, -1, 3, 99])
    few = ColumnTable((Column("a", None, [None if k < 0 else words[k] for k in places.tolist()]),))
    many = ColumnTable((Column("a", None, Words(words, places)),))
    assert alike(TableFacts.of(few), TableFacts.of(many))
    gaps = [Column("a", None, Words(["x"], np.array([-1, -1]))), Column("a", np.full(2, np.nan), None)]
    one, other = (TableFacts.of(ColumnTable((column,))) for column in gaps)
    assert alike(one, other), "a column without any value is of no kind"


def test_a_column_that_changes_its_kind_is_refused():
    parts = [ColumnTable((Column("a", np.ones(2), None),)), ColumnTable((Column("a", None, ["x"]),))]

    class Changing(CutSource):
        def batches(self):
            return iter(parts)

    source = Changing(parts[0])
    source.shape = (3, 1)
    with pytest.raises(DtypeError, match="Column 1 contains numbers in some parts of the table and texts in"):
        TableFacts.of(source)


def test_the_digest_is_what_the_documents_say():
    def digest(form, *cells):
        return hashlib.sha256(struct.pack(form, *cells)).digest()

    expected = hashlib.sha256(b"table:3:(3,)\n")
    expected.update(b"numbers:" + digest("<3d", 1.5, math.nan, -2.0))
    texts = b"\xc3\xa9\xed\xa0\x80"  # é, and half of a pair
    expected.update(b"texts:" + digest("<3q", 2, -1, 3) + hashlib.sha256(texts).digest())
    expected.update(b"empty:" + bytes(32))
    rows = [[1.5, "é", None], [None, None, None], [-2, "\ud800", None]]
    assert fingerprint_features(np.array(rows, dtype=object)) == expected.hexdigest()


def test_a_source_is_walked_once_for_all_that_is_known_of_its_rows(frame):
    source, y = CutSource(frame, [3]), [0, 1, 0, 1, 1, 1]
    rows, held = LabelledRows(source, y), LabelledRows(frame, y)
    assert rows.data == held.data == describe_data(frame, y)
    assert rows.set_fingerprint == held.set_fingerprint
    np.testing.assert_array_equal(rows.near_fingerprints, held.near_fingerprints)
    np.testing.assert_array_equal(rows.single_fingerprints, held.single_fingerprints)
    split = Split.of_table(rows, fraction=0.5, seed=3)
    np.testing.assert_array_equal(split.prior_rows, Split.of_table(held, fraction=0.5, seed=3).prior_rows)
    assert source.walks == 1
    with unchanged_data(source, y, rows.facts) as data:
        assert data == rows.data
    assert source.walks == 1, "nobody can change a source in place"
    labels = np.array(y)
    with (
        pytest.raises(UncertifiedError, match="changed the rows or their labels"),
        unchanged_data(source, labels),
    ):
        labels[0] = 1


def test_cases_that_are_numbers_or_write_them_go_to_the_same_side():
    names = np.arange(200)
    y = names % 2
    sides = [
        Split.of_table(
            LabelledRows(pd.DataFrame({"case": case}), y), by_hash_of("case", 0.25, seed=5)
        ).prior_rows
        for case in (names, names.astype(float), names.astype(str))
    ]
    np.testing.assert_array_equal(sides[0], sides[1])
    np.testing.assert_array_equal(sides[0], sides[2])
    assert 25 < sides[0].size < 75
