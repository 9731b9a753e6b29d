"""pbgnet train: good tables become models, bad ones become one clear line."""

import html
import json
import os
import re

import numpy as np
import pytest

import pbgnet.estimators
import pbgnet.report
from pbgnet.certificates import draw_prior_rows, load_model
from pbgnet.certificates import verify as recompute
from pbgnet.cli.tables import read_table
from pbgnet.cli.train import parse_hidden
from pbgnet.cli.train_options import CERTIFIED
from pbgnet.exceptions import OptionError
from pbgnet.files import standing_folder
from pbgnet.preprocessing import TablePreprocessor
from pbgnet.training import ALGORITHMS as REGISTRY


def test_the_folder_holds_model_certificate_report_and_reading(made):
    names = {path.name for path in (made / "model").iterdir()}
    assert names == {
        "about.json",
        "certificate.json",
        "history.json",
        "model.safetensors",
        "preprocessing.json",
        "report.html",
        "table.json",
    }
    model = load_model(made / "model")
    assert model.classes == ("no", "yes")
    assert model.feature_names == ("size", "weight", "colour", "large")
    assert model.certificate.network.preprocessing.status == "inside"
    page = (made / "model" / "report.html").read_text()
    assert model.certificate.statement in html.unescape(page)
    assert "curve-log-loss" in page


def test_output_states_the_certificate_and_the_next_command(run, table, tmp_path, quick):
    data, out = tmp_path / "my table.csv", tmp_path / "model"
    table.to_csv(data, index=False)
    result = run("train", data, "--target", "label", "--out", out, *quick)
    certificate = load_model(out).certificate
    assert certificate.statement in result.stdout
    assert f"Next:   pbgnet verify {out} '{data}'" in result.stdout
    assert "\r" not in result.output  # no progress bar: not a terminal


def test_json_is_all_there_is_on_standard_output(run_json, table, tmp_path, quick):
    data, out = tmp_path / "t.csv", tmp_path / "model"
    table.to_csv(data, index=False)
    payload = run_json("train", data, "--target", "label", "--out", out, "--seed", "3", *quick)
    assert payload["exit_code"] == 0
    assert payload["certificate"] == json.loads((out / "certificate.json").read_text())
    assert payload["rows"] == {"prior": 60, "certified": 60}


def test_quiet_says_nothing(run, table, tmp_path, quick):
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("train", tmp_path / "t.csv", "--target", "label", "--out", tmp_path / "m", "--quiet", *quick)
    assert (result.exit_code, result.stdout) == (0, "")


def test_options_reach_the_certificate(run, table, tmp_path, quick):
    data, out = tmp_path / "t.csv", tmp_path / "model"
    table.to_csv(data, index=False)
    options = (
        "--confidence",
        "0.9",
        "--n-priors",
        "4",
        "--prior-fraction",
        "0.25",
        "--drop",
        "weight",
        "--restarts",
        "2",
    )
    result = run(
        "train",
        data,
        "--target",
        "label",
        "--out",
        out,
        *quick,
        *options,
        "--hidden",
        "4,2",
        "--algorithm",
        "pbgnet",
    )
    assert result.exit_code == 0, result.output
    model = load_model(out)
    certificate = model.certificate
    assert (certificate.confidence, certificate.n_priors, certificate.network.prior.how) == (0.9, 4, "random")
    assert certificate.network.network.hidden_layer_sizes == (3, 4, 2)
    assert model.feature_names == ("size", "colour", "large")
    assert certificate.inputs.n == 90


