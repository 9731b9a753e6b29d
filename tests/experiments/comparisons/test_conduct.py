"""Comparisons are run once, gone on with after a kill, and stop with what is finished kept."""

import json
import subprocess
import sys

import pytest

from pbgnet.exceptions import DamagedFileError, OptionError, StudyStoppedError
from pbgnet.experiments.comparisons import (
    comparison_tables,
    conduct,
    load_comparison,
    read_finished,
    run_comparison,
    write_comparison_page,
)

STUDY = """
kind = "comparison"
summary = "tiny"
about = "A few rows."
dataset = "digits"
seeds = [0, 1]
certified_fraction = 0.5
published = "mnist10"
[small]
n_train = 120
n_test = 40
[[methods]]
name = "network"
title = "a network"
estimator = "pbgnet"
parameters = {hidden_layer_sizes = [3], max_epochs = 1}
[[methods]]
name = "line"
estimator = "logistic_regression"
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    made = tmp_path_factory.mktemp("studies") / "tiny.toml"
    made.write_text(STUDY)
    return made


@pytest.fixture(scope="module")
def comparison(path):
    return load_comparison(path)


@pytest.fixture(scope="module")
def whole(comparison, tmp_path_factory):
    """All small runs, done once for the module."""
    store = tmp_path_factory.mktemp("whole") / "runs.jsonl"
    assert run_comparison(comparison.runs(small=True), store) == 4
    return store


def without_time(store):
    timed = ("seconds", "finished")
    return [{k: v for k, v in run.to_dict().items() if k not in timed} for run in read_finished([store])]


def test_a_run_says_what_is_proved_and_what_tests_say(whole):
    network, line, *_ = read_finished([whole])
    for run in (network, line):
        assert (run.n_prior, run.n_certified, run.n_test) == (60, 60, 40)
        assert 0 < run.test_error < 1
        assert run.certified > 0.03
        assert run.route == "clopper-pearson"
    assert line.certified < 0.5 < network.certified


def test_finished_runs_are_not_run_again(comparison, whole, monkeypatch):
    monkeypatch.setattr(conduct, "make_estimator", None)
    seen = []
    assert run_comparison(comparison.runs(small=True), whole, on_run=seen.append) == 4
    assert seen == [4]


def test_runs_of_other_code_stay_and_do_not_count(comparison, whole, tmp_path, monkeypatch):
    store = tmp_path / "runs.jsonl"
    store.write_bytes(whole.read_bytes())
    monkeypatch.setattr(conduct, "code_version", lambda places: "another")
    assert run_comparison(comparison.narrowed(["line"]).runs(small=True)[:1], store) == 1
    assert [run.code == "another" for run in read_finished([store])] == [False] * 4 + [True]


KILLED = """
import os, sys
from pathlib import Path
from pbgnet.experiments.comparisons import conduct, load_comparison
runs = load_comparison(sys.argv[1]).runs(small=True)
keep = conduct.append_finished
def append(path, run):
    if len(conduct.read_finished([path])) == 2:
        os._exit(9)
    keep(path, run)
