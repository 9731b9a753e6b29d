"""Train the models of the golden folders anew: only where what a certificate means was changed before a release.

``python tests/golden/make_folders.py [NAME ...]`` replaces weights, preprocessing and certificate of the folders named,
or of all. Tables stay as they are, and so does ``table.json``, in the words of the version that wrote it, but for the
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

OPTIONS = {
    "v1": "--algorithm pbgnet_pre --hidden 3",
    "v1-classes": "--hidden 3 --members 2 --certificate held-out --class-conditional --confusion",
    "v1-ensemble": "--hidden 3 --members 3 --certificate held-out",
    "v1-groups-answered": "--hidden 4 --members 4 --certificate held-out --groups region --max-error 0.3",
    "v1-margins": "--algorithm pbgnet_pre --hidden 3 --certificate vote --prior-training thorough",
    "v1-vote": "--algorithm pbgnet_pre --hidden 3 --certificate vote --class-conditional",
}
"""How each model is trained, besides its table and target."""

WRITTEN = ("certificate.json", "model.safetensors", "preprocessing.json")


def make_folder(name: str) -> None:
    """Train the model of one folder and put it in the place of the old one."""
    with tempfile.TemporaryDirectory() as folder:
        model, table = Path(folder) / "model", HERE / name / "table.csv"
        train = ["train", str(table), "--target", "quality", "--out", str(model), *OPTIONS[name].split()]
        result = CliRunner().invoke(app, train, catch_exceptions=False)
        if result.exit_code:
            raise SystemExit(f"{name}: {result.output}")
        for file in WRITTEN:
            shutil.copy(model / file, HERE / name / "model" / file)
        reading, found = HERE / name / "model" / "table.json", json.loads((model / "table.json").read_text())
        stated = json.loads(reading.read_text())["data"]
        reading.write_text(reading.read_text().replace(stated, found["data"]))


if __name__ == "__main__":
    for name in sys.argv[1:] or OPTIONS:
        make_folder(name)
