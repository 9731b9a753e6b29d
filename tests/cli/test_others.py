"""Help, version, errors and the small commands."""

import json
import re
import subprocess
import sys

import pytest

import pbgnet
import pbgnet.certificates
from pbgnet.bounds import (
    FIXED_GRID,
    catoni_mixture_bound,
    chernoff_bound,
    mcallester_bound,
    seeger_bound,
    split_delta,
)
from pbgnet.certificates import load_model

COMMANDS = ("train", "predict", "verify", "show", "bound", "demo", "reproduce", "report")


def test_help_names_every_command(run):
    result = run("--help")
    assert result.exit_code == 0
    for command in COMMANDS:
        assert re.search(rf"\b{command}\b", result.stdout)
        text = run(command, "--help").stdout
        assert "--json" in text
        assert "--debug" in text
    assert "Exit codes: 0 success, 1 not verified" in result.stdout


def test_help_does_not_wait_for_heavy_imports():
    code = (
        "import sys, pbgnet.cli.app\n"
        "heavy = {'torch', 'pandas', 'numpy', 'scipy', 'sklearn', 'pyarrow'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
    program = (
        "import atexit, runpy, time\n"
        "atexit.register(lambda: print(time.process_time()))\n"
        "runpy.run_module('pbgnet', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "--help"], check=True, capture_output=True, text=True, timeout=300
    )
    assert float(done.stdout.splitlines()[-1]) < 1.0  # seconds of the processor: others may use it too


def test_version(run):
    assert run("--version").stdout == f"pbgnet {pbgnet.__version__}\n"


def test_usage_errors_exit_with_2(run, made):
    assert run("train").exit_code == 2
    assert run("trian").exit_code == 2
    assert run("bound", "--risk", "a", "--divergence", "1", "--n", "10").exit_code == 2
    assert (
        run(
            "train", made / "table.csv", "--target", "label", "--out", made / "x", "--restarts", "0"
        ).exit_code
        == 2
    )


def test_show(run, run_json, made):
    result = run("show", made / "model")
    certificate = load_model(made / "model").certificate
    assert result.exit_code == 0
    for text in (certificate.statement, *certificate.assumptions, "'no' and 'yes'", "'label'"):
        assert text in result.stdout
    payload = run_json("show", made / "model")
    assert payload["certificate"] == json.loads((made / "model" / "certificate.json").read_text())
    assert payload["features"] == ["size", "weight", "colour", "large"]
    assert payload["targets"] == ["label"]


def test_bound_lists_all_bounds(run, run_json):
    arguments = (
        "bound",
        "--risk",
        "0.05",
        "--divergence",
        "20",
        "--n",
        "1000",
        "--delta",
        "0.05",
        "--n-priors",
        "3",
    )
    payload = run_json(*arguments)
    values = {row["name"]: row["value"] for row in payload["bounds"]}
    share = split_delta(0.05, 3)
    assert payload["delta_per_prior"] == share
    assert values["Seeger, exact constant"] == seeger_bound(0.05, 20.0, 1000, share, "maurer")
    assert values["Seeger, paper's constant"] == seeger_bound(0.05, 20.0, 1000, share, "paper")
    assert values["McAllester"] == mcallester_bound(0.05, 20.0, 1000, share, "maurer")
    assert values["Held-out (Chernoff)"] == chernoff_bound(0.05, 1000, share)
    assert values["Catoni, best C"] == pytest.approx(values["Seeger, exact constant"], rel=1e-9)
    mixture = catoni_mixture_bound(0.05, 20.0, 1000, share, FIXED_GRID)
    assert values["Catoni, mixture"] == mixture < values["Seeger, exact constant"]
    assert values["Trivial"] == 1
    text = run(*arguments).stdout
    printed = dict(re.findall(r"^(\S.*?)  +(\d\.\d{6})", text, re.MULTILINE))
    assert printed.keys() == values.keys()
    for name, value in values.items():
        assert value <= float(printed[name]) <= value + 1e-6  # rounded up


def test_bound_at_risk_zero_has_no_finite_c_and_valid_json(run_json):
    payload = run_json("bound", "--risk", "0", "--divergence", "1", "--n", "100")
    assert payload["bounds"][2]["remark"] == "C tends to infinity"


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--risk", "1.5", "risk must lie in"),
        ("--risk", "nan", "risk must lie in"),
        ("--divergence", "-1", "divergence must lie in"),
        ("--n", "0", "n must"),
        ("--delta", "1", "delta must lie in"),
        ("--n-priors", "0", "n_priors must be at least 1"),
    ],
)
def test_bound_refuses_impossible_numbers(run, option, value, message):
    good = {"--risk": "0.1", "--divergence": "1", "--n": "10", "--delta": "0.05"} | {option: value}
    result = run("bound", *[part for pair in good.items() for part in pair])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_errors_are_json_too(run, made):
    result = run("verify", made / "model", "absent.csv", "--json")
    assert result.exit_code == 3
    payload = json.loads(result.stdout)
    assert payload["error"] == {"kind": "DamagedFileError", "message": "There is no file absent.csv."}
    assert payload["exit_code"] == 3


