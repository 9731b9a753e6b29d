"""Certificates issued by earlier versions verify for ever: one folder per version of the schema."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pbgnet.certificates import CertifiedModel, load_certified, save_model, save_predictions
from pbgnet.cli.app import app

VERSIONS = sorted(path for path in Path(__file__).parent.glob("v*") if path.is_dir())


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda folder: folder.name)
def test_old_certificates_still_verify(folder):
    result = CliRunner().invoke(app, ["verify", str(folder / "model"), str(folder / "table.csv"), "--json"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["ok"] is True


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda folder: folder.name)
def test_and_still_notice_a_changed_label(folder, tmp_path):
    lines = (folder / "table.csv").read_text().splitlines(keepends=True)
    other = {"good": "poor", "poor": "good"}
    # The label stands before the answer, where there is one.
    lines[5] = re.sub("good|poor", lambda found: other[found[0]], lines[5], count=1)
    changed = tmp_path / "table.csv"
    changed.write_text("".join(lines))
    result = CliRunner().invoke(app, ["verify", str(folder / "model"), str(changed)])
    assert result.exit_code == 1
    assert "data: labels" in result.output


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda folder: folder.name)
def test_and_are_written_back_byte_for_byte(folder, tmp_path):
    loaded = load_certified(folder / "model")
    save = save_model if isinstance(loaded, CertifiedModel) else save_predictions
    saved = save(loaded, tmp_path / "model")
    for path in saved.iterdir():
        assert path.read_bytes() == (folder / "model" / path.name).read_bytes(), path.name
