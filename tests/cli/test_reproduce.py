"""``pbgnet reproduce``: a study from the command line, stopped and gone on with."""

import pytest

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
        (("smok",), "choose one of exact, paper"),
        (("smoke", "--datasets", "ads"), "choose one of breast"),
        (("smoke", "--algorithms", "svm"), "choose one of mlp"),
        (("smoke", "--engine", "slurm"), "choose one of local, ray"),
        (("smoke", "--address", "host:1"), "--address is for --engine ray"),
        (("smoke", "--device", "cuda:99x"), "is not there"),
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
