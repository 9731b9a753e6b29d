"""The data given to `verify`: those that were certified pass in any form, and a change is named."""

import numpy as np
import pytest
import torch
from tests.certificates.conftest import failed, verify

from pbgnet.certificates import PriorRecord, certify, certify_network, save_model
from pbgnet.certificates.verification.steps import NETWORK_STEPS
from pbgnet.exceptions import DtypeError, UnseenCategoryWarning
from pbgnet.networks import AggregatedNetwork, initial_weights
from pbgnet.preprocessing import TablePreprocessor


@pytest.mark.parametrize("read", ["cells", "texts", "numbers"])
def test_a_list_of_rows_is_read_as_it_was_certified(table, tmp_path, read):
    """Cell by cell, as an estimator reads it; or as one array, in which a text makes texts of all cells."""
    cells, labels = table
    cells = (
        cells[:, :1] if read == "numbers" else cells[:, [0, 2]]
    )  # without gaps, which make objects of cells
    rows = cells.tolist()
    given = np.array(rows) if read == "texts" else cells
    fitted = TablePreprocessor(parse_numbers=read == "texts").fit(given[:120])
    generator = torch.Generator().manual_seed(0)
    weights = initial_weights(fitted.n_features_out_, (3,), dtype=torch.float64, generator=generator)
    model = certify_network(
        AggregatedNetwork(weights),
        given,
        labels,
        classes=("no", "yes"),
        prior=PriorRecord("given"),
        prior_rows=range(120),
        certified_rows=range(120, 240),
        preprocessor=fitted,
    )
    folder = save_model(model, tmp_path / read)
    assert verify(folder, given, labels).ok
    assert verify(folder, rows, labels.tolist()).ok
    changed = [[*row] for row in rows]
    changed[3][0] = 7.5
    assert "data: features" in failed(verify(folder, changed, labels))
    assert {"data: features", "data: number of rows"} <= failed(verify(folder, rows[:-1], labels[:-1]))
    assert "data: features" in failed(verify(folder, [*rows[:-1], [*rows[-1], 0.5]], labels))


def test_changed_data_are_caught(saved):
    folder, X, y = saved("inside")
    changes = []
    for row in (0, 100, 239):
        labels = y.copy()
        labels[row] = "no" if y[row] == "yes" else "yes"
        changes.append((X, labels))
        table = X.copy()
        table[row, 0] = np.nextafter(table[row, 0], 9.0)
        changes.append((table, y))
    order = np.r_[1, 0, np.arange(2, 240)]
    changes += [(X[order], y[order]), (X[:-1], y[:-1]), (X[:, ::-1], y), (X, y[:-1]), (X[:10], y[:10])]
    for table, labels in changes:
        report = verify(folder, table, labels)
        assert any(name.startswith("data: ") for name in failed(report))
        assert len(report.steps) == 1 + len(NETWORK_STEPS), "every step is listed, whatever happened before"


def test_what_changed_in_the_data_is_named():
    pd = pytest.importorskip("pandas")
    x = np.random.default_rng(0).normal(size=(40, 2))
    frame, y = pd.DataFrame(x, columns=["a", "b"]), np.where(x[:, 0] > 0, 1, 0)
    network = AggregatedNetwork([torch.tensor([[4.0, 0.0, 0.0]])], [torch.zeros(1, 3)])
    model = certify_network(
        network, frame, y, classes=(0, 1), prior=PriorRecord("zero"), prior_rows=[], certified_rows=range(40)
    )

    def named(table, labels):
        return {name for name in failed(verify(model, table, labels)) if name.startswith("data: ")}

    flipped = y.copy()
    flipped[3] = 1 - y[3]
    assert named(frame, y) == set()
    assert named(frame, flipped) == {"data: labels"}
    assert named(frame.assign(b=0.0), y) == {"data: features", "data: rows"}
    assert named(frame.rename(columns={"b": "c"}), y) == {"data: columns"}
    assert named(frame, ["maybe"] * 40) == {"data: labels"}
    shorter = verify(model, frame.iloc[:39], y)
    assert failed(shorter) >= {"data: features", "data: number of rows"}
    count = next(step for step in shorter.steps if step.name == "data: number of rows")
    assert (count.expected, count.found) == ("40 rows", "39 rows with 40 labels")


def test_what_changed_in_the_rows_of_any_classifier_is_named(tmp_path):
    pd = pytest.importorskip("pandas")
    x = np.random.default_rng(0).normal(size=(40, 2))
    frame, y = pd.DataFrame(x, columns=["age", "size"]), np.where(x[:, 0] > 0, 1, 0)
    folder = certify(lambda rows: (rows["age"] > 0).astype(int), frame, y).save(tmp_path / "certified")

    def first(table, labels=y):
        report = verify(folder, table, labels, every_step=False)
        return report.failures[0].name, report.failures[0].detail

    changed = frame.copy()
    changed.loc[6, "size"] = 9.0
    assert verify(folder, frame, y).ok
    step, told = first(changed)
    assert step == "data: features"
    assert told.startswith("Row 7 (counting from 1, without the header) differs from the certified table")
    step, told = first(frame.rename(columns={"size": "sizes"}))
    assert (step, told) == ("data: columns", "Column 'size' is missing; was it renamed to 'sizes'?")
    step, told = first(frame[["size", "age"]])
    assert told.startswith("The columns are in another order: column 1 is 'size', and was 'age'")
    step, told = first(frame.drop(index=11), np.delete(y, 11))
    assert step == "data: number of rows"
    assert "Row 12 of the certified table" in told
    step, told = first(frame.iloc[::-1], y[::-1])
    assert told.startswith("The table holds the same rows in another order")


