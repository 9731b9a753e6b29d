"""Bisection over the doubles: exact to the last bit, and sound whatever the predicate does."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pbgnet.bounds.outward import ARITHMETIC_ERROR, bisect_doubles

SMALLEST = 5e-324
MOST_STEPS = 63  # the doubles between 0 and infinity fill 63 bits


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


class Recorder:
    """A predicate that remembers what it was asked and what it answered."""

    def __init__(self, predicate):
        self.predicate = predicate
        self.calls = 0
        self.accepted: set[float] = set()

    def __call__(self, candidates: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        answer = self.predicate(candidates)
        self.accepted.update(candidates[answer].tolist())
        return answer


threshold = st.one_of(st.floats(SMALLEST, 1.0), st.floats(-1074.0, 0.0).map(lambda e: 2.0**e))


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.lists(threshold, min_size=1, max_size=30))
def test_finds_the_threshold_to_the_last_bit_from_either_side(values):
    t = tensor(*values)
    from_above = bisect_doubles(torch.zeros_like(t), torch.ones_like(t), lambda p: p >= t)
    assert torch.equal(from_above, t)
    from_below = bisect_doubles(torch.ones_like(t), torch.zeros_like(t), lambda p: p < t)
    assert torch.equal(from_below, torch.nextafter(t, torch.zeros_like(t)))


@pytest.mark.parametrize(
    ("uncertified", "certified"),
    [(0.0, 1.0), (1.0, 0.0), (0.3, 0.7), (0.7, 0.3), (0.0, math.inf), (SMALLEST, 1e300)],
)
def test_extreme_predicates(uncertified, certified):
    bad, good = tensor(uncertified), tensor(certified)
    never = Recorder(lambda p: torch.zeros_like(p, dtype=torch.bool))
    assert bisect_doubles(bad, good, never).item() == certified
    always = Recorder(lambda p: torch.ones_like(p, dtype=torch.bool))
    assert bisect_doubles(bad, good, always).item() == math.nextafter(uncertified, certified)
    assert max(never.calls, always.calls) <= MOST_STEPS


@pytest.mark.parametrize("value", [0.0, 0.25, 1.0])
def test_equal_or_neighbouring_ends_need_no_search(value):
    refuse = Recorder(lambda p: pytest.fail("nothing lies between the ends"))
    for uncertified in (value, math.nextafter(value, 2.0), math.nextafter(value, 0.0)):
        assert bisect_doubles(tensor(uncertified), tensor(value), refuse).item() == value


def test_negative_zero_is_zero():
    result = bisect_doubles(tensor(-0.0, 1.0), tensor(1.0, -0.0), lambda p: p != p)
    assert result.tolist() == [1.0, 0.0]
    found = bisect_doubles(tensor(-0.0), tensor(1.0), lambda p: p >= 0.25)
    assert found.item() == 0.25


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_sound_without_monotonicity(seed, upward):
    """The result was accepted by the predicate, or is the certified end that was passed in."""
    rng = np.random.default_rng(seed)
    ends = torch.zeros(20, dtype=torch.float64), torch.ones(20, dtype=torch.float64)
    uncertified, certified = ends if upward else ends[::-1]
    erratic = Recorder(lambda p: torch.as_tensor(rng.uniform(size=p.shape) < 0.4))
    result = bisect_doubles(uncertified, certified, erratic)
    allowed = erratic.accepted | {certified[0].item()}
    assert set(result.tolist()) <= allowed
    assert erratic.calls <= MOST_STEPS


def test_each_entry_keeps_its_own_answer():
    """Entries that are done early are not moved by those that still search."""
    bad = tensor(math.nextafter(0.5, 0.0), 0.0)
    good = tensor(0.5, 1.0)
    assert bisect_doubles(bad, good, lambda p: p >= tensor(0.5, 1e-300)).tolist() == [0.5, 1e-300]


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 3), (2, 0, 3)])
def test_any_shape(shape):
    t = torch.rand(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    result = bisect_doubles(torch.zeros_like(t), torch.ones_like(t), lambda p: p >= t)
    assert result.shape == shape
    assert torch.equal(result, t)


def test_expanded_and_strided_ends():
    t = torch.linspace(0.1, 0.9, 12, dtype=torch.float64).reshape(3, 4).T
    ends = tensor(0.0).expand(4, 3), torch.ones(8, 3, dtype=torch.float64)[::2]
    assert torch.equal(bisect_doubles(*ends, lambda p: p >= t), t)


def test_the_ends_are_not_written_to():
    bad, good = tensor(0.0), tensor(1.0)
    result = bisect_doubles(bad, good, lambda p: p >= 0.5)
    result += 1.0
    assert (bad.item(), good.item()) == (0.0, 1.0)


def test_granted_arithmetic_error_is_more_than_a_rounding_and_less_than_anyone_would_notice():
    assert 8 * 2.0**-53 < ARITHMETIC_ERROR < 1e-14
