"""Where the split, the preprocessor and the prior came from: repeated, or taken on trust."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.certificates.conftest import failed, verify
from tests.certificates.verification.conftest import edit_certificate, edit_tensor, told

from pbgnet.certificates import PriorRecord, SplitRecord, certify_network, draw_prior_rows, save_model
from pbgnet.certificates.verification.steps import NETWORK_STEPS
from pbgnet.exceptions import DomainError
from pbgnet.networks import AggregatedNetwork, initial_weights
from pbgnet.preprocessing import TablePreprocessor


def test_a_changed_split_is_caught(saved):
    folder, X, y = saved("inside")

    def swap(rows):
        rows[[0, 1]] = rows[[1, 0]]

    edit_tensor(folder, "certified_rows", swap)
    assert failed(verify(folder, X, y)) == {"split"}


def drawn(build, seed=5, fraction=0.5):
    _, X, y = build()
    rows = draw_prior_rows(X, y, fraction, seed)
    return build(
        split=SplitRecord("drawn", seed=seed, fraction=fraction),
        prior_rows=rows,
        certified_rows=np.setdiff1d(np.arange(240), rows),
        preprocessor=TablePreprocessor("standard").fit(X[rows]),
    )


def test_a_drawn_split_is_drawn_again(build, tmp_path):
    model, X, y = drawn(build)
    report = verify(model, X, y)
    assert report.ok, str(report)
    assert [step.name for step in report.trusted] == ["prior regenerated", "settled beforehand"]
    assert "order of the rows" not in str(report), "the draw does not depend on it"
    folder = save_model(model, tmp_path / "drawn")
    for path, value in (("subject.split.seed", 6), ("subject.split.fraction", 0.4)):
        genuine = (folder / "certificate.json").read_text()
        edit_certificate(folder, path, value)
        assert failed(verify(folder, X, y)) == {"certificate text", "split redrawn"}
        (folder / "certificate.json").write_text(genuine)
    # The rows are drawn from the table given: another number of rows draws others.
    assert "split redrawn" in failed(verify(folder, X[:-1], y[:-1]))


def test_a_split_that_was_not_drawn_as_stated_is_caught(build):
    model, X, y = build()  # its rows were chosen otherwise
    lie = SplitRecord("drawn", seed=2, fraction=0.5)
    report = verify(told(model, split=lie), X, y)
    assert failed(report) == {"split redrawn"}
    assert "not the ones that seed 2 draws from 240 rows (drawn with numpy" in report.failures[0].detail


def test_a_changed_number_of_prior_rows_is_caught(saved):
    folder, X, y = saved("inside")
    edit_certificate(folder, "subject.prior.n_rows", 119)
    report = verify(folder, X, y)
    assert failed(report) == {"certificate text", "prior record"}
    assert report.failures[1].detail == "A pre-trained prior saw the 120 prior rows, but its n_rows is 119"


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [("zero", "seed", 3), ("inside", "seed", 3), ("inside", "initialisation", "zero")],
)
def test_what_a_prior_cannot_have_is_caught(saved, kind, key, value):
    folder, X, y = saved(kind)
    edit_certificate(folder, f"subject.prior.{key}", value)
    assert "prior record" in failed(verify(folder, X, y))


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
    assert failed(report) == {"files"}
    assert [step.name for step in report.skipped] == [*NETWORK_STEPS]
    assert "also prior rows" in report.steps[0].detail


def test_a_preprocessor_fitted_on_certified_rows_is_caught(build):
    _, X, y = build()
    everything = TablePreprocessor("standard").fit(X)
    dishonest, X, y = build(preprocessor=everything)
    report = verify(dishonest, X, y)
    assert failed(report) == {"preprocessing refitted"}
    assert "not fitted only on the prior rows" in report.failures[0].detail


def test_a_changed_preprocessing_file_is_caught(saved):
    folder, X, y = saved("inside")
    path = folder / "preprocessing.json"
    original = path.read_text()
    data = json.loads(original)
    data["preprocessor"]["columns"][0]["median"] += 1e-6
    path.write_text(json.dumps(data))
    assert {"preprocessing", "preprocessing refitted"} <= failed(verify(folder, X, y))
    data = json.loads(original)
    data["classes"]["values"].reverse()
    path.write_text(json.dumps(data))
    assert {"preprocessing", "empirical risk"} <= failed(verify(folder, X, y))


def test_removing_the_preprocessor_or_its_record_is_caught(saved):
    folder, X, y = saved("inside")
    edit_certificate(folder, "subject.preprocessing.status", "none")
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


def test_rows_left_out_are_on_trust_or_a_failure(build):
    partial, X, y = build("zero", certified_rows=range(200), split=SplitRecord("given"))
    report = verify(partial, X, y)
    assert report.ok, str(report)
    rows = next(step for step in report.trusted if step.name == "certified rows")
    assert rows.detail == (
        "taken on trust: 40 rows that are neither prior rows nor certified rows were left out without "
        "looking at their features or labels"
    )
    for how in ("none", "drawn"):
        options = {"seed": 1, "fraction": 0.5} if how == "drawn" else {}
        lie = told(partial, split=SplitRecord(how, **options))
        assert "certified rows" in failed(verify(lie, X, y))


def test_rows_that_were_dropped_afterwards_are_missed(build):
    # Certified on the rows it gets right, under a record that says that the split was drawn.
    model, X, y = drawn(build)
    rows = model.certified_rows
    right = rows[model.predict(X[rows]) == y[rows]]
    assert right.size < rows.size
    with pytest.raises(DomainError, match="neither prior rows nor certified rows"):
        build(
            split=model.certificate.network.split,
            prior_rows=model.prior_rows,
            certified_rows=right,
            preprocessor=model.preprocessor,
        )
    given = build(prior_rows=model.prior_rows, certified_rows=right, preprocessor=model.preprocessor)[0]
    for changes in ({}, {"n_left_out": 0}):
        lie = told(given, split=model.certificate.network.split, **changes)
        assert failed(verify(lie, X, y)) == {"certified rows"}
