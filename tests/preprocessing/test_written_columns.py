"""Columns as people write them: styles of numbers, dates, names of rows, and cells that do not fit."""

import json
import time as clock
import warnings
from datetime import date, datetime, time, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbgnet.exceptions import (
    DomainError,
    EmptyColumnWarning,
    IdColumnWarning,
    ManyCategoriesWarning,
    OddCellsWarning,
    UnseenCategoryWarning,
)
from pbgnet.preprocessing import DateColumn, NumericColumn, TablePreprocessor, coded, read_numbers
from pbgnet.preprocessing.dates import choose_layout, part_of, read_dates
from pbgnet.preprocessing.moments import Moments
from pbgnet.preprocessing.numerals import UNITS, choose_style, parse_number, parse_styled
from pbgnet.preprocessing.words import Words

pd = pytest.importorskip("pandas", reason="frames come from pandas, which is not installed")


def fit_one(values, **parameters):
    """Fit a frame of this column, and return what it became with the preprocessor."""
    preprocessor = TablePreprocessor(**parameters).fit(pd.DataFrame({"c": values}))
    return preprocessor.columns_[0], preprocessor


@pytest.mark.parametrize(
    ("text", "style", "expected"),
    [
        ("1,5", "comma", (1.5, "")),
        ("1.234,5", "comma", (1234.5, "")),
        ("1.234.567", "comma", (1234567.0, "")),
        ("-12,50 €", "comma", (-12.5, "€")),
        ("EUR 12,50", "comma", (12.5, "EUR")),
        ("1,234.50", "point", (1234.5, "")),
        ("1'234.5", "point", (1234.5, "")),
        ("1\N{NARROW NO-BREAK SPACE}234", "point", (1234.0, "")),
        ("$1,234", "point", (1234.0, "$")),
        ("-$5", "point", (-5.0, "$")),
        ("$-5", "point", (-5.0, "$")),
        ("\N{MINUS SIGN}5", "point", (-5.0, "")),
        ("12.5 %", "point", (12.5, "%")),
        ("1e3", "point", (1000.0, "")),
        ("1e3", "plain", (1000.0, "")),
        (".5", "point", (0.5, "")),
        # thousands come in threes, do not begin with 0, and are apart by one mark
        ("12,34", "point", None),
        ("0,123", "point", None),
        ("1,234'567", "point", None),
        ("1,5", "plain", None),
        ("1.5", "comma", None),
        ("--5", "point", None),
        ("-$-5", "point", None),
        ("$5 %", "point", None),
        ("1e999", "point", None),
        ("5 apples", "point", None),
        ("", "comma", None),
        ("%", "point", None),
    ],
)
def test_numbers_are_read_in_their_style(text, style, expected):
    assert parse_styled(text, style) == expected
    value = read_numbers([text, None], style, expected[1] if expected else "")
    np.testing.assert_array_equal(value, [np.nan if expected is None else expected[0], np.nan])


@pytest.mark.parametrize(
    ("cells", "style", "unit"),
    [
        (["1.5", "2", "1e3"], "plain", ""),
        (["1,5", "2", "3,25"], "comma", ""),
        (["1,234", "5,678"], "point", ""),  # ambiguous: thousands
        (["1.234", "5.678"], "plain", ""),
        (["1.234", "5,5"], "comma", ""),
        (["1.234,50 €", "5 €"], "comma", "€"),
        (["12 %", "13%", "14"], "point", "%"),
        (["$1,000.5", "$2"], "point", "$"),
    ],
)
def test_the_style_that_reads_most_is_chosen(cells, style, unit):
    assert choose_style(Words.of(cells), "auto") == (style, unit, len(cells))
    column, _ = fit_one(cells)
    assert (column.kind, column.style, column.unit) == ("numeric", style, unit)


def test_the_decimal_sign_can_be_said():
    assert fit_one(["1,234", "5,678"], decimal=",")[0].median == pytest.approx(3.456)
    assert fit_one(["1,234", "5,678"], decimal=".")[0].median == pytest.approx(3456)
    assert fit_one(["1.234", "5.678"], decimal=",")[0].median == pytest.approx(3456)
    assert fit_one(["1,5", "2,5"], decimal=".")[0].kind == "categorical"
    with pytest.raises(ValueError, match="decimal"):
        fit_one(["1"], decimal=";")


