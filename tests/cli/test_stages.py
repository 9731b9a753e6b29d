"""The stages of a command: lines on a terminal, and silence everywhere else."""

import io
import re
import sys

import pytest

from pbgnet.cli.stages import Stages
from pbgnet.kernels import numba_compiler
from pbgnet.stages import announce, listening, remark


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Told(Stages):
    """Remembers what it hears."""

    heard: list[str] = []  # noqa: RUF012 (emptied by the test)

    def begin(self, stage: str) -> None:
        self.heard.append(stage)
        super().begin(stage)


def take_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Let standard error be a terminal; not in a fixture, after which pytest puts its own in place."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def lines(stream: io.StringIO) -> list[str]:
    return [re.sub(r"^ +[0-9.]+ s  ", "", line) for line in stream.getvalue().splitlines()]


def test_a_terminal_sees_each_stage_as_it_begins_and_a_remark_once(monkeypatch):
    terminal = take_terminal(monkeypatch)
    stages = Stages(shown=True)
    with listening(stages):
        stages.begin("reading")
        announce("training")
        remark("kernels are compiled")
        remark("kernels are compiled")
        assert lines(terminal) == ["reading", "training", "  kernels are compiled"]
        stages.end()
    assert lines(terminal)[-1] == "done"
    assert list(stages.seconds) == ["reading", "training"]
    assert re.match(r" +[0-9]+\.[0-9] s  reading\n", terminal.getvalue())


def test_silent_unless_shown_and_on_a_terminal(monkeypatch):
    terminal = take_terminal(monkeypatch)
    Stages(shown=False).begin("reading")
    assert terminal.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", file := io.StringIO())
    Stages(shown=True).begin("reading")
    assert file.getvalue() == ""


def test_nobody_is_told_unless_somebody_listens(monkeypatch):
    terminal = take_terminal(monkeypatch)
    stages = Stages(shown=True)
    with listening(stages):
        pass
    announce("training")
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("options", [(), ("--model", "logistic_regression")])
def test_train_goes_through_all_stages(run, table, tmp_path, monkeypatch, options):
    Told.heard = []
    monkeypatch.setattr("pbgnet.cli.train.Stages", Told)
    table.to_csv(tmp_path / "t.csv", index=False)
    chosen = options or ("--hidden", "3", "--max-epochs", "1")
    result = run("train", tmp_path / "t.csv", "--target", "label", "--out", tmp_path / "model", *chosen)
    assert result.exit_code == 0, result.output
    assert Told.heard == ["reading", "preparing", "training", "certifying", "report", "done"]
    assert " s  " not in result.stderr  # no terminal


def test_a_kernel_that_is_compiled_for_the_first_time_says_so(tmp_path, monkeypatch):
    terminal = take_terminal(monkeypatch)
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def double(x):  # type: ignore[no-untyped-def]
        return 2 * x

    kernel = numba_compiler.compiled(double)
    stages = Stages(shown=True)
    with listening(stages):
        assert kernel(1.0) == 2.0
        assert lines(terminal) == [f"  {numba_compiler.COMPILED}"]
    again = numba_compiler.compiled(double)
    with listening(Stages(shown=True)):
        again(1.0)
    assert len(lines(terminal)) == 1  # kept in a file


def test_progress_overwrites_its_line_and_waits_between_two(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("pbgnet.cli.stages.PATIENCE", 0.0)
    stages = Stages(shown=True)
    stages.begin("reading")
    stages.progress(65_536, 10_000_000)
    stages.progress(131_072, 10_000_000)
    stages.begin("training")
    told = capsys.readouterr().err
    assert told.count("\n") == 2  # the two stages; progress has a line that is overwritten
    assert "reading: 131,072 of 10,000,000 rows" in told
    assert told.rindex("\r") < told.rindex("training")
    monkeypatch.setattr("pbgnet.cli.stages.PATIENCE", 3600.0)
    stages.progress(1, 2)
    assert capsys.readouterr().err == ""
