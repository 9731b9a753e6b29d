"""pbgnet verify: what is changed is found and named, without training being in sight."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

pd = pytest.importorskip("pandas")

from pbgnet.certificates import (  # noqa: E402
    VerificationReport,
    VerificationStep,
    round_up,
)
from pbgnet.cli.verify import show_steps  # noqa: E402
from pbgnet.files import set_aside_path  # noqa: E402


def failures(payload):
    return [step["name"] for step in payload["steps"] if not step["ok"]]


def test_an_untouched_model_verifies(run, run_json, made):
    result = run("verify", made / "model", made / "table.csv")
    assert result.exit_code == 0, result.output
    assert "Verified: " in result.stdout
    assert "FAILED" not in result.stdout
    assert result.stderr == ""
    payload = run_json("verify", made / "model", made / "table.csv")
    assert payload["ok"]
    assert payload["exit_code"] == 0
    assert all(step["expected"] and step["found"] for step in payload["steps"])
    assert len(payload["steps"]) > 10


def test_rows_columns_and_formats_may_differ_where_it_does_not_matter(run, made, tmp_path):
    frame = pd.read_csv(made / "table.csv", dtype=str, keep_default_na=False)
    frame[frame.columns[::-1]].assign(extra=1).to_csv(tmp_path / "t.csv.gz", index=False, sep=";")
    result = run("verify", made / "model", tmp_path / "t.csv.gz")
    assert result.exit_code == 0, result.output
    assert "'extra'" in result.stderr


def test_a_model_of_a_csv_is_verified_with_a_csv(run, made, table, tmp_path):
    table.to_parquet(tmp_path / "t.parquet", index=False)
    result = run("verify", made / "model", tmp_path / "t.parquet")
    assert result.exit_code == 2
    assert "trained on a CSV" in result.stderr


def test_a_model_of_parquet_is_verified_with_either(run, table, tmp_path, quick):
    table.to_parquet(tmp_path / "t.parquet", index=False)
    table.to_csv(tmp_path / "t.csv", index=False)
    arguments = (tmp_path / "t.parquet", "--target", "label", "--out", tmp_path / "m")
    assert run("train", *arguments, *quick).exit_code == 0
    for name in ("t.parquet", "t.csv"):
        result = run("verify", tmp_path / "m", tmp_path / name)
        assert result.exit_code == 0, result.output


def test_steps_are_told_apart_by_their_status(capsys):
    steps = [VerificationStep(name, "e", "f", name, f"why {name}") for name in ("ok", "trusted", "failed")]
    report = VerificationReport(tuple(steps))
    show_steps(report)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" f ")[-1].strip() for line in lines[1:4]] == ["ok", "on trust", "FAILED"]
    assert lines[5:] == [
        "  FAILED: failed: why failed. The certificate says e, but verification found f.",
        "  on trust: trusted: why trusted",
        "  note: ok: why ok",
        report.summary,
    ]


def test_what_is_taken_on_trust_is_not_called_ok(run, run_json, made):
    payload = run_json("verify", made / "model", made / "table.csv")
    states = {step["name"]: step["status"] for step in payload["steps"]}
    assert states["prior regenerated"] == "trusted"
    assert states["bound"] == "ok"
    trusted = list(states.values()).count("trusted")
    lines = run("verify", made / "model", made / "table.csv").stdout.splitlines()
    row = next(line for line in lines if line.startswith("prior regenerated"))
    assert row.rstrip().endswith("on trust")
    assert len(lines[: lines.index("")]) == 1 + len(states)  # a line each
    assert any(line.startswith("  on trust: prior regenerated: ") for line in lines)
    assert re.fullmatch(rf"Verified: {len(states) - trusted} steps .*{trusted} taken on trust\.", lines[-1])


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            lambda t: (
                t.assign(label=["yes", *t["label"][1:]])
                if t["label"][0] == "no"
                else t.assign(label=["no", *t["label"][1:]])
            ),
            "data: labels",
        ),
        (lambda t: t.assign(size=[99.0, *t["size"][1:]]), "data: features"),
        (lambda t: t.iloc[::-1], "data: features"),
        (lambda t: t.iloc[:-1], "data: number of rows"),
        (lambda t: t.drop(columns="colour"), "data: columns"),
        (lambda t: t.assign(label=["perhaps", *t["label"][1:]]), "data: labels"),
    ],
    ids=["label", "value", "order", "rows", "column", "class"],
)
def test_changed_data_are_found(run, run_json, made, table, tmp_path, change, named):
    change(table).to_csv(tmp_path / "t.csv", index=False)
    result = run("verify", made / "model", tmp_path / "t.csv")
    assert result.exit_code == 1, result.output
    assert "NOT verified" in result.stdout
    assert re.search(rf"^{named} .* FAILED *$", result.stdout, re.MULTILINE)
    payload = run_json("verify", made / "model", tmp_path / "t.csv")
    assert (payload["exit_code"], payload["ok"]) == (1, False)
    assert named in failures(payload)


def test_a_changed_weight_is_found(run_json, copy):
    path = copy / "model" / "model.safetensors"
    tensors = load_file(path)
    tensors["posterior_0"][0, 0] += 1e-6
    save_file(tensors, path)
    assert "posterior weights" in failures(run_json("verify", copy / "model", copy / "table.csv"))


@pytest.mark.parametrize(
    ("keys", "value", "named"),
    [
        (("claims", 0, "value"), 0.001, "bound"),
        (("inputs", "n"), 61, "certified rows"),
        (("inputs", "n_errors"), 0, "error rate"),
        (("delta_per_prior",), 0.5, "delta"),
        (("statement",), "With confidence 100 %, nothing can go wrong.", "statement"),
    ],
)
def test_changed_numbers_are_found(run_json, copy, keys, value, named):
    path = copy / "model" / "certificate.json"
    content = json.loads(path.read_text())
    place = content
    for key in keys[:-1]:
        place = place[key]
    assert place[keys[-1]] != value
    place[keys[-1]] = value
    path.write_text(json.dumps(content))
    payload = run_json("verify", copy / "model", copy / "table.csv")
    assert named in failures(payload)
    assert payload["exit_code"] == 1


def test_a_damaged_model_fails_its_first_step(run, run_json, copy):
    (copy / "model" / "certificate.json").write_text("{")
    result = run("verify", copy / "model", copy / "table.csv")
    assert result.exit_code == 1
    assert "FAILED: files: " in result.stdout
    assert run_json("verify", copy / "model", copy / "table.csv")["steps"][0]["ok"] is False


def test_a_damaged_model_that_was_set_aside_fails_its_first_step_too(run, copy):
    fresh = copy / ".model.new-0123456789ab"
    fresh.mkdir()
    (copy / "model" / "certificate.json").write_text("{")
    (copy / "model").rename(set_aside_path(fresh))
    result = run("verify", copy / "model", copy / "table.csv")
    assert result.exit_code == 1
    assert "FAILED: files: " in result.stdout


def test_the_target_can_be_named_and_must_be_known(run, copy):
    (copy / "model" / "table.json").unlink()
    result = run("verify", copy / "model", copy / "table.csv")
    assert result.exit_code == 2
    assert "name it with --target" in result.stderr
    assert run("verify", copy / "model", copy / "table.csv", "--target", "label").exit_code == 0
    result = run("verify", copy / "model", copy / "table.csv", "--target", "labell")
    assert result.exit_code == 2
    assert "Did you mean 'label'" in result.stderr


def test_a_reading_of_another_model_is_not_used(run, copy):
    path = copy / "model" / "table.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "data": "0" * 64, "targets": ["size"]}))
    result = run("verify", copy / "model", copy / "table.csv", "--target", "label")
    assert result.exit_code == 0, result.output
    assert "belongs to another model" in result.stderr


@pytest.mark.parametrize(
    "change", [{"targets": 3}, {"missing": "?"}, {"dropped": [1]}, {"version": 2}, {"more": 1}]
)
def test_a_damaged_reading_is_refused(run, copy, change):
    path = copy / "model" / "table.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    result = run("verify", copy / "model", copy / "table.csv")
    assert result.exit_code == 3
    assert "table.json is damaged" in result.stderr


def test_models_made_in_python_from_arrays_can_be_verified(run, tmp_path):
    import torch

    from pbgnet.certificates import PriorRecord, certify_network, save_model
    from pbgnet.networks import AggregatedNetwork

    x, y = np.array([[1.0, 2.0], [-1.0, 0.5]] * 50), np.array([1, 0] * 50)
    network = AggregatedNetwork([torch.tensor([[3.0, 0.1]])], [torch.zeros(1, 2)], intercept=False)
    model = certify_network(
        network, x, y, classes=(0, 1), prior=PriorRecord("zero"), prior_rows=[], certified_rows=range(100)
    )
    save_model(model, tmp_path / "m")
    pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y}).to_csv(tmp_path / "t.csv", index=False)
    result = run("verify", tmp_path / "m", tmp_path / "t.csv", "--target", "y")
    assert result.exit_code == 0, result.output


def test_verifying_imports_nothing_of_training(made):
    code = (
        "import sys; from typer.testing import CliRunner; from pbgnet.cli.app import app\n"
        f"folder = {str(made)!r}\n"
        "result = CliRunner().invoke(app, ['verify', folder + '/model', folder + '/table.csv'])\n"
        "assert result.exit_code == 0, result.output\n"
        "rooms = tuple('pbgnet.' + room for room in ('training', 'estimators'))\n"
        "bad = [name for name in sys.modules if name.startswith(rooms)]\n"
        "assert 'pbgnet.certificates' in sys.modules and not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_a_folder_made_by_certify_is_shown_and_verified(run, tmp_path):
    import numpy as np
    import torch

    from pbgnet.certificates import PriorRecord, certify, certify_by_disagreement, certify_network
    from pbgnet.networks import AggregatedNetwork

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 2)).round(3), columns=["a", "b"])
    y = (frame["a"] > 0).astype(int)

    def sign(table):
        return (np.asarray(table)[:, 0] > 0.1).astype(int)

    certify(sign, frame, y).save(tmp_path / "c")
    frame.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    shown = run("show", tmp_path / "c")
    assert shown.exit_code == 0, shown.output
    assert "error rate of the classifier is at most" in shown.stdout
    result = run("verify", tmp_path / "c", tmp_path / "t.csv", "--target", "y")
    assert result.exit_code == 0, result.output
    assert "on trust: answers" in result.stdout
    frame.assign(y=1 - y).to_csv(tmp_path / "t.csv", index=False)
    assert run("verify", tmp_path / "c", tmp_path / "t.csv", "--target", "y").exit_code == 1
    weights = [torch.tensor([[3.0, 0.0]])]
    vote = certify_network(
        AggregatedNetwork(weights, weights, intercept=False), frame + 1, y, classes=(0, 1),
        prior=PriorRecord("given"), prior_rows=[], certified_rows=range(80),
    )  # fmt: skip
    certify_by_disagreement(vote, sign, frame).save(tmp_path / "d")
    frame.to_csv(tmp_path / "u.csv", index=False)
    result = run("verify", tmp_path / "d", tmp_path / "u.csv")
    assert result.exit_code == 0, result.output
    assert "without labels" in run("show", tmp_path / "d").stdout


def test_several_classifiers_and_classes_are_shown_as_such(run, tmp_path):
    from pbgnet.certificates import certify

    x = np.random.default_rng(0).normal(size=(90, 2))
    y = np.arange(90) % 3

    def shown(labels, n_models):
        folder = tmp_path / f"{labels.max()}-{n_models}"
        certify(lambda X: labels, x, labels, n_models=n_models).save(folder)
        return run("show", folder).stdout

    three = shown(y, 2)
    assert "95 %, shared between 2 classifiers" in three
    assert "Always the most frequent class" in three
    assert "0.6667  (60 of 90)  most frequent class of the certified rows; counted, not guaranteed" in three
    assert "always answering 0, the most frequent class of the certified rows, is wrong on 60 of 90" in three
    two = shown(y // 2, 1)
    assert "shared between" not in two
    assert "always 0 there" in two


def test_a_classifier_that_is_no_better_than_one_answer_is_told(run, tmp_path):
    from pbgnet.certificates import certify

    frame = pd.DataFrame({"a": np.arange(100.0), "label": np.repeat([0, 1], [97, 3])})
    frame.to_csv(tmp_path / "t.csv", index=False)
    certified = certify(lambda X: np.zeros(len(X), dtype=int), frame[["a"]], frame["label"])
    certified.save(tmp_path / "m")
    shown = run("show", tmp_path / "m").stdout
    verified = run("verify", tmp_path / "m", tmp_path / "t.csv", "--target", "label").stdout
    for sentence in certified.certificate.shortcomings:
        assert f"NOTE WELL: {sentence}" in shown
        assert sentence in verified
        assert certified.certificate.yardstick in verified
    assert "A class that certified rows have is never given as an answer on them: 1." in shown


def test_a_certified_loss_is_shown_and_verified(run, tmp_path):
    from pbgnet.certificates import certify

    class Sure:
        """Gives 0.9 to what it answers."""

        classes_ = np.array([0, 1])

        def predict(self, table):
            return (np.asarray(table)[:, 0] > 0.1).astype(int)

        def predict_proba(self, table):
            second = 0.1 + 0.8 * self.predict(table)
            return np.stack([1 - second, second], axis=1)

    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 2)).round(3), columns=["a", "b"])
    y = (frame["a"] > 0).astype(int)
    certified = certify(Sure(), frame, y, loss="brier")
    certified.save(tmp_path / "c")
    certify(Sure(), frame, y).save(tmp_path / "plain")
    frame.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    shown = run("show", tmp_path / "c")
    assert shown.exit_code == 0, shown.output
    words, mean = " ".join(shown.stdout.split()), np.mean((0.1 + 0.8 * Sure().predict(frame) - y) ** 2)
    bound = round_up(certified.certificate.expected_loss.value)
    for text in (
        f"its expected brier loss is at most {bound}",
        f"bound on the brier loss {bound}",
        f"brier loss on the rows {mean:.4f}",
        f"Brier loss: Measured on the certified rows {mean:.4f}",
        f"Certified: held-out bets {bound}",
        "half the squared distance",
        "The loss was chosen before",
    ):
        assert text in words
    assert "rier" not in run("show", tmp_path / "plain").stdout
    result = run("verify", tmp_path / "c", tmp_path / "t.csv", "--target", "y")
    assert result.exit_code == 0, result.output
    assert "on trust: losses" in result.stdout
    frame.assign(y=1 - y).to_csv(tmp_path / "t.csv", index=False)
    assert run("verify", tmp_path / "c", tmp_path / "t.csv", "--target", "y").exit_code == 1


@pytest.mark.parametrize(
    ("change", "named", "words"),
    [
        (lambda t: t.assign(size=[99.0, *t["size"][1:]]), "data: features", "Row 1 .* differs"),
        (lambda t: t.assign(colour=["pink", *t["colour"][1:]]), "data: features", "Row 1 .* differs"),
        (lambda t: t.assign(label=["perhaps", *t["label"][1:]]), "data: labels", "row 1 .* is 'perhaps'"),
        (
            lambda t: t.assign(label=[{"yes": "no", "no": "yes"}[t["label"][0]], *t["label"][1:]]),
            "data: labels",
            "label of row 1 .* when the certificate was made",
        ),
        (lambda t: t.drop(index=16), "data: number of rows", "1 row missing. Row 17 of the certified table"),
        (lambda t: pd.concat([t, t.iloc[4:5]]), "data: number of rows", "Row 121 .* repeats row 5"),
        (lambda t: t.iloc[[1, 0, *range(2, 120)]], "data: features", "another order. Rows 1, 2 "),
        (lambda t: t.rename(columns={"size": "sizes"}), "data: columns", "'size' is missing; .* 'sizes'"),
        (lambda t: t.drop(columns="size"), "data: columns", "Column 'size' is missing"),
        (lambda t: t.assign(weight=t["weight"].map("{:.8f}".format)), "data: features", "1 and 1.0"),
        (lambda t: t.assign(size=t["size"] + 1), "data: features", "None of the 120 rows of the certified"),
        (lambda t: pd.DataFrame({"a": 1, "label": t["label"]}), "data: columns", "it is another table"),
    ],
    ids=[
        "number", "text", "class", "label", "row removed", "row repeated", "order", "column renamed",
        "column removed", "number format", "column changed", "another table",
    ],
)  # fmt: skip
def test_the_first_cause_is_told_and_nothing_else(run, run_json, made, tmp_path, change, named, words):
    cells = pd.read_csv(made / "table.csv", na_values="?")
    change(cells).to_csv(tmp_path / "t.csv", index=False, na_rep="?")
    payload = run_json("verify", made / "model", tmp_path / "t.csv")
    (step,) = [step for step in payload["steps"] if step["status"] == "failed"]
    assert step["name"] == named
    assert re.search(words, step["detail"])
    later = [each["status"] for each in payload["steps"]]
    assert set(later[later.index("failed") + 1 :]) == {"skipped"}


def test_an_edited_report_is_found(run, copy):
    page = copy / "model" / "report.html"
    assert run("verify", copy / "model", copy / "table.csv").exit_code == 0
    page.write_text(page.read_text().replace("95", "99"))
    result = run("verify", copy / "model", copy / "table.csv")
    assert result.exit_code == 1
    assert "FAILED: report.html: The page or the history.json that it shows was edited" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("--help",),
        ("verify", "nowhere", "t.csv"),
        ("train", "t.csv", "--target", "y", "--out", "m"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_torch_is_not_loaded_to_say_that_a_file_is_missing(arguments, tmp_path):
    code = (
        "import sys; from typer.testing import CliRunner; from pbgnet.cli.app import app\n"
        f"CliRunner().invoke(app, {list(arguments)!r})\n"
        "assert not {'torch', 'sklearn', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300, cwd=tmp_path)