def test_the_same_seed_gives_the_same_weights_and_another_does_not(run_json, table, tmp_path, quick):
    data = tmp_path / "t.csv"
    table.to_csv(data, index=False)
    prints = [
        run_json("train", data, "--target", "label", "--out", tmp_path / f"m{k}", "--seed", seed, *quick)[
            "certificate"
        ]["subject"]["posterior_weights"]
        for k, seed in enumerate((0, 0, 1))
    ]
    assert prints[0] == prints[1] != prints[2]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (lambda y: y == "yes", (False, True)),
        (lambda y: np.where(y == "yes", 1, -1), (-1, 1)),
        (lambda y: np.where(y == "yes", 2.0, 0.0), (0, 2)),
        (lambda y: np.where(y == "yes", "<=50K", ">50K"), ("<=50K", ">50K")),
    ],
    ids=["boolean", "whole numbers", "whole floats", "texts"],
)
@pytest.mark.parametrize("extension", ["csv", "csv.gz", "parquet"])
def test_labels_of_every_kind_from_every_format(run, table, tmp_path, quick, labels, expected, extension):
    data, out = tmp_path / f"t.{extension}", tmp_path / "m"
    table["label"] = labels(table["label"].to_numpy(dtype=object).astype(str))
    if extension == "parquet":
        table.astype({"colour": "category"}).to_parquet(data, index=False)
    else:
        table.to_csv(data, index=False)
    assert run("train", data, "--target", "label", "--out", out, *quick).exit_code == 0
    assert load_model(out).classes == expected
    assert run("verify", out, data).exit_code == 0


def test_hidden_sizes():
    assert parse_hidden(["10", "10"]) == parse_hidden(["10, 10"]) == (10, 10)
    assert parse_hidden(["none"]) == ()
    for bad in (["0"], ["ten"], ["10,"], ["none", "10"], ["-3"], ["1.5"]):
        with pytest.raises(OptionError, match="--hidden takes sizes"):
            parse_hidden(bad)


def test_algorithms_in_the_help_are_those_of_the_registry():
    of_the_paper = {name for name, algorithm in REGISTRY.items() if algorithm.certified}
    assert set(CERTIFIED) == {"ensemble", *of_the_paper}


def replace_label(table, value, rows=slice(None)):
    table.loc[table.index[rows], "label"] = value
    return table


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda t: replace_label(t, "yes"), (), r"only one class, 'yes'"),
        (
            lambda t: t.assign(label=[f"name {k}" for k in range(len(t))]),
            (),
            r"120 classes in 120 rows \('name 0', .* and 116 more\).*--target",
        ),
        (lambda t: t, ("--code", "hadamar"), r"Unknown code .* Did you mean 'hadamard'"),
        (
            lambda t: t.assign(label=np.arange(len(t)) % 20),
            ("--code", "exhaustive"),
            r"exhaustive code of 20 classes .* use 'hadamard'",
        ),
        (
            lambda t: t,
            ("--confusion", "--certificate", "vote"),
            r"certificate='held-out', because the cells of the confusion matrix are counted; got",
        ),
        (
            lambda t: replace_label(t, "maybe", slice(1)),
            ("--confusion",),
            r"Class 'maybe' has [01] certified rows, but .* at least 2 in each class",
        ),
        (
            lambda t: replace_label(t, None, slice(2, 5)),
            (),
            r"3 of 120 rows have no label in column 'label'.* line 4;",
        ),
        (
            lambda t: t.assign(label=t["large"] + 0.5),
            (),
            r"numbers with decimals \(0\.5, 1\.5\).*words or whole numbers",
        ),
        (lambda t: t.assign(label=t["size"]), (), r"numbers with decimals \(-0\.\d+, .* and \d+ more\)"),
        (lambda t: t.iloc[:0], (), r"a header but no rows"),
        (lambda t: t.iloc[:1], (), r"contains only one class, '(no|yes)'; at least two are needed"),
        (lambda t: t[["label"]], (), r"no columns to learn from besides the target"),
        (lambda t: t.assign(size=np.inf), (), r"'size' contains infinity in line 2 of "),
        (lambda t: t, ("--target", "Lable"), r"no target column 'Lable'\. Did you mean 'label' or 'large'\?"),
        (lambda t: t, ("--target", "zzz"), r"no target column 'zzz'\. The table has 'size', 'weight'"),
        (lambda t: t, ("--drop", "sizes"), r"no dropped column 'sizes'\. Did you mean 'size'"),
        (lambda t: t, ("--drop", "label"), r"target 'label' cannot be dropped"),
        (
            lambda t: t,
            ("--algorithm", "mlp"),
            r"'mlp' gives no certificate to save; choose one of ensemble, pbgnet_l",
        ),
        (lambda t: t, ("--algorithm", "pbgnet_per"), r"Unknown algorithm .* Did you mean 'pbgnet_pre'"),
        (lambda t: t, ("--confidence", "95"), r"--confidence must be between 0 and 1.* got 95"),
        (lambda t: t, ("--confidence", "nan"), r"--confidence must be between 0 and 1"),
        (lambda t: t, ("--prior-fraction", "1"), r"--prior-fraction must be between 0 and 1"),
        (lambda t: t, ("--learning-rate", "-1"), r"learning_rate"),
        (lambda t: t, ("--hidden", "ten"), r"--hidden takes sizes such as 10"),
        (lambda t: t, ("--device", "tpu"), r"device 'tpu' is not available"),
    ],
)
def test_bad_input_is_one_clear_line_and_leaves_nothing(
    run, table, tmp_path, quick, change, options, message
):
    data, out = tmp_path / "t.csv", tmp_path / "m"
    change(table).to_csv(data, index=False)
    result = run("train", data, "--target", "label", "--out", out, *quick, *options)
    assert result.exit_code == 2, result.output
    assert re.search(message, result.stderr)
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output
    assert result.stdout == ""
    assert not out.exists()


