"""The pictures show the numbers they are given."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbgnet.report.bars import Bar, bar_chart
from pbgnet.report.calibration import margin_chart, reliability_bins, reliability_chart
from pbgnet.report.curves import CURVES, MOST_POINTS, curve_chart, read_curve, thin
from pbgnet.report.svg import Axis, escape, tag, tick_text

LOSS, DIVERGENCE, BOUND = CURVES


def widths(chart):
    return [float(width) for width in re.findall(r'<rect x="0" [^>]*?width="([\d.]+)"', chart)]


def test_bars_are_as_long_as_their_values():
    bars = [
        Bar("a", 0.5, "0.5", "certified"),
        Bar("b", 0.25, "0.25", "held-out"),
        Bar("t", 1.0, "1", "trivial"),
    ]
    first, second, trivial = widths(bar_chart("c", "t", bars))
    assert first / second == pytest.approx(2, rel=1e-3)
    assert trivial / first == pytest.approx(2, rel=1e-3)


def test_the_trivial_bar_is_cut_off_only_where_it_would_dwarf_the_others():
    small = [Bar("a", 0.02, "0.02", "certified"), Bar("t", 1.0, "1", "trivial")]
    large = [Bar("a", 0.6, "0.6", "certified"), Bar("t", 1.0, "1", "trivial")]
    assert "polygon" in bar_chart("c", "t", small)
    assert "is cut off" in bar_chart("c", "t", small)
    assert widths(bar_chart("c", "t", small))[0] > 200
    assert "polygon" not in bar_chart("c", "t", large)
    assert "cut off" not in bar_chart("c", "t", large)


def test_a_curve_is_read_from_the_phases_that_have_it(subject):
    phases = [stretch.phase for stretch in read_curve(LOSS, subject.history)]
    assert phases == ["prior", "bound", "bound, polish", "final"]
    assert [s.phase for s in read_curve(DIVERGENCE, subject.history)] == ["bound", "bound, polish", "final"]
    assert read_curve(BOUND, subject.history)[0].values == [0.3 / k for k in range(1, 9)]


def test_algorithms_that_only_measure_the_bound_have_its_curve():
    history = [
        {"phase": "loss", "loss": 0.4, "penalty": 7.0, "objective": 0.4, "divergence": 2.0, "bound": 0.6}
    ]
    assert read_curve(BOUND, history)[0].values == [0.6]
    assert read_curve(DIVERGENCE, history)[0].values == [2.0]
    assert curve_chart(BOUND, [{"phase": "loss", "loss": 0.4, "objective": 0.4}]) == ""


def test_a_curve_ends_at_the_final_value(subject):
    chart = curve_chart(DIVERGENCE, subject.history)
    assert ">0.8765</text>" in chart
    assert "to 0.8765 nats at the end" in chart
    assert ">8 steps</text>" in chart
    assert ">1 step</text>" in chart


def test_bounds_are_rounded_up_and_other_values_to_the_nearest():
    history = [{"phase": "bound", "loss": value, "objective": value} for value in (0.50001, 0.16131)]
    chart = curve_chart(BOUND, history)
    assert ">0.1614</text>" in chart
    assert "From 0.5001 at the first step to 0.1614 at the end" in chart
    assert ">0.1613</text>" in curve_chart(LOSS, history)


@pytest.mark.parametrize("bad", [math.nan, math.inf, None, "oops"])
def test_a_broken_record_does_not_break_the_chart(bad):
    history = [{"phase": "bound", "loss": value, "objective": value} for value in (0.5, bad, 0.4)]
    chart = curve_chart(BOUND, history)
    assert "2 steps" in chart
    assert "nan" not in chart
    assert "inf" not in chart


@pytest.mark.parametrize("values", [[0.0], [0.0, 0.0], [5.0], [1e-9, 1.0], [3.0, 3.0, 3.0], [-1.0, 2.0]])
def test_odd_values_stay_inside_the_picture(values):
    chart = curve_chart(LOSS, [{"phase": "bound", "loss": value} for value in values])
    heights = [float(y) for y in re.findall(r'cy="([\d.-]+)"', chart)]
    heights += [
        float(pair.split(",")[1]) for line in re.findall(r'points="([^"]*)"', chart) for pair in line.split()
    ]
    assert heights
    assert all(30 <= height <= 220 for height in heights)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=3000))
def test_thinning_keeps_ends_and_extremes(values):
    kept = thin(values)
    assert len(kept) <= MOST_POINTS + 4
    assert [values[i] for i, _ in kept] == [value for _, value in kept]
    assert kept[0][0] == 0
    assert kept[-1][0] == len(values) - 1
    assert [min(values), max(values)] == [min(v for _, v in kept), max(v for _, v in kept)]


def test_bins_count_every_row_once_and_in_its_place():
    rng = np.random.default_rng(0)
    output, signs = rng.uniform(-1, 1, 2000), rng.choice([-1.0, 1.0], 2000)
    output[:2] = [1.0, -1.0]  # the last bin holds its end
    bins = reliability_bins(output, signs)
    assert len(bins) == 10
    assert sum(bin.count for bin in bins) == 2000
    assert sum(bin.right for bin in bins) == int((np.sign(output) == signs).sum())
    for bin in bins:
        inside = ((1 + np.abs(output)) / 2 >= bin.low) & ((1 + np.abs(output)) / 2 < bin.high + 1e-12)
        assert bin.count == int(inside.sum())
        assert bin.low <= bin.share <= bin.high
        assert bin.interval[0] < bin.accuracy < bin.interval[1]


def test_limits_are_those_of_clopper_and_pearson():
    (bin,) = reliability_bins(np.full(20, 0.9), np.ones(20), 1)
    assert bin.interval == pytest.approx((0.025 ** (1 / 20), 1.0))
    (bin,) = reliability_bins(np.full(20, 0.9), -np.ones(20), 1)
    assert bin.interval == pytest.approx((0.0, 1 - 0.025 ** (1 / 20)))


def test_a_calibrated_vote_lies_on_the_diagonal():
    rng = np.random.default_rng(1)
    output = rng.uniform(-1, 1, 200_000)
    signs = np.where(rng.uniform(size=output.size) < (1 + output) / 2, 1.0, -1.0)
    for bin in reliability_bins(output, signs):
        assert bin.accuracy == pytest.approx(bin.share, abs=0.02)


def test_margins_tell_wrong_from_right():
    chart = margin_chart(np.array([-0.9, -0.05, 0.5, 0.99, 1.0]))
    assert "2 of 5 rows have a margin of at most 0" in chart
    assert chart.count('class="bar wrong"') == 2
    assert chart.count('class="bar certified"') == 2


def test_one_row_is_enough_to_draw():
    assert "1 of 1 right" in reliability_chart(reliability_bins(np.array([0.3]), np.array([1.0])))
    assert "<svg" in margin_chart(np.array([0.3]))


@given(low=st.floats(-1e6, 1e6), span=st.floats(1e-6, 1e6), count=st.integers(1, 8))
def test_ticks_are_inside_and_few(low, span, count):
    axis = Axis(low, low + span, 0.0, 100.0)
    ticks = axis.ticks(count)
    slack = 1e-6 * (abs(low) + span)
    assert len(ticks) <= count + 2
    assert all(low - slack <= tick <= low + span + slack for tick in ticks)


@given(low=st.floats(1e-6, 1.0), factor=st.floats(31, 1e8), count=st.integers(2, 6))
def test_logarithmic_ticks_are_inside_and_few(low, factor, count):
    ticks = Axis(low, low * factor, 0.0, 100.0, log=True).ticks(count)
    assert 1 <= len(ticks) <= 2 * count + 2
    assert all(low * 0.99 <= tick <= low * factor * 1.01 for tick in ticks)


def test_axes_keep_order_and_stop_at_their_ends():
    axis = Axis(0.0, 2.0, 10.0, 30.0)
    assert [axis(value) for value in (-5, 0, 1, 2, 9)] == [10, 10, 20, 30, 30]
    log = Axis(0.01, 1.0, 0.0, 100.0, log=True)
    assert log(0.1) == pytest.approx(50)
    assert Axis(3.0, 3.0, 0.0, 100.0)(3.0) == 50


def test_texts_on_axes_are_short():
    assert [tick_text(value) for value in (0.0, 0.05, 0.1 + 0.2, 1e-9, 12345.0, 2e6)] == [
        "0", "0.05", "0.3", "1e-09", "12345", "2e+06",
    ]  # fmt: skip


def test_attributes_are_escaped():
    assert tag("p", "", title='"<') == '<p title="&quot;&lt;"></p>'
    assert escape("a\x07b\nc") == "a\N{REPLACEMENT CHARACTER}b\nc"