conduct.append_finished = append
conduct.run_comparison(runs, Path(sys.argv[2]))
"""


def test_a_killed_study_is_gone_on_with_to_the_same_results(path, comparison, whole, tmp_path):
    store = tmp_path / "runs.jsonl"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path), str(store)], check=False)
    assert ended.returncode == 9
    assert len(read_finished([store])) == 2
    assert run_comparison(comparison.runs(small=True), store) == 4
    assert without_time(store) == without_time(whole)


def test_what_fails_stops_the_study_and_keeps_what_is_finished(comparison, tmp_path, monkeypatch):
    def fails(name, parameters, seed, device):
        if name == "pbgnet":
            raise_in_fit = type("Broken", (), {"fit": lambda self, X, y, prior_rows: 1 / 0})
            return raise_in_fit()
        return made(name, parameters, seed, device)

    made = conduct.make_estimator
    monkeypatch.setattr(conduct, "make_estimator", fails)
    line, network = comparison.runs(small=True)[1::-1]
    with pytest.raises(StudyStoppedError, match=r"pbgnet on digits with seed 0 failed: ZeroDivisionError"):
        run_comparison([line, network], tmp_path / "runs.jsonl")
    assert [run.run for run in read_finished([tmp_path / "runs.jsonl"])] == [line.fingerprint()]


def test_what_the_package_refuses_is_said_as_it_is(path, tmp_path):
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(path.read_text().replace("max_epochs = 1", 'augmentation = "small"'))
    with pytest.raises(OptionError, match="augmentation only applies to images"):
        run_comparison(load_comparison(wrong).runs(small=True), tmp_path / "runs.jsonl")


def test_several_labels_have_a_hamming_loss_as_well(path, tmp_path):
    text = (
        path.read_text().replace('"pbgnet"', '"pbgnet_multilabel"').replace("seeds = [0, 1]", "seeds = [0]")
    )
    labelled = tmp_path / "labels.toml"
    labelled.write_text(text.replace("[small]", "[labels]\neven = [0, 2, 4, 6, 8]\nlarge = [8, 9]\n[small]"))
    comparison, store = load_comparison(labelled).narrowed(["network"]), tmp_path / "runs.jsonl"
    assert run_comparison(comparison.runs(small=True), store) == 1
    (run,) = read_finished([store])
    assert 0 < run.test_hamming <= run.test_error
    assert run.test_hamming < run.certified_hamming < run.certified
    header, _, row = comparison_tables(comparison, [run])["Small"]
    assert header.rstrip(" |").endswith("test Hamming loss")
    assert f"{run.test_hamming:.4f}" in row


def test_damaged_lines_are_named(whole, tmp_path):
    store = tmp_path / "runs.jsonl"
    first, second, *_ = whole.read_text().splitlines()
    store.write_text(f"{first}\n{second[:40]}\n")
    with pytest.raises(DamagedFileError, match=r"Line 2 of .*runs\.jsonl is not a finished run"):
        read_finished([store])
    store.write_text(json.dumps({**json.loads(first), "certified": 1.5}) + "\n")
    with pytest.raises(DamagedFileError, match="certified must be at most 1"):
        read_finished([store])
    assert read_finished([tmp_path / "none.jsonl"]) == []


def test_tables_have_means_and_published_figures(comparison, whole):
    finished = read_finished([whole])
    tables = comparison_tables(comparison, finished)
    assert list(tables) == ["Small"]  # nothing was run in full
    header, _, network, line = tables["Small"]
    assert header.startswith("| method")
    mean = (finished[0].test_error + finished[2].test_error) / 2
    assert f"| {mean:.4f} " in network
    assert "| a network " in network
    assert "| 2 of 2 " in line
    assert "| 60 + 60 " in line

    as_full = {
        run.fingerprint(): one for run, one in zip(comparison.runs(small=False), finished, strict=True)
    }
    full = [type(one)(**{**one.to_dict(), "run": key}) for key, one in as_full.items()][:1]
    table = comparison_tables(comparison, [*finished, *full])["In full"]
    assert "1 of 2" in table[2]
    assert set(table[3].split("|")[2].split()) == {"-"}
    assert any("Pick-to-Learn (deterministic)" in row and "0.0306" in row for row in table)


def test_the_page_has_tables_sources_and_the_code_that_ran(comparison, whole, tmp_path):
    finished = read_finished([whole])
    text = write_comparison_page(comparison, finished, tmp_path / "out").read_text(encoding="utf-8")
    assert text.startswith("# tiny: tiny\n\nA few rows.\n")
    assert "## Small" in text
    assert "NeurIPS 2023" in text
    assert f"Run by pbgnet {finished[0].code}, {finished[0].finished[:10]}." in text
    assert "Nothing has been run yet." in write_comparison_page(comparison, [], tmp_path / "out").read_text()
