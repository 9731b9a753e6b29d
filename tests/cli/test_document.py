"""The example of docs/reference/command-line.md does what it shows."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from pbgnet.cli.outcome import ExitCode
from pbgnet.table_files import MISSING

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "reference" / "command-line.md"


def shell(command: str, given: str = "") -> str:
    done = subprocess.run(["bash", "-c", command], input=given, capture_output=True, text=True, check=True)
    return done.stdout


def perform(line, run, monkeypatch):
    """Do what a line of the example says: our commands in this process, for speed, the others in a shell."""
    if line.startswith("cd "):
        monkeypatch.chdir(line.removeprefix("cd "))
        return ""
    ours = re.fullmatch(r"pbgnet ([^|>]*)(?:\| (.*)|> (\S+); echo \$\?)?", line)
    if not ours:
        return shell(line)
    result = run(*shlex.split(ours[1]))
    if ours[3]:
        Path(ours[3]).write_text(result.stdout)
        return f"{result.exit_code}\n"
    assert result.exit_code == 0, result.output
    return shell(ours[2], result.stdout) if ours[2] else result.stdout


def test_the_example(run, tmp_path, monkeypatch):
    text = re.search(r"## An example\n\n(.*)", DOCUMENT.read_text(), re.DOTALL)[1]
    steps = re.findall(r"^    \$ (.*)\n((?:    [^$].*\n)*)", text, re.MULTILINE)
    assert len(steps) == 8
    monkeypatch.chdir(tmp_path)
    for line, expected in steps:
        printed = perform(line, run, monkeypatch)
        if not line.startswith("pbgnet demo"):  # what it prints is not in the document
            assert printed == re.sub("^    ", "", expected, flags=re.MULTILINE), line


def test_exit_codes_and_markers_are_documented():
    text = DOCUMENT.read_text()
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == {
        int(code) for code in ExitCode
    }
    for marker in filter(None, MISSING):
        assert f"`{marker}`" in text


@pytest.mark.parametrize(
    "command", ["train", "predict", "verify", "monitor", "show", "declare", "plan", "bound", "demo"]
)
def test_every_command_is_documented(command):
    assert f"| `pbgnet {command}" in DOCUMENT.read_text()