def test_two_currencies_are_not_one_kind_of_number():
    assert fit_one(["$5", "€5", "$6", "€6"])[0].kind == "categorical"
    column, preprocessor = fit_one(["$5", "$6", "7"])
    with pytest.warns(UnseenCategoryWarning, match="treated as missing: column 'c': '€6'"):
        out = preprocessor.transform(pd.DataFrame({"c": ["€6", "$6"]}))
    np.testing.assert_array_equal(out[0], out[1])  # the median, 6
    assert column.unit == "$"


@pytest.mark.parametrize("unit", UNITS)
def test_the_style_survives_json_and_reads_later_cells_alike(unit):
    cells = [f"1.234,5 {unit}".strip(), f"{unit}2,5", "7"]
    column, preprocessor = fit_one(cells)
    assert (column.style, column.unit) == ("comma", unit)
    again = TablePreprocessor.from_dict(json.loads(json.dumps(preprocessor.to_dict())))
    assert again.to_dict() == preprocessor.to_dict()
    later = pd.DataFrame({"c": ["1234,5", "2,5", "7"]})
    np.testing.assert_array_equal(again.transform(later), preprocessor.transform(pd.DataFrame({"c": cells})))


def test_numbers_among_texts_are_no_matter_of_style():
    _, preprocessor = fit_one(["1.234,5", "2,5", 1.234, 7])
    assert preprocessor.columns_[0].style == "comma"
    assert preprocessor.columns_[0].median == pytest.approx((2.5 + 7) / 2)
    alone = preprocessor.transform(pd.DataFrame({"c": [1.234]}))
    with pytest.warns(UnseenCategoryWarning, match="column 'c': 'x'"):
        beside = preprocessor.transform(pd.DataFrame({"c": [1.234, "x", True]}))
    np.testing.assert_array_equal(beside[:1], alone)
    assert not np.array_equal(preprocessor.transform(pd.DataFrame({"c": ["1.234"]})), alone)


def test_fast_and_careful_reading_agree():
    random = np.random.default_rng(0)
    numbers = random.normal(size=200) * 10.0 ** random.integers(-300, 300, 200)
    texts = [repr(value) for value in numbers.tolist()]
    expected = [parse_number(text) for text in texts]
    np.testing.assert_array_equal(read_numbers(texts), expected)
    np.testing.assert_array_equal(read_numbers([*texts, "word"])[:-1], expected)
    np.testing.assert_array_equal(read_numbers([f" {text} " for text in texts]), expected)
    np.testing.assert_array_equal(read_numbers(["1e999", "-1e999", "5"]), [np.nan, np.nan, 5])
    np.testing.assert_array_equal(read_numbers(["1-2", "1.2.3", "e5", "", "1e999", "5"]), [np.nan] * 5 + [5])


def numbers_with(odd, n=100):
    cells = [str(k % 37 + 0.5) for k in range(n)]
    for row, text in odd.items():
        cells[row] = text
    return cells


def test_a_column_that_is_nearly_all_numbers_names_the_rows_that_are_not():
    with pytest.warns(
        OddCellsWarning, match=r"'c' contains numbers, except in row 3 \('abc'\), row 40 \('-'\):"
    ):
        column, preprocessor = fit_one(numbers_with({3: "abc", 40: "-"}))
    assert isinstance(column, NumericColumn)
    assert column.missing
    out = preprocessor.transform(pd.DataFrame({"c": ["1.5", None]}))
    assert out[:, -1].tolist() == [0, 1]
    with pytest.warns(UnseenCategoryWarning, match="'-'"):
        np.testing.assert_array_equal(preprocessor.transform(pd.DataFrame({"c": ["-"]})), out[1:])
    assert fit_one(numbers_with({3: "abc", 40: "-", 41: "x"}))[0].kind == "categorical"  # 97 %


def test_rows_are_named_as_the_frame_names_them():
    frame = pd.DataFrame({"c": numbers_with({3: "abc"}), "d": numbers_with({})})
    frame.index = pd.RangeIndex(2, 102, name="line")
    with pytest.warns(OddCellsWarning, match=r"except in line 5 \('abc'\)"):
        TablePreprocessor().fit(frame.iloc[2:])
    with pytest.warns(OddCellsWarning, match=r"except in fitted row 1 \('abc'\)"):
        TablePreprocessor().fit(frame.to_numpy(dtype=object)[2:])


