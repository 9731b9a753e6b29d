"""Groups at the command line: a feature or a dropped column, shown, verified, or refused."""

import json

import pytest
from tests.cli.conftest import mixed_table

from pbgnet.certificates import load_certified, round_down, round_up

QUICK = ("--hidden", "3", "--max-epochs", "2", "--members", "2", "--device", "cpu")


@pytest.fixture(scope="module")
def grouped(tmp_path_factory, run):
    folder = tmp_path_factory.mktemp("groups")
    mixed_table(200).to_csv(folder / "table.csv", index=False)
    asked = ("train", folder / "table.csv", "--target", "label", "--groups", "colour")
    result = run(*asked, "--out", folder / "model", *QUICK)
    assert result.exit_code == 0, result.output
    result = run(*asked, "--out", folder / "other", "--drop", "colour", "--model", "logistic_regression")
    assert result.exit_code == 0, result.output
    return folder


@pytest.mark.parametrize("name", ["model", "other"])
def test_show_prints_the_interval_of_each_group_and_the_plan_of_delta(grouped, run, name):
    certificate = load_certified(grouped / name).certificate
    printed = run("show", grouped / name).stdout
    assert [group.name for group in certificate.by_group] == ["'blue'", "'green'", "'red'", "missing"]
    for group in certificate.by_group:
        interval = f"{round_down(group.lower)} to {round_up(group.upper)}  ({group.n_errors} of {group.n})"
        assert any(f"in group {group.name} " in line and interval in line for line in printed.splitlines())
    assert "between any two groups, at most" in printed
    assert "How delta, 0.05 in total, is divided" in printed
    assert "8 limits of the error rate in groups  0.00312 each" in printed
    plan = json.loads(run("show", grouped / name, "--json").stdout)["delta_plan"]
    assert len(plan) == 9
    assert plan[0]["subject"] == "error rate over all rows"


@pytest.mark.parametrize("name", ["model", "other"])
def test_verify_finds_the_groups_again_be_they_a_feature_or_not(grouped, run, name, tmp_path):
    assert run("verify", grouped / name, grouped / "table.csv").exit_code == 0
    moved = tmp_path / "moved.csv"
    moved.write_text((grouped / "table.csv").read_text().replace("red", "blue", 1))
    result = run("verify", grouped / name, moved, "--json")
    assert result.exit_code == 1
    failed = {step["name"] for step in json.loads(result.stdout)["steps"] if not step["ok"]}
    assert {"groups"} <= failed
    assert ("data: features" in failed) == (name == "model")


def test_the_column_of_a_dropped_group_is_no_feature(grouped, run):
    assert load_certified(grouped / "other").certificate.groups.column is None
    assert load_certified(grouped / "model").certificate.groups.column == "colour"
    assert json.loads((grouped / "other" / "table.json").read_text())["groups"] == "colour"
    assert 'id="groups"' in (grouped / "other" / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--groups", "label"],
            "The column of --groups, 'label', is the target",
        ),
        (["--groups", "color"], "There is no group column 'color'. Did you mean 'colour'?"),
        (["--groups", "size"], "groups in column 'size', but a certificate can bound at most 64"),
        (["--groups", "colour", "--algorithm", "pbgnet_pre"], "got 'auto'"),
    ],
)
def test_what_cannot_be_grouped_is_said_before_any_training(grouped, run, tmp_path, options, message):
    result = run("train", grouped / "table.csv", "--target", "label", "--out", tmp_path / "it", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "it").exists()


def test_rows_of_one_case_are_kept_together(grouped, run, tmp_path):
    result = run(
        "train", grouped / "table.csv", "--target", "label", "--out", tmp_path / "it",
        "--keep-together", "size", "--model", "logistic_regression",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert load_certified(tmp_path / "it").certificate.subject.split.column == "size"


@pytest.mark.parametrize("name", ["model", "other"])
def test_monitor_knows_the_column_of_the_groups(grouped, run_json, tmp_path, name):
    frame = mixed_table(60).assign(told=mixed_table(60)["label"])
    frame.to_csv(tmp_path / "new.csv", index=False)
    answers = () if name == "model" else ("--prediction", "told")
    told = run_json("monitor", grouped / name, tmp_path / "new.csv", "--log", tmp_path / "log.json", *answers)
    assert told["exit_code"] == 0, told
    of_groups = {claim["group"]: claim["rows"] for claim in told["claims"] if claim["group"] is not None}
    assert of_groups
    counts = frame["colour"].value_counts()
    assert all(
        rows == counts.get(group.strip("'"), 0) for group, rows in of_groups.items() if group != "missing"
    )
