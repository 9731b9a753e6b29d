"""The cost against rows is measured on tables that begin alike, and its exponent is that of a power."""

import numpy as np
import pytest
from benchmarks.rows_cost import RowCost, exponent, made_rows, row_costs


def test_the_exponent_is_that_of_a_power():
    costs = [RowCost(n, 1.0, 3e-4 * n**0.9, 0.1) for n in (10, 1000, 10_000)]
    assert exponent(costs) == pytest.approx(0.9)


def test_a_shorter_table_is_the_beginning_of_a_longer_one():
    (short, of_short), (long, of_long) = made_rows(50, 4), made_rows(140_000, 4)
    assert np.array_equal(short, long[:50])
    assert np.array_equal(of_short, of_long[:50])
    assert 0.3 < of_long.mean() < 0.7


def test_a_fit_costs_time_and_learns_something():
    (cost,) = row_costs([400], n_columns=4, hidden_layer_sizes=(4,))
    assert cost.n_rows == 400
    assert cost.processor_seconds > 0
    assert cost.error_rate < 0.45
