"""Tables in parts: the same rows, in the same kinds of columns, as the whole."""

import pickle

import numpy as np
import pandas as pd
import pytest

from pbgnet.exceptions import CacheError
from pbgnet.preprocessing import (
    ColumnTable,
    Moments,
    Words,
    code_files,
    column_parts,
    is_source,
    kept_beside,
    read_columns,
    zeros_beside,
)
from pbgnet.preprocessing import parts as parts_module
from pbgnet.preprocessing.dates import read_dates


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


def test_numbers_of_other_types_are_float64_in_parts_which_are_no_views():
    frame = pd.DataFrame({"a": np.arange(3, dtype=np.int8), "b": np.arange(3, dtype=np.float32) / 10})
    (part,) = column_parts(frame)
    for found, column in zip(part.parts, read_columns(frame), strict=True):
        assert found.numbers.dtype == np.float64
        np.testing.assert_array_equal(found.numbers, column.numbers)
    part["a"].numbers[0] = 7.0
    assert frame["a"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("dates", [False, True])
def test_words_that_occur_nowhere_are_left_out_where_they_are_many(dates):
    if dates:
        days = np.arange(np.datetime64("2020-01-01"), np.datetime64("2020-03-01"))
        texts = Moments(days, np.array([40, 3, 40]))
    else:
        texts = Words([f"w{k}" for k in range(60)], np.array([40, -1, 40]))
    few = texts.compact()
    assert list(few) == list(texts)
    assert few.n_words == len(few.words) == (2 if dates else 1) < texts.n_words
    assert few.compact() is few
    assert type(few) is type(texts)


def test_parts_are_joined_again_whatever_they_hold(frame):
    days = np.array(
        ["2020-01-02", "NaT", "2020-01-01", "2020-01-02T03:04:05.5", "1999-12-31"], "datetime64[ms]"
    )
    whole = ColumnTable(tuple(read_columns(frame.assign(day=days))))
    cut = [whole.take(rows) for rows in (slice(0, 2), slice(2, 2), np.array([2, 3]), slice(4, 5))]
    joined = ColumnTable.joined(cut)
    for found, column in zip(joined.parts, whole.parts, strict=True):
        if column.numbers is not None:
            np.testing.assert_array_equal(found.numbers, column.numbers)
        else:
            assert list(found.texts) == list(column.texts)
            assert (found.dates, found.typed is None) == (column.dates, column.typed is None)
    assert isinstance(joined["day"].texts, Moments)  # never read back from texts
    np.testing.assert_array_equal(joined["mixed"].typed, whole["mixed"].typed)


def test_dates_of_a_table_are_the_numbers_that_their_texts_are_read_as():
    moments = np.array(
        ["2020-02-29T13:45:59.123456789", "0001-01-01", "1969-12-31T23:59:59.9", "NaT"], "M8[ns]"
    )
    long_ago = np.array(["0001-01-01T00:00:01.25", "9999-12-31T23:59:59", "10000-01-01"], "M8[ms]")
    for values in (moments[[0, 2, 3]], long_ago):
        dates = Moments.read(values)
        np.testing.assert_array_equal(read_dates(dates, "day first"), read_dates(list(dates), "day first"))
    assert np.isnan(read_dates(Moments.read(long_ago), "year first")[2])


def test_few_rows_keep_their_own_words_alone():
    texts = Words.of(["a", None, "b", "c"]).take(np.array([2, 1]))
    assert (texts.words, list(texts)) == (["b"], ["b", None])
    dates = Moments.read(np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "M8[D]")).take(np.array([1]))
    assert dates.words == ["2020-01-02T00:00:00"]


def test_many_codes_of_a_source_are_mapped_and_gathered_from_a_file(tmp_path, monkeypatch):
    codes = np.arange(24, dtype=np.uint8).reshape(8, 3)
    assert not isinstance(code_files.collect_codes([codes], codes.shape, codes.dtype), np.memmap)
    monkeypatch.setattr(code_files, "HELD_BYTES", 6)
    monkeypatch.setattr(code_files, "GATHERED_ROWS", 2)
    mapped = code_files.collect_codes([codes[:5], codes[5:]], codes.shape, codes.dtype, tmp_path)
    assert isinstance(mapped, np.memmap)
    assert list(tmp_path.iterdir()) == []  # the file has no name
    np.testing.assert_array_equal(mapped, codes)
    rows = np.array([7, 0, 3, 3, 1])
    for some in (rows, np.isin(np.arange(8), rows)):
        gathered = code_files.gather_codes(mapped, some, tmp_path)
        assert isinstance(gathered, np.memmap)
        np.testing.assert_array_equal(gathered, codes[some])
    assert not isinstance(code_files.gather_codes(mapped, rows[:1], tmp_path), np.memmap)
    assert not isinstance(
        code_files.collect_codes([codes], codes.shape, codes.dtype, mapped=False), np.memmap
    )


def test_what_belongs_to_rows_of_a_source_is_mapped_from_a_file_that_takes_what_is_written(
    tmp_path, monkeypatch
):
    values = np.arange(24, dtype=np.uint64).reshape(3, 8)
    assert code_files.mapped_copy(values, tmp_path) is values
    monkeypatch.setattr(code_files, "HELD_BYTES", 100)
    monkeypatch.setattr(code_files, "ZEROED_BYTES", 50)
    assert code_files.mapped_zeros((2,), np.int64).tolist() == [0, 0]
    mapped = code_files.mapped_copy(values, tmp_path)
    assert mapped is not values
    assert not mapped.flags.owndata
    assert list(tmp_path.iterdir()) == []  # the file has no name
    assert (
        type(pickle.loads(pickle.dumps(mapped))) is type(mapped) is np.ndarray
    )  # no file in another process
    np.testing.assert_array_equal(mapped, values)
    mapped[1] += 1
    np.testing.assert_array_equal(mapped - values, [[0] * 8, [1] * 8, [0] * 8])
    with pytest.raises(CacheError, match="nowhere"):
        code_files.mapped_zeros((200,), np.int64, tmp_path / "nowhere")


def test_what_belongs_to_rows_of_a_table_in_memory_stays_there(frame, monkeypatch):
    monkeypatch.setattr(code_files, "HELD_BYTES", 0)
    values = np.arange(5)
    assert kept_beside(frame, values) is values
    assert zeros_beside(frame, (5,), np.uint64).flags.owndata
