"""Checkpoints: a fit that was ended goes on where it was, and leads to the same weights to the last bit."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from pbgnet import PBGNetClassifier
from pbgnet.exceptions import DamagedFileError, OptionError, TrainingStoppedError, WorkerLostError
from pbgnet.training import checkpointing
from pbgnet.training.solvers import lbfgs
from pbgnet.training.steps import Stepper

X = np.random.default_rng(0).normal(size=(240, 3))
Y = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")

WAYS = {
    "ensemble": {"max_epochs": 4, "n_members": 2, "batch_size": 16},
    "three classes": {"max_epochs": 4, "n_members": 2, "batch_size": 16},
    "pbgnet": {"algorithm": "pbgnet", "solver": "hybrid", "max_epochs": 2, "n_restarts": 2},
    "pbgnet_l": {"algorithm": "pbgnet_l", "max_epochs": 12, "learning_rate": 0.5, "batch_size": 60},
}


def fit(way: str, x=X) -> tuple[list[np.ndarray], list[dict]]:
    labels = np.where(x[:, 2] > 1, "perhaps", Y) if way == "three classes" else Y
    model = PBGNetClassifier(hidden_layer_sizes=(4,), random_state=1, **WAYS[way]).fit(x, labels)
    return [w.detach().numpy() for w in model.network_.weights], model.history_


class StruckError(Exception):
    """What ends a fit in these tests."""


@pytest.fixture
def strike(monkeypatch):
    """Act before one step of Adam, or one evaluation of L-BFGS, by its number; count them."""
    step, advance, seen = Stepper._step, lbfgs.Search.advance, [0]

    def at(number: int | None, act) -> list[int]:
        seen[0] = 0

        def watched(original):
            def run(self):
                seen[0] += 1
                if seen[0] == number:
                    act()
                return original(self)

            return run

        monkeypatch.setattr(Stepper, "_step", watched(step))
        monkeypatch.setattr(lbfgs.Search, "advance", watched(advance))
        return seen

    return at


def same(one, other) -> bool:
    (weights, history), (others, other_history) = one, other
    alike = [np.array_equal(a, b) for a, b in zip(weights, others, strict=True)]
    return all(alike) and history == other_history


def throw():
    raise StruckError


@pytest.mark.parametrize("way", WAYS)
def test_a_fit_that_was_struck_leads_to_the_same_weights(way, tmp_path, strike):
    seen = strike(None, throw)
    whole = fit(way)
    total = seen[0]
    numbers = np.random.default_rng(len(way)).integers(2, total + 1, size=3)
    for number in map(int, numbers):
        folder = tmp_path / str(number)
        strike(number, throw)
        with pytest.raises(StruckError), checkpointing(folder, every=0.0):
            fit(way)
        seen = strike(None, throw)
        with checkpointing(folder, every=0.0):
            assert same(fit(way), whole), f"struck at {number} of {total}"
        assert seen[0] == total - number + 1, "steps that were kept are taken again"
        assert not folder.exists()


def test_a_fit_struck_again_and_again_comes_to_its_end(tmp_path, strike):
    strike(None, throw)
    whole = fit("pbgnet")
    for _ in range(100):
        strike(7, throw)
        try:
            with checkpointing(tmp_path / "kept", every=0.0):
                found = fit("pbgnet")
            break
        except StruckError:
            continue
    assert same(found, whole)


def test_between_two_writings_the_steps_since_are_taken_again(tmp_path, strike):
    seen = strike(None, throw)
    whole, total = fit("ensemble"), seen[0]
    strike(6, throw)
    with pytest.raises(StruckError), checkpointing(tmp_path / "kept", every=1e9):
        fit("ensemble")
    assert not list((tmp_path / "kept").iterdir())
    seen = strike(None, throw)
    with checkpointing(tmp_path / "kept", every=1e9):
        assert same(fit("ensemble"), whole)
    assert seen[0] == total


@pytest.mark.parametrize("way", ["ensemble", "pbgnet"])
def test_a_request_to_end_is_granted_with_all_that_was_reached(way, tmp_path, strike):
    strike(None, throw)
    whole = fit(way)
    before = signal.getsignal(signal.SIGTERM)
    seen = strike(8, lambda: os.kill(os.getpid(), signal.SIGTERM))
    with (
        pytest.raises(TrainingStoppedError, match="Its state is saved"),
        checkpointing(tmp_path / "kept"),
    ):
        fit(way)
    assert seen[0] == 8
    assert signal.getsignal(signal.SIGTERM) is before
    with checkpointing(tmp_path / "kept"):
        assert same(fit(way), whole)


@pytest.mark.parametrize("way", ["ensemble", "pbgnet"])
def test_where_another_worker_is_lost_nothing_is(way, tmp_path, strike, monkeypatch):
    def lose():
        raise WorkerLostError("Worker 1 has died")

    seen = strike(None, throw)
    whole, total = fit(way), seen[0]
    number = 5 if way == "ensemble" else total - 1
    strike(number, lose)
    with pytest.raises(WorkerLostError), checkpointing(tmp_path / "kept"):
        fit(way)
    seen = strike(None, throw)
    with checkpointing(tmp_path / "kept"):
        assert same(fit(way), whole)
    assert seen[0] < total


def test_the_checkpoint_of_other_rows_is_refused(tmp_path, strike):
    strike(5, throw)
    with pytest.raises(StruckError), checkpointing(tmp_path / "kept", every=0.0):
        fit("ensemble")
    with pytest.raises(OptionError, match="belongs to another training"), checkpointing(tmp_path / "kept"):
        fit("ensemble", X + 1e-3)


@pytest.mark.parametrize(
    "other", [{"confidence": 0.8}, {"n_samples": 30}, {"max_epochs": 3}, {"learning_rate": 0.02}]
)
def test_the_checkpoint_of_other_settings_is_refused(other, tmp_path, strike):
    settings = {**WAYS["pbgnet"], "solver": "adam", "aggregation": "monte_carlo", "n_samples": 20}

    def train(**changed):
        PBGNetClassifier(hidden_layer_sizes=(4,), random_state=1, **{**settings, **changed}).fit(X, Y)

    strike(5, throw)
    with pytest.raises(StruckError), checkpointing(tmp_path / "kept", every=0.0):
        train()
    with pytest.raises(OptionError, match="belongs to another training"), checkpointing(tmp_path / "kept"):
        train(**other)


def test_a_damaged_checkpoint_is_refused(tmp_path, strike):
    strike(5, throw)
    with pytest.raises(StruckError), checkpointing(tmp_path / "kept", every=0.0):
        fit("ensemble")
    path = next((tmp_path / "kept").iterdir())
    path.write_bytes(path.read_bytes()[:-100])
    strike(None, throw)
    with pytest.raises(DamagedFileError, match="remove the folder"), checkpointing(tmp_path / "kept"):
        fit("ensemble")


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
import test_checkpoints as case
from pbgnet.training import checkpointing
from pbgnet.training.steps import Stepper

step, seen = Stepper._step, [0]

def watched(self):
    seen[0] += 1
    if seen[0] == 9:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self)

Stepper._step = watched
with checkpointing(sys.argv[2], every=0.0):
    case.fit("ensemble")
"""


def test_a_fit_that_was_killed_goes_on(tmp_path, strike):
    arguments = [sys.executable, "-c", KILLED, os.path.dirname(__file__), str(tmp_path / "kept")]
    killed = subprocess.run(arguments, timeout=300, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    seen = strike(None, throw)
    whole, total = fit("ensemble"), seen[0]
    seen = strike(None, throw)
    with checkpointing(tmp_path / "kept", every=0.0):
        assert same(fit("ensemble"), whole)
    assert seen[0] == total - 8
