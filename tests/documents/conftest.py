"""Commands of pages, run in this process, and short training."""

import shlex
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("pandas", reason="pages need pbgnet[cli]")
pytest.importorskip("typer", reason="pages need pbgnet[cli]")

from tests.documents.blocks import Step
from typer.testing import CliRunner

from pbgnet.cli.app import app
from pbgnet.training.algorithms.ensemble_recipe import EnsembleCourse

EPOCHS = 10
"""Of each network of the default classifier, unless a page says how many."""


@pytest.fixture
def short_training(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Make the default classifier learn for a few epochs: what pages do is the same, and takes less long."""
    schedule = EnsembleCourse.schedule

    def short(self, rate, n_rows, n_pool):
        course = self if self.max_epochs is not None else replace(self, max_epochs=EPOCHS)
        return schedule(course, rate, n_rows, n_pool)

    return lambda: monkeypatch.setattr(EnsembleCourse, "schedule", short)


@pytest.fixture
def perform(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch):
    """Do what a line says and return what it prints: our commands in this process, the rest in a shell."""
    try:
        runner = CliRunner(mix_stderr=False)  # before click 8.2 the two streams are mixed by default
    except TypeError:
        runner = CliRunner()
    notes = tmp_path_factory.mktemp("shell")

    def do(step: Step) -> str:
        # The shell gets, in place of our command, what it printed and its exit code.
        ours = "pbgnet() { return 4; }"
        for arguments in step.own_commands():
            result = runner.invoke(app, arguments)
            changed = arguments[0] == "verify" and arguments[-1] == "changed.csv"
            assert result.exit_code == int(changed), result.output
            (notes / "printed").write_text(result.stdout, encoding="utf-8")
            ours = f"pbgnet() {{ cat {shlex.quote(str(notes / 'printed'))}; return {result.exit_code}; }}"
        script = f"{ours}\n{step.command}\npwd > {shlex.quote(str(notes / 'folder'))}"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        assert done.stderr == ""
        monkeypatch.chdir(Path((notes / "folder").read_text(encoding="utf-8").strip()))
        return done.stdout

    return do
