"""Texts by their shapes: read together they are what each of them is alone."""

from datetime import datetime

import numpy as np
import pytest

from pbgnet.preprocessing import PackedWords, Words
from pbgnet.preprocessing.dates import LAYOUTS, read_dates
from pbgnet.preprocessing.numerals import STYLES, choose_style, parse_styled, read_numbers
from pbgnet.preprocessing.shapes import Shapes

MESSY = (
    *[
        "2020-01-31",
        "2019-02-29",
        "31.01.2020",
        "01/31/2020",
        "2020-1-3",
        "0000-01-01",
        "9999-12-31T23:59:59",
    ],
    *["2020-01-31 12:30", "2020-01-31, 12:30:59,25 pm", "2020-01-31T13:00 pm", "12:30 am", "25:00", "7:05"],
    *[
        "1,234.50 €",
        "1.234,50 €",
        "-$1,234",
        "0,234",
        "0.234",
        "012,345",
        "1e3",
        "1e999",
        "12 %",
        "1-2",
        "+5",
    ],
    *["", " 17 ", "17\N{NO-BREAK SPACE}", "\N{ARABIC-INDIC DIGIT TWO}", "two\nlines", "a" * 70, "1" * 70],
    *["kind 1", "-", ".5", "5.", "\N{MINUS SIGN}7", "1 234", "1 234,5", "\ud800"],
)


def test_shapes_tell_digits_alike() -> None:
    found = Shapes.of(MESSY)
    for text, place in zip(MESSY, found.places.tolist(), strict=True):
        assert found.shapes[place] == "".join("1" if one in "0123456789" else one for one in text)
    assert sorted(np.concatenate(found.members()).tolist()) == list(range(len(MESSY)))
    assert Shapes.of([]).members() == []


@pytest.mark.parametrize("style", STYLES)
def test_numbers_together_are_those_of_each(style: str) -> None:
    alone = [parse_styled(text, style) for text in MESSY]
    wanted = [np.nan if one is None or one[1] not in ("", "€") else one[0] for one in alone]
    np.testing.assert_array_equal(read_numbers(MESSY, style, "€"), wanted)


def test_style_is_chosen_by_all_texts() -> None:
    texts = [f"{k // 100},{k % 100:02d}" for k in range(300)] + ["kind 1", "1.234,5 €", "012.345", "7:05"]
    assert choose_style(Words.of(texts * 2), "auto") == ("comma", "€", 602)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_dates_together_are_those_of_each(layout: str) -> None:
    alone = np.concatenate([read_dates([text], layout) for text in MESSY])
    np.testing.assert_array_equal(read_dates(MESSY, layout), alone)


@pytest.mark.parametrize(
    ("layout", "form"),
    [
        ("year first", "%Y-%m-%dT%H:%M:%S"),
        ("day first", "%d.%m.%Y %H:%M"),
        ("month first", "%m/%d/%Y, %I:%M:%S %p"),
        ("year first", "%Y/%m/%d %H:%M:%S.%f"),
    ],
)
def test_dates_are_those_of_the_calendar(layout: str, form: str) -> None:
    seconds = np.random.default_rng(0).uniform(-2e10, 2.5e11, 500)
    texts = [str(np.datetime64(int(1e6 * one), "us").astype(datetime).strftime(form)) for one in seconds]
    wanted = [(datetime.strptime(text, form) - datetime(1970, 1, 1)).total_seconds() for text in texts]
    np.testing.assert_allclose(read_dates(texts, layout), wanted, rtol=1e-15, atol=1e-6)


@pytest.mark.parametrize(
    "texts", [["2020-01-31 12:30", "1999-12-01 07:05"], ["1.234,50", "0.234,50"], MESSY[:-1]]
)
def test_packed_words_are_read_as_others(texts: list[str]) -> None:
    words = [text.encode() for text in texts]
    starts = np.append(0, np.cumsum([len(word) for word in words]))
    places = np.append(np.arange(len(words))[::-1], -1)
    packed = PackedWords(np.frombuffer(b"".join(words), dtype=np.uint8), starts, places)
    plain = Words(list(texts), places)
    assert list(packed) == list(plain)
    for layout in LAYOUTS:
        np.testing.assert_array_equal(read_dates(packed, layout), read_dates(plain, layout))
    for style in STYLES:
        np.testing.assert_array_equal(read_numbers(packed, style, "€"), read_numbers(plain, style, "€"))
