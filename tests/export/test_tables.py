"""Tables: what the preprocessor does to them happens inside the exported file."""

import warnings

import numpy as np
import pytest
import torch

from pbgnet.certificates import PriorRecord, certify_network
from pbgnet.exceptions import ManyCategoriesWarning, ShapeError, UnseenCategoryWarning
from pbgnet.export.table import missing_text, read_table
from pbgnet.networks import AggregatedNetwork
from pbgnet.preprocessing import TablePreprocessor

pd = pytest.importorskip("pandas", reason="the tables here are frames")


def make_frame(n=120, seed=0):
    """Numbers with and without gaps, texts with and without, truth values, and a column with no value."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "<missing>", ""], n),
            "size": rng.normal(5.0, 3.0, n),
            "large": rng.random(n) > 0.5,
            "nothing": np.full(n, np.nan),
            "weight": np.where(rng.random(n) < 0.2, np.nan, rng.normal(-1.0, 0.1, n)),
            "shape": rng.choice(["round", None, "flat", "ünïcode"], n),
        }
    )
    return frame, np.where(frame["size"] + (frame["colour"] == "red") > 5.0, "yes", "no")


def make_written_frame(n=120, seed=0):
    """Numbers with a decimal comma or a unit, dates, times, and a category behind them; one date is a gap."""
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2023-01-15") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    numbers = rng.normal(5.0, 3.0, n)
    frame = pd.DataFrame(
        {
            "length": [f"{number:.3f}".replace(".", ",") for number in numbers],
            "seen": [None if k == 70 else day.strftime("%d.%m.%Y") for k, day in enumerate(days)],
            "price": [f"{number:.2f} €" for number in rng.gamma(2.0, 10.0, n)],
            "at": [f"{minute // 60:02}:{minute % 60:02}" for minute in rng.integers(0, 1440, n)],
            "shape": rng.choice(["round", "flat"], n),
        }
    )
    return frame, np.where(numbers + (days.month.to_numpy() > 6) > 5.0, "yes", "no")


def make_table_model(frame, labels, columns=None, hidden=(4,)):
    frame = frame if columns is None else frame[columns]
    rows = np.arange(len(frame))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        preprocessor = TablePreprocessor().fit(frame.iloc[:60])
        generator = torch.Generator().manual_seed(3)
        network = AggregatedNetwork.initialise(
            preprocessor.n_features_out_, hidden, generator=generator, dtype=torch.float64
        )
        network = AggregatedNetwork([3 * weight.detach() for weight in network.weights])
        return certify_network(
            network,
            frame,
            labels,
            classes=("no", "yes"),
            prior=PriorRecord("given", "for a test"),
            prior_rows=rows[:60],
            certified_rows=rows[60:],
            preprocessor=preprocessor,
        )


COLUMNS = [
    None,
    ["size"],
    ["size", "weight"],
    ["weight", "nothing", "size"],
    ["colour"],
    ["shape", "large"],
    ["shape", "weight"],
]


@pytest.mark.parametrize("kind", ["sign", "aggregate"])
def test_numbers_and_dates_are_read_as_they_were_written(ship, kind):
    frame, labels = make_written_frame()
    model = make_table_model(frame, labels)
    classifier = ship(model, kind)
    numbers, texts = read_table(frame, model.inputs.preprocessor)
    assert texts.tolist() == frame[["shape"]].to_numpy().tolist()
    assert numbers[0, 0] == float(frame["length"][0].replace(",", "."))
    day = pd.to_datetime(frame["seen"][0], dayfirst=True)
    assert numbers[0, 1] == (day - pd.Timestamp("1970-01-01")).days
    assert np.isnan(numbers).any(axis=1).nonzero()[0].tolist() == [70]
    if kind == "aggregate":
        np.testing.assert_allclose(
            classifier.decision_function(frame), model.decision_function(frame), atol=1e-9
        )
    assert len(set(classifier.predict(frame))) == 2


@pytest.mark.parametrize("columns", COLUMNS, ids=str)
def test_the_file_reads_the_table_as_the_model_does(ship, columns):
    frame, labels = make_frame()
    model = make_table_model(frame, labels, columns)
    used = frame if columns is None else frame[columns]
    exact = model.decision_function(used)
    assert len(set(exact.round(6))) > 1
    classifier = ship(model)
    assert classifier.n_features_in_ == len(used.columns)
    assert np.abs(classifier.decision_function(used) - exact).max() < 1e-9
    assert (classifier.predict(used) == model.predict(used)).all()
    single = ship(model, dtype="float32").decision_function(used)
    assert np.abs(single - exact).max() < 2e-5


def test_the_sign_network_reads_tables_too(ship):
    frame, labels = make_frame()
    model = make_table_model(frame, labels)
    features = torch.from_numpy(model.preprocessor.transform(frame))
    expected = model.network.sign_network()(features).numpy()
    assert (ship(model, "sign").decision_function(frame) == expected).all()


def test_the_bare_runtime_reads_the_two_inputs_that_the_metadata_name(ship):
    frame, labels = make_frame()
    model = make_table_model(frame, labels)
    classifier = ship(model)
    metadata = classifier.metadata
    assert metadata.numeric_columns == ("size", "weight")
    assert metadata.text_columns == ("colour", "large", "shape")
    assert metadata.missing_text == "<<missing>>"  # for <missing> is a colour here
    texts = frame[list(metadata.text_columns)].astype(object)
    texts = texts.where(texts.notna(), metadata.missing_text).map(str)
    feed = {"x": frame[list(metadata.numeric_columns)].to_numpy(), "text": texts.to_numpy()}
    decision, label = classifier._session.run(None, feed)
    assert np.abs(decision - model.decision_function(frame)).max() < 1e-9
    assert label.tolist() == model.predict(frame).tolist()


def test_new_categories_gaps_and_infinity_are_treated_alike(ship):
    frame, labels = make_frame()
    model = make_table_model(frame, labels)
    classifier = ship(model)
    odd = frame.iloc[:8].copy()
    odd["colour"] = ["red", "purple", "<unknown>", "<<missing>>", None, "", "green", "<missing>"]
    odd["size"] = [np.inf, -np.inf, np.nan, 1e300, -1e308, 0.0, 1.0, 2.0]
    odd["weight"] = [1.7e308, -1.7e308, np.nan, 1.0, 2.0, 3.0, 4.0, 5.0]
    with pytest.warns(UnseenCategoryWarning):
        expected = model.decision_function(odd)
    with pytest.warns(UnseenCategoryWarning):
        found = classifier.decision_function(odd)
    assert np.abs(found - expected).max() < 1e-9


def test_columns_may_change_order_and_cells_may_be_text(ship):
    frame, labels = make_frame()
    model = make_table_model(frame, labels)
    classifier = ship(model)
    shuffled = frame[frame.columns[::-1]]
    assert (classifier.decision_function(shuffled) == classifier.decision_function(frame)).all()
    written = frame.assign(size=frame["size"].map(repr))
    assert (classifier.decision_function(written) == classifier.decision_function(frame)).all()
    assert classifier.decision_function(frame.iloc[:0]).shape == (0,)


def test_other_columns_are_refused(ship):
    frame, labels = make_frame()
    classifier = ship(make_table_model(frame, labels))
    with pytest.raises(ShapeError, match="has no column 'size'"):
        classifier.predict(frame.drop(columns="size"))
    with pytest.raises(ShapeError, match="column names"):
        classifier.predict(frame.to_numpy())


def test_a_number_that_float32_cannot_hold_is_read_exactly_in_a_float32_file(ship):
    """Two times a second apart are one number in float32, and 1e39 is infinity."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"time": 1.7e9 + rng.integers(0, 2, 120), "size": rng.normal(size=120)})
    model = make_table_model(frame, np.where(frame["time"] > 1.7e9, "yes", "no"))
    frame.loc[0, "size"], frame.loc[1, "size"] = 1e39, -1e39
    expected = model.decision_function(frame)
    found = ship(model, dtype="float32").decision_function(frame)
    assert np.abs(found - expected).max() < 2e-5
    later = frame.assign(time=frame["time"] + 1)
    assert np.abs(model.decision_function(later) - expected).max() > 1e-3


