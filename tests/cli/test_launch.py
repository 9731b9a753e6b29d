"""A command as several workers: the same model, and a clear end where one of them fails."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from pbgnet.cli.launch import launch

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def worker(program: str) -> list[str]:
    # One write a line: an unbuffered `print` writes the line's end apart, and the workers share a pipe.
    start = """import os, signal, sys, time
rank = os.environ["RANK"]
def say(*words): os.write(1, (" ".join(words) + "\\n").encode())
"""
    return [sys.executable, "-c", start + program]


def test_all_workers_are_told_who_they_are(capfd):
    told = "say(rank, os.environ['WORLD_SIZE'], os.environ['OMP_NUM_THREADS'])"
    assert launch(worker(told), 3) == 0
    assert sorted(capfd.readouterr().out.splitlines()) == ["0 3 1", "1 3 1", "2 3 1"]


def test_a_worker_that_is_killed_is_named_and_the_others_end(capfd, monkeypatch):
    monkeypatch.setattr("pbgnet.cli.launch.GRACE", 0.5)
    program = "os.kill(os.getpid(), signal.SIGKILL) if rank == '1' else time.sleep(60)"
    since = time.monotonic()
    assert launch(worker(program), 2) == 128 + signal.SIGKILL
    assert time.monotonic() - since < 50  # and not the 60 of the other
    assert "worker 1 was killed by signal 9 (SIGKILL)" in capfd.readouterr().err


def test_what_another_than_the_first_had_to_say_is_shown(capfd, monkeypatch):
    monkeypatch.setattr("pbgnet.cli.launch.GRACE", 0.5)
    program = "time.sleep(60 * (rank == '0')); print('no such file', file=sys.stderr); sys.exit(3)"
    assert launch(worker(program), 2) == 3
    err = capfd.readouterr().err
    assert "no such file" in err
    assert "worker 1 exited with code 3" in err


def test_what_all_say_is_said_once(capfd):
    assert launch(worker("print('bad option', file=sys.stderr); sys.exit(2)"), 3) == 2
    assert capfd.readouterr().err == "bad option\n"


def test_a_request_to_end_is_passed_on():
    program = "say(rank); time.sleep(60)"
    launcher = f"from pbgnet.cli.launch import launch; raise SystemExit(launch({worker(program)!r}, 2))"
    with subprocess.Popen([sys.executable, "-c", launcher], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert {process.stdout.readline(), process.stdout.readline()} == {"0\n", "1\n"}
        process.terminate()
        assert process.wait(timeout=50) == 128 + signal.SIGTERM


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5000, 2))
    lines = [f"{a:.4f},{b:.4f},{'yes' if a * b > 0 else 'no'}" for a, b in x]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["a,b,label", *lines]), encoding="utf-8")
    return path


def test_two_workers_train_the_same_model(table, tmp_path, run):
    def words(out: str) -> list[str]:
        trained = ["train", str(table), "--target", "label", "--out", str(tmp_path / out)]
        return [*trained, "--max-epochs", "1", "--members", "2", "--hidden", "4", "--device", "cpu"]

    def train_together() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pbgnet", *words("together"), "--workers", "2"],
            capture_output=True,
            text=True,
            env=ENVIRONMENT,
            timeout=180,
            check=False,
        )

    alone, together = run(*words("alone")), train_together()
    assert alone.exit_code == together.returncode == 0, together.stderr
    assert together.stdout.count("Next:") == 1
    for name in ("model.safetensors", "history.json"):
        assert (tmp_path / "alone" / name).read_bytes() == (tmp_path / "together" / name).read_bytes()
    again = train_together()
    assert again.returncode != 0
    assert again.stderr.count("Error:") == 1