def test_the_very_data_given_to_fit_pass_in_any_form():
    x = np.random.default_rng(0).integers(0, 2, size=(60, 2)).astype(np.float64)
    y = np.where(x[:, 0] > 0, "yes", "no")
    network = AggregatedNetwork([torch.tensor([[4.0, 0.0, -2.0]])], [torch.zeros(1, 3)])
    options = {"classes": ("no", "yes"), "prior": PriorRecord("zero"), "prior_rows": []}
    model = certify_network(network, x, y, certified_rows=range(60), **options)
    for table in (
        x.astype(bool),
        x.astype(object),
        x.astype(int).astype(object),
        x.tolist(),
        x.astype(np.int8),
    ):
        for labels in (y, y[:, None], y.tolist(), y.astype(object)[:, None]):
            report = verify(model, table, labels)
            assert report.ok, str(report)
        np.testing.assert_array_equal(model.predict(table), y)
    again = certify_network(network, x.astype(object), y[:, None], certified_rows=range(60), **options)
    assert again.certificate.fingerprints == model.certificate.fingerprints
    with pytest.raises(DtypeError, match="expects numbers"):
        model.predict(np.array([[1.0, None]], dtype=object))


def test_data_that_cannot_be_used_at_all_fail_with_reasons(saved):
    folder, X, y = saved("inside")
    for table, labels in ((None, None), (X, ["maybe"] * 240), ("nonsense", y), (X, np.full(240, np.nan))):
        report = verify(folder, table, labels)
        assert not report.ok
        missing = next(step for step in report.steps if step.name == "empirical risk")
        assert (missing.found, missing.ok) == ("not computed", False)
        assert missing.detail
        assert next(step for step in report.steps if step.name == "posterior weights").ok


def test_copies_of_prior_rows_are_counted(build):
    model, X, y = build("zero")
    X = np.array(X)
    X[3:6] = X[10]
    network, options = model.network, {"classes": ("no", "yes"), "prior": PriorRecord("zero")}
    for prior_rows, expected in (([], 3), ([10], 3), ([3, 4, 5], 1), ([3, 10], 2), ([0], 3)):
        rest = np.setdiff1d(np.arange(240), prior_rows)
        copied = certify_network(network, X, y, prior_rows=prior_rows, certified_rows=rest, **options)
        assert copied.certificate.inputs.n_duplicates == expected
        said = f"{expected} of the certified rows repeat another row of the table (prior rows included)"
        assert any(each.startswith(said) for each in copied.certificate.assumptions)
        assert verify(copied, X, y).ok


def test_unseen_categories_do_not_disturb_verification(build):
    _, X, y = build()
    rows = np.flatnonzero(X[:, 2] != "red")[:100]
    preprocessor = TablePreprocessor("standard").fit(X[rows])
    options = {
        "classes": ("no", "yes"),
        "prior": PriorRecord("given"),
        "prior_rows": rows,
        "certified_rows": np.setdiff1d(np.arange(240), rows),
        "preprocessor": preprocessor,
    }
    generator = torch.Generator().manual_seed(0)
    network = AggregatedNetwork.initialise(preprocessor.n_features_out_, (2,), generator=generator)
    with pytest.warns(UnseenCategoryWarning, match="Not seen in the fitted rows.*'red'"):
        model = certify_network(network, X, y, **options)
    assert verify(model, X, y).ok


def test_near_copies_are_on_trust(build):
    model, X, y = build("zero")
    options = {"classes": ("no", "yes"), "prior": PriorRecord("zero"), "prior_rows": [3]}
    rest = np.setdiff1d(np.arange(240), [3])

    def duplicates(table):
        copied = certify_network(model.network, table, y, certified_rows=rest, **options)
        counted = certify(lambda rows: np.where(rows[:, 0] > 0, "yes", "no"), table, y)
        for certified in (copied, counted):
            report = verify(certified, table, y)
            assert report.ok, str(report)
            yield next(step for step in report.steps if step.name == "data: duplicates")

    assert [step.status for step in duplicates(X)] == ["ok", "ok"]
    nudged = np.array(X)
    nudged[:, 0][[7, 8]] = nudged[3, 0] * (1 + np.array([1e-9, -1e-9]))
    for step in duplicates(nudged):
        assert (step.status, step.found) == ("trusted", "0 rows")
        assert step.detail.startswith("2 more rows equal another to six digits")
