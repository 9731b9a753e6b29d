"""``pbgnet monitor``: batches, late labels, alarms and exit codes, logs of other models, pages."""

import json
from pathlib import Path

import numpy as np
import pytest

from pbgnet.cli.outcome import ExitCode

pd = pytest.importorskip("pandas")


def rows(n: int, seed: int, wrong: float = 0.0, shift: float = 0.0) -> "pd.DataFrame":
    """Rows like those of the table of the other tests, labels flipped at a rate, sizes shifted."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n).round(4) + shift
    colour = rng.choice(["red", "green", "blue"], n)
    right = size + (colour == "red") > 0.3
    label = np.where(right ^ (rng.random(n) < wrong), "yes", "no")
    key = [f"{seed}-{row}" for row in range(n)]
    columns = {"key": key, "size": size, "weight": rng.normal(size=n).round(4), "colour": colour}
    return pd.DataFrame({**columns, "large": size > 1, "label": label})


@pytest.fixture
def watch(made: Path, tmp_path: Path, run_json):
    """Write rows into a file, and run the command on it; the log stays the same."""

    def call(frame=None, *options: object):
        given = []
        if frame is not None:
            given = [tmp_path / "new.csv"]
            frame.to_csv(given[0], index=False)
        return run_json("monitor", made / "model", *given, "--log", tmp_path / "log.json", *options)

    return call


def test_alarm_after_errors_become_frequent(watch, run, made, tmp_path):
    first = watch(rows(200, 1))
    assert (first["exit_code"], first["alarm"]) == (0, False)
    assert first["taken"]["n_counted"] == 200
    second = watch(rows(300, 2, wrong=0.9), "--page", tmp_path / "page.html", "--svg", tmp_path / "a.svg")
    assert (second["exit_code"], second["alarm"]) == (ExitCode.ALARM, True)
    assert 200 < second["claims"][0]["alarm_row"] <= 500
    assert "alarm after" in (tmp_path / "page.html").read_text()
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    shown = run("monitor", made / "model", "--log", tmp_path / "log.json")
    assert shown.exit_code == ExitCode.ALARM
    assert shown.stdout.startswith("ALARM: The error rate has risen above the certified ")


def test_labels_come_late(watch):
    frame = rows(100, 3)
    late = frame.assign(label=frame["label"].where(np.arange(100) % 2 == 0))
    first = watch(late, "--id", "key")
    assert (first["taken"]["n_counted"], first["waiting"]) == (50, 50)
    second = watch(frame, "--id", "key")
    assert (second["taken"]["n_counted"], second["taken"]["n_completed"]) == (50, 50)
    assert (second["taken"]["n_skipped"], second["waiting"]) == (50, 0)
    assert "50 rows were skipped" in second["warnings"][0]
    assert watch(frame.drop(columns="label").assign(key=frame["key"] + "!"), "--id", "key")["waiting"] == 100


def test_rows_without_ids_are_dropped_or_refused(watch):
    frame = rows(60, 4)
    frame.loc[:9, "label"] = None
    refused = watch(frame, "--unlabelled", "error")
    assert (refused["exit_code"], refused["error"]["kind"]) == (ExitCode.BAD_INPUT, "LabelError")
    assert watch(frame, "--unlabelled", "pending")["error"]["kind"] == "OptionError"
    assert watch(frame)["taken"]["n_dropped"] == 10
    again = watch(frame)
    assert "is already in the log" in again["error"]["message"]
    assert watch()["claims"][0]["rows"] == 50


def test_rows_that_changed_are_told_by_column(watch, made):
    first = watch(rows(200, 5), "--reference", made / "table.csv")
    assert (first["exit_code"], first["change"]["alarm"], first["change"]["rows"]) == (0, False, 200)
    unlabelled = rows(300, 6, shift=3.0).drop(columns="label")
    second = watch(unlabelled)
    assert (second["exit_code"], second["alarm"]) == (ExitCode.CHANGED, False)
    assert "size" in second["change"]["columns"]
    assert "weight" not in second["change"]["columns"]


def test_answers_of_a_classifier_that_is_not_stored(run, run_json, tmp_path):
    table, new, folder = tmp_path / "table.csv", tmp_path / "new.csv", tmp_path / "model"
    rows(300, 7).drop(columns="key").to_csv(table, index=False)
    train = (
        "train",
        table,
        "--target",
        "label",
        "--out",
        folder,
        "--model",
        "logistic_regression",
        "--quiet",
    )
    assert run(*train).exit_code == 0
    frame = rows(200, 8)
    frame.assign(answered=frame["label"]).to_csv(new, index=False)
    command = ("monitor", folder, new, "--log", tmp_path / "log.json")
    assert "--prediction" in run_json(*command)["error"]["message"]
    told = run_json(*command, "--prediction", "answered", "--reference", table)
    assert (told["exit_code"], told["claims"][0]["errors"], told["change"]["rows"]) == (0, 0, 200)


def test_a_log_of_another_model_or_damaged_is_refused(watch, run_json, quick, made, tmp_path):
    watch(rows(50, 9))
    log = tmp_path / "log.json"
    before, other = log.read_bytes(), tmp_path / "other"
    rows(100, 10).drop(columns="key").to_csv(tmp_path / "other.csv", index=False)
    run_json("train", tmp_path / "other.csv", "--target", "label", "--out", other, *quick)
    told = run_json("monitor", other, tmp_path / "new.csv", "--log", log)
    assert told["error"]["kind"] == "UncertifiedError"
    assert "another certificate" in told["error"]["message"]
    assert log.read_bytes() == before
    log.write_text(json.dumps({"schema": "pbgnet-monitor"}))
    assert watch(rows(50, 11))["exit_code"] == ExitCode.FILE_PROBLEM


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--alpha", "0.05"), "was created with --alpha 0.01"),
        (("--reference", "table.csv"), "was created without --reference"),
        (("--id", "keys"), "There is no id column 'keys'. Did you mean 'key'?"),
        (("--prediction", "key"), "makes its own predictions"),
        (("--page", "page.txt"), "--page writes .html files"),
        (("--target", "colour"), "The certificate has no such class"),
        (("--unlabelled", "later"), "Unknown --unlabelled 'later'"),
    ],
)
def test_options_that_do_not_fit(watch, tmp_path, options, message):
    watch(rows(50, 12))
    before = (tmp_path / "log.json").read_bytes()
    told = watch(rows(50, 13), *options)
    assert told["exit_code"] == ExitCode.BAD_INPUT
    assert message in told["error"]["message"]
    assert (tmp_path / "log.json").read_bytes() == before


def test_places_that_cannot_be_a_log(run_json, made, tmp_path):
    for place, message in ((tmp_path, "is a folder"), (tmp_path / "a" / "b.json", "no such folder")):
        told = run_json("monitor", made / "model", "--log", place)
        assert told["exit_code"] == ExitCode.FILE_PROBLEM
        assert message in told["error"]["message"]
    assert "pass DATA" in run_json("monitor", made / "model", "--log", tmp_path / "c")["error"]["message"]


def test_another_table_is_no_reference(watch, tmp_path):
    rows(100, 14).drop(columns="key").to_csv(tmp_path / "other.csv", index=False)
    told = watch(rows(50, 15), "--reference", tmp_path / "other.csv")
    assert "is not the table the certificate was made from" in told["error"]["message"]
    assert not (tmp_path / "log.json").exists()


def test_a_column_that_names_the_rows_is_not_compared(run, run_json, quick, tmp_path):
    """It was left out in training, and stands in the reference all the same."""
    rows(300, 16).to_csv(tmp_path / "table.csv", index=False)
    rows(100, 17).to_csv(tmp_path / "new.csv", index=False)
    train = ("train", tmp_path / "table.csv", "--target", "label", "--out", tmp_path / "m", *quick)
    assert run(*train).exit_code == 0
    given = ("--log", tmp_path / "log.json", "--id", "key", "--reference", tmp_path / "table.csv")
    told = run_json("monitor", tmp_path / "m", tmp_path / "new.csv", *given)
    assert (told["exit_code"], told["change"]["rows"]) == (0, 100)


def test_groups_that_train_was_told_to_drop_are_found(run, run_json, quick, tmp_path):
    rows(300, 18).drop(columns="key").to_csv(tmp_path / "table.csv", index=False)
    rows(100, 19).drop(columns="key").to_csv(tmp_path / "new.csv", index=False)
    by = ("--groups", "colour", "--drop", "colour")
    train = ("train", tmp_path / "table.csv", "--target", "label", "--out", tmp_path / "m", *by, *quick)
    assert run(*train).exit_code == 0
    command = ("monitor", tmp_path / "m", tmp_path / "new.csv", "--log", tmp_path / "log.json")
    told = run_json(*command)
    assert sum(claim["rows"] for claim in told["claims"] if claim["group"]) == 100
    (tmp_path / "m" / "table.json").unlink()  # as of a model made in Python
    assert "of the groups with --groups" in run_json(*command, "--target", "label")["error"]["message"]
