"""The whole way with several labels: train, show, predict, verify, report; and models made in Python."""

import json

import numpy as np
import pytest

from pbgnet.certificates import load_certified, load_model, round_up
from pbgnet.estimators import PBGNetMultilabelClassifier

pd = pytest.importorskip("pandas")

NAMES = ["warm", "wet"]
TARGETS = ("--target", "warm", "--target", "wet", "--target", "windy")
QUICK = ("--hidden", "3", "--max-epochs", "3", "--members", "2", "--device", "cpu")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A model in a folder, and the table it was made from."""
    folder, rng = tmp_path_factory.mktemp("labels"), np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"]).round(4)
    labels = pd.DataFrame(table.to_numpy() + 0.3 * rng.normal(size=(80, 2)) > 0, columns=NAMES)
    classifier = PBGNetMultilabelClassifier((3,), n_members=2, max_epochs=5, per_label=True, random_state=0)
    classifier.fit(table, labels).save(folder / "model")
    table.assign(**labels).to_csv(folder / "table.csv", index=False)
    return folder, classifier, table


def weather(n=160, seed=0):
    """Numbers, words and gaps, and three labels written in three ways."""
    rng = np.random.default_rng(seed)
    degrees, hours = rng.normal(size=n).round(3), rng.normal(size=n).round(3)
    sky = rng.choice(["grey", "blue"], n)
    table = pd.DataFrame({"degrees": degrees, "hours": hours, "sky": sky})
    table.loc[::11, "hours"] = np.nan
    return table.assign(
        warm=(degrees > 0).astype(int),
        wet=np.where((sky == "grey") & (hours > -0.5), "yes", "no"),
        windy=np.where(degrees + hours > 0.5, "x", ""),
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory, run):
    """A folder with table.csv, test.csv and model; to be read only."""
    folder = tmp_path_factory.mktemp("weather")
    weather().to_csv(folder / "table.csv", index=False, na_rep="?")
    weather(60, seed=1).to_csv(folder / "test.csv", index=False, na_rep="?")
    options = ("--out", folder / "model", "--per-label", "--test", folder / "test.csv", *QUICK)
    result = run("train", folder / "table.csv", *TARGETS, *options)
    assert result.exit_code == 0, result.output
    (folder / "output.txt").write_text(result.stdout)
    return folder


def test_show_speaks_of_labels(run, fitted):
    folder, classifier, _ = fitted
    shown = " ".join(run("show", folder / "model").stdout.split())
    assert classifier.certificate_.summary in shown
    assert "Any label wrong on at most" in shown
    for words in ("labels 'warm' and 'wet'", "in label 'wet'", "bound on the share of wrong labels"):
        assert words in shown


def test_predict_answers_for_each_label(run, run_json, fitted, tmp_path):
    folder, classifier, table = fitted
    out = tmp_path / "p.csv"
    told = run_json("predict", folder / "model", folder / "table.csv", "--out", out)
    found, answers = pd.read_csv(out), classifier.predict(table)
    assert found.columns.tolist() == [f"{kind}_{name}" for kind in ("prediction", "share") for name in NAMES]
    assert (found.to_numpy()[:, :2] == answers).all()
    assert np.abs(found.to_numpy()[:, 2:] - classifier.predict_proba(table)).max() < 1e-6
    assert told["counts"] == dict(zip(NAMES, answers.sum(axis=0).tolist(), strict=True))


def test_a_model_made_in_python_is_verified_by_naming_its_columns(run, fitted):
    folder, *_ = fitted
    result = run("verify", folder / "model", folder / "table.csv", "--target", "warm", "--target", "wet")
    assert result.exit_code == 0, result.output
    assert run("verify", folder / "model", folder / "table.csv", "--target", "warm").exit_code == 1


def test_train_learns_columns_of_zeros_words_and_marks(trained):
    model, printed = load_model(trained / "model"), (trained / "output.txt").read_text()
    table, certificate = weather(), model.certificate
    assert model.classes == ("warm", "wet", "windy")
    assert model.feature_names == ("degrees", "hours", "sky")
    assert certificate.network.preprocessing.status == "inside"
    truth = np.column_stack([table["warm"], table["wet"] == "yes", table["windy"] == "x"])
    rows = model.certified_rows
    read = table.iloc[:, :3].astype(object).where(table.iloc[:, :3].notna(), None)
    wrong = (model.predict(read) != truth)[rows]
    assert certificate.inputs.n_errors == wrong.any(axis=1).sum()
    assert [claim.evidence.n_errors for claim in certificate.per_label] == wrong.sum(axis=0).tolist()
    assert certificate.summary in printed
    for words in ("Rows with any wrong label:", "Measured on 60 test rows", "the Hamming loss:"):
        assert words in printed
    for claim in certificate.per_label:
        (line,) = [line for line in printed.splitlines() if line.startswith(f"    in label {claim.label} ")]
        assert line.endswith(round_up(claim.value))
    assert json.loads((trained / "model" / "table.json").read_text())["targets"] == ["warm", "wet", "windy"]


def test_verify_agrees_and_names_what_was_changed(trained, run, tmp_path):
    result = run("verify", trained / "model", trained / "table.csv")
    assert result.exit_code == 0, result.output
    lines = (trained / "table.csv").read_text().splitlines()
    changed = tmp_path / "changed.csv"
    other = {"x": "", "": "x"}
    first = lines[1].rsplit(",", 1)
    for cell, told in (
        (other[first[1]], "A label differs, or the labels are in another order than the rows"),
        ("u", "contains 'u' in line 2"),
    ):
        changed.write_text("\n".join([lines[0], f"{first[0]},{cell}", *lines[2:]]) + "\n")
        result = run("verify", trained / "model", changed)
        assert result.exit_code == 1
        assert told in result.stdout + result.stderr


def test_predict_needs_no_labels(trained, run, tmp_path):
    bare, out = tmp_path / "bare.csv", tmp_path / "out.csv"
    weather(20, seed=2).iloc[:, :3].to_csv(bare, index=False, na_rep="?")
    assert run("predict", trained / "model", bare, "--out", out).exit_code == 0
    assert pd.read_csv(out).columns.tolist()[:3] == ["prediction_warm", "prediction_wet", "prediction_windy"]


def test_show_and_report_of_what_was_trained(trained, run, run_json):
    shown = run_json("show", trained / "model")
    assert shown["targets"] == ["warm", "wet", "windy"]
    assert shown["test"]["rows"] == 60
    (trained / "model" / "report.html").unlink()
    assert run("report", trained / "model", trained / "table.csv").exit_code == 0
    page = (trained / "model" / "report.html").read_text()
    assert 'id="errors"' in page
    assert "Measured on 60 test rows" in page


def test_other_classifiers_and_a_comparison(trained, run, tmp_path):
    options = ("--model", "logistic_regression", "--per-label", "--compare", "--out", tmp_path / "other")
    result = run("train", trained / "table.csv", *TARGETS, *options)
    assert result.exit_code == 0, result.output
    loaded = load_certified(tmp_path / "other")
    assert loaded.classes == ("warm", "wet", "windy")
    assert len(loaded.certificate.per_label) == 3
    assert "MultiOutputClassifier" in loaded.certificate.subject.fit.classifier
    assert "Alternative: random forest" in result.stdout
    assert run("verify", tmp_path / "other", trained / "table.csv").exit_code == 0
    assert 'id="errors"' in (tmp_path / "other" / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((*TARGETS, "--confusion"), "--confusion requires a single --target"),
        ((*TARGETS, "--max-error", 0.1), "--max-error requires a single --target"),
        ((*TARGETS, "--coverage", 0.8), "--coverage requires a single --target"),
        ((*TARGETS, "--class-conditional"), "--class-conditional requires a single --target"),
        ((*TARGETS, "--max-error", "0.1"), "--max-error requires a single --target"),
        (
            (*TARGETS, "--coverage", "0.5", "--model", "random_forest"),
            "--coverage requires a single --target",
        ),
        ((*TARGETS, "--code", "hadamard"), "--code requires a single --target"),
        ((*TARGETS, "--algorithm", "pbgnet"), "--algorithm requires a single --target"),
        (("--target", "wet", "--per-label"), "--per-label requires several --target"),
        ((*TARGETS, "--target", "sky"), "Column 'sky' must say which rows have that label"),
        ((*TARGETS, "--drop", "wet"), "'wet' cannot be dropped"),
    ],
)
def test_what_does_not_fit_is_told(trained, run, tmp_path, options, told):
    result = run("train", trained / "table.csv", "--out", tmp_path / "m", *options)
    assert result.exit_code == 2
    assert told in result.stderr
    assert not (tmp_path / "m").exists()
