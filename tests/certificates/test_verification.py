"""Verification: a genuine certificate passes, and whatever was changed is named by its step."""

import dataclasses
import json
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from pbgnet.bounds import seeger_bound
from pbgnet.certificates import (
    PreprocessingRecord,
    PriorRecord,
    SplitRecord,
    VerificationStep,
    certify_network,
    draw_prior_rows,
    save_model,
    verify,
)
from pbgnet.certificates.checks import CHECKS
from pbgnet.exceptions import DomainError, DtypeError, UnseenCategoryWarning
from pbgnet.networks import AggregatedNetwork, initial_weights
from pbgnet.preprocessing import TablePreprocessor

from .conftest import failed


@pytest.fixture
def saved(build, tmp_path):
    """Save a model of a kind and return its folder with the data."""

    def save(kind="inside", **options):
        model, X, y = build(kind, **options)
        return save_model(model, tmp_path / kind), X, y

    return save


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


def edit_certificate(folder, path, value):
    file = folder / "certificate.json"
    data = json.loads(file.read_text())
    parent = data
    *keys, last = path.split(".")
    for key in keys:
        parent = parent[int(key) if isinstance(parent, list) else key]
    last = int(last) if isinstance(parent, list) else last
    parent[last] = value(parent[last]) if callable(value) else value
    file.write_text(json.dumps(data))


def edit_tensor(folder, name, change):
    file = folder / "model.safetensors"
    tensors = load_file(file)
    change(tensors[name])
    save_file(tensors, file)


@pytest.mark.parametrize("kind", ["inside", "random", "zero"])
def test_a_genuine_certificate_passes(build, saved, kind):
    model, X, y = build(kind)
    report = verify(model, X, y)
    assert report.ok, str(report)
    assert [step.name for step in report.steps] == ["files", *CHECKS]
    folder, X, y = saved(kind)
    again = verify(str(folder), X, list(y))
    assert again.ok, str(again)
    counts = (29, 3) if kind == "inside" else (31, 1)
    assert "Verified: {} steps recomputed, {} taken on trust.".format(*counts) in str(again)


def test_options_of_the_bound_are_verified_too(saved):
    folder, X, y = saved("random", confidence=0.9, n_priors=9, constant="paper")
    assert verify(folder, X, y).ok


