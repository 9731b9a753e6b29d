"""Places and round numbers of axes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbgnet.pages import Axis, tick_text


@given(low=st.floats(-1e6, 1e6), span=st.floats(1e-6, 1e6), count=st.integers(1, 8))
def test_ticks_are_inside_and_few(low, span, count):
    axis = Axis(low, low + span, 0.0, 100.0)
    ticks = axis.ticks(count)
    slack = 1e-6 * (abs(low) + span)
    assert len(ticks) <= count + 2
    # Far from 0, so small a span is lost in the rounding of its ends.
    assert len(ticks) >= 2 or count < 3 or span < 1e-9 * abs(low)
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
