"""Several processes with one store: each run is trained by one of them, and the dead claim nothing."""

import os
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from pbgnet.experiments import LocalEngine, Store, run_study
from pbgnet.experiments.runs.batch import Rows, batches_of
from pbgnet.experiments.studies import claims as module
from pbgnet.experiments.studies.claims import Claims
from pbgnet.experiments.studies.store import RunRecord


@pytest.fixture
def fresh(study):
    """What is known of the runs of a study before anything is stored."""
    return dict.fromkeys(study.runs, (False, 0))


@pytest.fixture
def other(store):
    """The same store, as another process opens it."""
    with Store(store.path) as opened:
        yield opened


def owners(store):
    return {owner for (owner,) in store._connection.execute("SELECT owner FROM claims")}


def test_a_batch_has_one_owner_until_it_is_given_back(study, store, other, fresh):
    batches = batches_of(study.runs)
    with Claims(store) as mine, Claims(other) as theirs:
        first = mine.taking(batches, fresh)
        assert [next(first), next(first)] == batches[:2]
        assert list(theirs.taking(batches, fresh)) == batches[2:]
        assert list(first) == []
        assert mine.release() == 4
        assert list(theirs.taking(batches, fresh)) == batches[:2]
    assert owners(store) == set()


def test_part_of_a_batch_that_another_has_is_not_taken(study, store, other, fresh):
    (batch, *_) = batches_of(study.runs)
    with Claims(store) as mine, Claims(other) as theirs:
        assert list(mine.taking([batch[:1]], fresh))
        assert not list(theirs.taking([batch], fresh))
        assert list(theirs.taking([batch[1:]], fresh))


def test_what_others_have_stored_meanwhile_is_passed_over(study, store, other, fresh):
    batches = batches_of(study.runs)
    other.append([RunRecord(batches[0][0], error="no")])
    with Claims(store) as claims:
        assert list(claims.taking(batches, fresh)) == batches[1:]


def claim_as(store, study, monkeypatch, process):
    monkeypatch.setattr(os, "getpid", lambda: process)
    claims = Claims(store)
    assert list(claims.taking(batches_of(study.runs), dict.fromkeys(study.runs, (False, 0))))
    monkeypatch.undo()


def process_that_is_gone():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_claims_of_a_process_that_is_gone_are_free_at_once(study, store, other, fresh, monkeypatch):
    claim_as(store, study, monkeypatch, process_that_is_gone())
    with Claims(other) as claims:
        assert len(list(claims.taking(batches_of(study.runs), fresh))) == 8


@pytest.mark.parametrize("elsewhere", [False, True])
def test_claims_of_others_are_free_after_their_silence(study, store, other, fresh, monkeypatch, elsewhere):
    if elsewhere:  # the number of a process says nothing there
        monkeypatch.setattr(module, "_place", lambda: "another machine")
    claim_as(store, study, monkeypatch, process_that_is_gone() if elsewhere else os.getpid())
    batches = batches_of(study.runs)
    with Claims(other) as claims:
        assert not list(claims.taking(batches, fresh))
        monkeypatch.setattr(module, "SILENCE", 0.0)
        assert list(claims.taking(batches, fresh)) == batches


def test_an_owner_says_that_it_lives(study, store, fresh, monkeypatch):
    monkeypatch.setattr(module, "BEAT", 0.05)
    with Claims(store) as claims:
        assert list(claims.taking(batches_of(study.runs), fresh))
        begin = time.time()
        deadline = begin + 20
        while time.time() < deadline:
            (seen,) = store._connection.execute("SELECT MIN(seen) FROM claims").fetchone()
            if seen > begin:
                break
            time.sleep(0.02)
        assert seen > begin


def test_claims_end_with_the_study_however_it_ends(study, store):
    def interrupt(run):  # in a thread of the engine, which needs a connection of its own
        with Store(store.path, read_only=True) as other:
            assert owners(other)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(study, store, interrupt, LocalEngine(n_workers=1))
    assert owners(store) == set()
    assert not [thread for thread in threading.enumerate() if thread.name == "pbgnet-claims"]


def test_a_store_without_claims_gets_them(tmp_path):
    path = tmp_path / "runs.sqlite"
    Store(path).close()
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE claims")
    connection.close()
    with Store(path, read_only=True) as store:
        assert store.records() == []
    with Store(path) as store:
        assert owners(store) == set()


def test_two_that_run_a_study_at_once_share_its_runs_and_both_see_it_done(study, tmp_path, breast):
    rows = Rows(breast.table, breast.train[:64], breast.test[:32])
    trained, together = {"one": [], "two": []}, threading.Barrier(2)
    states = {}

    def work(name):
        def source(run):
            if not trained[name]:
                together.wait(20)  # both have claimed a batch
            trained[name].append(run)
            return rows

        with Store(tmp_path / "runs.sqlite") as store:
            states[name] = run_study(study, store, source, LocalEngine())

    Store(tmp_path / "runs.sqlite").close()
    threads = [threading.Thread(target=work, args=(name,)) for name in trained]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [state.n_done for state in states.values()] == [16, 16]
    assert trained["one"]
    assert trained["two"]
    assert len(trained["one"]) + len(trained["two"]) == 8
    with Store(tmp_path / "runs.sqlite", read_only=True) as store:
        assert list(store.attempts().values()) == [(True, 1)] * 16
