"""``pbgnet reproduce``: a study from the command line, stopped and gone on with."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from urllib.error import URLError

import pytest

from pbgnet.datasets import load_dataset, pack
from pbgnet.experiments import Store

ARGUMENTS = ("reproduce", "smoke", "--algorithms", "mlp", "--device", "cpu", "--out")


def test_a_study_is_run_once(run, run_json, tmp_path):
    result = run(*ARGUMENTS, tmp_path / "smoke")
    assert result.exit_code == 0
    assert "16 of 16 done, 0 failed" in result.stdout
    again = run_json(*ARGUMENTS, tmp_path / "smoke")
    assert (again["runs"], again["done"], again["failed"], again["exit_code"]) == (16, 16, 0, 0)
    assert again["seconds"] < 5


def test_a_study_of_ones_own(run_json, tmp_path):
    study = tmp_path / "mine.toml"
    study.write_text(
        'datasets = ["moons"]\nalgorithms = ["pbgnet"]\n'
        "[grid]\nlearning_rate = [0.1]\n[common]\nmax_epochs = 1\n[batch_size]\ndefault = 64\n"
    )
    found = run_json("reproduce", study, "--device", "cpu", "--out", tmp_path / "out")
    assert (found["study"], found["done"]) == ("mine", 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("smok",), "choose one of digit-labels, digits, exact"),
        (("smoke", "--datasets", "ads"), "choose one of breast"),
        (("smoke", "--algorithms", "svm"), "choose one of mlp"),
        (("smoke", "--engine", "slurm"), "choose one of local, ray"),
        (("smoke", "--address", "host:1"), "--address requires --engine ray"),
        (("smoke", "--device", "cuda:99x"), "is not available"),
        (("smoke", "--where", "hidden_size"), "write a name and a value"),
        (("smoke", "--where", "size=3"), "choose one of"),
        (("smoke", "--where", "hidden_size=7"), "No run of the study smoke has hidden_size=7"),
        (("smoke", "--engine", "ray", "--minutes", "5"), "--minutes requires --engine local"),
        (("digits", "--minutes", "5"), "it only accepts"),
    ],
)
def test_bad_options_are_refused_with_the_valid_ones(run, tmp_path, arguments, message):
    result = run("reproduce", *arguments, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


def test_runs_that_fail_are_told(run, tmp_path, monkeypatch):
    def broken(*arguments, **options):
        raise ZeroDivisionError("nothing to divide by")

    monkeypatch.setattr("pbgnet.experiments.studies.engines.train_batch", broken)
    result = run(*ARGUMENTS, tmp_path / "smoke")
    assert result.exit_code == 1
    assert "16 runs failed twice" in result.stderr

    assert "--retry-failed tries them again" in result.stderr
    monkeypatch.undo()
    assert run(*ARGUMENTS, tmp_path / "smoke").exit_code == 1
    assert run(*ARGUMENTS, tmp_path / "smoke", "--retry-failed").exit_code == 0


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Make a study of six batches of two runs each."""

    def make(dataset, epochs=1):
        study = tmp_path_factory.mktemp("study") / "tiny.toml"
        study.write_text(
            f'datasets = ["{dataset}"]\nalgorithms = ["pbgnet"]\n[grid]\nlearning_rate = [0.1, 0.01]\n'
            f"hidden_size = [2, 3, 4, 5, 6, 7]\n[common]\nmax_epochs = {epochs}\n"
            f"plateau_patience = {epochs}\nstopping_patience = {epochs}\n"
        )
        return study

    return make


def results(folder):
    with Store(folder / "runs.sqlite", read_only=True) as store:
        return {record.spec: record.results for record in store.records()}, store.attempts()


