"""The whole way with more than two classes: train, show, predict, verify, report and export."""

import numpy as np
import pandas as pd
import pytest

from pbgnet.certificates import load_certified, load_model, round_up
from pbgnet.choices import CODES
from pbgnet.networks import CODES as CODES_AT_WORK

QUICK = ("--hidden", "3", "--max-epochs", "2", "--members", "2", "--device", "cpu")


def table_of(n_classes, n, seed=0):
    """Rows near a corner of their own for each class."""
    rng = np.random.default_rng(seed)
    places = np.arange(n) % n_classes
    corners = rng.normal(size=(n_classes, 3))
    numbers = (3.0 * corners[places] + rng.normal(size=(n, 3))).round(3)
    return pd.DataFrame(numbers, columns=["a", "b", "c"]).assign(kind=[f"kind {k}" for k in places])


@pytest.fixture(scope="module")
def made_classes(tmp_path_factory, run):
    folder = tmp_path_factory.mktemp("classes")
    table_of(3, 180).to_csv(folder / "table.csv", index=False)
    result = run(
        "train", folder / "table.csv", "--target", "kind", "--out", folder / "model", "--confusion", *QUICK
    )
    assert result.exit_code == 0, result.output
    (folder / "output.txt").write_text(result.stdout)
    return folder


def test_train_bounds_every_class_and_every_pair(made_classes):
    model, printed = load_model(made_classes / "model"), (made_classes / "output.txt").read_text()
    assert model.classes == ("kind 0", "kind 1", "kind 2")
    certificate = model.certificate
    assert len(certificate.confusion) == 6
    for claim in certificate.confusion:
        (line,) = [
            line
            for line in printed.splitlines()
            if f"in class {claim.given_class}, answered {claim.answered}" in line and "  0." in line
        ]
        assert line.endswith(round_up(claim.value))
    assert certificate.summary in printed


def test_verify_agrees_and_names_an_unknown_label(made_classes, run, tmp_path):
    result = run("verify", made_classes / "model", made_classes / "table.csv")
    assert result.exit_code == 0, result.output
    changed = tmp_path / "changed.csv"
    changed.write_text((made_classes / "table.csv").read_text().replace("kind 1", "kind 9", 1))
    result = run("verify", made_classes / "model", changed)
    assert result.exit_code == 1
    assert "is 'kind 9', which is not one of the certified classes" in result.stdout


def test_predict_writes_a_share_for_each_class(made_classes, run, tmp_path):
    out = tmp_path / "out.csv"
    result = run("predict", made_classes / "model", made_classes / "table.csv", "--out", out)
    assert result.exit_code == 0, result.output
    found = pd.read_csv(out)
    assert found.columns.tolist() == ["prediction", "share_kind 0", "share_kind 1", "share_kind 2"]
    shares = found.iloc[:, 1:].to_numpy()
    assert shares.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    assert [f"kind {k}" for k in shares.argmax(axis=1)] == found["prediction"].tolist()


def test_show_names_classes_outputs_and_code(made_classes, run):
    printed = run("show", made_classes / "model").stdout
    assert "3: 'kind 0', 'kind 1', 'kind 2'" in printed
    assert "-3-3, with intercepts; code hadamard" in printed


def test_the_page_and_the_onnx_file_are_made(made_classes, run, tmp_path):
    assert run("report", made_classes / "model", made_classes / "table.csv").exit_code == 0
    assert '<table class="confusion">' in (made_classes / "model" / "report.html").read_text()
    pytest.importorskip("onnxruntime")
    result = run("export", made_classes / "model", "--to", tmp_path / "m.onnx", "--network", "aggregate")
    assert result.exit_code == 0, result.output
    assert "'kind 0', 'kind 1', 'kind 2'" in result.stdout


def test_other_classifiers_and_a_comparison(made_classes, run, tmp_path):
    options = ("--model", "logistic_regression", "--confusion", "--compare", "--out", tmp_path / "other")
    result = run("train", made_classes / "table.csv", "--target", "kind", *options)
    assert result.exit_code == 0, result.output
    assert len(load_certified(tmp_path / "other").certificate.confusion) == 6
    assert "Alternative: random forest" in result.stdout
    assert '<table class="confusion">' in (tmp_path / "other" / "report.html").read_text()


@pytest.mark.parametrize("code", ["one-against-rest", "exhaustive"])
def test_the_code_can_be_chosen(made_classes, run, tmp_path, code):
    out = tmp_path / code
    result = run(
        "train", made_classes / "table.csv", "--target", "kind", "--out", out, "--code", code, *QUICK
    )
    assert result.exit_code == 0, result.output
    assert load_model(out).inputs.code.name == code


def test_codes_have_words():
    assert set(CODES) == set(CODES_AT_WORK)


def test_many_classes_fit_a_terminal(run, tmp_path):
    """Of 25 classes the worst are told, and what all others are below."""
    table_of(25, 500).to_csv(tmp_path / "table.csv", index=False)
    options = ("--target", "kind", "--out", tmp_path / "model", "--confusion", *QUICK)
    result = run("train", tmp_path / "table.csv", *options)
    assert result.exit_code == 0, result.output
    certificate = load_model(tmp_path / "model").certificate
    claims = sorted(certificate.class_conditional, key=lambda claim: -claim.value)
    lines = result.stdout.splitlines()
    assert len(lines) < 60
    assert max(map(len, lines)) < 1000
    listed = [line for line in lines if line.startswith("    in class 'kind")]
    assert ["answered" in line for line in listed] == [False] * 5 + [True] * 5
    assert any(
        "in each of the 20 other classes" in line and line.endswith(round_up(claims[5].value))
        for line in lines
    )
    assert any("in each of the 595 other pairs" in line for line in lines)
    assert f"at most {round_up(claims[3].value)} among rows of any other class" in certificate.statement
    assert certificate.statement.count("among rows of class") == 3
    assert certificate.summary.count("among rows of class") == 3
    result = run("predict", tmp_path / "model", tmp_path / "table.csv", "--out", tmp_path / "out.csv")
    assert len(result.stdout.splitlines()) <= 12
    assert "other classes" in result.stdout
