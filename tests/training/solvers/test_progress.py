"""The progress bar: on a terminal that asked for it, and nowhere else."""

import io

import pytest
import torch

from pbgnet.training.solvers.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def show(verbose: int, stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("sys.stderr", stream)
    with Progress(verbose) as progress:
        for epoch in range(1, 4):
            progress.advance("bound", epoch, 3, torch.tensor([0.25, 0.5]))
    return stream.getvalue()


def test_a_terminal_sees_phase_and_best_objective(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm")
    assert "bound  0.2500" in show(1, Terminal(), monkeypatch)


def test_silent_unless_asked_and_on_a_terminal(monkeypatch):
    assert show(0, Terminal(), monkeypatch) == ""
    assert show(1, io.StringIO(), monkeypatch) == ""
