"""pbgnet predict."""

import re

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from pbgnet.certificates import certify, load_model
from pbgnet.exceptions import PriorLeakageError

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize("extension", ["csv", "csv.gz", "parquet"])
def test_predictions_are_those_of_the_model(run, made, table, tmp_path, extension):
    out = tmp_path / f"p.{extension}"
    result = run("predict", made / "model", made / "table.csv", "--out", out)
    assert result.exit_code == 0, result.output
    assert "120 predictions" in result.stdout
    found = pd.read_parquet(out) if extension == "parquet" else pd.read_csv(out)
    model, features = load_model(made / "model"), table.drop(columns="label")
    assert found.columns.tolist() == ["prediction", "share_no", "share_yes"]
    assert found["prediction"].tolist() == model.predict(features).tolist()
    shares, expected = found.iloc[:, 1:].to_numpy(), model.predict_proba(features)
    np.testing.assert_allclose(shares, expected, rtol=0, atol=1e-15 if extension == "parquet" else 5.1e-7)
    if extension == "csv":
        cells = [cell for line in out.read_text().splitlines()[1:] for cell in line.split(",")[1:]]
        assert max(len(cell) for cell in cells) <= len("0.123456")


def test_the_help_says_that_a_share_is_no_probability(run):
    assert "not a calibrated probability" in " ".join(run("predict", "--help").stdout.split())


def test_models_from_parquet_take_csv_and_the_other_way_round(run, made, table, tmp_path, quick):
    """The kinds of columns are known by then, so a CSV may be read with them in mind."""
    table.to_parquet(tmp_path / "t.parquet", index=False)
    arguments = (tmp_path / "t.parquet", "--target", "label", "--out", tmp_path / "m")
    assert run("train", *arguments, *quick).exit_code == 0
    answers = []
    for model in (made / "model", tmp_path / "m"):
        for data in (made / "table.csv", tmp_path / "t.parquet"):
            out = tmp_path / f"{len(answers)}.parquet"
            result = run("predict", model, data, "--out", out)
            assert (result.exit_code, result.stderr) == (0, ""), result.output
            answers.append(pd.read_parquet(out))
    for other in answers[1:]:  # the same rows decided the same things in both trainings
        pd.testing.assert_frame_equal(answers[0], other)


@pytest.mark.parametrize(("texts", "expected"), [(("0", "1.0"), [0, 1]), (("no", "1"), ["1", "no"])])
def test_predictions_have_the_form_of_the_labels(run, table, tmp_path, quick, texts, expected):
    table["label"] = np.where(table["label"] == "yes", texts[1], texts[0])
    table.to_csv(tmp_path / "t.csv", index=False)
    model, out = tmp_path / "m", tmp_path / "p.parquet"
    result = run("train", tmp_path / "t.csv", "--target", "label", "--out", model, *quick)
    assert result.exit_code == 0, result.output
    assert run("predict", model, tmp_path / "t.csv", "--out", out).exit_code == 0
    found = pd.read_parquet(out)
    assert found.columns[1:].tolist() == [f"share_{label}" for label in expected]
    assert set(found["prediction"].tolist()) <= set(expected)


def test_the_target_may_be_absent_columns_may_be_in_any_order_and_keys_may_be_kept(
    run, made, table, tmp_path
):
    table = table.assign(key=[f"row {k}" for k in range(len(table))])
    table[["key", "large", "colour", "weight", "size"]].to_csv(tmp_path / "t.csv", index=False)
    result = run("predict", made / "model", tmp_path / "t.csv", "--out", tmp_path / "p.csv", "--keep", "key")
    assert result.exit_code == 0, result.output
    assert "Note: Ignoring columns that the model does not use: 'key'" in result.stderr
    found = pd.read_csv(tmp_path / "p.csv")
    assert found["key"].tolist() == table["key"].tolist()
    assert (
        found["prediction"].tolist()
        == load_model(made / "model").predict(table[["size", "weight", "colour", "large"]]).tolist()
    )


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_several_files_are_one_table(run, made, table, tmp_path, monkeypatch, extension):
    """Batches are small here; types of kept columns must not depend on what the first of them holds."""
    for module in ("csv_files", "parquet_files"):
        monkeypatch.setattr(f"pbgnet.sources.{module}.PART_ROWS", 7)
    table = table.assign(key=[None] * 60 + list(range(60)), word=["a", None, "b"] * 40)
    write = {"csv": pd.DataFrame.to_csv, "parquet": pd.DataFrame.to_parquet}[extension]
    parts = [table.iloc[:10], table.iloc[10:90][table.columns[::-1]], table.iloc[90:]]
    for k, part in enumerate([table, *parts]):
        write(part, tmp_path / f"{k}.{extension}", index=False)
    paths, out = [tmp_path / f"{k}.{extension}" for k in range(1, 4)], tmp_path / "out.parquet"
    keep = ("--keep", "key", "--keep", "word")
    result = run("predict", made / "model", *paths, "--out", out, *keep)
    assert result.exit_code == 0, result.output
    assert "120 predictions" in result.stdout
    assert run("predict", made / "model", tmp_path / f"0.{extension}", "--out", tmp_path / "w.parquet", *keep)
    found = pd.read_parquet(out)
    pd.testing.assert_frame_equal(found, pd.read_parquet(tmp_path / "w.parquet"))
    assert found["key"].astype(float).tolist()[-60:] == list(range(60))
    assert (
        found["prediction"].tolist()
        == load_model(made / "model").predict(table[["size", "weight", "colour", "large"]]).tolist()
    )


