"""Shares of examples: at random, complete, without overlap, never empty; pools of replicas."""

from dataclasses import replace

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


POOLS = torch.tensor([[0, 2, 4, 6, 8], [9, 7, 5, 3, 1]])


def test_shares_of_pools_are_drawn_for_each_replica_by_its_seed():
    pooled = replace(numbered(10), pools=POOLS)
    first, rest = pooled.shares(0.4, [3, 4])
    assert (len(pooled), len(first), len(rest)) == (5, 2, 3)
    for replica, seed in enumerate((3, 4)):
        both = torch.cat([first.pools[replica], rest.pools[replica]])
        assert both.sort().values.tolist() == POOLS[replica].sort().values.tolist()
        # The same examples as if the replica were alone with its own.
        alone = numbered(10).take(POOLS[replica]).shares(0.4, seed)[0]
        assert first.pools[replica].tolist() == alone.rows.flatten().int().tolist()


@pytest.mark.parametrize("size", [2, 5, 9])
def test_chunks_of_pools_are_the_examples_of_each_replica(size):
    chunks = list(replace(numbered(10), pools=POOLS).chunks(size))
    assert [chunk.rows.shape[1] for chunk in chunks] == [size] * (5 // size) + [5 % size] * (5 % size > 0)
    assert torch.cat([chunk.rows[..., 0] for chunk in chunks], dim=1).int().equal(POOLS.int())
    assert all(chunk.y.shape == chunk.rows.shape[:-1] for chunk in chunks)


def test_some_replicas_have_their_own_pools():
    pooled = replace(numbered(10), pools=POOLS)
    assert pooled.of_replicas(torch.tensor([1])).pools.tolist() == POOLS[1:].tolist()
    shared = numbered(10)
    assert shared.of_replicas(torch.tensor([1])) is shared
