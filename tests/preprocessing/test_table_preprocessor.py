"""Tables of mixed types: what each column becomes, what is refused, and an exact memory."""

import copy
import json
import math
import time
import warnings
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
    DtypeError,
    EmptyColumnWarning,
    ManyCategoriesWarning,
    ShapeError,
    UnseenCategoryWarning,
)
from pbgnet.preprocessing import TablePreprocessor, check_columns, column_names, read_columns, take_rows

pd = pytest.importorskip("pandas", reason="frames come from pandas, which is not installed")


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "age": [20.0, np.nan, 40.0, 60.0],
            "size": [1, 2, 3, 4],
            "colour": ["red", None, "blue", "red"],
            "member": [True, False, True, True],
            "code": ["1", "2", "1", "1"],
            "same": [7.0, 7.0, 7.0, 7.0],
        }
    )


def objects(rows) -> np.ndarray:
    return np.array(rows, dtype=object)


def test_every_kind_of_column_becomes_what_is_documented(frame):
    preprocessor = TablePreprocessor("standard", parse_numbers=False).fit(frame)
    out = preprocessor.transform(frame)
    names = list(preprocessor.get_feature_names_out())
    assert names == [
        *["age", "age_missing", "size", "colour_blue", "colour_red", "colour_missing"],
        *["member_False", "member_True", "code_1", "code_2", "same"],
    ]
    column = dict(zip(names, out.T, strict=True))
    age = np.array([20.0, 40.0, 40.0, 60.0])
    present = age[[0, 2, 3]]  # the missing one has no say
    np.testing.assert_allclose(column["age"], (age - present.mean()) / present.std(), rtol=1e-15)
    np.testing.assert_array_equal(column["age_missing"], [0, 1, 0, 0])
    np.testing.assert_array_equal(column["colour_missing"], [0, 1, 0, 0])
    np.testing.assert_array_equal(column["colour_red"], [1, 0, 0, 1])
    np.testing.assert_array_equal(column["member_True"], [1, 0, 1, 1])
    np.testing.assert_array_equal(column["code_1"], [1, 0, 1, 1])
    np.testing.assert_array_equal(column["same"], np.zeros(4))
    assert out.dtype == np.float64