def test_few_rows_are_certified_with_a_warning(run, table, tmp_path, quick):
    data, out = tmp_path / "t.csv", tmp_path / "m"
    rows = table.groupby("label").head(5).head(9)
    rows[["size", "label"]].to_csv(data, index=False)
    result = run("train", data, "--target", "label", "--out", out, *quick)
    assert result.exit_code == 0, result.output
    assert re.search("Warning: 9 rows are too few for a useful certificate", result.stderr)
    assert run("verify", out, data).exit_code == 0


def test_constant_and_empty_columns_are_fine_and_empty_ones_are_told(run, table, tmp_path, quick):
    data, out = tmp_path / "t.csv", tmp_path / "m"
    table.assign(constant=1, empty=np.nan).to_csv(data, index=False)
    result = run("train", data, "--target", "label", "--out", out, *quick)
    assert result.exit_code == 0, result.output
    assert result.stderr.count("\n") == 1
    assert re.search("Warning: Column 'empty' had no value", result.stderr)
    assert run("verify", out, data).exit_code == 0


def test_a_category_of_the_certified_rows_alone_is_told_once(run, table, tmp_path, quick):
    data, out = tmp_path / "t.csv", tmp_path / "m"
    table["colour"] = [f"shade {k // 2}" for k in range(len(table))]  # some in one part only
    table.to_csv(data, index=False)
    result = run("train", data, "--target", "label", "--out", out, *quick)
    assert result.exit_code == 0, result.output
    assert result.stderr.count("Not seen in the fitted rows") == 1
    again = run("verify", out, data)
    assert (again.exit_code, again.stderr) == (0, "")


@pytest.mark.parametrize("value", ["many", "1e400", "True"])
def test_a_certified_cell_has_no_say_in_the_preprocessing(run, made, table, tmp_path, quick, value):
    data, out = tmp_path / "t.csv", tmp_path / "m"
    drawn = load_model(made / "model").split.record

    def spoil(row):
        """Write the table with another cell; return whether the row is certified, for all rows have a say."""
        sizes = [*table["size"][:row].astype(str), value, *table["size"][row + 1 :].astype(str)]
        table.assign(size=sizes).to_csv(data, index=False, na_rep="?")
        cells = read_table(data)
        rows = draw_prior_rows(cells.drop(columns="label"), cells["label"], drawn.fraction, drawn.seed)
        return row not in rows

    row = next(filter(spoil, range(len(table))))
    if value != "1e400":
        result = run("train", data, "--target", "label", "--out", out, *quick)
        assert result.exit_code == 0, result.output
        assert f"treated as missing: column 'size': '{value}'" in result.stderr
        changed = load_model(out)
        assert row in changed.certified_rows
        whole = read_table(made / "table.csv").drop(columns="label").iloc[changed.prior_rows]
        again = TablePreprocessor(changed.preprocessor.numbers).fit(whole)
        assert changed.preprocessor.to_dict() == again.to_dict()
        assert run("verify", out, data).exit_code == 0
    else:  # infinity among numbers is a mistake, and refused
        result = run("train", data, "--target", "label", "--out", out, *quick)
        assert result.exit_code == 2
        assert f"infinity in line {row + 2} of" in result.stderr


