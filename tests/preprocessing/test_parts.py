"""Tables in parts: the same rows, in the same kinds of columns, as the whole."""

import numpy as np
import pandas as pd
import pytest

from pbgnet.preprocessing import ColumnTable, Words, column_parts, is_source, read_columns
from pbgnet.preprocessing import parts as parts_module


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "number": [1.5, None, 3.0, 4.0, 5.0],
            "word": pd.Series(["a", "b", None, "a", "c"], dtype=object),
            "mixed": pd.Series([1, "two", 3.5, None, "x"], dtype=object),
        }
    )


def test_parts_are_the_rows_of_the_whole_in_order(frame, monkeypatch):
    monkeypatch.setattr(parts_module, "PART_ROWS", 2)
    found = list(column_parts(frame))
    assert [part.shape for part in found] == [(2, 3), (2, 3), (1, 3)]
    whole = read_columns(frame)
    for k, column in enumerate(whole):
        if column.numbers is not None:
            joined = np.concatenate([part.parts[k].numbers for part in found])
            np.testing.assert_array_equal(joined, column.numbers)
        else:
            assert [text for part in found for text in part.parts[k].texts] == list(column.texts)
    np.testing.assert_array_equal(np.concatenate([part["mixed"].typed for part in found]), whole[2].typed)


def test_a_column_table_is_read_as_it_is(frame):
    table = ColumnTable(tuple(read_columns(frame)))
    assert table.columns == ("number", "word", "mixed")
    (word,) = read_columns(table, ["word"])
    assert word is table.parts[1]
    assert not is_source(table)
    assert not is_source(frame)


def test_rows_are_taken_by_index_from_lists_and_from_words(frame):
    rows = np.array([4, 0, 2])
    texts = read_columns(frame)[1]
    assert texts.take(rows).texts == ["c", "a", None]
    coded = ColumnTable((type(texts)("word", None, Words.of(texts.texts)),)).take(rows)
    assert list(coded["word"].texts) == ["c", "a", None]


def test_words_are_computed_once_each():
    texts, calls = Words.of(["x", None, "y", "x", "x"]), []
    found = texts.each(lambda word: calls.append(word) or len(calls), -1)
    assert calls == ["x", "y"]
    assert found.tolist() == [1, -1, 2, 1, 1]
    assert Words.of(texts) is texts
    assert list(texts) == ["x", None, "y", "x", "x"]


@pytest.mark.parametrize("make", [np.asarray, lambda values: pd.DataFrame(values, columns=["a", "b"])])
def test_numbers_are_read_a_part_at_a_time(make, monkeypatch):
    monkeypatch.setattr(parts_module, "PART_ROWS", 2)
    table = make(np.arange(10, dtype=np.float32).reshape(5, 2))
    seen = []
    monkeypatch.setattr(
        parts_module, "read_columns", lambda rows, names: seen.append(len(rows)) or read_columns(rows, names)
    )
    found = list(column_parts(table))
    assert seen == [2, 2, 1], "all of them at once would be twice the table in float64"
    for k, column in enumerate(read_columns(table)):
        joined = np.concatenate([part.parts[k].numbers for part in found])
        assert np.array_equal(joined, column.numbers)
        assert found[0].parts[k].name == column.name
