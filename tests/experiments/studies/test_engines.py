"""Engines: how many batches at a time, in threads or processes, and what happens where one of them dies."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from pbgnet.exceptions import StudyStoppedError
from pbgnet.experiments import LocalEngine, run_study
from pbgnet.experiments.runs.batch import Rows, Table, batches_of
from pbgnet.experiments.studies.engines import execute


def test_two_workers_give_the_numbers_of_one(study, source):
    batches = batches_of(study.runs)
    one, two = (
        {
            record.spec: record.results
            for records in LocalEngine(n_workers=n).train(batches, source)
            for record in records
        }
        for n in (1, 2)
    )
    assert one == two
    assert len(one) == 16


@pytest.mark.parametrize(("n_workers", "at_once"), [(None, 1), (2, 2), (3, 3)])
def test_so_many_batches_are_trained_at_a_time_as_there_are_workers(study, source, n_workers, at_once):
    lock, inside, most = threading.Lock(), [0], [0]
    together = threading.Barrier(at_once)

    def count(run):
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        together.wait(20)  # hangs, and fails, where fewer run at a time
        with lock:
            inside[0] -= 1
        raise ValueError("that is all")

    source.trouble = count
    batches = batches_of(study.runs)[: 2 * at_once]
    records = list(LocalEngine(n_workers=n_workers).train(batches, source))
    assert most == [at_once]
    assert len(records) == 2 * at_once
    assert all("that is all" in record.error for some in records for record in some)


def test_a_gpu_takes_several_batches_at_a_time(monkeypatch):
    sizes = []

    def pool(kind):
        def make(size, *arguments, **options):
            sizes.append((kind, size))
            raise KeyboardInterrupt

        return make

    for kind in ("Thread", "Process"):
        monkeypatch.setattr(f"pbgnet.experiments.studies.engines.{kind}PoolExecutor", pool(kind))
    monkeypatch.setattr("os.cpu_count", lambda: 16)
    sizes_of_memory = {"cuda": 141 << 30, "cuda:1": 16 << 30, "cuda:2": 2 << 30}
    monkeypatch.setattr(
        "torch.cuda.get_device_properties",
        lambda device: SimpleNamespace(total_memory=sizes_of_memory[str(device)]),
    )
    engines = [LocalEngine(device) for device in (*sizes_of_memory, "cpu")]
    for engine in (*engines, LocalEngine("cuda", 3)):
        with pytest.raises(KeyboardInterrupt):
            next(engine.train([], lambda run: None))
    expected = [("Process", 8), ("Process", 4), ("Thread", 1), ("Thread", 1), ("Process", 3)]
    assert sizes == expected


@dataclass(frozen=True)
class RowsElsewhere:
    """Rows that a process makes for itself; for one data set it dies."""

    fatal: str | None = None

    def __call__(self, run):
        if run.dataset == self.fatal:
            os._exit(1)
        x = np.random.default_rng(0).normal(size=(60, 3))
        return Rows(Table(x, np.sign(x[:, 0])), np.arange(40), np.arange(40, 60))


@pytest.fixture
def processes(monkeypatch):
    """Treat the CPU as a GPU, which processes share."""
    monkeypatch.setattr("pbgnet.experiments.studies.engines._shares_by_processes", lambda device: True)


def test_processes_give_the_numbers_of_one(study, processes):
    batches = batches_of(study.narrowed(["one"]).runs)
    here, there = (
        {record.spec: record.results for some in engine.train(batches, RowsElsewhere()) for record in some}
        for engine in (LocalEngine(), LocalEngine(n_workers=2))
    )
    assert here == there
    assert len(here) == 8


def test_a_process_that_dies_stops_the_study_and_is_no_failure_of_its_runs(study, store, processes):
    with pytest.raises(StudyStoppedError, match="A process that trained runs has died"):
        run_study(study, store, RowsElsewhere(fatal="two"), LocalEngine(n_workers=2))
    assert not [record for record in store.records() if not record.done]
    assert run_study(study, store, RowsElsewhere(), LocalEngine()).n_done == 16


class BreaksAtSubmission(ThreadPoolExecutor):
    """A pool whose process dies after a look at the others, before the next batch is submitted."""

    def __init__(self, left):
        super().__init__(1)
        self.left = left

    def submit(self, *arguments):
        if not self.left:
            raise BrokenProcessPool("A child process terminated abruptly")
        self.left -= 1
        return super().submit(*arguments)


@pytest.mark.parametrize("left", [0, 1, 3])
def test_a_process_that_dies_before_a_batch_is_submitted_stops_the_study_too(
    left, study, store, source, monkeypatch
):
    monkeypatch.setattr(
        "pbgnet.experiments.studies.engines._pool", lambda count, device: BreaksAtSubmission(left)
    )
    with pytest.raises(StudyStoppedError, match="A process that trained runs has died"):
        run_study(study, store, source, LocalEngine(n_workers=2))
    records = store.records()
    assert len(records) == 2 * left, "two runs of each batch that was begun"
    assert all(record.done for record in records)


def test_an_interrupt_leaves_batches_that_wait_untrained(study, source):
    records = LocalEngine().train(batches_of(study.runs), source)
    next(records)
    records.close()
    assert len(source.calls) <= 2


@pytest.mark.parametrize("kind", [ValueError, RuntimeError, FloatingPointError, AssertionError])
def test_an_error_of_a_run_is_written_down_with_the_place_where_it_happened(spec, source, kind):
    def fail_here(run):
        raise kind("no rows here")

    source.trouble = fail_here
    runs = [spec("bound", learning_rate=rate) for rate in (0.1, 0.2)]
    records = execute(runs, source, "cpu")
    assert [record.spec for record in records] == runs
    for record in records:
        assert not record.done
        assert "fail_here" in record.error
        assert record.error.endswith(f"{kind.__name__}: no rows here")


def test_the_time_of_a_batch_is_shared_by_its_runs(spec, source):
    runs = [spec("bound", learning_rate=rate) for rate in (0.1, 0.2, 0.3, 0.4)]
    records = execute(runs, source, "cpu")
    assert len({record.seconds for record in records}) == 1
    source.trouble = lambda run: threading.Event().wait(0.4)
    begin = time.perf_counter()
    slower = execute(runs, source, "cpu")
    assert 0.4 <= sum(record.seconds for record in slower) <= time.perf_counter() - begin