def test_a_file_with_other_columns_is_named_and_nothing_is_written(run, made, table, tmp_path):
    table.drop(columns="weight").to_csv(tmp_path / "other.csv", index=False)
    out = tmp_path / "p.csv"
    result = run("predict", made / "model", made / "table.csv", tmp_path / "other.csv", "--out", out)
    assert result.exit_code == 2
    assert "other.csv lacks the column 'weight'" in result.stderr
    assert not out.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["other.csv"]


def test_what_is_unseen_is_told_once_however_many_batches_there_are(run, made, table, tmp_path, monkeypatch):
    for reader in ("csv_files", "quick_csv"):
        monkeypatch.setattr(f"pbgnet.sources.{reader}.PART_ROWS", 40)
    table["colour"] = [f"shade {k}" for k in range(len(table))]
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("predict", made / "model", tmp_path / "t.csv", "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("Not seen in the fitted rows") == 1
    assert "Note: The same applies to 2 more batches of rows." in result.stderr


def test_missing_columns_are_named_with_near_ones(run, made, table, tmp_path):
    table.rename(columns={"colour": "color"}).to_csv(tmp_path / "t.csv", index=False)
    result = run("predict", made / "model", tmp_path / "t.csv", "--out", tmp_path / "p.csv")
    assert result.exit_code == 2
    assert "has no column 'colour' (did you mean 'color'?)" in result.stderr
    assert not (tmp_path / "p.csv").exists()


def test_unseen_categories_warn_and_are_predicted(run, run_json, made, table, tmp_path):
    table["colour"] = "ultraviolet"
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("predict", made / "model", tmp_path / "t.csv", "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    assert re.search(r"^Warning: Not seen in the fitted rows.*'ultraviolet'", result.stderr)
    payload = run_json("predict", made / "model", tmp_path / "t.csv", "--out", tmp_path / "q.csv")
    assert "ultraviolet" in payload["warnings"][0]
    assert payload["rows"] == sum(payload["counts"].values()) == 120


@pytest.mark.parametrize("text", ["big", "inf"])
def test_what_is_no_number_where_numbers_were_counts_as_missing_and_is_told(run, made, table, tmp_path, text):
    for value, name in ((text, "text"), ("", "gap")):
        changed = table.assign(size=[value, *table["size"][1:].astype(str)])
        changed.to_csv(tmp_path / f"{name}.csv", index=False)
        result = run(
            "predict", made / "model", tmp_path / f"{name}.csv", "--out", tmp_path / f"{name}.out.csv"
        )
        assert result.exit_code == 0, result.output
        assert (
            f"Warning: Not finite numbers, so treated as missing: column 'size': '{text}'" in result.stderr
        ) == (name == "text")
    assert (tmp_path / "text.out.csv").read_text() == (tmp_path / "gap.out.csv").read_text()


def test_existing_output_is_left_alone_unless_told(run, made, tmp_path):
    out = tmp_path / "p.csv"
    out.write_text("mine")
    arguments = ("predict", made / "model", made / "table.csv", "--out", out)
    assert run(*arguments).exit_code == 3
    assert out.read_text() == "mine"
    assert run(*arguments, "--overwrite").exit_code == 0
    assert out.read_text().startswith("prediction,")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--keep", "siize"), 2, "no kept column 'siize'. Did you mean 'size'"),
        (("--out", "p.txt"), 3, "use .csv, .csv.gz or .parquet"),
        (("--out", "no/such/folder/p.csv"), 3, "no/such/folder: there is no such folder"),
    ],
)
def test_bad_options(run, made, tmp_path, monkeypatch, options, code, message):
    monkeypatch.chdir(tmp_path)
    result = run("predict", made / "model", made / "table.csv", "--out", "p.csv", *options)
    assert result.exit_code == code, result.output
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_kept_column_must_not_hide_the_prediction(run, made, table, tmp_path):
    table.assign(prediction=1).to_csv(tmp_path / "t.csv", index=False)
    result = run(
        "predict", made / "model", tmp_path / "t.csv", "--out", tmp_path / "p.csv", "--keep", "prediction"
    )
    assert result.exit_code == 2
    assert "'prediction' cannot be kept" in result.stderr


