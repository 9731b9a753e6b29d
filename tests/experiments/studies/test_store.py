"""The store: whole batches or nothing, whatever happens; refusals that say the way out."""

import multiprocessing
import os
import signal
import sqlite3
import time

import pytest

from pbgnet.exceptions import DamagedFileError, StoreError
from pbgnet.experiments import Store, place_to_add, runs_in
from pbgnet.experiments.runs import RunSpec
from pbgnet.experiments.studies import store as module
from pbgnet.experiments.studies.store import RunRecord

# A child of a process with threads may hang in a lock it never gets; those here touch SQLite only.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
FORK = multiprocessing.get_context("fork")


def batch(number, size=3, **changes):
    return [
        RunRecord(RunSpec("ads", split_seed=number, seed=k), {"bound": {"n": 1.0}}, **changes)
        for k in range(size)
    ]


def seeds(store):
    return sorted((record.spec.split_seed, record.spec.seed) for record in store.records())


def expected_seeds(numbers, size=3):
    return sorted((number, k) for number in numbers for k in range(size))


def test_records_come_back_as_they_were(store):
    results = {"validation": {"bound": 0.1 + 0.2, "epoch": 7}, "bound": {"bound": 1e-300, "epoch": 1}}
    records = [
        RunRecord(RunSpec("ads", n_samples=10, weight_decay=1e-6), results, "", 1.5, "a machine"),
        RunRecord(RunSpec("adult"), {}, "ValueError: no\nrows", 0.25, "another", "2020-01-01T00:00:00+00:00"),
    ]
    store.append(records)
    assert store.records() == records
    assert [record.done for record in records] == [True, False]


def test_records_survive_closing_and_are_told_in_utc(tmp_path):
    path = tmp_path / "deep" / "er" / "runs.sqlite"
    with Store(path) as store:
        store.append(batch(1))
    with pytest.raises(StoreError, match=r"cannot be used: .*closed"):
        store.records()
    with Store(path) as store:
        assert seeds(store) == expected_seeds([1])
        assert all(record.finished.endswith("+00:00") for record in store.records())
    assert [entry.name for entry in path.parent.iterdir()] == ["runs.sqlite"]


def test_a_failed_run_that_was_tried_again_has_its_last_record_in_the_place_of_its_first(store):
    failed, other = RunRecord(RunSpec("ads"), error="no"), RunRecord(RunSpec("adult"), {"bound": {"n": 1.0}})
    done = RunRecord(RunSpec("ads"), {"bound": {"n": 2.0}})
    store.append([failed])
    assert store.attempts() == {failed.spec.identity(): (False, 1)}
    store.append([other])
    store.append([done])
    assert store.records() == [done, other]
    assert store.attempts() == {failed.spec.identity(): (True, 2), other.spec.identity(): (True, 1)}


def test_nothing_is_ever_changed(store):
    store.append(batch(1, error="first"))
    store.append(batch(1, error="second"))
    assert {record.error for record in store.records()} == {"second"}
    assert {count for _, count in store.attempts().values()} == {2}


def broken_batch():
    """Three records; the third cannot be stored."""
    return [*batch(2, 2), RunRecord(RunSpec("ads"), machine=None)]


def test_a_batch_with_something_wrong_in_it_leaves_nothing(store):
    store.append(batch(1))
    with pytest.raises(StoreError, match="cannot be used: NOT NULL"):
        store.append(broken_batch())
    assert seeds(store) == expected_seeds([1])
    store.append(batch(2))
    assert seeds(store) == expected_seeds([1, 2])


