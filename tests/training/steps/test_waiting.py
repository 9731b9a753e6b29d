"""Waiting for a device."""

import pytest
import torch

from pbgnet.training.steps.waiting import wait_for


def test_a_cpu_is_never_waited_for():
    x = torch.ones(3)
    assert wait_for(x) is x


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_all_that_was_launched_is_done_afterwards():
    x = torch.ones(4096, 4096, device="cuda")
    for _ in range(50):
        x = x @ x / 4096
    assert not torch.cuda.current_stream().query()
    assert wait_for(x) is x
    assert torch.cuda.current_stream().query()