@pytest.mark.parametrize(
    "file", ["certificate.json", "model.safetensors", "preprocessing.json", "table.json"]
)
@pytest.mark.parametrize("damage", [b"", b"{}", b"\x80\x04cos\nsystem\n", b'{"schema": NaN}'])
@pytest.mark.parametrize("command", ["predict", "show"])
def test_damaged_models_are_refused(run, copy, tmp_path, file, damage, command):
    (copy / "model" / file).write_bytes(damage)
    arguments = (copy / "table.csv", "--out", tmp_path / "p.csv") if command == "predict" else ()
    result = run(command, copy / "model", *arguments)
    assert result.exit_code == 3, result.output
    assert file in result.stderr
    assert "Traceback" not in result.output
    assert not (tmp_path / "p.csv").exists()


@pytest.mark.parametrize("command", ["predict", "show"])
def test_a_flipped_bit_in_the_weights_is_noticed(run, copy, tmp_path, command):
    path = copy / "model" / "model.safetensors"
    tensors = load_file(path)
    tensors["posterior_0"].view(np.uint64)[0, 0] ^= np.uint64(1 << 60)
    save_file(tensors, path)
    arguments = (copy / "table.csv", "--out", tmp_path / "p.csv") if command == "predict" else ()
    result = run(command, copy / "model", *arguments)
    assert result.exit_code == 3, result.output
    assert "does not match its certificate: posterior weights" in result.stderr
    assert not (tmp_path / "p.csv").exists()


def test_a_model_from_a_file_is_refused_its_rows_in_python(made, table):
    # The command line read texts; this frame holds numbers and truth values.
    model, features = load_model(made / "model"), table.drop(columns="label")
    for rows in (features.iloc[3:9], features.iloc[:, ::-1]):
        with pytest.raises(PriorLeakageError, match=f"{len(rows)} of the {len(rows)} rows to certify"):
            certify(model, rows, table["label"][: len(rows)])


def test_no_model_folder(run, made, tmp_path):
    for arguments in (
        ("show",),
        ("verify", made / "table.csv"),
        ("predict", made / "table.csv", "--out", "p.csv"),
    ):
        command, *rest = arguments
        result = run(command, tmp_path / "nothing", *rest)
        assert result.exit_code == 3
        assert "There is no model folder" in result.stderr


def test_names_of_classes_cannot_forge_lines_or_formulas(run, table, tmp_path, quick):
    forged = "no\nVerified: 31 steps recomputed."
    table["label"] = np.where(table["label"] == "yes", "=cmd|'/C calc'!A0", forged)
    table["key"] = ["@SUM(1)", "-1.5", "+note"] * 40
    table.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m"
    assert run("train", tmp_path / "t.csv", "--target", "label", "--out", model, *quick).exit_code == 0
    arguments = ("predict", model, tmp_path / "t.csv", "--keep", "key")
    result = run(*arguments, "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    assert not re.search(r"^\s*Verified", result.output, re.MULTILINE)
    assert r"no\nVerified: 31 steps recomputed." in result.stdout
    plain = pd.read_csv(tmp_path / "p.csv", dtype=str, lineterminator=None)
    assert set(plain["prediction"]) <= {"=cmd|'/C calc'!A0", forged}, "as the labels are"
    result = run(*arguments, "--out", tmp_path / "q.csv", "--escape-formulas")
    assert result.exit_code == 0, result.output
    escaped = pd.read_csv(tmp_path / "q.csv", dtype=str)
    assert escaped["key"].tolist()[:3] == ["'@SUM(1)", "-1.5", "'+note"]
    assert set(escaped["prediction"]) <= {"'=cmd|'/C calc'!A0", forged}
    assert escaped["prediction"].str.removeprefix("'").tolist() == plain["prediction"].tolist()
    for name in escaped.columns[2:]:
        assert escaped[name].tolist() == plain[name].tolist()
    result = run(*arguments, "--out", tmp_path / "q.parquet", "--escape-formulas")
    assert (result.exit_code, "only applies to CSV files" in result.stderr) == (2, True)


def test_column_names_cannot_forge_lines(run, made, table, tmp_path):
    table.assign(**{"x\nVerified: 31 steps recomputed.": 1}).to_csv(tmp_path / "t.csv", index=False)
    for command in ("predict", "verify"):
        out = ("--out", tmp_path / "p.csv") if command == "predict" else ()
        result = run(command, made / "model", tmp_path / "t.csv", *out)
        assert not re.search(r"^\s*Verified: 31", result.output, re.MULTILINE)
