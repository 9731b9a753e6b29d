"""Make the golden folders anew, where what a certificate means was changed before a release.

``python tests/golden/make_folders.py [NAME ...]`` replaces what is certified in the folders named, or in all.
Tables stay as they are, and so does ``table.json``, in the words of the version that wrote it, but for the
fingerprint of the data.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

from typer.testing import CliRunner

from pbgnet.cli.app import app

HERE = Path(__file__).parent

TRAINED = {
    "v1": "--algorithm pbgnet_pre --hidden 3",
    "v1-classes": "--hidden 3 --members 2 --certificate held-out --class-conditional --confusion",
    "v1-ensemble": "--hidden 3 --members 3 --certificate held-out",
    "v1-groups-answered": "--hidden 4 --members 4 --certificate held-out --groups region --max-error 0.3",
    "v1-margins": "--algorithm pbgnet_pre --hidden 3 --certificate vote --prior-training thorough",
    "v1-vote": "--algorithm pbgnet_pre --hidden 3 --certificate vote --class-conditional",
}
"""How each model is trained, besides its table and target."""

CERTIFIED = {"v1-answers": "--answers answer --groups region --name golden"}
"""How each table of answers is certified, besides its target."""

NOT_KEPT = ("about.json", "history.json", "report.html", "table.json")
"""What is written beside a certificate, and is no part of it."""


def make_folder(name: str) -> None:
    """Train or certify what is in one folder, and put it in the place of the old one."""
    with tempfile.TemporaryDirectory() as folder:
        model, table = Path(folder) / "model", HERE / name / "table.csv"
        command, options = ("train", TRAINED[name]) if name in TRAINED else ("certify", CERTIFIED[name])
        given = [command, str(table), "--target", "quality", "--out", str(model), *options.split()]
        result = CliRunner().invoke(app, given, catch_exceptions=False)
        if result.exit_code:
            raise SystemExit(f"{name}: {result.output}")
        for path in model.iterdir():
            if path.name not in NOT_KEPT:
                shutil.copy(path, HERE / name / "model" / path.name)
        reading, found = HERE / name / "model" / "table.json", json.loads((model / "table.json").read_text())
        stated = json.loads(reading.read_text())["data"]
        reading.write_text(reading.read_text().replace(stated, found["data"]))


if __name__ == "__main__":
    for name in sys.argv[1:] or (*TRAINED, *CERTIFIED):
        make_folder(name)
