"""What fails around runs stops a study and is held against none of them; what fails by itself is recorded."""

import errno
import math
from dataclasses import replace

import pytest
import torch

from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
    MemoryLimitError,
    MissingDataError,
    StudyStoppedError,
)
from pbgnet.experiments import LocalEngine, run_study
from pbgnet.experiments.runs.batch import train_batch
from pbgnet.experiments.studies import engines

FAULTS = {
    "data missing": (MissingDataError("ads is not here"), "The data is not available"),
    "data damaged": (DamagedFileError("ad.data has another checksum"), "The data is not available"),
    "memory": (MemoryError("too much"), "Memory ran out"),
    "memory of a GPU": (torch.OutOfMemoryError("CUDA out of memory"), "Memory ran out"),
    "memory of PyTorch": (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "Memory ran out"),
    "memory for one": (MemoryLimitError("not even one"), "Memory ran out"),
    "disk": (OSError(errno.ENOSPC, "No space left on device"), "A file or the network failed"),
    "folder": (PermissionError(errno.EACCES, "Permission denied"), "A file or the network failed"),
    "software": (ModuleNotFoundError("No module named 'pandas'"), "Software is missing"),
    "device": (RuntimeError("CUDA error: unspecified launch failure"), "The device failed"),
}
OWN = [
    DomainError("a loss of 1.5"),
    FloatingPointError("overflow"),
    RuntimeError("singular"),
    ValueError("no"),
]


@pytest.fixture
def failing(monkeypatch):
    """Let the training of some runs fail, until it is mended; return the list of failures to come."""

    def fail(problem, fails=lambda run: True):
        failures = []

        def train(batch, *rest):
            if fails(batch[0]):
                failures.append(batch)
                raise problem
            return train_batch(batch, *rest)

        monkeypatch.setattr(engines, "train_batch", train)
        return failures

    return fail


@pytest.mark.parametrize("n_workers", [1, 2])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_surroundings_stops_the_study_and_nothing_is_recorded_of_it(
    study, store, source, failing, fault, n_workers
):
    problem, words = FAULTS[fault]
    failures = failing(problem)
    with pytest.raises(StudyStoppedError, match=words) as caught:
        run_study(study, store, source, LocalEngine(n_workers=n_workers))
    assert 1 <= len(failures) <= n_workers  # nothing more is begun
    assert caught.value.__cause__ is problem
    assert all(text in str(caught.value) for text in (str(problem), "no run is recorded as failed", "again"))
    assert store.records() == []


@pytest.mark.parametrize("fault", ["memory", "disk"])
def test_a_study_that_was_stopped_trains_everything_when_all_is_right_again(
    study, store, source, failing, monkeypatch, fault
):
    failing(FAULTS[fault][0])
    for _ in range(3):
        with pytest.raises(StudyStoppedError):
            run_study(study, store, source, LocalEngine())
    monkeypatch.undo()
    state = run_study(study, store, source, LocalEngine())
    assert (state.n_done, state.n_failed) == (16, 0)
    assert set(store.attempts().values()) == {(True, 1)}


@pytest.mark.parametrize("n_workers", [1, 3])
def test_what_is_done_or_in_flight_when_a_study_stops_is_stored(study, store, source, failing, n_workers):
    failing(OSError(errno.ENOSPC, "No space left on device"), lambda run: run.dataset == "two")
    # Those of data set one are estimated to take longer, and begin before the others.
    sizes = {"one": 10**6, "two": 10}
    two_last = replace(study, runs=tuple(replace(run, n_train=sizes[run.dataset]) for run in study.runs))
    with pytest.raises(StudyStoppedError, match="No space left"):
        run_study(two_last, store, source, LocalEngine(n_workers=n_workers))
    records = store.records()
    assert {record.spec.dataset for record in records} == {"one"}
    assert n_workers > 1 or len(records) == 8
    assert all(record.done for record in records)


@pytest.mark.parametrize("problem", OWN, ids=lambda problem: type(problem).__name__)
def test_a_run_that_fails_by_itself_is_recorded_and_the_others_go_on(study, store, source, failing, problem):
    failing(problem, lambda run: run.dataset == "two")
    state = run_study(study, store, source, LocalEngine())
    assert (state.n_done, state.n_failed) == (8, 8)
    assert sorted(store.attempts().values()) == [(False, 2)] * 8 + [(True, 1)] * 8


def test_a_run_that_diverges_is_final(spec, store, source, study):
    diverging = replace(study, runs=(spec("bound", "one", learning_rate=math.inf),))
    state = run_study(diverging, store, source, LocalEngine())
    assert (state.n_runs, state.n_done + state.n_failed) == (1, 1)
    (record,) = store.records()
    assert not record.done or math.isnan(record.results["objective"]["bound"])


def test_failed_runs_are_tried_again_when_asked(study, store, source, failing, monkeypatch):
    failing(ValueError("no"), lambda run: run.dataset == "two")
    for retry_failed, count in ((False, 2), (False, 2), (True, 4), (False, 4)):
        state = run_study(study, store, source, LocalEngine(), retry_failed=retry_failed)
        assert (state.n_done, state.n_failed, state.work_done) == (8, 8, 1.0)
        assert sorted(set(store.attempts().values())) == [(False, count), (True, 1)]
    monkeypatch.undo()
    state = run_study(study, store, source, LocalEngine(), retry_failed=True)
    assert (state.n_done, state.n_failed) == (16, 0)
    assert sorted(set(store.attempts().values())) == [(True, 1), (True, 5)]