def test_a_traceback_only_with_debug(run, made):
    plain, debug = (run("verify", made / "model", "absent.csv", *more) for more in ((), ("--debug",)))
    assert "Traceback" not in plain.output
    assert "Traceback" in debug.stderr
    assert debug.exit_code == plain.exit_code == 3


def test_a_bug_is_admitted_and_an_interruption_is_130(run, made, monkeypatch):
    def broken(_):
        raise ZeroDivisionError("one by zero")

    monkeypatch.setattr(pbgnet.certificates, "load_certified", broken)
    result = run("show", made / "model")
    assert result.exit_code == 4
    assert (
        "Unexpected error: ZeroDivisionError: one by zero. Please run the command again with --debug"
        in result.stderr
    )

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(pbgnet.certificates, "load_certified", interrupted)
    result = run("show", made / "model")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "Interrupted.\n")


def test_hostile_names_cannot_write_to_the_terminal(run, table, tmp_path, quick):
    hostile = "\x1b]0;owned\x07[bold red]<script>"
    table.rename(columns={"size": hostile}).to_csv(tmp_path / "t.csv", index=False)
    result = run("train", tmp_path / "t.csv", "--target", "siz", "--out", tmp_path / "m", *quick)
    assert result.exit_code == 2
    assert "\x1b" not in result.output
    result = run("train", tmp_path / "t.csv", "--target", "label", "--out", tmp_path / "m", *quick)
    assert result.exit_code == 0, result.output
    shown = run("show", tmp_path / "m")
    assert "\x1b" not in shown.output
    assert "[bold red]<script>" in shown.output
    assert "<script" not in (tmp_path / "m" / "report.html").read_text()


def test_hostile_labels_cannot_write_to_the_terminal(run, table, tmp_path, quick):
    table["label"] = table["label"].where(table["label"] == "no", "\x1b]0;owned\x07")
    table.to_csv(tmp_path / "t.csv", index=False)
    assert (
        run("train", tmp_path / "t.csv", "--target", "label", "--out", tmp_path / "m", *quick).exit_code == 0
    )
    result = run("predict", tmp_path / "m", tmp_path / "t.csv", "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    assert "]0;owned" in result.stdout
    assert "\x1b" not in result.stdout
    assert "\x07" not in result.stdout


def test_a_closed_pipe_is_no_error(made):
    command = f"{sys.executable} -m pbgnet show {made / 'model'} | head -n 1; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Wrong at most")
    assert result.stderr == ""


def test_the_demo_ends_with_a_verified_certificate_and_can_be_repeated(run, run_json, tmp_path):
    payload = run_json("demo", "--out", tmp_path / "demo")
    assert payload["exit_code"] == 0
    assert payload["verified"] is True
    assert payload["certificate"]["claims"][0]["value"] < 0.1
    names = {
        str(path.relative_to(tmp_path / "demo")) for path in (tmp_path / "demo").rglob("*") if path.is_file()
    }
    assert {"breast_cancer.csv", "model/certificate.json", "model/report.html"} <= names
    result = run("demo", "--out", tmp_path / "demo")  # again, and told to people
    assert result.exit_code == 0, result.output
    assert "Verified: " in result.stdout
    assert "report.html in a browser" in result.stdout
