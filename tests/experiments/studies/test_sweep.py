"""Studies from beginning to end on this machine: resumed, interrupted, failing in part."""

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from pbgnet.experiments import LocalEngine, Store, run_study
from pbgnet.experiments.runs import RunSpec
from pbgnet.experiments.runs.batch import batches_of
from pbgnet.experiments.studies.engines import execute
from pbgnet.experiments.studies.store import RunRecord
from pbgnet.experiments.studies.sweep import DATASET_ROWS, _batches, estimated_cost


def stored(store):
    return {record.spec: record.results for record in store.records()}


def test_a_study_is_completed_and_stored(study, store, source):
    state = run_study(study, store, source, LocalEngine())
    assert (state.n_runs, state.n_done, state.n_failed, state.work_done) == (16, 16, 0, 1.0)
    records = store.records()
    assert {record.spec for record in records} == set(study.runs)
    assert all(record.done and record.seconds > 0 and "cores" in record.machine for record in records)
    assert len(source.calls) == 8


def test_calling_again_trains_nothing(study, store, source):
    run_study(study, store, source, LocalEngine())
    before, states = store.records(), []
    source.calls.clear()
    state = run_study(study, store, source, LocalEngine(), states.append)
    assert source.calls == states == []
    assert store.records() == before
    assert (state.n_done, state.work_done) == (16, 1.0)


def test_a_larger_study_trains_what_is_new_only(study, store, source):
    part = study.narrowed(["one"])
    run_study(part, store, source, LocalEngine())
    source.calls.clear()
    state = run_study(study, store, source, LocalEngine())
    assert {run.dataset for run in source.calls} == {"two"}
    assert state.n_done == 16
    assert {count for _, count in store.attempts().values()} == {1}


@pytest.mark.parametrize(("after", "n_workers"), [(0, 1), (5, 1), (3, 2)])
def test_an_interrupted_study_goes_on_to_the_same_records(study, tmp_path, source, after, n_workers):
    with Store(tmp_path / "whole.sqlite") as whole, Store(tmp_path / "parts.sqlite") as parts:
        run_study(study, whole, source, LocalEngine())
        source.calls.clear()

        def interrupt(run):
            if len(source.calls) > after:
                raise KeyboardInterrupt

        source.trouble = interrupt
        with pytest.raises(KeyboardInterrupt):
            run_study(study, parts, source, LocalEngine(n_workers=n_workers))
        assert len(parts.records()) <= 2 * after
        assert n_workers > 1 or len(parts.records()) == 2 * after
        source.trouble = lambda run: None
        assert run_study(study, parts, source, LocalEngine(n_workers=n_workers)).n_done == 16
        assert stored(parts) == stored(whole)
        assert {count for _, count in parts.attempts().values()} == {1}


def test_an_interrupt_between_batches_keeps_those_that_were_stored(study, store, source):
    def interrupt(state):
        if state.n_done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(study, store, source, LocalEngine(), interrupt)
    assert len(store.records()) == 6


def break_one(run):
    if run.dataset == "two":
        raise ValueError(f"no rows of {run.dataset} here")


@pytest.mark.parametrize("n_workers", [1, 2])
def test_runs_that_fail_are_tried_twice_and_recorded_while_the_rest_is_done(study, store, source, n_workers):
    source.trouble = break_one
    state = run_study(study, store, source, LocalEngine(n_workers=n_workers))
    assert (state.n_runs, state.n_done, state.n_failed, state.work_done) == (16, 8, 8, 1.0)
    for record in store.records():
        assert record.done == (record.spec.dataset == "one")
        assert record.done or (record.results == {} and "ValueError: no rows of two here" in record.error)
    attempts = store.attempts()
    assert all(
        attempts[run.identity()] == ((True, 1) if run.dataset == "one" else (False, 2)) for run in study.runs
    )
    names = [run.dataset for run in source.calls]
    assert (names.count("one"), names.count("two")) == (4, 8)
    assert names[-4:] == ["two"] * 4  # once more after all others
    source.calls.clear()
    assert run_study(study, store, source, LocalEngine()).n_failed == 8
    assert source.calls == []


def test_a_run_that_fails_once_is_done_in_the_end(study, store, source):
    source.trouble = lambda run: break_one(run) if source.calls.count(run) == 1 else None
    state = run_study(study, store, source, LocalEngine())
    assert (state.n_done, state.n_failed) == (16, 0)
    assert all(record.done and not record.error for record in store.records())
    assert sorted(store.attempts().values()) == [(True, 1)] * 8 + [(True, 2)] * 8


def test_a_run_that_failed_before_a_kill_has_one_attempt_left(study, store, source):
    source.trouble = break_one
    for failure in execute(study.runs[8:10], source, "cpu"):
        store.append([failure])
    source.calls.clear()
    run_study(study.narrowed(["two"]), store, source, LocalEngine())
    assert source.calls.count(study.runs[8]) == 1
    assert set(store.attempts().values()) == {(False, 2)}


@pytest.mark.parametrize("trouble", [None, break_one])
def test_progress_grows_to_its_end(study, store, source, trouble):
    source.trouble = trouble or source.trouble
    states = []
    final = run_study(study, store, source, LocalEngine(), states.append)
    shares = [state.work_done for state in states]
    assert shares == sorted(shares)
    assert 0 <= shares[0] < 0.5
    assert shares[-1] == 1
    assert states[-1] == final
    done = [state.n_done for state in states]
    assert done == sorted(done)
    assert all(state.n_runs == 16 for state in states)
    if trouble is None:
        assert done == list(range(2, 17, 2))
        assert len(set(shares)) == 8


