"""Orders of very many rows: complete, without the fold, the same for every stretch, replica and backend."""

import pytest
import torch

from pbgnet.kernels import use_backend
from pbgnet.training import TrainingData
from pbgnet.training.steps import Batches, FoldPools, RowBlocks, data

BLOCKS = [
    RowBlocks(10, 5, 3),
    RowBlocks(1003, 5, 3),
    RowBlocks(1003, 5, 3, n_blocks=7, together=3),
    RowBlocks(1003, 3, -9, n_blocks=8, together=8),
    RowBlocks(50, 5, 1, n_blocks=3, together=2),
]


@pytest.mark.parametrize("blocks", BLOCKS)
def test_an_epoch_shows_rows_once_and_none_of_the_fold(blocks):
    folds = torch.arange(blocks.n_folds)
    held = [blocks.held(fold) for fold in folds.tolist()]
    assert torch.equal(torch.cat(held).sort().values, torch.arange(blocks.n_rows)), "every row judges once"
    order = blocks.order(folds, folds, 2, 0, blocks.n_pool)
    for shown, fold in zip(order, held, strict=True):
        assert len(set(shown.tolist())) == blocks.n_pool
        assert not set(shown.tolist()) & set(fold.tolist())
    assert blocks.n_pool >= blocks.n_rows - blocks.n_blocks * (
        2 + blocks.n_rows // blocks.n_blocks // blocks.n_folds
    )


@pytest.mark.parametrize("blocks", BLOCKS)
def test_the_order_is_new_in_every_epoch_and_for_every_seed(blocks):
    without = torch.zeros(2, dtype=torch.int64)
    seeds = torch.tensor([0, 1])
    one, two = (blocks.order(seeds, without, epoch, 0, blocks.n_pool) for epoch in (0, 1))
    assert not torch.equal(one[0], one[1])
    assert not torch.equal(one, two)


def test_blocks_are_visited_a_few_at_a_time():
    blocks = RowBlocks(1000, 5, 0, n_blocks=10, together=2)
    order = blocks.order(torch.tensor([4, 5]), torch.tensor([0, 1]), 0, 0, blocks.n_pool)
    visited = [
        {tuple(sorted(set((part // 100).tolist()))) for part in stretch}
        for stretch in order.split(160, dim=1)
    ]
    assert all(len(pair) == 1 for pair in visited), (
        "the same for all replicas, so that they share what is read"
    )
    assert sorted(block for (pair,) in visited for block in pair) == list(range(10))
    assert [pair for (pair,) in visited] != [(k, k + 1) for k in range(0, 10, 2)]


def fold_batches(seeds, without, size=32):
    examples = TrainingData(torch.zeros(1003, 1), torch.ones(1003))
    pools = FoldPools(RowBlocks(1003, 5, 7, n_blocks=4, together=2), torch.tensor(without))
    return Batches(examples, size, torch.tensor(seeds), pools)


def test_a_replica_sees_the_same_batches_alone_and_in_stretches_and_from_every_backend():
    many = fold_batches([5, -3, 2**62], [0, 1, 2])
    whole = many.order(3)
    assert whole.shape == (len(many), 3, 32)
    assert torch.equal(torch.cat([many.order(3, 0, 5), many.order(3, 5, len(many))]), whole)
    alone = many.take(torch.tensor([1]))
    assert torch.equal(alone.order(3)[:, 0], whole[:, 1])
    with use_backend("torch"):
        assert torch.equal(many.order(3), whole)


def test_all_of_very_many_rows_are_mapped_too(monkeypatch):
    examples = TrainingData(torch.zeros(1003, 1), torch.ones(1003))
    seeds = torch.tensor([5, -3])
    listed = torch.stack([torch.arange(1002, -1, -1), torch.arange(1003)])
    sorted_order = Batches(examples, 59, seeds).order(0)
    monkeypatch.setattr(data, "SORTED_ROWS", 1000)
    for pools in (None, listed):
        batches = Batches(examples, 59, seeds, pools)
        order = batches.order(0)
        assert not torch.equal(order, sorted_order)
        for r in range(2):
            assert sorted(order[:, r].flatten().tolist()) == list(range(1003))
        assert torch.equal(batches.take(torch.tensor([1])).order(0)[:, 0], order[:, 1])
    monkeypatch.setitem(data.STRETCH_PLACES, "cpu", 300)
    assert Batches(examples, 59, seeds).stretch == 2