def test_only_the_fitted_rows_decide(frame):
    preprocessor = TablePreprocessor().fit(frame.iloc[:2])
    alone = preprocessor.transform(frame.iloc[1:2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenCategoryWarning)
        together = preprocessor.transform(frame)
    np.testing.assert_array_equal(together[1:2], alone)


def test_columns_are_found_by_name_in_any_order(frame):
    preprocessor = TablePreprocessor().fit(frame)
    shuffled = frame[["same", "code", "age", "colour", "size", "member"]]
    np.testing.assert_array_equal(preprocessor.transform(shuffled), preprocessor.transform(frame))


def test_nullable_and_categorical_types(frame):
    nullable = frame.convert_dtypes()
    nullable["colour"] = frame["colour"].astype("category")
    preprocessor = TablePreprocessor().fit(frame)
    np.testing.assert_array_equal(preprocessor.transform(nullable), preprocessor.transform(frame))
    assert TablePreprocessor().fit(nullable).to_dict() == preprocessor.to_dict()


def test_a_categorical_of_numbers_stays_categorical():
    frame = pd.DataFrame({"zip": pd.Categorical([1, 2, None, 1])})
    preprocessor = TablePreprocessor().fit(frame)
    assert list(preprocessor.get_feature_names_out()) == ["zip_1", "zip_2", "zip_missing"]
    # the same values as plain numbers are the same categories
    again = preprocessor.transform(pd.DataFrame({"zip": [1.0, 2.0, np.nan, 1.0]}))
    np.testing.assert_array_equal(again, preprocessor.transform(frame))


@pytest.mark.parametrize(
    "missing", [None, math.nan, np.float32("nan"), pd.NA, pd.NaT, Decimal("nan")], ids=repr
)
def test_all_kinds_of_missing_are_one(missing):
    table = objects([["a", 1], [missing, missing], ["a", Decimal("2.5")]])
    preprocessor = TablePreprocessor("standard").fit(table)
    expected = objects([["a", 1.0], [None, None], ["a", 2.5]])
    np.testing.assert_array_equal(preprocessor.transform(table), preprocessor.transform(expected))
    assert list(preprocessor.get_feature_names_out()) == ["x0_a", "x0_missing", "x1", "x1_missing"]


def test_large_integers_and_extreme_values_stay_finite():
    table = np.array([[2**60, 1e308], [2**61, -1e308], [2**62, 5e-324]], dtype=object)
    out = TablePreprocessor("standard").fit_transform(table)
    assert np.isfinite(out).all()
    np.testing.assert_allclose(out.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(out.std(axis=0), 1, rtol=1e-12)
    far = TablePreprocessor().fit(np.array([[0.0], [1e-300]])).transform(np.array([[1e300]]))
    assert np.isfinite(far).all()


@pytest.mark.parametrize("value", [0.1, 1e-320, 1e300, -3.7])
def test_a_constant_column_is_zero_whatever_its_value(value):
    out = TablePreprocessor().fit_transform(np.full((49, 1), value))
    np.testing.assert_array_equal(out, np.zeros((49, 1)))


def test_unseen_categories_become_zeros_and_are_named():
    preprocessor = TablePreprocessor().fit(objects([["a", "u"], ["b", "v"]]))
    table = objects([["c", "u"], ["d", "v"], ["e", "u"], ["f", "u"], [None, "v"]])
    with pytest.warns(UnseenCategoryWarning, match=r"column 'x0': 'c', 'd', 'e' and 2 more") as caught:
        out = preprocessor.transform(table)
    assert len(caught) == 1
    np.testing.assert_array_equal(out[:, :2], np.zeros((5, 2)))
    np.testing.assert_array_equal(out[:, 2], [1, 0, 1, 1, 0])


def test_missing_at_transform_alone_is_imputed_or_zero():
    preprocessor = TablePreprocessor().fit(objects([[1.0, "a"], [3.0, "b"]]))
    with pytest.warns(UnseenCategoryWarning, match="a missing value"):
        out = preprocessor.transform(objects([[None, None]]))
    assert list(preprocessor.get_feature_names_out()) == ["x0", "x0>=2.0", "x1_a", "x1_b"]
    np.testing.assert_array_equal(out, [[1, 1, 0, 0]])  # the bin of the median, 2


def test_empty_columns_are_left_out_with_a_warning():
    table = pd.DataFrame({"a": [1.0, 2.0], "nothing": [None, None], "nan": [np.nan, np.nan]})
    with pytest.warns(EmptyColumnWarning, match="Columns 'nothing', 'nan' had no values in the 2"):
        preprocessor = TablePreprocessor().fit(table)
    assert list(preprocessor.get_feature_names_out()) == ["a", "a>=1.5"]
    assert preprocessor.transform(table.assign(nothing=["x", "y"])).shape == (2, 2)
    with pytest.warns(EmptyColumnWarning), pytest.raises(ShapeError, match="No column of the table"):
        TablePreprocessor().fit(table[["nan"]])


def test_many_categories_keep_the_frequent_ones():
    table = objects([["a"], ["b"], ["b"], ["c"], ["c"], ["d"]])
    with pytest.warns(ManyCategoriesWarning, match="Column 'x0' had more than 2 categories"):
        preprocessor = TablePreprocessor(max_categories=2).fit(table)
    assert list(preprocessor.get_feature_names_out()) == ["x0_b", "x0_c", "x0_rare"]
    out = preprocessor.transform(objects([["a"], ["b"], ["new"]]))
    np.testing.assert_array_equal(out, [[0, 0, 1], [1, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_infinity_is_refused_in_the_fitted_rows_and_missing_later(infinity):
    table = np.array([[1.0, 2.0], [3.0, infinity]])
    with pytest.raises(DomainError, match="Column 'x1' contains infinity in row 1"):
        TablePreprocessor().fit(table)
    preprocessor = TablePreprocessor().fit(np.array([[1.0, 2.0], [3.0, np.nan]]))
    with pytest.warns(UnseenCategoryWarning, match=f"treated as missing: column 'x1': {infinity}"):
        out = preprocessor.transform(table)
    np.testing.assert_array_equal(out, preprocessor.transform(np.where(np.isinf(table), np.nan, table)))
    as_text = objects([[1.0, "2"], [3.0, str(infinity)]])
    with pytest.warns(UnseenCategoryWarning, match=f"treated as missing: column 'x1': '{infinity}'"):
        np.testing.assert_array_equal(preprocessor.transform(as_text), out)


def test_missing_extra_and_unnamed_columns_are_refused_with_advice(frame):
    preprocessor = TablePreprocessor().fit(frame)
    with pytest.raises(ShapeError, match=r"has no column 'colour' \(did you mean 'color'\?\)"):
        preprocessor.transform(frame.rename(columns={"colour": "color"}))
    with pytest.raises(ShapeError, match="has the column 'target', which the fitted"):
        preprocessor.transform(frame.assign(target=1))
    with pytest.raises(ShapeError, match="not an array"):
        preprocessor.transform(frame.to_numpy())
    with pytest.raises(ShapeError, match="3 columns, but this table has 2"):
        TablePreprocessor().fit(np.eye(3)).transform(np.zeros((1, 2)))
    with pytest.raises(ShapeError, match="has no column 'x0'"):
        TablePreprocessor().fit(np.eye(6)).transform(frame)
    with pytest.raises(ShapeError, match="Two columns are named 'a'"):
        TablePreprocessor().fit(pd.DataFrame([[1, 2]], columns=["a", "a"]))


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        (np.zeros((0, 2)), ShapeError, "no rows"),
        (np.zeros((2, 0)), ShapeError, "no columns"),
        (np.zeros(3), ShapeError, "rows and columns"),
        (sparse.eye(3).tocsr(), DtypeError, "not need table preprocessing"),
        (np.array([[10**400], [1]]), DomainError, "too large for a float"),
        (np.array([[10**400], ["a"]], dtype=object), DomainError, "too large for a float"),
        (np.array([[1j]]), DtypeError, "convert it"),
        (objects([[{}], ["a"]]), DtypeError, "a value of type dict"),
    ],
)
def test_what_is_no_table_is_refused(table, error, message):
    with pytest.raises(error, match=message):
        TablePreprocessor().fit(table)


def test_later_text_in_a_numeric_column_is_read_or_missing():
    preprocessor = TablePreprocessor().fit(pd.DataFrame({"age": [1, 2, None]}))
    later = pd.DataFrame({"age": ["old", " 2.0 ", None, "1e999", "1_0", True, "nan"]})
    with pytest.warns(
        UnseenCategoryWarning, match=r"treated as missing: column 'age': 'old', '1e999', '1_0' and 2 more\."
    ) as caught:
        out = preprocessor.transform(later)
    assert len(caught) == 1
    expected = preprocessor.transform(pd.DataFrame({"age": [None, 2.0, None, None, None, None, None]}))
    np.testing.assert_array_equal(out, expected)


def test_what_a_row_becomes_does_not_depend_on_the_rows_beside_it():
    # An object column is numeric on the fitted rows; one later text makes all of it text when read.
    preprocessor = TablePreprocessor().fit(objects([[0.1], [1 / 3], [7]]))
    alone = [preprocessor.transform(objects([[value]])) for value in (0.1, 1 / 3, 2, 1e-300)]
    with pytest.warns(UnseenCategoryWarning, match="'x0': 'abc'"):
        together = preprocessor.transform(objects([[0.1], [1 / 3], [2], [1e-300], ["abc"]]))
    np.testing.assert_array_equal(together[:4], np.concatenate(alone))


def test_numbers_in_text_are_read_unless_asked_otherwise():
    text = pd.DataFrame({"age": ["20", None, "40.5", "-6e1"], "code": ["1", "2", "x", "1"]})
    numbers = pd.DataFrame({"age": [20.0, np.nan, 40.5, -60.0], "code": ["1", "2", "x", "1"]})
    expected = TablePreprocessor().fit(numbers)
    preprocessor = TablePreprocessor().fit(text)
    assert preprocessor.to_dict()["columns"] == expected.to_dict()["columns"]
    np.testing.assert_array_equal(preprocessor.transform(text), expected.transform(numbers))
    assert "age_20" in TablePreprocessor(parse_numbers=False).fit(text).get_feature_names_out()
    # The fitted rows alone decide: "x" comes later, and the column is numeric all the same.
    early = TablePreprocessor(parse_numbers=True).fit(text.iloc[:2])
    assert [column.kind for column in early.columns_] == ["numeric", "numeric"]
    with pytest.warns(UnseenCategoryWarning, match="'code': 'x'"):
        assert early.transform(text).shape == (4, 4)
    again = TablePreprocessor.from_dict(json.loads(json.dumps(early.to_dict())))
    assert again.parse_numbers is True
    assert again.to_dict() == early.to_dict()


@pytest.mark.parametrize(
    "text", ["", "nan", "inf", "1e999", "1_000", "1,5,0", "0x10", "\u0661", "True", "--1"]
)
def test_what_is_no_number_keeps_a_column_categorical(text):
    preprocessor = TablePreprocessor(parse_numbers=True).fit(objects([["1"], [text]]))
    assert [column.kind for column in preprocessor.columns_] == ["categorical"]


def test_declared_categories_are_not_read_as_numbers():
    frame = pd.DataFrame({"zip": pd.Categorical(["1", "2"]), "yes": [True, False]})
    names = TablePreprocessor(parse_numbers=True).fit(frame).get_feature_names_out()
    assert list(names) == ["zip_1", "zip_2", "yes_False", "yes_True"]
    with pytest.raises(DtypeError, match="parse_numbers must be True or False, got 'yes'"):
        TablePreprocessor(parse_numbers="yes").fit(frame)


def test_it_is_a_scikit_learn_transformer(frame):
    preprocessor = TablePreprocessor(max_categories=3)
    with pytest.raises(NotFittedError):
        preprocessor.transform(frame)
    assert clone(preprocessor).get_params() == {
        **{"numbers": "auto", "max_bins": 255, "max_categories": 3},
        **{"parse_numbers": True, "decimal": "auto", "drop_ids": True},
    }
    preprocessor.fit(frame)
    assert preprocessor.n_features_in_ == 6
    assert list(preprocessor.feature_names_in_) == list(frame.columns)
    preprocessor.fit(np.eye(2))
    assert not hasattr(preprocessor, "feature_names_in_")
    assert preprocessor.transform(np.zeros((0, 2))).shape == (0, 4)
    with pytest.raises(DomainError, match="max_categories must be at least 1"):
        TablePreprocessor(max_categories=0).fit(np.eye(2))


def test_names_and_rows_of_tables(frame):
    assert column_names(frame) == ("age", "size", "colour", "member", "code", "same")
    rows = np.array([2, 0])
    assert list(take_rows(frame, rows)["age"]) == [40.0, 20.0]
    assert take_rows([[1], [2], [3]], rows).tolist() == [[3], [1]]
    assert take_rows(sparse.coo_matrix(np.eye(3)), rows).toarray().tolist() == [[0, 0, 1], [1, 0, 0]]


values = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=3),
    st.integers(-(2**70), 2**70),
    st.floats(allow_infinity=False, width=64),
)


@settings(max_examples=60)
@given(st.integers(1, 4).flatmap(lambda d: st.lists(st.lists(values, min_size=d, max_size=d), min_size=1)))
def test_memory_survives_json_exactly(rows):
    table = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        table[i] = row
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            preprocessor = TablePreprocessor(max_categories=3).fit(table)
        except ShapeError:
            return  # no column has a value
        text = json.dumps(preprocessor.to_dict(), allow_nan=False)
        again = TablePreprocessor.from_dict(json.loads(text))
        np.testing.assert_array_equal(again.transform(table), preprocessor.transform(table))
    assert again.to_dict() == preprocessor.to_dict()
    out = preprocessor.transform(table)
    assert np.isfinite(out).all()
    assert out.shape == (len(rows), preprocessor.n_features_out_)


def change(path, value):
    def apply(data):
        for key in path[:-1]:
            data = data[key]
        if value is None:
            del data[path[-1]]
        else:
            data[path[-1]] = value

    return apply


@pytest.mark.parametrize(
    "tamper",
    [
        change(["format"], "other"),
        change(["version"], 2),
        change(["version"], True),
        change(["named"], 1),
        change(["columns"], {}),
        change(["columns"], []),
        change(["more"], 1),
        change(["max_categories"], 0),
        change(["max_categories"], None),
        change(["parse_numbers"], 1),
        change(["parse_numbers"], None),
        change(["columns", 0], "age"),
        change(["columns", 0, "kind"], "pickle"),
        change(["columns", 0, "kind"], ["numeric"]),
        change(["decimal"], ";"),
        change(["drop_ids"], "yes"),
        change(["numbers"], "words"),
        change(["columns", 0, "thresholds"], [50.0, 30.0]),
        change(["columns", 0, "thresholds"], [30.0]),
        change(["columns", 0, "values", 0], math.nan),
        change(["columns", 0, "values", 0], math.inf),
        change(["columns", 0, "style"], "roman"),
        change(["columns", 0, "unit"], "furlong"),
        change(["columns", 0, "median"], "1"),
        change(["columns", 0, "median"], 10**400),
        change(["columns", 0, "values"], None),
        change(["columns", 0, "style"], None),
        change(["columns", 0, "name"], "size"),
        change(["columns", 0, "name"], 3),
        change(["columns", 0, "missing"], 0),
        change(["columns", 2, "categories"], ["red", "red"]),
        change(["columns", 2, "categories"], [1]),
        change(["columns", 2, "categories"], []),
        change(["columns", 2, "categories"], "red"),
        change(["columns", 2, "rare"], "no"),
        change(["columns", 6, "layout"], "year last"),
        change(["columns", 6, "shown", 0], "month"),
        change(["columns", 6, "shown", 1], "century"),
        change(["columns", 6, "shown", 1], "days"),
        change(["columns", 6, "parts"], []),
        change(["columns", 6, "parts", 0, "median"], math.nan),
        change(["columns", 6, "parts", 0, "kind"], "categorical"),
        change(["columns", 6, "parts", 0, "thresholds"], [0.0, 1e300]),
    ],
)
def test_hostile_memory_is_refused(frame, tamper):
    frame["day"] = ["2020-01-31", "2021-02-01", None, "2021-02-02"]
    data = copy.deepcopy(TablePreprocessor().fit(frame).to_dict())
    TablePreprocessor.from_dict(data)
    tamper(data)
    with pytest.raises(DamagedFileError):
        TablePreprocessor.from_dict(data)


@pytest.mark.parametrize("data", [None, [], "x", 3, {}])
def test_what_is_no_memory_is_refused(data):
    with pytest.raises(DamagedFileError, match=r"must be an object|lacks the key format"):
        TablePreprocessor.from_dict(data)


def test_tens_of_thousands_of_columns_are_compared_in_linear_time():
    names = [f"column {k}" for k in range(40_000)]
    start = time.process_time()
    check_columns(names, names[::-1])
    with pytest.raises(ShapeError, match=r"no column 'column 0' \(did you mean 'other column 0'\?\).* more"):
        check_columns([f"other column {k}" for k in range(40_000)], names)

    class Frame:
        columns = (*names, names[-1])

        def __getitem__(self, name):
            raise AssertionError

    with pytest.raises(ShapeError, match="Two columns are named 'column 39999'"):
        column_names(Frame())
    assert time.process_time() - start < 5


def test_a_range_runs_from_the_smallest_to_the_largest_bin():
    fitted = np.array([[1.0, 5.0, 0.0], [2.0, 5.0, np.nan], [5.0, 5.0, 8.0]])
    preprocessor = TablePreprocessor("range").fit(fitted)
    assert preprocessor.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x2_missing"]
    expected = [[0.0, 0.0, 0.0, 0.0], [0.25, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 0.0]]
    np.testing.assert_allclose(preprocessor.transform(fitted), expected, atol=1e-12)
    beyond = preprocessor.transform(np.array([[-9.0, 7.0, 99.0]]))
    np.testing.assert_allclose(beyond, [[0.0, 0.0, 1.0, 0.0]], atol=1e-12)


def test_what_is_no_step_of_both_is_what_standard_has(frame):
    both, standard = (TablePreprocessor(numbers).fit(frame) for numbers in ("both", "standard"))
    np.testing.assert_array_equal(
        both.transform(frame)[:, both.book_.outputs_without_steps], standard.transform(frame)
    )
    assert both.book_.n_outputs > standard.book_.n_outputs


def test_gaps_among_texts_are_missing_however_they_are_marked():
    cells = ["red", math.nan, None, "1.5", np.float64("nan")]
    column = read_columns(np.array(cells, dtype=object)[:, None])[0]
    assert (column.texts, column.typed) == (["red", None, None, "1.5", None], None)
    plain = read_columns(np.array(cells[:4], dtype=object)[:, None])[0]
    assert (plain.texts, plain.typed) == (["red", None, None, "1.5"], None)
    numbered = read_columns(np.array(["red", 2.0, math.nan], dtype=object)[:, None])[0]
    assert numbered.texts == ["red", "2", None]
    assert numbered.typed is not None
    assert numbered.typed[1] == 2.0
