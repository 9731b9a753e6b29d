"""Answers to many rows, a part at a time."""

import weakref

import pytest
import torch

from pbgnet.networks import compute_rows


@pytest.mark.parametrize("n", [1, 4, 5, 23])
@pytest.mark.parametrize("width", [(), (2,)])
def test_parts_are_put_together_in_order(n, width):
    rows = torch.arange(n * 2.0).reshape(n, 2)
    wanted = rows if width else rows[:, 0]
    seen = []

    def compute(part):
        seen.append(part)
        return wanted[part].clone()

    assert torch.equal(compute_rows(compute, n, 4, operations=1e12), wanted)
    assert sorted((part.start, part.stop) for part in seen) == [
        (start, min(start + 4, n)) for start in range(0, n, 4)
    ]


def test_no_result_is_kept_while_others_are_computed():
    # Thousands of small tensors that stay between large ones that go made a certificate take 16 GB.
    alive = []

    def compute(part):
        assert sum(one() is not None for one in alive) <= 1 + torch.get_num_threads()
        found = torch.ones(part.stop - part.start)
        alive.append(weakref.ref(found))
        return found

    assert compute_rows(compute, 100, 2, operations=0.0).sum() == 100