@pytest.mark.parametrize(
    ("texts", "layout"),
    [
        (["2020-01-31", "2020/2/1", "2020-02-01T12:30", "2020-02-01 12:30:59.5+02:00"], "year first"),
        (["31.01.2020", "01.02.2020 12:30"], "day first"),
        (["31/01/2020", "01/02/2020"], "day first"),
        (["01/31/2020", "01/02/2020", "2/3/2020, 1:30 PM"], "month first"),
        (["01/02/2020"], "month first"),  # ambiguous
        (["01.02.2020"], "day first"),  # ambiguous
        (["12:30", "1:05:30", "1:30 pm"], "time"),
    ],
)
def test_layouts_of_dates(texts, layout):
    chosen, read = choose_layout(Words.of(texts))
    assert chosen == layout
    assert not np.isnan(read).any()
    column, _ = fit_one([*texts, texts[0]])
    assert (column.kind, column.layout) == ("date", layout)


@pytest.mark.parametrize(
    "text",
    [
        *["2020-02-30", "2020-13-01", "2020-00-10", "2020-01-00", "2020-01-31 24:00", "2020-01-31 13:00 pm"],
        *["2020-01-31 12:60", "2020-01-31 12:30:60", "0000-01-01", "31 January", "2020-01", "20-01-31", "x"],
        "",
    ],
)
def test_what_is_no_date(text):
    assert np.isnan(read_dates([text], "year first")).all()


def test_dates_agree_with_the_calendar():
    moments = [datetime(1900, 3, 1) + timedelta(days=97, hours=7, minutes=11) * k for k in range(600)]
    seconds = read_dates([moment.isoformat(" ") for moment in moments], "day first")
    parts = {which: part_of(which, seconds) for which in ("days", "year", "month", "weekday", "hour")}
    zero = datetime(1970, 1, 1)
    np.testing.assert_allclose(parts["days"], [(moment - zero) / timedelta(days=1) for moment in moments])
    assert parts["year"].tolist() == [moment.year for moment in moments]
    assert parts["month"].tolist() == [moment.month for moment in moments]
    assert parts["weekday"].tolist() == [moment.isoweekday() for moment in moments]
    assert parts["hour"].tolist() == [moment.hour for moment in moments]
    assert np.isnan(part_of("year", np.array([np.nan]))).all()


MOMENTS = [
    datetime(2020, 1, 31, 12, 30),
    None,
    datetime(2021, 7, 1, 8),
    datetime(2022, 7, 2, 8, 0, 0, 250000),
]


def test_a_date_becomes_a_number_and_its_parts():
    column, preprocessor = fit_one(MOMENTS, numbers="standard")
    names = ["c", "c_missing", "c_year", "c_month", "c_weekday", "c_hour"]
    assert isinstance(column, DateColumn)
    assert list(preprocessor.get_feature_names_out()) == names
    assert [part.name for part in coded(column)] == ["c", *names[2:]]
    assert preprocessor.coded_ == column.parts
    out = preprocessor.transform(pd.DataFrame({"c": MOMENTS}))
    assert out[:, 1].tolist() == [0, 1, 0, 0]
    assert (np.diff(out[[0, 2, 3], 0]) > 0).all()
    again = TablePreprocessor.from_dict(json.loads(json.dumps(preprocessor.to_dict())))
    assert again.to_dict() == preprocessor.to_dict()
    steps = fit_one(["2020-01-01", "2020-01-03", "2020-01-03"], numbers="both")[1].get_feature_names_out()
    assert list(steps)[:2] == ["c", "c>=2020-01-02T00:00:00"]  # neither month nor year vary


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_dates_in_whatever_type_are_one(unit):
    typed = pd.Series(pd.to_datetime(pd.Series(MOMENTS)).astype(f"datetime64[{unit}]"))
    if unit == "s":
        typed[3] = pd.Timestamp(MOMENTS[3]).floor("s")
    moments = [None if pd.isna(value) else value.to_pydatetime() for value in typed]
    texts = [None if moment is None else moment.isoformat(" ") for moment in moments]
    expected = fit_one(typed)[1].to_dict()
    zoned = typed.dt.tz_localize("Europe/Berlin")
    for values in (moments, texts, zoned, zoned.astype(object)):
        preprocessor = fit_one(pd.Series(values, dtype=getattr(values, "dtype", object)))[1]
        assert preprocessor.to_dict() == expected
    # by the types of the table, where texts are not read
    assert fit_one(typed, parse_numbers=False)[1].to_dict()["columns"] == expected["columns"]
    assert fit_one(moments, parse_numbers=False)[0].kind == "date"
    assert fit_one(texts, parse_numbers=False)[0].kind == "categorical"