def consistent(folder):
    """Whether report and reading are those of the model in a folder."""
    certificate = load_model(folder).certificate
    reading = json.loads((folder / "table.json").read_text())
    page = (folder / "report.html").read_text()
    return certificate.network.posterior_weights in page and reading["data"] == certificate.fingerprints.data


def test_model_reading_and_report_change_together(run, copy, quick, monkeypatch):
    """Whenever the machine stops, what stands there is either all old or all new."""
    out, seen = copy / "model", []

    def watched(function):
        def call(*arguments):
            function(*arguments)
            assert consistent(standing_folder(out))
            seen.append(load_model(out).certificate.network.posterior_weights)

        return call

    (out / "notes.txt").write_text("mine")
    with monkeypatch.context() as patched:
        for name in ("rename", "replace"):
            patched.setattr(os, name, watched(getattr(os, name)))
        arguments = (copy / "table.csv", "--target", "label", "--out", out, "--overwrite", "--seed", "9")
        result = run("train", *arguments, *quick)
    assert result.exit_code == 0, result.output
    assert len(seen) > 4
    assert len(dict.fromkeys(seen)) == 2
    assert consistent(out)
    assert (out / "notes.txt").read_text() == "mine"
    assert sorted(path.name for path in copy.iterdir()) == ["model", "table.csv"]


def test_a_model_that_was_set_aside_is_found_with_its_reading_and_not_lost(run, copy, quick):
    """As after a stop between the two renamings."""
    (copy / ".model.new-0123456789ab").mkdir()
    os.rename(copy / "model", copy / ".model.old-0123456789ab")
    assert run("predict", copy / "model", copy / "table.csv", "--out", copy / "p.csv").exit_code == 0
    assert "'label'" in run("show", copy / "model").stdout
    arguments = ("train", copy / "table.csv", "--target", "label", "--out", copy / "model", *quick)
    assert run(*arguments).exit_code == 3
    assert (copy / ".model.old-0123456789ab" / "report.html").is_file()
    assert run(*arguments, "--overwrite").exit_code == 0
    assert sorted(path.name for path in copy.iterdir()) == ["model", "p.csv", "table.csv"]


def test_a_parent_that_cannot_be_written_is_told_before_training(run, copy, quick, monkeypatch):
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != copy and allowed(path, mode))
    monkeypatch.setattr("pbgnet.cli.folder.read_table", None)  # would be a TypeError
    arguments = (copy / "table.csv", "--target", "label", "--out", copy / "model", "--overwrite")
    result = run("train", *arguments, *quick)
    assert result.exit_code == 3, result.output
    assert "no permission to write to this folder" in result.stderr


def test_a_renaming_that_fails_brings_the_old_model_back(run, copy, quick, monkeypatch):
    before = {path.name: path.read_bytes() for path in (copy / "model").iterdir()}
    rename = os.rename

    def fail(source, target):
        if target == copy / "model" and ".new-" in str(source):
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail)
    arguments = (copy / "table.csv", "--target", "label", "--out", copy / "model", "--overwrite")
    assert run("train", *arguments, "--seed", "9", *quick).exit_code == 3
    assert {path.name: path.read_bytes() for path in (copy / "model").iterdir()} == before
    assert sorted(path.name for path in copy.iterdir()) == ["model", "table.csv"]


def test_more_markers_of_missing_values(run, table, tmp_path, quick):
    data, out = tmp_path / "t.csv", tmp_path / "m"
    table["weight"] = table["weight"].fillna(-1)
    table["weight"] = [("unknown" if value == -1 else value) for value in table["weight"].tolist()]
    table.to_csv(data, index=False)
    assert (
        run("train", data, "--target", "label", "--out", out, "--missing", "unknown", *quick).exit_code == 0
    )
    kinds = {column.name: column.kind for column in load_model(out).preprocessor.columns_}
    assert kinds["weight"] == "numeric"
    assert run("verify", out, data).exit_code == 0  # train has kept the marker


