"""Bars are as long as their values, and are cut off only where they would dwarf the others."""

import re

import pytest

from pbgnet.pages import Bar, Bars

HOSTILE = '"><script>alert(1)</script>'


def widths(bars):
    return [float(width) for width in re.findall(r"; width: ([\d.]+)%", bars.__html__())]


def test_bars_are_as_long_as_their_values():
    bars = [
        Bar("a", 0.5, "0.5", "certified"),
        Bar("b", 0.25, "0.25", "held-out"),
        Bar("t", 1.0, "1", "trivial"),
    ]
    first, second, trivial = widths(Bars("c", "t", bars, cut=True))
    assert first / second == pytest.approx(2, rel=1e-3)
    assert trivial / first == pytest.approx(2, rel=1e-3)


def test_the_trivial_bar_is_cut_off_only_where_it_would_dwarf_the_others():
    trivial = Bar("t", 1.0, "1", "trivial")
    small = [Bar("a", 0.02, "0.02", "certified"), trivial]
    large = [Bar("a", 0.6, "0.6", "certified"), trivial]
    cut = Bars("c", "t", small, cut=True)
    assert "the bar is cut off" in cut.__html__()
    assert widths(cut) == [pytest.approx(40 / 1.08, abs=0.1), 100.0]
    for whole in (Bars("c", "t", large, cut=True), Bars("c", "t", small)):
        assert "cut off" not in whole.__html__()
        assert widths(whole)[1] == pytest.approx(100 / 1.08, abs=0.1)


def test_a_bar_may_begin_anywhere_and_have_marks():
    html = Bars("c", "t", [Bar("a", 0.5, "0.25 to 0.5", "certified", 0.25, (0.3,))]).__html__()
    assert "left: 46.30%; width: 46.30%" in html
    assert 'class="at" style="left: 55.56%"' in html


def test_no_bars_and_empty_bars_are_drawn():
    assert "<li" not in Bars("c", "t", []).__html__()
    assert widths(Bars("c", "t", [Bar("a", 0.0, "0", "measured")])) == [0.0]


def test_names_stay_text():
    assert "<script" not in Bars("c", HOSTILE, [Bar(HOSTILE, 0.5, HOSTILE, "measured")]).__html__()