def test_days_times_and_spans():
    days = [date(2020, 1, 31), date(2020, 2, 29), None]
    column, preprocessor = fit_one(days, parse_numbers=False)
    expected = preprocessor.transform(pd.DataFrame({"c": ["2020-01-31", "2020-02-29 00:00", None]}))
    np.testing.assert_array_equal(preprocessor.transform(pd.DataFrame({"c": days})), expected)
    assert column.shown == ("days", "month", "weekday")
    times = fit_one([time(8), time(9, 30), None], parse_numbers=False)[0]
    assert (times.layout, times.parts[0].median) == ("time", 8.75)
    typed = np.array(["2020-01-01", "NaT"], dtype="datetime64[D]")
    assert list(Moments.read(typed)) == ["2020-01-01T00:00:00", None]
    spans = pd.Series(pd.to_timedelta(["1 h", None, "3 h"]))
    for values in (spans, spans.to_numpy(), [timedelta(hours=1), None, timedelta(hours=3)]):
        assert fit_one(values)[0].median == 7200


def test_later_cells_that_are_no_dates_are_missing():
    with pytest.warns(OddCellsWarning, match=r"'c' contains dates, except in row 7 \('soon'\)"):
        _, preprocessor = fit_one(
            [f"{k % 28 + 1}.{k % 12 + 1}.2020" if k != 7 else "soon" for k in range(60)]
        )
    missing = preprocessor.transform(pd.DataFrame({"c": [None]}))
    with pytest.warns(UnseenCategoryWarning, match="Not dates, so .* 'c': '31.02.2020', '5', 'x'"):
        out = preprocessor.transform(pd.DataFrame({"c": ["31.02.2020", 5.0, "x", "2020-05-06", "6.5.2020"]}))
    np.testing.assert_array_equal(out[:3], np.repeat(missing, 3, axis=0))
    np.testing.assert_array_equal(out[3], out[4])  # the year first is read in every layout


def test_long_texts_are_not_searched_for_long():
    start = clock.process_time()
    hostile = ["-" + " " * 100_000 + "x", "2020-01-01" + " " * 100_000 + "x", "1" + ",000" * 100_000 + "x"]
    assert np.isnan(read_numbers(hostile, "point")).all()
    assert np.isnan(read_dates(hostile, "day first")).all()
    assert clock.process_time() - start < 1


def test_truth_in_words_is_a_category():
    for words in (["yes", "no"], ["true", "false"], ["ja", "nein"], ["Y", "N"]):
        column, _ = fit_one([*words, *words])
        assert column.categories == tuple(sorted(words))


def test_columns_that_name_the_rows_are_left_out():
    random = np.random.default_rng(1)
    n = 200
    frame = pd.DataFrame(
        {
            "row": random.permutation(n),
            "customer": [f"C{k:05d}" for k in range(n)],
            "counted": [str(1000 + 3 * k) for k in range(n)],
            "account": [str(10**18 + 7 * k) for k in range(n)],
            # honest ones
            "amount": random.normal(size=n),
            "salary": random.choice(100_000, n, replace=False) + 20_000.0,
            "age": random.integers(18, 90, n),
            "town": [f"town {k % 90}" for k in range(n)],
            "day": pd.date_range("2020-01-01", periods=n),
            "epoch": 1_600_000_000 + random.choice(10**7, n, replace=False),
        }
    )
    with pytest.warns(
        IdColumnWarning,
        match=r"'row', 'customer', 'counted' and 1 more had .* To learn from them anyway",
    ):
        preprocessor = TablePreprocessor().fit(frame)
    kinds = {column.name: column.kind for column in preprocessor.columns_}
    assert [name for name in frame.columns if kinds[name] == "id"] == [
        "row",
        "customer",
        "counted",
        "account",
    ]
    assert not any(name.startswith(("row", "customer")) for name in preprocessor.get_feature_names_out())
    again = TablePreprocessor.from_dict(json.loads(json.dumps(preprocessor.to_dict())))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        later = frame.assign(row="anything", customer=1.5)
        np.testing.assert_array_equal(again.transform(later), preprocessor.transform(frame))
        kept = TablePreprocessor(drop_ids=False, max_categories=1000).fit(frame)
    assert "id" not in {column.kind for column in kept.columns_}


def test_the_fitted_rows_decide_what_names_rows():
    frame = pd.DataFrame({"id": [f"r{k}" for k in range(60)], "x": np.arange(60) % 7})
    repeated = pd.concat([frame, frame], ignore_index=True)
    with pytest.warns(IdColumnWarning):
        assert TablePreprocessor().fit(repeated.iloc[:60]).columns_[0].kind == "id"
    assert TablePreprocessor().fit(repeated).columns_[0].kind == "categorical"
    assert TablePreprocessor().fit(repeated.iloc[:20]).columns_[0].kind == "categorical"  # too few to tell
    # a table of nothing else is learned from all the same
    assert TablePreprocessor().fit(np.arange(200.0)[:, None]).columns_[0].kind == "numeric"


