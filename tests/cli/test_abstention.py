"""train --max-error and --coverage, and what predict makes of it."""

import json

import numpy as np
import pytest

from pbgnet.certificates import load_model

pd = pytest.importorskip("pandas")

QUICK = ("--max-epochs", "10", "--members", "2", "--quiet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table whose label is clear where x is far from 0, and a coin where it is near."""
    rng, place = np.random.default_rng(0), tmp_path_factory.mktemp("sure")
    x = rng.normal(size=900)
    clear = np.where(x > 0, "yes", "no")
    label = np.where((abs(x) < 0.4) & (rng.random(900) < 0.5), np.where(x > 0, "no", "yes"), clear)
    pd.DataFrame({"x": x, "other": rng.normal(size=900), "label": label}).to_csv(place / "t.csv", index=False)
    return place


@pytest.fixture(scope="module")
def model(run, folder):
    result = run(
        "train", folder / "t.csv", "--target", "label", "--out", folder / "m", "--max-error", 0.06, *QUICK
    )
    assert result.exit_code == 0, result.output
    return folder / "m"


def test_predict_leaves_cells_empty_and_says_so(run, folder, model):
    out = folder / "p.csv"
    result = run("predict", model, folder / "t.csv", "--out", out, "--json")
    assert result.exit_code == 0, result.output
    found, loaded = pd.read_csv(out), load_model(model)
    assert found.columns.tolist() == ["prediction", "answered", "share_no", "share_yes"]
    assert found["answered"].dtype == bool
    np.testing.assert_array_equal(found["prediction"].notna(), found["answered"])
    assert 0 < found["answered"].mean() < 1
    table = pd.read_csv(folder / "t.csv", dtype=str).drop(columns="label")
    expected = loaded.predict_or_abstain(table)
    assert found["prediction"].fillna("").tolist() == [answer or "" for answer in expected]
    counts = json.loads(result.stdout)["counts"]
    assert counts["not answered"] == int((~found["answered"]).sum())
    far = abs(pd.read_csv(folder / "t.csv")["x"]) > 0.6
    assert found["answered"][far].mean() > found["answered"][~far].mean()


def test_parquet_has_no_value_there(run, folder, model):
    out = folder / "p.parquet"
    assert run("predict", model, folder / "t.csv", "--out", out).exit_code == 0
    found = pd.read_parquet(out)
    np.testing.assert_array_equal(found["prediction"].notna(), found["answered"])


def test_show_and_the_page_tell_it_and_verify_agrees(run, folder, model):
    shown = run("show", model)
    assert shown.exit_code == 0, shown.output
    assert "bound on the share left unanswered" in shown.stdout
    assert "wrong on at most 6 % of those it answers" in shown.stdout
    page = (model / "report.html").read_text()
    assert "What if it answers only when it is sure?" in page
    assert 'id="chart-answering"' in page or "chart-answering" in page
    assert run("verify", model, folder / "t.csv").exit_code == 0


def test_another_classifier_at_a_given_coverage(run, folder):
    out = folder / "other"
    result = run(
        "train", folder / "t.csv", "--target", "label", "--out", out, "--model", "logistic_regression",
        "--coverage", 0.7, "--quiet",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert run("verify", out, folder / "t.csv").exit_code == 0
    assert "answered" in run("show", out).stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--max-error", 0), "--max-error must be between 0 and 1"),
        (("--max-error", 1), "--max-error must be between 0 and 1"),
        (("--max-error", 0.1, "--coverage", 0.5), "Give --max-error or --coverage, not both"),
        (("--coverage", 0), "--coverage, the share of rows to answer"),
        (("--coverage", 1.5), "--coverage, the share of rows to answer"),
        (("--max-error", 0.1, "--certificate", "seeger"), "held-out"),
        (("--max-error", 0, "--model", "logistic_regression"), "must be between 0 and 1"),
    ],
)
def test_what_cannot_be_asked_for_is_bad_input(run, folder, options, message):
    result = run("train", folder / "t.csv", "--target", "label", "--out", folder / "no", *options)
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert not (folder / "no").exists()


def test_monitor_holds_answered_rows_against_their_bound(run_json, folder, model, tmp_path):
    told = run_json("monitor", model, folder / "t.csv", "--log", tmp_path / "log.json")
    overall, sure = told["claims"]
    table = pd.read_csv(folder / "t.csv", dtype=str)
    answers = load_model(model).predict_or_abstain(table.drop(columns="label"))
    answered = np.array([answer is not None for answer in answers])
    assert (overall["rows"], overall["answered"], sure["answered"]) == (900, False, True)
    assert sure["rows"] == answered.sum()
    assert sure["errors"] == (answers != table["label"].to_numpy())[answered].sum()
    assert sure["bound"] == 0.06


def test_monitor_takes_an_empty_prediction_for_no_answer(run, run_json, folder, tmp_path):
    table, new = folder / "t.csv", tmp_path / "new.csv"
    options = ("--target", "label", "--coverage", 0.6, "--model", "logistic_regression", "--quiet")
    assert run("train", table, *options, "--out", tmp_path / "m").exit_code == 0
    frame = pd.read_csv(table)
    sure = abs(frame["x"]) > 0.52  # of six rows in ten
    right = np.where(frame["x"] > 0, "yes", "no")
    frame.assign(label=right, prediction=np.where(sure, right, None)).to_csv(new, index=False)
    log = ("--log", tmp_path / "log.json", "--reference", table)
    told = run_json("monitor", tmp_path / "m", new, *log)
    assert [claim["rows"] for claim in told["claims"]] == [900, sure.sum()]
    assert [claim["errors"] for claim in told["claims"]] == [0, 0]
    assert not told["change"]["alarm"]  # certified rows were left unanswered as well
