"""Shares of examples: at random, complete, without overlap, never empty."""

import pytest
import torch

from pbgnet.training import TrainingData


def numbered(n):
    return TrainingData(torch.arange(float(n))[:, None], torch.ones(n))


@pytest.mark.parametrize(
    ("n", "fraction", "count"), [(10, 0.3, 3), (10, 0.0, 1), (10, 1.0, 9), (2, 0.5, 1), (3, 0.5, 2)]
)
def test_shares_are_complete_and_disjoint(n, fraction, count):
    first, rest = numbered(n).shares(fraction, 0)
    assert (len(first), len(rest)) == (count, n - count)
    assert sorted(torch.cat([first.rows, rest.rows]).flatten().tolist()) == list(range(n))


def test_the_seed_decides():
    draws = [numbered(50).shares(0.2, seed)[0].rows.flatten().tolist() for seed in (0, 0, 1, [0, 1])]
    assert draws[0] == draws[1]
    assert len({tuple(draw) for draw in draws}) == 3
    assert draws[0] != sorted(draws[0])


def test_a_single_example_is_both():
    first, rest = numbered(1).shares(0.2, 0)
    assert len(first) == len(rest) == 1