def make_odd_table(n=5000, seed=0):
    """Columns of every kind, and rows for them: fitted ones, and odd ones with whatever may come later."""
    rng = np.random.default_rng(seed)
    some_gaps = rng.random(n) < 0.1
    frame = pd.DataFrame(
        {
            "constant": np.full(n, 7.0),
            "two": rng.integers(0, 2, n).astype(float),
            "town": rng.choice(["a", "b", "c", "d", "<unknown>"], n, p=[0.4, 0.3, 0.2, 0.05, 0.05]),
            "many": rng.normal(size=n),
            "nothing": np.full(n, np.nan),
            "street": np.where(some_gaps, None, rng.choice(["x", "y", "z", "<missing>"], n).astype(object)),
            "gaps": np.where(some_gaps, np.nan, rng.exponential(size=n)),
            "large": rng.normal(size=n) * 1e307,
            "tiny": rng.normal(size=n) * 1e-310,
            "few": np.where(rng.random(n) < 0.9, 0.0, rng.integers(1, 5, n)),
            "only": np.where(some_gaps, None, "yes"),
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        preprocessor = TablePreprocessor(max_categories=3).fit(frame)
    odd = {}
    for column in preprocessor.columns_:
        values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.7e308, -1.7e308, 5e-324]
        if column.kind == "numeric":
            at = np.array(column.thresholds)
            values += [*at, *np.nextafter(at, -np.inf), *np.nextafter(at, np.inf)]
        if column.kind == "categorical":
            values = ["a", "b", "d", "<unknown>", "<missing>", "<<missing>>", "", "new", "yes", None, "x"]
        odd[column.name] = values
    longest = max(len(values) for values in odd.values())
    rows = {name: [values[k % len(values)] for k in range(longest)] for name, values in odd.items()}
    return preprocessor, pd.concat([frame.iloc[:200], pd.DataFrame(rows)], ignore_index=True)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("numbers", ["auto", "standard", "range", "steps", "both"])
def test_the_operations_give_what_the_preprocessor_gives_to_the_last_bit(preprocess, numbers, dtype):
    preprocessor, table = make_odd_table()
    preprocessor = preprocessor.with_numbers(numbers)
    kinds = {column.name: column for column in preprocessor.columns_}
    assert len(kinds["many"].thresholds) > 127
    assert kinds["town"].rare
    assert not kinds["town"].missing
    assert kinds["street"].rare
    assert kinds["street"].missing
    with pytest.warns(UnseenCategoryWarning):
        expected = preprocessor.transform(table)
    with pytest.warns(UnseenCategoryWarning):
        found = preprocess(preprocessor, dtype, table)
    assert found.dtype == dtype
    assert np.array_equal(found, expected.astype(dtype))
    names = preprocessor.get_feature_names_out().tolist()
    for name in ("town_rare", "street_rare", "street_missing", "gaps_missing"):
        column = expected[:, names.index(name)]
        assert 0 < column.sum() < len(column), "the rows say something"


def test_a_missing_text_goes_nowhere_where_the_fitted_rows_had_rare_ones_and_no_gap(preprocess):
    table = np.array([["a"], ["a"], ["b"], ["b"], ["c"]], dtype=object)
    with pytest.warns(ManyCategoriesWarning):
        preprocessor = TablePreprocessor(max_categories=2).fit(table)
    later = np.array([["a"], ["c"], ["new"], [None], ["b"]], dtype=object)
    with pytest.warns(UnseenCategoryWarning):
        assert read_table(later, preprocessor)[1][:, 0].tolist() == (
            ["a", "<unknown>", "<unknown>", "<missing>", "b"]
        )
    with pytest.warns(UnseenCategoryWarning):
        found = preprocess(preprocessor, "float64", later)
    assert found.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0], [0, 1, 0]]


