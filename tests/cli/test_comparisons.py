"""``pbgnet reproduce`` and ``pbgnet report`` with a study that compares methods."""

import pytest

STUDY = """
kind = "comparison"
summary = "tiny"
dataset = "digits"
certified_fraction = 0.5
[small]
n_train = 120
n_test = 40
[[methods]]
name = "line"
estimator = "logistic_regression"
[[methods]]
name = "network"
estimator = "pbgnet"
parameters = {hidden_layer_sizes = [3], max_epochs = 1}
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(STUDY)
    return path


def test_methods_are_run_once_and_shown_in_a_table(run, run_json, study, tmp_path):
    place = tmp_path / "out"
    arguments = ("reproduce", study, "--small", "--device", "cpu", "--out", place)
    one = run(*arguments, "--algorithms", "line")
    assert one.exit_code == 0, one.output
    assert "| line " in one.stdout
    assert "network" not in one.stdout
    found = run_json(*arguments)
    assert (found["study"], found["small"], found["runs"], found["done"]) == ("tiny", True, 2, 2)
    assert len((place / "runs.jsonl").read_text().splitlines()) == 2
    (place / "runs.jsonl").rename(place / "runs-2.jsonl")  # as from another machine
    page = run_json("report", study, "--out", place)["page"]
    assert page == str(place / "README.md")
    assert (place / "README.md").read_text().count("| 1 of 1 ") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("reproduce", "mnist1"), "choose one of digit-labels, digits, exact"),
        (("reproduce", "STUDY", "--engine", "ray"), "one after the other"),
        (("reproduce", "STUDY", "--datasets", "digits"), "one after the other"),
        (("reproduce", "STUDY", "--algorithms", "svm"), "choose one of line, network"),
        (("reproduce", "STUDY", "--device", "cuda:99x"), "is not available"),
        (("reproduce", "smoke", "--small"), "--small only applies to studies that compare methods"),
        (("reproduce", "digits", "--small"), "no small version"),
        (("report", "STUDY", "--plain"), "a comparison has no figures"),
    ],
)
def test_bad_options_are_refused(run, study, tmp_path, arguments, message):
    words = [study if word == "STUDY" else word for word in arguments]
    result = run(*words, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_study_that_was_not_run_has_no_report(run, study, tmp_path):
    result = run("report", study, "--out", tmp_path / "out")
    assert result.exit_code == 3
    assert "run the study first" in result.stderr