def test_an_existing_folder_is_left_alone_unless_told(run, copy, quick):
    before = (copy / "model" / "certificate.json").read_bytes()
    arguments = (
        "train",
        copy / "table.csv",
        "--target",
        "label",
        "--out",
        copy / "model",
        "--seed",
        "5",
        *quick,
    )
    result = run(*arguments)
    assert (result.exit_code, before) == (3, (copy / "model" / "certificate.json").read_bytes())
    assert "exists already; choose another folder, or pass --overwrite" in result.stderr
    assert run(*arguments, "--overwrite").exit_code == 0
    assert before != (copy / "model" / "certificate.json").read_bytes()
    assert run("verify", copy / "model", copy / "table.csv").exit_code == 0


def test_a_folder_that_is_no_model_is_never_replaced(run, copy, quick):
    precious = copy / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years of work")
    result = run("train", copy / "table.csv", "--target", "label", "--out", precious, "--overwrite", *quick)
    assert result.exit_code == 3
    assert "is not a model, so pbgnet does not replace it" in result.stderr
    assert (precious / "thesis.txt").read_text() == "years of work"


def test_a_place_that_cannot_be_written_is_told_before_training(run, copy, quick, monkeypatch):
    monkeypatch.setattr(pbgnet.estimators.CertifiedPipeline, "fit", lambda *_: pytest.fail("trained in vain"))
    (copy / "file").write_text("")
    result = run("train", copy / "table.csv", "--target", "label", "--out", copy / "file" / "model", *quick)
    assert result.exit_code == 3
    assert "no model can be saved in it" in result.stderr
    monkeypatch.setattr(os, "access", lambda *_: False)  # the tests may run as root, who may write everywhere
    result = run("train", copy / "table.csv", "--target", "label", "--out", copy / "model2", *quick)
    assert result.exit_code == 3
    assert "no permission to write to" in result.stderr


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, RuntimeError("lightning")])
def test_an_interrupted_training_keeps_the_old_model(run, copy, quick, monkeypatch, interruption):
    def strike(*_, **__):
        raise interruption

    monkeypatch.setattr(pbgnet.report, "render_kept", strike)
    before = {path.name: path.read_bytes() for path in (copy / "model").iterdir()}
    result = run(
        "train",
        copy / "table.csv",
        "--target",
        "label",
        "--out",
        copy / "model",
        "--overwrite",
        "--seed",
        "9",
        *quick,
    )
    assert result.exit_code == (130 if interruption is KeyboardInterrupt else 4)
    assert {path.name: path.read_bytes() for path in (copy / "model").iterdir()} == before
    assert sorted(path.name for path in copy.iterdir()) == ["model", "table.csv"]


def test_adult_with_its_missing_values(run, data_dir, tmp_path):
    """Train, verify, change one label, verify again: the second must fail and say why."""
    header = "age,workclass,fnlwgt,education,years,marital,occupation,relationship,race,sex,gain,loss,hours,"
    lines = (data_dir / "adult" / "adult.data").read_text().split("\n")[:3000]
    data, out = tmp_path / "adult.csv", tmp_path / "m"
    data.write_text("\n".join([header + "country,income", *lines]) + "\n")
    result = run("train", data, "--target", "income", "--out", out, "--max-epochs", "1", "--hidden", "3")
    assert result.exit_code == 0, result.output
    model = load_model(out)
    assert model.classes == ("<=50K", ">50K")
    columns = {column.name: column for column in model.preprocessor.columns_}
    assert columns["workclass"].missing
    assert "?" not in columns["workclass"].categories
    assert model.certificate.error_rate.value < 0.3
    assert run("verify", out, data).exit_code == 0

    lines[17] = (
        lines[17].replace("<=50K", ">50K") if "<=50K" in lines[17] else lines[17].replace(">50K", "<=50K")
    )
    data.write_text("\n".join([header + "country,income", *lines]) + "\n")
    result = run("verify", out, data)
    assert result.exit_code == 1
    assert "FAILED: data: labels: " in result.stdout


def test_the_saved_model_is_the_one_that_python_verifies(made):
    import pandas as pd

    from pbgnet.cli.tables import MISSING

    frame = pd.read_csv(made / "table.csv", dtype=str, na_values=list(MISSING), keep_default_na=False)
    assert recompute(made / "model", frame.drop(columns="label"), frame["label"]).ok