def test_a_constant_column_needs_no_comparison(preprocess):
    preprocessor = TablePreprocessor("standard").fit(np.array([[3.0], [3.0], [np.nan]]))
    rows = np.array([[3.0], [np.nan], [-1e300]])
    assert preprocess(preprocessor, "float64", rows).tolist() == preprocessor.transform(rows).tolist()


@pytest.mark.parametrize("opset", [19, 21, 22])
def test_every_version_of_the_operators_reads_tables(ship, opset):
    frame, labels = make_frame()
    model = make_table_model(frame, labels)
    found = ship(model, opset=opset).decision_function(frame)
    assert np.abs(found - model.decision_function(frame)).max() < 1e-9


def test_many_outputs_are_computed_for_fewer_rows_at_a_time(ship):
    frame, labels = make_frame()
    model = make_table_model(frame, labels, hidden=())
    assert ship(model, "sign").metadata.workspace > 2 * model.preprocessor.n_features_out_


def test_arrays_without_names(ship):
    rng = np.random.default_rng(0)
    table = np.empty((90, 2), dtype=object)
    table[:, 0], table[:, 1] = rng.normal(size=90), rng.choice(["a", "b", "7"], 90)
    preprocessor = TablePreprocessor().fit(table[:50])
    numbers, texts = read_table(table, preprocessor)
    assert (numbers[:, 0] == table[:, 0]).all()
    assert (texts[:, 0] == table[:, 1]).all()
    assert missing_text(preprocessor) == "<missing>"
    # A column of words that now holds numbers: 7.0 is the category "7".
    again = np.array([[0.5, 7.0], [0.5, 8.0]])
    with pytest.warns(UnseenCategoryWarning):
        assert read_table(again, preprocessor)[1].tolist() == [["7"], ["<unknown>"]]
