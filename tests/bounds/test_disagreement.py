"""A classifier through its disagreement with a certified one: a sum, rounded up."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbgnet.bounds import clopper_pearson_bound, disagreement_bound
from pbgnet.exceptions import DomainError, DtypeError, ShapeError


@settings(deadline=None, derandomize=True, max_examples=100)
@given(
    bound=st.floats(0.0, 1.0),
    counts=st.integers(1, 10**5).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m))),
    delta=st.floats(1e-9, 0.999),
)
def test_the_sum_is_rounded_up(bound, counts, delta):
    value = disagreement_bound(bound, *counts, delta)
    exact = Fraction(bound) + Fraction(float(clopper_pearson_bound(*counts, delta)))
    assert type(value) is float
    assert value == 1.0 or Fraction(value) >= exact
    assert Fraction(value) <= min(Fraction(1), exact * (1 + Fraction(1, 2**51)) + Fraction(1, 2**1000))


def test_more_rows_that_agree_lead_back_to_the_bound():
    values = [disagreement_bound(0.01, 0, 10**j, 0.05) for j in range(1, 8)]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(0.01, abs=1e-6)
    assert all(value > 0.01 for value in values)


def test_corners():
    assert disagreement_bound(0.0, 5, 5, 0.05) == 1.0
    assert disagreement_bound(1.0, 0, 10, 0.05) == 1.0
    assert disagreement_bound(0.0, 0, 1, 0.25) == pytest.approx(0.75, rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1.1, 0, 10, 0.05), DomainError, "bound must lie"),
        ((math.nan, 0, 10, 0.05), DomainError, "bound must lie"),
        (([0.1], 0, 10, 0.05), ShapeError, "bound must be one number"),
        ((0.1, 0, 0, 0.05), DomainError, "m must be at least 1"),
        ((0.1, 0, 10.0, 0.05), DtypeError, "m must be a whole number"),
        ((0.1, 11, 10, 0.05), DomainError, "n_disagreements must lie between 0 and 10"),
        ((0.1, -1, 10, 0.05), DomainError, "n_disagreements must lie between 0 and 10"),
        ((0.1, 0.02, 10, 0.05), DtypeError, "n_disagreements must be a whole number"),
        ((0.1, 0, 10, 1.0), DomainError, "delta must lie"),
        ((0.1, 0, 10, [0.05]), ShapeError, "delta must be one number"),
    ],
)
def test_bad_input_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        disagreement_bound(*arguments)
