"""A small table of mixed types, a model trained on it, and a way to run commands."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pd = pytest.importorskip("pandas", reason="the command line needs pbgnet[cli]")
pytest.importorskip("typer", reason="the command line needs pbgnet[cli]")

from typer.testing import CliRunner, Result  # noqa: E402

QUICK = ("--hidden", "3", "--max-epochs", "1", "--device", "cpu")


def mixed_table(n: int = 120, seed: int = 0) -> "pd.DataFrame":
    """Numbers, words, truth values and gaps; the label depends on size and colour."""
    rng = np.random.default_rng(seed)
    size, weight = rng.normal(size=n).round(4), rng.normal(size=n).round(4)
    colour = rng.choice(["red", "green", "blue"], n)
    label = np.where(size + (colour == "red") > 0.3, "yes", "no")
    frame = pd.DataFrame(
        {"size": size, "weight": weight, "colour": colour, "large": size > 1, "label": label}
    )
    frame.loc[rng.choice(n, n // 10, replace=False), "weight"] = np.nan
    frame.loc[rng.choice(n, n // 10, replace=False), "colour"] = None
    return frame


@pytest.fixture
def table() -> "pd.DataFrame":
    return mixed_table()


@pytest.fixture(scope="session")
def run() -> Callable[..., Result]:
    """Run a command in this process: ``run("show", folder)``."""
    from pbgnet.cli.app import app

    try:
        runner = CliRunner(mix_stderr=False)  # before click 8.2 the two streams are mixed by default
    except TypeError:
        runner = CliRunner()

    def call(*arguments: object) -> Result:
        return runner.invoke(app, [str(argument) for argument in arguments])

    return call


@pytest.fixture(scope="session")
def run_json(run: Callable[..., Result]) -> Callable[..., Any]:
    """Run a command with ``--json`` and return what it printed; standard output must be that and no more."""

    def call(*arguments: object) -> Any:
        return json.loads(run(*arguments, "--json").stdout)

    return call


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, run: Callable[..., Result]) -> Path:
    """A folder with table.csv and model; to be read only."""
    folder = tmp_path_factory.mktemp("made")
    frame = mixed_table()
    frame.to_csv(folder / "table.csv", index=False, na_rep="?")
    result = run("train", folder / "table.csv", "--target", "label", "--out", folder / "model", *QUICK)
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return Path(shutil.copytree(made, tmp_path / "copy"))


@pytest.fixture
def quick() -> tuple[str, ...]:
    """Options of a training that takes a moment."""
    return QUICK
