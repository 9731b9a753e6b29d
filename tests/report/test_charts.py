"""The pictures show the numbers they are given."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbgnet.report.calibration import margin_chart, reliability_bins, reliability_chart
from pbgnet.report.curves import CURVES, MOST_POINTS, curve_chart, read_curve, thin

LOSS, DIVERGENCE, BOUND = CURVES[2:]


def svg(chart):
    return chart.__html__()


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
    assert curve_chart(BOUND, [{"phase": "loss", "loss": 0.4, "objective": 0.4}]) is None


def test_a_curve_ends_at_the_final_value(subject):
    chart = svg(curve_chart(DIVERGENCE, subject.history))
    assert ">0.8765</text>" in chart
    assert "to 0.8765 nats at the end" in chart
    assert ">8 steps</text>" in chart
    assert ">1 step</text>" in chart


def test_bounds_are_rounded_up_and_other_values_to_the_nearest():
    history = [{"phase": "bound", "loss": value, "objective": value} for value in (0.50001, 0.16131)]
    chart = svg(curve_chart(BOUND, history))
    assert ">0.1614</text>" in chart
    assert "From 0.5001 at the first step to 0.1614 at the end" in chart
    assert ">0.1613</text>" in svg(curve_chart(LOSS, history))


@pytest.mark.parametrize("bad", [math.nan, math.inf, None, "oops"])
def test_a_broken_record_does_not_break_the_chart(bad):
    history = [{"phase": "bound", "loss": value, "objective": value} for value in (0.5, bad, 0.4)]
    chart = svg(curve_chart(BOUND, history))
    assert "2 steps" in chart
    assert "nan" not in chart
    assert "inf" not in chart


@pytest.mark.parametrize("values", [[0.0], [0.0, 0.0], [5.0], [1e-9, 1.0], [3.0, 3.0, 3.0], [-1.0, 2.0]])
def test_odd_values_stay_inside_the_picture(values):
    chart = svg(curve_chart(LOSS, [{"phase": "bound", "loss": value} for value in values]))
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


def voted(output, signs):
    """Return the shares of two classes, and whether the vote is right."""
    return np.stack([(1 - output) / 2, (1 + output) / 2], axis=1), np.where(output > 0, 1.0, -1.0) == signs


def test_bins_count_every_row_once_and_in_its_place():
    rng = np.random.default_rng(0)
    output, signs = rng.uniform(-1, 1, 2000), rng.choice([-1.0, 1.0], 2000)
    output[:2] = [1.0, -1.0]  # the last bin holds its end
    bins = reliability_bins(*voted(output, signs))
    assert len(bins) == 10
    assert sum(bin.count for bin in bins) == 2000
    assert sum(bin.right for bin in bins) == int((np.sign(output) == signs).sum())
    for bin in bins:
        inside = ((1 + np.abs(output)) / 2 >= bin.low) & ((1 + np.abs(output)) / 2 < bin.high + 1e-12)
        assert bin.count == int(inside.sum())
        assert bin.low <= bin.share <= bin.high
        assert bin.interval[0] < bin.accuracy < bin.interval[1]


def test_limits_are_those_of_clopper_and_pearson():
    (bin,) = reliability_bins(*voted(np.full(20, 0.9), np.ones(20)), 1)
    assert bin.interval == pytest.approx((0.025 ** (1 / 20), 1.0))
    (bin,) = reliability_bins(*voted(np.full(20, 0.9), -np.ones(20)), 1)
    assert bin.interval == pytest.approx((0.0, 1 - 0.025 ** (1 / 20)))


def test_a_calibrated_vote_lies_on_the_diagonal():
    rng = np.random.default_rng(1)
    output = rng.uniform(-1, 1, 200_000)
    signs = np.where(rng.uniform(size=output.size) < (1 + output) / 2, 1.0, -1.0)
    for bin in reliability_bins(*voted(output, signs)):
        assert bin.accuracy == pytest.approx(bin.share, abs=0.02)


def test_the_share_of_an_answer_may_be_small_where_classes_are_many():
    shares = np.array([[0.3, 0.36, 0.34], [0.1, 0.0, 0.9], [0.0, 0.0, 1.0]])
    bins = reliability_bins(shares, np.array([False, True, True]), 10)
    assert [(round(bin.low, 9), bin.count, bin.right) for bin in bins] == [(0.3, 1, 0), (0.9, 2, 2)]
    chart = svg(reliability_chart(bins, 3))
    assert "share of the answer" in chart
    assert "share 0.36: 0 of 1 right" in chart


def test_margins_tell_wrong_from_right():
    margins = np.array([-0.9, -0.05, 0.5, 0.99, 1.0])
    chart = svg(margin_chart(margins, margins > 0))
    assert "2 of 5 rows have a margin of at most 0" in chart
    assert chart.count('class="bar wrong"') == 2
    assert chart.count('class="bar certified"') == 2


def test_of_several_classes_a_positive_margin_may_be_wrong():
    """The colour says so, not the side; and the axis ends where the scores do."""
    chart = margin_chart(np.array([0.05, 0.051, 0.052, 0.15]), np.array([True, False, True, True]), 10)
    bars = [m.attributes for m in chart.marks if m.kind == "rect"][:3]
    assert [bar["class"] for bar in bars] == ["bar certified", "bar wrong", "bar certified"]
    assert float(bars[0]["height"]) == pytest.approx(2 * float(bars[1]["height"]), rel=1e-3)
    assert "1 are answered wrong" in chart.description
    assert {"-0.2", "0.2"} <= {m.text for m in chart.marks}


def test_one_row_is_enough_to_draw():
    assert "1 of 1 right" in svg(reliability_chart(reliability_bins(*voted(np.array([0.3]), 1.0))))
    assert "<svg" in svg(margin_chart(np.array([0.3]), np.array([True])))


def test_a_bound_never_shrinks_in_print():
    assert (LOSS.text(0.16131), BOUND.text(0.16131)) == ("0.1613", "0.1614")