@pytest.mark.parametrize(
    ("path", "value", "step"),
    [
        ("statement", "The risk is 0.", "statement"),
        ("assumptions", [], "statement"),
        ("predictors.0", "the sign network", "statement"),
        ("aggregation.tolerance", 1e-3, "schema"),
        ("confidence", 0.99, "delta"),
        ("delta", 0.01, "delta"),
        ("delta_per_prior", 0.01, "delta"),
        ("n_priors", 2, "delta"),
        ("claims.0.value", lambda v: v * (1 - 1e-6), "bound"),
        ("claims.1.value", lambda v: v * (1 - 1e-6), "bound"),
        ("claims.0.settings.constant", "paper", "bound"),
        ("claims.0.delta", 0.1, "delta"),
        ("claims.0.evidence.n", lambda n: n + 1, "evidence"),
        ("claims.0.evidence.empirical_risk", lambda v: v - 1e-6, "evidence"),
        ("claims.0.evidence.divergence", lambda v: v * (1 - 1e-6), "evidence"),
        ("claims.0.evidence.divergence", None, "bound"),
        ("claims.0.evidence.numerical_error", 0.0, "evidence"),
        ("claims.1.evidence.margin_error", 0.0, "evidence"),
        ("claims.1.evidence.n_draws", 10, "evidence"),
        ("choices.certificate", "auto", "choices"),
        ("choices.candidates", ["vote"], "choices"),
        ("choices.unions", [{"what": "nothing", "count": 2}], "choices"),
        ("choices.on_prior_rows", ["the moon"], "statement"),
        ("inputs.n_duplicates", 7, "data: duplicates"),
        ("inputs.n_duplicates", None, "data: duplicates"),
        ("inputs.n_left_out", 7, "certified rows"),
        ("inputs.n_left_out", None, "certified rows"),
        ("inputs.n", lambda n: n + 1, "certified rows"),
        ("inputs.empirical_risk", lambda v: v - 1e-8, "empirical risk"),
        ("inputs.numerical_error", lambda v: v * 2, "numerical error"),
        ("inputs.numerical_error", 0.0, "numerical error"),
        ("inputs.divergence", lambda v: v * (1 - 1e-8), "divergence"),
        ("inputs.n_errors", lambda n: n - 1, "error rate"),
        ("inputs.empirical_error_rate", lambda v: v / 2, "error rate"),
        ("prior.seed", 8, "prior regenerated"),
        ("prior.seed", None, "prior regenerated"),
        ("prior.initialisation", "zero", "prior regenerated"),
        ("prior.initialisation", "no such", "prior regenerated"),
        ("prior.kind", "zero", "prior regenerated"),
        ("alternatives.3.evidence.empirical_risk", lambda v: v - 1e-6, "alternatives"),
        ("alternatives.2.evidence.n_errors", lambda n: n + 1, "alternatives"),
        ("alternatives.2.evidence.n_errors", 10**6, "alternatives"),
        ("alternatives.3.value", lambda v: v / 2, "alternatives"),
        ("alternatives.2.value", lambda v: v / 2, "alternatives"),
        ("alternatives.3.evidence.numerical_error", 0.0, "alternatives"),
        ("alternatives.1.delta", 0.1, "alternatives"),
        ("alternatives.0.settings.c", [1.0, 2.0], "settings"),
        ("prior.n_rows", 1, "prior record"),
        ("prior.seed", None, "prior record"),
        ("prior.initialisation", "no such", "prior record"),
        ("prior.description", "trained on the certified rows", "certificate text"),
        ("versions.numpy", "0.0", "certificate text"),
        ("issued_at", "1999-01-01T00:00:00Z", "certificate text"),
        ("seal", "0" * 64, "certificate text"),
        ("split.how", "given", "split redrawn"),
        ("split", {"how": "drawn", "seed": 3, "fraction": 0.5}, "split redrawn"),
        ("split.seed", 3, "files"),
        ("n_rows_total", 241, "data: number of rows"),
        ("fingerprints.data", "0" * 64, "data: fingerprint"),
        ("fingerprints.features", "0" * 64, "data: features"),
        ("fingerprints.labels", "0" * 64, "data: labels"),
        ("fingerprints.columns", "0" * 64, "data: columns"),
        ("fingerprints.split", "0" * 64, "split"),
        ("fingerprints.prior", "0" * 64, "prior weights"),
        ("fingerprints.posterior", "0" * 64, "posterior weights"),
        ("fingerprints.preprocessing", "0" * 64, "preprocessing"),
        ("preprocessing.status", "inside", "preprocessing refitted"),
        ("network.intercept", False, "files"),
        ("network.n_features", 5, "files"),
        ("version", 3, "files"),
        ("version", 1, "files"),
    ],
)
def test_a_changed_certificate_is_caught_by_the_right_step(saved, path, value, step):
    folder, X, y = saved("random")
    assert verify(folder, X, y).ok
    edit_certificate(folder, path, value)
    report = verify(folder, X, y)
    assert not report.ok
    assert step in failed(report), str(report)


def test_a_consistent_lie_about_the_bound_still_fails(saved):
    # The liar lowers the risk and recomputes the bound from it.
    folder, X, y = saved("random")
    data = json.loads((folder / "certificate.json").read_text())
    inputs = data["inputs"]
    risk = inputs["empirical_risk"] / 2
    value = float(seeger_bound(risk, inputs["divergence"], inputs["n"], 0.05, constant="maurer"))
    edit_certificate(folder, "inputs.empirical_risk", risk)
    for k in (0, 1):
        edit_certificate(folder, f"claims.{k}.evidence.empirical_risk", risk)
        edit_certificate(folder, f"claims.{k}.value", (k + 1) * value)
    assert failed(verify(folder, X, y)) >= {"empirical risk", "evidence"}


@pytest.mark.parametrize(
    ("name", "steps"),
    [("posterior_0", {"posterior weights"}), ("prior_0", {"prior weights", "prior regenerated"})],
)
def test_a_changed_weight_is_caught(saved, name, steps):
    folder, X, y = saved("random")

    def nudge(tensor):
        tensor[0, 0] = np.nextafter(tensor[0, 0].item(), 100.0)

    edit_tensor(folder, name, nudge)
    assert steps <= failed(verify(folder, X, y))


def test_large_changes_of_weights_show_in_the_numbers(saved):
    folder, X, y = saved("inside")
    edit_tensor(folder, "posterior_0", lambda tensor: tensor.mul_(1.5))
    assert {"posterior weights", "empirical risk", "divergence"} <= failed(verify(folder, X, y))


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
        assert len(report.steps) == 1 + len(CHECKS), "every step is listed, whatever happened before"


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
    assert named(frame.assign(b=0.0), y) == {"data: features"}
    assert named(frame.rename(columns={"b": "c"}), y) == {"data: columns"}
    assert named(frame, ["maybe"] * 40) == {"data: labels"}
    shorter = verify(model, frame.iloc[:39], y)
    assert failed(shorter) >= {"data: features", "data: number of rows"}
    count = next(step for step in shorter.steps if step.name == "data: number of rows")
    assert (count.expected, count.found) == ("40 rows", "39 rows with 40 labels")


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
    with pytest.raises(DtypeError, match="takes numbers"):
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


