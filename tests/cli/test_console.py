"""Bars of characters: as long as the terminal allows."""

from types import SimpleNamespace

import pytest

from pbgnet.cli import console


@pytest.mark.parametrize(("width", "longest"), [(80, 80 - 40 - 13), (110, 40), (30, 10)])
def test_bars_fit_the_terminal(monkeypatch, capsys, width, longest):
    monkeypatch.setattr(console, "console", lambda: SimpleNamespace(width=width))
    console.bars([("n" * 40, 1.0, "1.0000"), ("half", 0.5, "0.5000")])
    lines = capsys.readouterr().out.splitlines()
    assert [line.count("#") for line in lines] == [longest, round(longest / 2)]
    assert width < 60 or max(map(len, lines)) <= width
