"""Cells one after the other: the same texts as words of which each is kept once."""

import numpy as np
import pyarrow as pa
import pytest

from pbgnet.preprocessing import CellTexts, Column, ColumnTable, TablePreprocessor, Words, read_numbers
from pbgnet.preprocessing.dates import LAYOUTS, read_dates

NUMBERS = ["1.5", None, "-0", "1.50", "7e3", None, "7e3", "12"]
DATES = ["2020-01-31", None, "1999-12-31", "2020-02-30", "31.01.2020", "", "2020-01-31", "é"]


def cells(texts, *, numbers=False):
    found = np.array([np.nan if text is None else float(text) for text in texts]) if numbers else None
    return CellTexts(len(texts), lambda: pa.array(texts, pa.string()), found)


@pytest.mark.parametrize(("texts", "numbers"), [(NUMBERS, True), (NUMBERS, False), (DATES, False)])
def test_cells_are_words(texts, numbers):
    held, words = cells(texts, numbers=numbers), Words.of(texts)
    assert list(held) == texts == list(held.one_by_one())
    assert held.words == words.words
    assert held.n_present == words.n_present
    np.testing.assert_array_equal(held.counts, words.counts)
    some = np.array([7, 0, 1, 0, 3])
    for rows in (some, slice(2, 6), slice(0, 0)):
        assert list(held.take(rows)) == list(words.take(rows))
    assert list(CellTexts.joined([held, held.take(some)])) == [*texts, *words.take(some)]
    mask = np.arange(len(texts)) % 2 == 1
    assert sorted(held.occurring(mask)) == sorted(words.occurring(mask))
    np.testing.assert_array_equal(read_numbers(held), read_numbers(texts))
    np.testing.assert_array_equal(read_numbers(held, "comma"), read_numbers(texts, "comma"))
    for layout in LAYOUTS:
        np.testing.assert_array_equal(read_dates(held, layout), read_dates(texts, layout))
    both = CellTexts.joined([held, held.take(some)])
    for one, other in ((held, words), (held.take(some), words.take(some)), (both, Words.of(list(both)))):
        (lengths, content), (expected, joined) = one.encoded(), other.encoded()
        np.testing.assert_array_equal(lengths, expected)
        assert bytes(content) == joined
        assert list(one.one_by_one()) == list(one.coded) == list(other)


@pytest.mark.filterwarnings("ignore::pbgnet.exceptions.PBGNetWarning")
@pytest.mark.parametrize("kind", ["numbers", "dates", "ids", "categories", "nothing"])
def test_columns_are_learned_alike(kind):
    rng = np.random.default_rng(0)
    makers = {
        "numbers": lambda k: f"{rng.normal():.3f}",
        "dates": lambda k: f"2020-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}",
        "ids": lambda k: f"person {k}",
        "categories": lambda k: f"kind {rng.integers(9)}",
        "nothing": lambda k: None,
    }
    texts = [makers[kind](k) if kind == "ids" or rng.random() < 0.9 else None for k in range(200)]
    tables = [
        ColumnTable((Column("a", None, some), Column("b", np.arange(200.0) % 7, None)))
        for some in (texts, cells(texts, numbers=kind in ("numbers", "nothing")))
    ]
    fitted = [TablePreprocessor().fit(table) for table in tables]
    assert fitted[0].to_dict() == fitted[1].to_dict()
    np.testing.assert_array_equal(*(one.transform(table) for one, table in zip(fitted, tables, strict=True)))
