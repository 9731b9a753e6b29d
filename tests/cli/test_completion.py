"""Completion in a shell: what bash is given, and that pressing Tab does not wait for PyTorch."""

import os
import shutil
import subprocess
import sys

import pytest

ENTRY = "from pbgnet.cli import main; main()"


@pytest.fixture
def bash(tmp_path):
    """Bash with the completion that ``pbgnet --show-completion bash`` prints, in an empty folder."""
    if not shutil.which("bash"):
        pytest.skip("bash is not installed")
    command = tmp_path / "bin" / "pbgnet"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -X importtime -c "{ENTRY}" "$@" 2>>"$IMPORTED"\n')
    command.chmod(0o755)
    imported = tmp_path / "imported.txt"
    environment = os.environ | {
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "IMPORTED": str(imported),
        "COLUMNS": "80",
    }
    work = tmp_path / "work"
    work.mkdir()

    def run(script):
        done = subprocess.run(
            ["bash", "--norc", "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
            cwd=work,
        )
        return done.stdout, {line.split("|")[-1].strip() for line in imported.read_text().splitlines()}

    return run


TAB = """
eval "$(pbgnet --show-completion bash)"
tab() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    _pbgnet_completion pbgnet
    echo "${COMPREPLY[*]}"
}
complete -p pbgnet
tab pbgnet ve
tab pbgnet train t.csv --certificate he
tab pbgnet verify mod
"""


def test_tab_completes_commands_names_and_files(bash):
    printed, imported = bash(TAB)
    registered, command, name, file = printed.splitlines()
    assert "-o default" in registered  # with nothing to offer, bash completes names of files by itself
    assert "-F _pbgnet_completion" in registered
    assert (command, name, file) == ("verify", "held-out", "")
    assert "pbgnet.cli.app" in imported
    assert not {"torch", "numba", "pandas", "sklearn"} & imported