def test_without_data_nothing_is_held_against_the_runs(run, run_json, tiny, tmp_path, monkeypatch):
    def unreachable(**options):
        raise URLError("no route to host")

    monkeypatch.setenv("PBGNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("pbgnet.datasets.openml.fetch_openml", unreachable)
    (tmp_path / "empty").mkdir()
    arguments = ("reproduce", tiny("ads"), "--device", "cpu", "--out", tmp_path / "out", "--data-dir")
    for _ in range(2):
        result = run(*arguments, tmp_path / "empty")
        assert result.exit_code == 3
        assert "The data is not available" in result.stderr
        assert "ads is not available" in result.stderr
    assert run_json(*arguments, tmp_path / "empty")["error"]["kind"] == "StudyStoppedError"
    assert results(tmp_path / "out") == ({}, {})
    pack([replace(load_dataset("moons", n=100), name="ads")], tmp_path / "data.npz")
    found = run_json(*arguments, tmp_path / "data.npz")
    assert (found["done"], found["failed"], found["exit_code"]) == (12, 0, 0)


def begin(*arguments):
    """Start a command in a process of its own."""
    words = [sys.executable, "-m", "pbgnet", *map(str, arguments)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_processes_share_a_store_and_train_no_run_twice(tiny, tmp_path):
    arguments = ("reproduce", tiny("moons", 50), "--device", "cpu", "--out", tmp_path / "out", "--json")
    processes = [begin(*arguments) for _ in range(2)]
    ended = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], ended
    assert [json.loads(output)["done"] for output, _ in ended] == [12, 12]
    assert list(results(tmp_path / "out")[1].values()) == [(True, 1)] * 12


@pytest.fixture(scope="module")
def undisturbed(run_json, tiny, tmp_path_factory):
    """Results of a study that nobody disturbed."""
    place = tmp_path_factory.mktemp("whole")
    run_json("reproduce", tiny("moons", 50), "--device", "cpu", "--out", place)
    return results(place)[0]


@pytest.mark.parametrize("least", [0, 2])
def test_a_killed_process_is_gone_on_with_at_once_to_the_same_results(
    run_json, tiny, undisturbed, tmp_path, least
):
    arguments = ("reproduce", tiny("moons", 50), "--device", "cpu", "--out")
    process = begin(*arguments, tmp_path / "killed")
    deadline = time.monotonic() + 300
    while not (is_training(tmp_path / "killed") and len(results(tmp_path / "killed")[0]) >= least):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    before = results(tmp_path / "killed")[0]
    assert least <= len(before) < 12
    found = run_json(*arguments, tmp_path / "killed")
    assert (found["done"], found["failed"]) == (12, 0)
    assert found["seconds"] < 30  # what it had claimed is free, for it is seen to be gone
    killed, attempts = results(tmp_path / "killed")
    assert killed == undisturbed
    assert list(attempts.values()) == [(True, 1)] * 12
    assert {run: killed[run] for run in before} == before


def is_training(folder):
    """Whether a study is under way: a batch is claimed."""
    if not (folder / "runs.sqlite").exists():
        return False
    with contextlib.closing(sqlite3.connect(folder / "runs.sqlite")) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        return "claims" in tables and bool(connection.execute("SELECT * FROM claims").fetchall())


def test_runs_of_another_version_stay_and_the_others_are_added(run, run_json, tmp_path):
    place, part = tmp_path / "smoke", ("--where", "learning_rate=0.1")
    assert run_json(*ARGUMENTS, place, *part)["runs"] == 8
    with contextlib.closing(sqlite3.connect(place / "runs.sqlite")) as connection, connection:
        connection.execute("UPDATE about SET value = '0.0.1+another' WHERE name = 'code'")
    before = (place / "runs.sqlite").read_bytes()
    refused = run(*ARGUMENTS, place)
    assert refused.exit_code == 3
    assert "--add" in refused.stderr
    found = run_json(*ARGUMENTS, place, "--add")
    assert (found["runs"], found["done"], found["store"]) == (16, 16, str(place / "runs-2.sqlite"))
    with Store(place / "runs-2.sqlite", read_only=True) as store:
        assert {record.spec.learning_rate for record in store.records()} == {0.01}
    assert (place / "runs.sqlite").read_bytes() == before
    again = run_json(*ARGUMENTS, place, "--add", *part)  # nothing is left to add
    assert (again["runs"], again["done"]) == (8, 8)
    assert len(list(place.iterdir())) == 2


def test_a_study_ends_in_time(run, run_json, tmp_path):
    result = run(*ARGUMENTS, tmp_path / "smoke", "--minutes", "0")
    assert result.exit_code == 1
    assert "0 of 16 done, 0 failed" in result.stdout
    assert run_json(*ARGUMENTS, tmp_path / "smoke", "--minutes", "60")["done"] == 16


def test_a_file_that_is_no_store_is_left_alone(run, tmp_path):
    place = tmp_path / "smoke"
    place.mkdir()
    (place / "runs.sqlite").write_text("my diary")
    result = run(*ARGUMENTS, place)
    assert result.exit_code == 3
    assert (place / "runs.sqlite").read_text() == "my diary"


def test_the_report_of_a_study_is_made_from_its_store(run, run_json, tmp_path):
    pytest.importorskip("matplotlib")
    place = tmp_path / "smoke"
    assert run(*ARGUMENTS, place).exit_code == 0
    found = run_json("report", "smoke", "--out", place)
    assert found["exit_code"] == 0
    page = (place / "report.html").read_text(encoding="utf-8")
    assert found["page"] == str(place / "report.html")
    assert "breast" in page
    assert (place / "tables").is_dir()
    pictures = {
        "activations.png",
        "activations.svg",
        "representations-moons.png",
        "representations-moons.svg",
    }
    assert pictures <= {path.name for path in (place / "figures").iterdir()}


def test_a_plain_report_has_the_figures_of_the_study_alone(run_json, tmp_path):
    pytest.importorskip("matplotlib")
    place = tmp_path / "smoke"
    run_json("reproduce", "smoke", "--algorithms", "mlp", "--datasets", "breast", "--out", place)
    run_json("report", "smoke", "--plain", "--out", place)
    assert {path.name for path in (place / "figures").iterdir()} == {"smoke-results.png", "smoke-results.svg"}


def test_a_report_reads_the_stores_of_several_machines(run_json, tmp_path):
    pytest.importorskip("matplotlib")
    one, two = tmp_path / "one", tmp_path / "two"
    for place, algorithm in ((one, "mlp"), (two, "pbgnet")):
        run_json("reproduce", "smoke", "--algorithms", algorithm, "--datasets", "breast", "--out", place)
    (two / "runs.sqlite").rename(one / "runs-2.sqlite")
    run_json("report", "smoke", "--out", one)
    table = (one / "tables" / "smoke-variance.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| breast")]
    errors = {row[2].strip(" \\*"): row[4] for row in rows}
    for name in ("MLP", "PBGNet"):
        assert any(character.isdigit() for character in errors[name])


def test_a_report_without_a_store_says_what_to_do(run, tmp_path):
    pytest.importorskip("matplotlib")
    result = run("report", "smoke", "--out", tmp_path / "nothing")
    assert result.exit_code == 3
    assert "run the study first" in result.stderr