def test_a_certificate_of_another_network_is_caught(build):
    model, X, y = build("random")
    network = dataclasses.replace(model.certificate.network, hidden_layer_sizes=(5,))
    certificate = dataclasses.replace(model.certificate, network=network)
    assert failed(verify(dataclasses.replace(model, certificate=certificate), X, y)) == {"network"}


def test_a_changed_split_is_caught(saved):
    folder, X, y = saved("inside")

    def swap(rows):
        rows[[0, 1]] = rows[[1, 0]]

    edit_tensor(folder, "certified_rows", swap)
    assert failed(verify(folder, X, y)) == {"split"}


def drawn(build, seed=5, fraction=0.5):
    _, X, _ = build()
    rows = draw_prior_rows(240, fraction, seed)
    return build(
        split=SplitRecord("drawn", seed=seed, fraction=fraction),
        prior_rows=rows,
        certified_rows=np.setdiff1d(np.arange(240), rows),
        preprocessor=TablePreprocessor().fit(X[rows]),
    )


def test_a_drawn_split_is_drawn_again(build, tmp_path):
    model, X, y = drawn(build)
    report = verify(model, X, y)
    assert report.ok, str(report)
    assert [step.name for step in report.trusted] == ["prior regenerated", "settled beforehand"]
    folder = save_model(model, tmp_path / "drawn")
    for path, value in (("split.seed", 6), ("split.fraction", 0.4)):
        genuine = (folder / "certificate.json").read_text()
        edit_certificate(folder, path, value)
        assert failed(verify(folder, X, y)) == {"certificate text", "split redrawn"}
        (folder / "certificate.json").write_text(genuine)
    # The rows are drawn from the table given: another number of rows draws others.
    assert "split redrawn" in failed(verify(folder, X[:-1], y[:-1]))


def test_a_split_that_was_not_drawn_as_stated_is_caught(build):
    model, X, y = build()  # its rows were chosen otherwise
    lie = SplitRecord("drawn", seed=2, fraction=0.5)
    lying = dataclasses.replace(model, certificate=dataclasses.replace(model.certificate, split=lie))
    report = verify(lying, X, y)
    assert failed(report) == {"split redrawn"}
    assert "not those that seed 2 draws from 240 rows (drawn with numpy" in report.failures[0].detail


def test_a_changed_number_of_prior_rows_is_caught(saved):
    folder, X, y = saved("inside")
    edit_certificate(folder, "prior.n_rows", 119)
    report = verify(folder, X, y)
    assert failed(report) == {"certificate text", "prior record"}
    assert report.failures[1].detail == "A pre-trained prior saw the 120 prior rows, but its n_rows is 119"


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [("zero", "seed", 3), ("inside", "seed", 3), ("inside", "initialisation", "zero")],
)
def test_what_a_prior_cannot_have_is_caught(saved, kind, key, value):
    folder, X, y = saved(kind)
    edit_certificate(folder, f"prior.{key}", value)
    assert "prior record" in failed(verify(folder, X, y))


@pytest.mark.parametrize(
    ("part", "step"),
    [
        ("inputs", "empirical risk"),
        ("claims.0.evidence", "evidence"),
        ("alternatives.3.evidence", "alternatives"),
    ],
)
def test_an_understated_risk_is_caught_however_small(part, step, tmp_path):
    # Without a hidden layer the numerical error is far below the slack for rounding on other machines.
    x = np.random.default_rng(0).normal(size=(100, 2))
    network = AggregatedNetwork([torch.tensor([[1.0, 0.5, 0.1]])], [torch.tensor([[0.5, 0.0, 0.0]])])
    options = {"prior": PriorRecord("given"), "prior_rows": [], "certified_rows": range(100)}
    model = certify_network(network, x, x[:, 0] > 0, classes=(False, True), **options)
    error = model.certificate.inputs.numerical_error
    assert error < 1e-13
    folder = save_model(model, tmp_path / "model")
    edit_certificate(folder, f"{part}.empirical_risk", lambda risk: risk - error)
    assert step not in failed(verify(folder, x, x[:, 0] > 0))
    edit_certificate(folder, f"{part}.empirical_risk", lambda risk: risk - 4 * error)
    report = verify(folder, x, x[:, 0] > 0)
    assert step in failed(report)


