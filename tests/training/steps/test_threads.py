"""Threads of a training step: one where steps are small, and afterwards as many as before."""

import pytest
import torch

from pbgnet.kernels import threads
from pbgnet.training.steps.stepper import Stepper


@pytest.fixture
def seen(monkeypatch) -> list[int]:
    """Numbers of threads during steps."""
    counts, gradients = [], Stepper._gradients

    def watched(self, index):
        counts.append(torch.get_num_threads())
        return gradients(self, index)

    monkeypatch.setattr(Stepper, "_gradients", watched)
    return counts


def test_small_steps_use_one_thread(two_threads, seen, train):
    train([0, 1], [0.1, 0.1], epochs=2)
    assert set(seen) == {1}
    assert torch.get_num_threads() == 2


def test_large_steps_use_all(two_threads, seen, train, monkeypatch):
    monkeypatch.setattr(threads, "LARGE_STEP", 100)
    train([0, 1], [0.1, 0.1], epochs=1)
    assert set(seen) == {2}


def test_the_number_is_restored_after_an_error(two_threads, train, monkeypatch):
    def fail(self, index):
        raise ValueError("no gradient today")

    monkeypatch.setattr(Stepper, "_gradients", fail)
    with pytest.raises(ValueError, match="today"):
        train([0], [0.1], epochs=1)
    assert torch.get_num_threads() == 2


def test_weights_do_not_depend_on_the_number_of_threads(two_threads, train):
    first, _ = train([0, 1], [0.1, 0.05], epochs=3)
    torch.set_num_threads(1)
    second, _ = train([0, 1], [0.1, 0.05], epochs=3)
    assert all(torch.equal(u, w) for u, w in zip(first.weights, second.weights, strict=True))


def test_what_is_large_among_small_things_gets_the_threads_back(two_threads):
    with threads.one_thread():
        with threads.threads_for(threads.LARGE_STEP):
            assert torch.get_num_threads() == 2
        with threads.threads_for(threads.LARGE_STEP - 1):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
