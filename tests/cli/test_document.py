"""What docs/reference/command-line.md lists is complete. Its example is run in tests/documents."""

import re
from pathlib import Path

import pytest

from pbgnet.cli.outcome import ExitCode
from pbgnet.table_files import MISSING

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "reference" / "command-line.md"


def test_exit_codes_and_markers_are_documented():
    text = DOCUMENT.read_text()
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == {
        int(code) for code in ExitCode
    }
    for marker in filter(None, MISSING):
        assert f"`{marker}`" in text


@pytest.mark.parametrize(
    "command",
    ["train", "certify", "predict", "verify", "monitor", "show", "declare", "plan", "bound", "demo"],
)
def test_every_command_is_documented(command):
    assert f"| `pbgnet {command}" in DOCUMENT.read_text()