def test_equal_and_constant_columns_do_no_harm():
    numbers = np.arange(50) % 5 + 0.5
    frame = pd.DataFrame({"a": numbers, "b": numbers, "same": 7, "word": "x", "none": None})
    with pytest.warns(EmptyColumnWarning, match="Column 'none'"):
        preprocessor = TablePreprocessor().fit(frame)
    out = pd.DataFrame(preprocessor.transform(frame), columns=preprocessor.get_feature_names_out())
    np.testing.assert_array_equal(out.filter(regex="^a"), out.filter(regex="^b"))
    assert (out["same"] == 0).all()
    assert (out["word_x"] == 1).all()
    assert [column.kind for column in preprocessor.columns_][-1] == "empty"


def test_a_hundred_thousand_categories_take_seconds_and_few_outputs():
    words = [f"w{k}" for k in range(100_000)] * 2 + ["often"] * 5
    with pytest.warns(ManyCategoriesWarning, match="more than 253 categories"):
        column, preprocessor = fit_one(words)
    assert preprocessor.n_features_out_ == 254
    assert "often" in column.categories
    assert preprocessor.encode(pd.DataFrame({"c": words})).codes.dtype == np.uint8


def test_numbers_in_the_fitted_rows_and_text_later():
    _, preprocessor = fit_one(["1", "2", "4", None])
    with pytest.warns(UnseenCategoryWarning, match="treated as missing: column 'c': 'many', 'inf'"):
        out = preprocessor.transform(pd.DataFrame({"c": ["many", "inf", None, "100", "-100"]}))
    np.testing.assert_array_equal(out[:2], out[[2, 2]])
    np.testing.assert_array_equal(
        out[3:], preprocessor.transform(pd.DataFrame({"c": ["4", "1"]}))
    )  # end bins
    with pytest.raises(DomainError, match="infinity in row 1"):
        fit_one([1.0, np.inf])
    with pytest.warns(OddCellsWarning, match=r"row 5 \('inf'\)"):
        assert fit_one(numbers_with({5: "inf"}))[0].kind == "numeric"


PRIOR = 40
COLUMNS = {
    "plain": [k % 7 + 0.25 for k in range(PRIOR + 5)],
    "comma": [f"{k % 9},5 €" for k in range(PRIOR + 5)],
    "mixed": [f"1.23{k % 9},5" if k % 2 else k % 5 + 0.125 for k in range(PRIOR + 5)],
    "day": list(pd.date_range("2020-01-01", periods=PRIOR + 5, freq="17h")),
    "text day": [f"{k % 28 + 1}/{k % 12 + 1}/2020" for k in range(PRIOR + 5)],
    "span": [timedelta(minutes=k % 13) for k in range(PRIOR + 5)],
    "word": ["red" if k % 3 else "blue" for k in range(PRIOR + 5)],
    "truth": [k % 3 == 0 for k in range(PRIOR + 5)],
    "name": [f"n{k}" for k in range(PRIOR + 5)],
}
cells = st.one_of(
    st.none(),
    st.text(max_size=4),
    st.floats(),
    st.integers(-(10**6), 10**6),
    st.booleans(),
    st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)),
    st.dates(date(1900, 1, 1), date(2100, 1, 1)),
    st.times(),
    st.timedeltas(timedelta(0), timedelta(days=9)),
    st.sampled_from(["1.234", "1,5", "n0", "31.12.2020", "12/31/2020", "inf", "5 $", "12:30", "True"]),
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(COLUMNS)), st.integers(PRIOR, PRIOR + 4), cells)
def test_a_later_cell_has_no_say_in_what_others_become(name, row, cell):
    frame = pd.DataFrame(COLUMNS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = TablePreprocessor().fit(frame.iloc[:PRIOR])
        values = frame[name].astype(object).tolist()
        values[row] = cell
        for column in (pd.Series(values), pd.Series(values, dtype=object)):
            changed = frame.assign(**{name: column})
            preprocessor = TablePreprocessor().fit(changed.iloc[:PRIOR])
            assert preprocessor.to_dict() == expected.to_dict()
            others = np.arange(len(frame)) != row
            found, before = preprocessor.transform(changed), expected.transform(frame)
            np.testing.assert_array_equal(found[others], before[others])
            alone = preprocessor.transform(changed.iloc[row : row + 1])
            np.testing.assert_array_equal(found[row : row + 1], alone)