class Listing:
    """An engine that trains nothing, and remembers what it was asked for."""

    device = "cpu"

    def __init__(self):
        self.asked = []

    def train(self, batches, source):
        self.asked.append(list(batches))
        yield from ()


def test_the_longest_batches_go_first(study, store, source):
    engine = Listing()
    state = run_study(study, store, source, engine)
    (first,) = engine.asked
    costs = [estimated_cost(batch) for batch in first]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-1]
    assert {run for batch in first for run in batch} == set(study.runs)
    assert len(first) == len(batches_of(study.runs))
    assert (state.n_done, state.work_done) == (0, 0.0)


@pytest.mark.parametrize(("device", "count"), [("cpu", 3), ("cuda", 1), ("cuda:1", 1)])
def test_splits_are_trained_together_on_a_gpu_alone(study, spec, tmp_path, source, device, count):
    runs = tuple(spec("bound", split_seed=split, seed=split) for split in range(3))
    seen = []

    def train(batches, source):
        seen.extend(batches)
        return iter(())

    engine = SimpleNamespace(device=device, train=train)
    with Store(tmp_path / "runs.sqlite") as store:
        run_study(replace(study, runs=runs), store, source, engine)
    assert len(seen) == count
    assert {run for batch in seen for run in batch} == set(runs)


@dataclass
class FirstAlone:
    """An engine that gives made-up results for the first batch, and none for the others."""

    device: str

    def train(self, batches, source):
        yield [RunRecord(run, {"objective": {"bound": 0.5}}) for run in next(iter(batches))]


def test_the_share_that_is_done_counts_the_longest_batch_less_on_a_gpu(study, tmp_path, source):
    shares = {}
    for device in ("cpu", "cuda:1"):
        states = []
        with Store(tmp_path / f"{device[:4]}.sqlite") as store:
            run_study(study, store, source, FirstAlone(device), states.append)
        shares[device] = states[0].work_done
    costs = sorted(map(estimated_cost, batches_of(study.runs)))
    assert shares["cpu"] == pytest.approx(costs[-1] / sum(costs))
    assert shares["cuda:1"] == pytest.approx(math.sqrt(costs[-1]) / sum(map(math.sqrt, costs)))
    assert shares["cuda:1"] < shares["cpu"]


@pytest.mark.parametrize(
    "longer",
    [
        {"dataset": "mnistLH"},
        {"hidden_size": 100},
        {"hidden_layers": 2},
        {"n_samples": 1000},
        {"n_train": 2000},
    ],
)
def test_what_takes_longer_is_estimated_to(longer):
    run = RunSpec("breast")
    assert estimated_cost([replace(run, **longer)]) > estimated_cost([run])


def test_estimates_know_batches_and_tanh_networks():
    run = RunSpec("ads")
    assert estimated_cost([run, replace(run, learning_rate=0.01)]) > estimated_cost([run])
    assert estimated_cost([replace(run, training="mlp")]) < estimated_cost([run])
    few, many = (replace(run, n_samples=count) for count in (10, 1000))
    assert estimated_cost([many]) < estimated_cost([few, many]) < estimated_cost([many, many])
    assert estimated_cost([replace(run, n_train=DATASET_ROWS["ads"])]) == estimated_cost([run])


def test_a_gpu_is_given_runs_of_different_samples_together_the_longest_first(spec):
    counts = (10, 1000, None, 100, 10_000)
    runs = [spec("bound", n_samples=count) for count in counts]
    on_gpu = [[run.n_samples for run in batch] for batch in _batches(runs, "cuda:1")]
    assert on_gpu == [[10_000], [1000, 100, 10], [None]]
    assert [[run.n_samples for run in batch] for batch in _batches(runs, "cpu")] == [[n] for n in counts]


def test_after_the_time_no_batch_is_begun(study, store, source):
    state = run_study(study, store, source, LocalEngine(), minutes=0)
    assert source.calls == []
    assert (state.n_done, state.n_failed) == (0, 0)


def test_a_study_that_ran_out_of_time_is_gone_on_with(study, store, source, monkeypatch):
    clock = iter(range(1000))  # every look at the clock takes a second
    monkeypatch.setattr("pbgnet.experiments.studies.sweep.time.monotonic", lambda: float(next(clock)))
    part = run_study(study, store, source, LocalEngine(), minutes=4 / 60)
    assert 0 < part.n_done < 16
    assert run_study(study, store, source, LocalEngine()).n_done == 16
    assert {count for _, count in store.attempts().values()} == {1}


@pytest.mark.parametrize(("minutes", "cheapest_first"), [(60.0, True), (math.inf, False)])
def test_where_time_is_short_the_cheapest_batches_come_first(study, store, source, minutes, cheapest_first):
    run_study(study, store, source, LocalEngine(), minutes=minutes)
    costs = [estimated_cost(batch) for batch in batches_of([record.spec for record in store.records()])]
    assert costs == sorted(costs, reverse=not cheapest_first)
    assert len(set(costs)) > 1
