"""Tables: what the preprocessor does to them happens inside the exported file."""

import warnings

import numpy as np
import pytest
import torch

from pbgnet.certificates import PriorRecord, certify_network
from pbgnet.exceptions import DomainError, ShapeError, UnseenCategoryWarning
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
    with pytest.raises(ShapeError, match="lacks the column 'size'"):
        classifier.predict(frame.drop(columns="size"))
    with pytest.raises(ShapeError, match="named columns"):
        classifier.predict(frame.to_numpy())


def test_a_number_that_float32_cannot_hold_is_refused_and_not_taken_as_missing(ship):
    frame, labels = make_frame()
    model = make_table_model(frame, labels, ["size", "weight"])
    frame.loc[0, "size"] = 1e39
    assert ship(model).decision_function(frame[["size", "weight"]]).shape == (120,)
    with pytest.raises(DomainError, match="float64"):
        ship(model, dtype="float32").decision_function(frame[["size", "weight"]])


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