@pytest.mark.parametrize("certificate", ["seeger", "vote", "held-out"])
def test_the_route_can_be_named(run, table, tmp_path, quick, certificate):
    data, out = tmp_path / "t.csv", tmp_path / "m"
    table.to_csv(data, index=False)
    arguments = ("train", data, "--target", "label", "--out", out, *quick)
    result = run(*arguments, "--certificate", certificate, "--class-conditional")
    assert result.exit_code == 0, result.output
    issued = load_model(out).certificate
    assert issued.choices.certificate == certificate
    assert [claim.given_class for claim in issued.class_conditional] == ["'no'", "'yes'"]
    shown = run("show", out).stdout
    for text in (
        "Error rate:",
        "Certified: ",
        "For comparison: ",
        "Always the most frequent class",
        "in class 'yes'",
        "balanced, mean of the classes",
        "most frequent class of the prior rows; counted, not guaranteed",
    ):
        assert text in shown
        assert text in result.stdout
    assert "####" in shown
    assert run("verify", out, data).exit_code == 0


def test_the_routes_offered_are_those_of_the_registry(run, table, tmp_path, quick):
    from pbgnet.certificates import CANDIDATES, ROUTES
    from pbgnet.choices import CERTIFICATES

    claims = {name: ROUTES[members[-1][1]].quantity for name, members in CANDIDATES.items()}
    assert {"auto", *(name for name in claims if claims[name] == "error rate")} == set(CERTIFICATES)
    table.to_csv(tmp_path / "t.csv", index=False)
    arguments = ("train", tmp_path / "t.csv", "--target", "label", "--out", tmp_path / "m", *quick)
    result = run(*arguments, "--certificate", "votes")
    assert result.exit_code == 2
    assert "Did you mean 'vote'?" in result.stderr


def test_rows_of_the_training_table_in_a_test_set_are_counted(run, run_json, table, tmp_path, quick):
    data, test, out = tmp_path / "t.csv", tmp_path / "test.csv", tmp_path / "m"
    table.iloc[:90].to_csv(data, index=False)
    table.iloc[70:].to_csv(test, index=False)
    result = run("train", data, "--target", "label", "--out", out, "--test", test, *quick)
    assert result.exit_code == 0, result.output
    assert "20 of the 50 rows of the test set" in result.stderr
    payload = run_json("show", out)["test"]
    assert (payload["rows"], payload["rows_of_the_training_table"]) == (50, 20)
    for text in (result.stdout, run("show", out).stdout, (out / "report.html").read_text()):
        assert "Measured on 50 test rows, 20 of them in the training table" in text
    kept = json.loads((out / "test.json").read_text())
    (out / "test.json").write_text(json.dumps({**kept, "n_seen": 51}))
    assert "n_seen must be at most n_rows" in run("show", out).stderr


def test_a_test_set_is_shown_beside_the_bounds(run, run_json, table, tmp_path, quick):
    data, test, out = tmp_path / "t.csv", tmp_path / "test.csv", tmp_path / "m"
    table.iloc[:90].to_csv(data, index=False)
    table.iloc[90:].to_csv(test, index=False)
    result = run("train", data, "--target", "label", "--out", out, "--test", test, *quick)
    assert result.exit_code == 0, result.output
    model = load_model(out)
    payload = run_json("show", out)
    assert payload["test"]["rows"] == 30
    rate = payload["test"]["errors"] / 30
    for text in (result.stdout, run("show", out).stdout):
        assert re.search(rf"Measured on 30 test rows +{rate:.4f}", text)
    page = re.sub("<[^>]*>", "", (out / "report.html").read_text())
    assert f"Measured on 30 test rows: {rate:.4f}" in page
    kept = json.loads((out / "test.json").read_text())
    assert kept["model"] == model.certificate.network.posterior_weights
    (out / "test.json").write_text(json.dumps({**kept, "model": "another"}))
    assert run_json("show", out)["test"] is None
    (out / "test.json").write_text(json.dumps({**kept, "n_errors": 31}))
    assert run("show", out).exit_code == 3
    for content, message in (("size\n1\n", "does not have the label column"), ("label\n", "no rows")):
        test.write_text(content)
        options = ("--test", test, "--overwrite", *quick)
        failed = run("train", data, "--target", "label", "--out", out, *options)
        assert (failed.exit_code, message in failed.stderr) == (2, True), failed.stderr
