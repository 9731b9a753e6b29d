"""pbgnet train --model, --compare and --keep, and pbgnet report of a model."""

import html
import json

import joblib
import numpy as np
import pytest

from pbgnet.bounds import clopper_pearson_bound
from pbgnet.certificates import load_certified
from pbgnet.choices import CLASSIFIERS
from pbgnet.cli.tables import read_table

TREE = ("--model", "logistic_regression")


@pytest.fixture
def data(table, tmp_path):
    place = tmp_path / "t.csv"
    table.to_csv(place, index=False, na_rep="?")
    return place


def trained(run, data, *options):
    out = data.parent / "model"
    result = run("train", data, "--target", "label", "--out", out, *options)
    assert result.exit_code == 0, result.output
    return out, result


def test_the_folder_holds_certificate_answers_and_report(run, data):
    out, result = trained(run, data, *TREE)
    assert {path.name for path in out.iterdir()} == {
        "about.json",
        "certificate.json",
        "predictions.json",
        "report.html",
        "rows.safetensors",
        "table.json",
    }
    certificate = load_certified(out).certificate
    assert certificate.statement in result.stdout
    assert "The classifier itself is not stored" in result.stdout
    page = html.unescape((out / "report.html").read_text())
    assert certificate.statement in page
    assert all(sentence in page for sentence in certificate.assumptions)
    assert "How was it trained?" not in page
    assert run("verify", out, data).exit_code == 0
    assert "not stored with the certificate" in run("show", out).stdout


def test_a_changed_cell_is_found(run, data):
    out, _ = trained(run, data, *TREE)
    data.write_text(data.read_text().replace("red", "blue", 1))
    result = run("verify", out, data)
    assert result.exit_code == 1
    assert "FAILED: data: features" in result.stdout


def test_the_best_of_several_is_taken(run_json, data):
    names = ("logistic_regression", "random_forest")
    options = [text for name in names for text in ("--model", name)]
    payload = run_json(
        "train", data, "--target", "label", "--out", data.parent / "m", *options, "--seed", "1"
    )
    fit = payload["certificate"]["subject"]["fit"]
    errors = [candidate["n_errors"] for candidate in fit["candidates"]]
    assert fit["classifier"] == fit["candidates"][int(np.argmin(errors))]["classifier"]
    assert payload["rows"] == {"prior": 60, "certified": 60}


def test_parquet_and_several_classes(run, table, tmp_path):
    pytest.importorskip("pyarrow")
    table["label"] = np.where(table["large"], "large", table["label"])
    table.to_parquet(tmp_path / "t.parquet")
    out, _ = trained(run, tmp_path / "t.parquet", *TREE, "--class-conditional", "--prior-fraction", "0.6")
    assert len(load_certified(out).certificate.class_conditional) == 3
    assert run("verify", out, tmp_path / "t.parquet").exit_code == 0


def test_options_of_networks_are_refused(run, data, tmp_path):
    for option in (("--hidden", "5"), ("--certificate", "vote"), ("--learning-rate", "0.5")):
        result = run("train", data, "--target", "label", "--out", tmp_path / "m", *TREE, *option)
        assert result.exit_code == 2
        assert f"{option[0]} only applies to networks" in result.stderr
    result = run("train", data, "--target", "label", "--out", tmp_path / "m", "--model", "forest")
    assert result.exit_code == 2
    assert "random_forest" in result.stderr
    result = run("train", data, "--target", "label", "--out", tmp_path / "m", "--keep", tmp_path / "k")
    assert result.exit_code == 2
    assert not (tmp_path / "m").exists()


def test_all_names_are_in_the_help(run):
    text = "".join(run("train", "--help").stdout.replace("│", " ").split())  # it is wrapped
    assert all(name in text for name in CLASSIFIERS)


def test_the_classifier_can_be_kept(run, data, tmp_path):
    out, result = trained(run, data, *TREE, "--keep", tmp_path / "kept.joblib")
    assert f"{tmp_path / 'kept.joblib'} is one for your own use." in result.stdout
    kept = joblib.load(tmp_path / "kept.joblib")
    rows = read_table(data).drop(columns="label")
    certified = load_certified(out)
    assert np.array_equal(kept.predict(rows.iloc[certified.split.certified_rows]), certified.labels)


def test_a_test_set_is_counted(run_json, data, table):
    out = data.parent / "m"
    payload = run_json("train", data, "--target", "label", "--out", out, *TREE, "--test", data)
    assert payload["test"]["rows"] == len(table)
    assert run_json("show", out)["test"] == payload["test"]


def test_alternatives_stand_beside_a_network_and_are_kept(run, run_json, data, quick):
    out = data.parent / "model"
    payload = run_json("train", data, "--target", "label", "--out", out, "--compare", *quick)
    assert [found["classifier"] for found in payload["alternatives"]] == [
        "logistic_regression",
        "random_forest",
        "hist_gradient_boosting",
    ]
    for found in payload["alternatives"]:
        assert found["n"] == 60
        assert found["bound"] == clopper_pearson_bound(found["n_errors"], 60, 0.05)
    page = (out / "report.html").read_text()
    assert "They are alternatives, not claims of this\ncertificate." in page
    assert "Alternative: random forest" in page
    assert run_json("show", out)["alternatives"] == payload["alternatives"]
    assert "Alternative: random forest" in run("show", out).stdout


def test_the_page_of_a_model_is_written_again_with_alternatives(run, run_json, copy):
    model, table = copy / "model", copy / "table.csv"
    before = (model / "report.html").read_text()
    again = run("report", model, table)
    assert again.exit_code == 0, again.output
    assert (model / "report.html").read_text() == before
    payload = run_json("report", model, table, "--compare")
    assert len(payload["alternatives"]) == 3
    assert "Alternative: logistic regression" in (model / "report.html").read_text()
    assert json.loads((model / "compared.json").read_text())["n_rows"] == 60
    assert run("verify", model, table).exit_code == 0


def test_the_page_is_written_again_without_the_table(run, copy):
    page = copy / "model" / "report.html"
    page.unlink()
    again = run("report", copy / "model")
    assert again.exit_code == 0, again.output
    assert "<html" in page.read_text()
    assert run("verify", copy / "model", copy / "table.csv").exit_code == 0


def test_report_refuses_what_it_cannot_do(run, copy):
    assert run("report", copy / "model", "--compare").exit_code == 2
    assert run("report", copy / "model", "--plain").exit_code == 2
    assert run("report", "smoke", "--compare").exit_code == 2


def test_a_damaged_comparison_is_named(run, copy):
    (copy / "model" / "compared.json").write_text("{}")
    result = run("show", copy / "model")
    assert result.exit_code == 3
    assert "compared.json" in result.stderr


@pytest.mark.parametrize("text", ["{}", "[1]", "no", "[NaN]"])
def test_a_damaged_history_is_named(text, run, copy):
    (copy / "model" / "history.json").write_text(text)
    result = run("report", copy / "model", copy / "table.csv")
    assert result.exit_code == 3
    assert "history.json" in result.stderr


def test_a_comparison_of_another_model_or_of_other_rows_is_ignored(run_json, copy):
    model, table = copy / "model", copy / "table.csv"
    assert run_json("report", model, table, "--compare")["alternatives"]
    place = model / "compared.json"
    content = json.loads(place.read_text())
    for change in ({"certificate": "0" * 64}, {"n_rows": 2**50}):
        place.write_text(json.dumps({**content, **change}))
        assert run_json("show", model)["alternatives"] is None