def test_rows_beyond_the_table_are_caught(saved):
    folder, X, y = saved("random")
    edit_tensor(folder, "certified_rows", lambda rows: rows.add_(1000))
    assert {"split", "certified rows", "empirical risk"} <= failed(verify(folder, X, y))


def test_a_leak_makes_the_folder_unreadable_and_the_report_says_so(saved):
    folder, X, y = saved("inside")
    tensors = load_file(folder / "model.safetensors")
    tensors["prior_rows"][0] = tensors["certified_rows"][0]
    save_file(tensors, folder / "model.safetensors")
    report = verify(folder, X, y)
    assert failed(report) == {"files", *CHECKS}
    assert "also prior rows" in report.steps[0].detail


def test_a_preprocessor_fitted_on_certified_rows_is_caught(build):
    _, X, y = build()
    everything = TablePreprocessor().fit(X)
    dishonest, X, y = build(preprocessor=everything)
    report = verify(dishonest, X, y)
    assert failed(report) == {"preprocessing refitted"}
    assert "not fitted on the prior rows alone" in report.failures[0].detail


def test_a_changed_preprocessing_file_is_caught(saved):
    folder, X, y = saved("inside")
    path = folder / "preprocessing.json"
    original = path.read_text()
    data = json.loads(original)
    data["preprocessor"]["columns"][0]["mean"] += 1e-6
    path.write_text(json.dumps(data))
    assert {"preprocessing", "preprocessing refitted"} <= failed(verify(folder, X, y))
    data = json.loads(original)
    data["classes"]["values"].reverse()
    path.write_text(json.dumps(data))
    assert {"preprocessing", "empirical risk"} <= failed(verify(folder, X, y))


def test_removing_the_preprocessor_or_its_record_is_caught(saved):
    folder, X, y = saved("inside")
    edit_certificate(folder, "preprocessing.status", "none")
    assert {"statement", "preprocessing refitted"} <= failed(verify(folder, X, y))


def test_a_prior_kept_in_single_precision_is_recognised(build):
    model, X, y = build("random")
    rounded = [
        weight.float()
        for weight in initial_weights(
            1, (4,), generator=torch.Generator().manual_seed(7), dtype=torch.float64
        )
    ]
    network = AggregatedNetwork([weight.detach().float() for weight in model.network.weights], rounded)
    single = certify_network(
        network, X, y, classes=("no", "yes"), prior=PriorRecord("random", seed=7), prior_rows=[],
        certified_rows=range(240),
    )  # fmt: skip
    assert verify(single, X, y).ok


def test_what_is_taken_on_trust_is_said(build):
    model, X, y = build()
    report = verify(model, X, y)
    names = ["split redrawn", "prior regenerated", "settled beforehand"]
    assert [step.name for step in report.trusted] == names
    assert all(step.ok and step.status == "trusted" and "on trust" in step.detail for step in report.trusted)
    assert len(report.recomputed) + len(report.trusted) == len(report.steps)
    outside, X, y = build("zero", preprocessing=PreprocessingRecord("outside", "a scaler"))
    report = verify(outside, X, y)
    assert [step.name for step in report.trusted] == ["preprocessing refitted", "settled beforehand"]
    assert report.summary == "Verified: 30 steps recomputed, 2 taken on trust."
    assert "[trusted] preprocessing refitted (outside the proof: that it does not depend on" in str(report)


def test_rows_left_out_are_on_trust_or_a_failure(build):
    partial, X, y = build("zero", certified_rows=range(200), split=SplitRecord("given"))
    report = verify(partial, X, y)
    assert report.ok, str(report)
    rows = next(step for step in report.trusted if step.name == "certified rows")
    assert rows.detail == (
        "40 rows of the table are in neither part: that they were left out without looking at anything is "
        "taken on trust"
    )
    for how in ("none", "drawn"):
        options = {"seed": 1, "fraction": 0.5} if how == "drawn" else {}
        split = SplitRecord(how, **options)
        lie = dataclasses.replace(partial, certificate=dataclasses.replace(partial.certificate, split=split))
        assert "certified rows" in failed(verify(lie, X, y))


def test_rows_that_were_dropped_afterwards_are_missed(build):
    # Certified on the rows it gets right, under a record that says that the split was drawn.
    model, X, y = drawn(build)
    rows = model.certified_rows
    right = rows[model.predict(X[rows]) == y[rows]]
    assert right.size < rows.size
    with pytest.raises(DomainError, match="neither prior nor certified"):
        build(
            split=model.certificate.split,
            prior_rows=model.prior_rows,
            certified_rows=right,
            preprocessor=model.preprocessor,
        )
    given = build(prior_rows=model.prior_rows, certified_rows=right, preprocessor=model.preprocessor)[0]
    inputs = dataclasses.replace(given.certificate.inputs, n_left_out=0)
    for changes in ({}, {"inputs": inputs}):
        certificate = dataclasses.replace(given.certificate, split=model.certificate.split, **changes)
        assert failed(verify(dataclasses.replace(given, certificate=certificate), X, y)) == {"certified rows"}