def test_records_that_come_to_an_end_by_an_error_leave_nothing(store):
    def stream():
        yield from batch(1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.append(stream())
    assert store.records() == []


def append_for_ever(path, ready):
    with Store(path) as store:
        number = 0
        while True:
            number += 1
            store.append(batch(number, 100))
            ready.set()


@pytest.mark.parametrize("delay", [0.0, 0.013, 0.037, 0.071])
def test_a_kill_leaves_a_readable_store_with_whole_batches_only(tmp_path, delay):
    path, ready = tmp_path / "runs.sqlite", FORK.Event()
    process = FORK.Process(target=append_for_ever, args=(path, ready))
    process.start()
    assert ready.wait(120)
    time.sleep(delay)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with Store(path) as store:
        found = len({number for number, _ in seeds(store)})
        assert found >= 1
        assert seeds(store) == expected_seeds(range(1, found + 1), 100)
        store.append(batch(0))
        assert len(store.records()) == found * 100 + 3


def test_a_kill_inside_a_transaction_leaves_what_was_there_before(tmp_path):
    path = tmp_path / "runs.sqlite"
    with Store(path) as store:
        store.append(batch(1))

    def die_in_the_middle():
        with Store(path) as store, store._transaction():
            store._connection.execute(
                "INSERT INTO runs SELECT number + 3, identity, spec, status, results, error, seconds, "
                "machine, finished FROM runs"
            )
            os.kill(os.getpid(), signal.SIGKILL)

    process = FORK.Process(target=die_in_the_middle)
    process.start()
    process.join(20)
    assert process.exitcode == -signal.SIGKILL
    with Store(path, read_only=True) as store:
        assert seeds(store) == expected_seeds([1])
        assert {count for _, count in store.attempts().values()} == {1}


def append_some(path, barrier, numbers):
    barrier.wait(20)
    with Store(path) as store:
        for number in numbers:
            store.append(batch(number))


@pytest.mark.parametrize("attempt", range(3))
def test_two_writers_that_begin_at_once_lose_nothing(tmp_path, attempt):
    path, barrier = tmp_path / "runs.sqlite", FORK.Barrier(2)
    halves = [range(30), range(30, 60)]
    processes = [FORK.Process(target=append_some, args=(path, barrier, half)) for half in halves]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    with Store(path) as store:
        assert seeds(store) == expected_seeds(range(60))


def test_one_that_begins_while_another_does_takes_its_words(tmp_path, monkeypatch):
    path, about = tmp_path / "runs.sqlite", Store._about
    answers = [{}]  # what a second one reads a moment before the first one writes
    Store(path).close()
    monkeypatch.setattr(Store, "_about", lambda store: answers.pop() if answers else about(store))
    with Store(path) as store:
        assert not answers
        assert store._about().keys() == {"format", "code"}


def test_a_store_of_another_code_is_refused_for_writing_and_can_be_read(tmp_path, pretend_version):
    path = tmp_path / "runs.sqlite"
    with Store(path) as store:
        store.append(batch(1))
        writer = store._about()["code"]
    before = path.read_bytes()
    pretend_version("9.9+other")
    with pytest.raises(StoreError) as caught:
        Store(path)
    message = str(caught.value)
    assert all(
        word in message for word in (str(path), writer, "9.9+other", "--out", "that version", "tables")
    )
    assert path.read_bytes() == before
    with Store(path, read_only=True) as store:
        assert seeds(store) == expected_seeds([1])


@pytest.mark.parametrize("read_only", [False, True])
def test_a_store_of_another_format_is_refused(tmp_path, monkeypatch, read_only):
    path = tmp_path / "runs.sqlite"
    monkeypatch.setattr(module, "FORMAT", 7)
    Store(path).close()
    monkeypatch.undo()
    with pytest.raises(StoreError, match=r"has format 7, but .* reads format 1\. Choose another file"):
        Store(path, read_only=read_only)


def other_database(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE letters (text)")
    connection.commit()
    connection.close()


NO_STORES = {
    "text": lambda path: path.write_text("not a database " * 100),
    "short": lambda path: path.write_bytes(b"SQLite format 3\0"),
    "other": other_database,
}


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("kind", NO_STORES)
def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(tmp_path, kind, read_only):
    path = tmp_path / "runs.sqlite"
    NO_STORES[kind](path)
    before = path.read_bytes()
    with pytest.raises(DamagedFileError, match=r"runs\.sqlite is not a store of results"):
        Store(path, read_only=read_only)
    assert path.read_bytes() == before


def test_an_empty_file_is_no_store_to_read_but_one_to_begin_with(tmp_path):
    path = tmp_path / "runs.sqlite"
    path.touch()
    with pytest.raises(DamagedFileError, match="is not a store of results"):
        Store(path, read_only=True)
    with Store(path) as store:
        store.append(batch(1))


def test_a_truncated_store_is_told_from_a_whole_one(tmp_path):
    path = tmp_path / "runs.sqlite"
    with Store(path) as store:
        store.append(batch(1, 100))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    for read_only in (False, True):
        with (
            pytest.raises(DamagedFileError, match=r"is not a store of results: .*malformed"),
            Store(path, read_only=read_only) as store,
        ):
            store.records()


def test_there_is_nothing_to_read_where_nothing_was_stored(tmp_path):
    with pytest.raises(StoreError, match=r"no store at .*nothing\.sqlite; run the study first"):
        Store(tmp_path / "nothing.sqlite", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_store(tmp_path):
    with pytest.raises(StoreError, match="cannot be used: unable to open"):
        Store(tmp_path)


def test_a_store_that_was_opened_for_reading_can_be_beside_a_writer(store):
    with Store(store.path, read_only=True) as reader:
        store.append(batch(1))
        assert seeds(reader) == expected_seeds([1])
        reader._connection.execute("PRAGMA busy_timeout = 0")
        with store._transaction():  # a writer at work keeps nobody from reading
            assert seeds(reader) == expected_seeds([1])


FULL = r"The disk is full: .* could not be extended\. Nothing stored before is lost; free some space"


def test_a_full_disk_loses_nothing_and_the_store_works_again_after(store):
    store.append(batch(1))
    (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreError, match=FULL):
        store.append(batch(2, 200))
    assert seeds(store) == expected_seeds([1])
    store._connection.execute("PRAGMA max_page_count = 100000")
    store.append(batch(2, 200))
    assert len(store.records()) == 203


class Failing:
    """A connection that fails once at statements that begin with a word, in the way SQLite does."""

    def __init__(self, connection, word, *, rolled_back):
        self._connection, self._word, self._rolled_back = connection, word, rolled_back

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def _check(self, statement):
        if self._word and statement.startswith(self._word):
            self._word = ""
            if self._rolled_back:
                self._connection.execute("ROLLBACK")
            raise sqlite3.OperationalError("database or disk is full")

    def execute(self, statement, *parameters):
        self._check(statement)
        return self._connection.execute(statement, *parameters)

    def executemany(self, statement, rows):
        self._check(statement)
        return self._connection.executemany(statement, rows)


@pytest.mark.parametrize("rolled_back", [False, True])
@pytest.mark.parametrize("word", ["INSERT", "COMMIT"])
def test_a_disk_that_fills_up_at_any_statement_leaves_a_store_that_works(store, word, rolled_back):
    store.append(batch(1))
    store._connection = Failing(store._connection, word, rolled_back=rolled_back)
    with pytest.raises(StoreError, match=FULL):
        store.append(batch(2))
    assert seeds(store) == expected_seeds([1])
    store.append(batch(2))
    assert seeds(store) == expected_seeds([1, 2])


def test_other_troubles_of_the_file_are_told(store):
    store._connection.execute("PRAGMA query_only = 1")
    with pytest.raises(StoreError, match="cannot be used: attempt to write a readonly database"):
        store.append(batch(1))


def test_runs_of_another_version_are_added_to_beside_them(tmp_path, pretend_version):
    first, second, third = (tmp_path / name for name in ("runs.sqlite", "runs-2.sqlite", "runs-3.sqlite"))
    assert place_to_add([first]) == first  # an empty folder
    for path, version in ((first, "old"), (second, "older")):
        pretend_version(version)
        with Store(path) as store:
            store.append(batch(len(version)))
            store.append(batch(9, error="too hot"))
    pretend_version("new")
    assert place_to_add([first, second]) == third
    assert runs_in([first, second]) == {record.spec for n in (3, 5) for record in batch(n)}
    with Store(third) as store:
        store.append(batch(1))
    assert place_to_add([first, second, third]) == third
    pretend_version("older")
    assert place_to_add([first, second, third]) == second