def test_copies_of_prior_rows_are_counted(build):
    model, X, y = build("zero")
    X = np.array(X)
    X[3:6] = X[10]
    network, options = model.network, {"classes": ("no", "yes"), "prior": PriorRecord("zero")}
    for prior_rows, expected in (([], 3), ([10], 3), ([3, 4, 5], 1), ([3, 10], 2), ([0], 3)):
        rest = np.setdiff1d(np.arange(240), prior_rows)
        copied = certify_network(network, X, y, prior_rows=prior_rows, certified_rows=rest, **options)
        assert copied.certificate.inputs.n_duplicates == expected
        said = f"{expected} of the certified rows repeat another row of the table, prior rows included"
        assert any(each.startswith(said) for each in copied.certificate.assumptions)
        assert verify(copied, X, y).ok


def test_unseen_categories_do_not_disturb_verification(build):
    _, X, y = build()
    rows = np.flatnonzero(X[:, 2] != "red")[:100]
    preprocessor = TablePreprocessor().fit(X[rows])
    options = {
        "classes": ("no", "yes"),
        "prior": PriorRecord("given"),
        "prior_rows": rows,
        "certified_rows": np.setdiff1d(np.arange(240), rows),
        "preprocessor": preprocessor,
    }
    generator = torch.Generator().manual_seed(0)
    network = AggregatedNetwork.initialise(preprocessor.n_features_out_, (2,), generator=generator)
    with pytest.warns(UnseenCategoryWarning, match="Not among the fitted rows.*'red'"):
        model = certify_network(network, X, y, **options)
    assert verify(model, X, y).ok


def test_the_report_reads_well(saved):
    folder, X, y = saved("random")
    edit_certificate(folder, "claims.0.value", 0.001)
    text = str(verify(folder, X, y))
    assert "[ok] posterior weights" in text
    assert "[FAILED] bound: expected seeger 0.001 from 240 rows, risk 0." in text
    assert text.endswith("\nNOT verified: 3 of 32 steps failed.")
    step = verify(folder, X, y).failures[0]
    assert dataclasses.asdict(step)["ok"] is False
    assert step.status == "failed"
    with pytest.raises(DomainError, match="status must be one of ok, failed, trusted"):
        VerificationStep("a", "b", "c", "perhaps")
    with pytest.raises(dataclasses.FrozenInstanceError):
        step.ok = True


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("predictors.0", "the sign network"),
        ("aggregation.tolerance", 1e-3),
        ("assumptions", ["Trust me."]),
        ("delta", 0.01),
        ("alternatives.2.evidence.n_errors", 3),
        ("claims.0.delta", 0.01),
        ("choices.certificate", "vote"),
        ("n_rows_total", 3),
        ("split", {"how": "drawn", "seed": 3, "fraction": 0.5}),
    ],
)
def test_what_was_expected_and_found_is_plain_text(saved, path, value):
    folder, X, y = saved("inside")
    edit_certificate(folder, path, value)
    report = verify(folder, X, y)
    assert not report.ok
    for step in report.steps:
        assert not re.search(r"Record|Predictors|[\[\]{}]|\('|=|array|None", step.expected + step.found), step
    assert all(step.expected != step.found for step in report.failures)


def test_an_auditor_needs_nothing_of_training(saved, tmp_path):
    folder, X, y = saved("inside")
    np.savez(tmp_path / "data.npz", number=X[:, :2].astype(float), text=X[:, 2].astype(str), y=y)
    code = f"""
        import sys
        sys.modules["pandas"] = None  # whoever imports it fails
        import numpy as np
        from pbgnet.certificates import load_model, verify
        data = np.load({str(tmp_path / "data.npz")!r})
        X = np.empty((240, 3), dtype=object)
        X[:, :2], X[:, 2] = data["number"], data["text"]
        report = verify({str(folder)!r}, X, data["y"])
        load_model({str(folder)!r}).predict(X)
        loaded = {{name.split(".")[1] for name in sys.modules if name.startswith("pbgnet.")}}
        assert not loaded & {{"training", "estimators", "experiments", "cli"}}, loaded
        print(report)
        sys.exit(not report.ok)
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
