"""A Ray cluster: the same records, and errors with advice where there is none."""

import socket
import sys

import pytest

from pbgnet.exceptions import ClusterError, StudyStoppedError
from pbgnet.experiments import LocalEngine, RayEngine, Store, run_study
from pbgnet.experiments.studies.study import Study


def test_without_ray_the_error_says_how_to_get_it(monkeypatch, spec):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ClusterError, match="not installed: pip install ray"):
        next(RayEngine().train([[spec()]], lambda run: None))


class Absent:
    """Ray, as far as connecting to a cluster goes."""

    class exceptions:  # noqa: N801
        RayError = RuntimeError

    def __init__(self, error):
        self.error, self.asked = error, []

    def is_initialized(self):
        return False

    def init(self, **options):
        self.asked.append(options)
        raise self.error


@pytest.mark.parametrize("error", [ConnectionError("gone"), RuntimeError("gone"), ValueError("gone")])
@pytest.mark.parametrize(("address", "named"), [(None, "at this machine cannot"), ("auto", "at auto cannot")])
def test_a_cluster_that_ray_cannot_reach_is_told_with_advice(monkeypatch, spec, error, address, named):
    ray = Absent(error)
    monkeypatch.setitem(sys.modules, "ray", ray)
    with pytest.raises(ClusterError, match=rf"{named} be reached: gone\. Check --address, or leave it out"):
        next(RayEngine(address).train([[spec()]], lambda run: None))
    assert ray.asked == [{"address": address or "local", "log_to_driver": False, "include_dashboard": False}]


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1"])
def test_where_nobody_listens_the_error_comes_at_once(monkeypatch, spec, address):
    ray = Absent(AssertionError("Ray was asked, and would try for minutes"))
    monkeypatch.setitem(sys.modules, "ray", ray)
    with pytest.raises(ClusterError, match=rf"{address} cannot be reached: .*refused.* Check --address"):
        next(RayEngine(address).train([[spec()]], lambda run: None))


def test_where_somebody_listens_ray_is_asked(monkeypatch, spec):
    ray = Absent(ConnectionError("not a cluster"))
    monkeypatch.setitem(sys.modules, "ray", ray)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ClusterError, match="not a cluster"):
            next(RayEngine(address).train([[spec()]], lambda run: None))
    assert ray.asked[0]["address"] == address


@pytest.fixture(scope="module")
def ray_settings():
    """Ray, quiet, and stopped in the end."""
    module = pytest.importorskip("ray", reason="a cluster needs pbgnet[cluster]")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")  # one that is started and stopped here needs no key
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        yield module
        module.shutdown()


@pytest.fixture
def ray(ray_settings):
    """Ray on this machine, with one worker; it takes seconds to start, and tests share it."""
    if not ray_settings.is_initialized():
        options = {"include_dashboard": False, "log_to_driver": False, "configure_logging": False}
        ray_settings.init("local", num_cpus=1, **options)
    return ray_settings


@pytest.fixture
def stopped_ray(ray_settings):
    """Ray, not started yet."""
    ray_settings.shutdown()
    return ray_settings


quiet = pytest.mark.filterwarnings("ignore::DeprecationWarning:ray", "ignore::FutureWarning:ray")


@quiet
def test_a_study_on_ray_survives_workers_that_are_killed(ray, spec, tmp_path, close_results):
    def source(run):  # travels by value: a worker cannot import this file
        import os

        import numpy as np

        from pbgnet.experiments.runs.batch import Rows, Table

        if run.dataset == "deadly":
            os._exit(1)
        if run.dataset == "broken":
            raise ValueError("no rows")
        x = np.random.default_rng(0).normal(size=(90, 4))
        y = np.where(x[:, 0] > 0, 1.0, -1.0)
        return Rows(Table(x, y), np.arange(60), np.arange(60, len(x)))

    names = ("good", "fine", "broken", "deadly")  # a worker takes seconds to start again
    runs = tuple(spec("bound", name, learning_rate=rate) for name in names for rate in (0.1, 0.01))
    study, states = Study("mine", "", names, ("pbgnet",), runs), []
    with Store(tmp_path / "runs.sqlite") as store:
        state = run_study(study, store, source, RayEngine(), states.append)
        records = {record.spec: record for record in store.records()}
        attempts = store.attempts()
    assert (state.n_done, state.n_failed) == (4, 4)
    assert states[-1].work_done == 1
    for batch in LocalEngine().train([runs[:2], runs[2:4]], source):
        for local in batch:
            close_results(records[local.spec].results, local.results, 1e-6)
    for run in runs:
        alive = run.dataset in ("good", "fine")
        assert records[run].done == alive
        assert attempts[run.identity()] == ((True, 1) if alive else (False, 2))
    assert all("WorkerCrashedError" in records[run].error for run in runs[6:])
    assert all(records[run].error.endswith("ValueError: no rows") for run in runs[4:6])


def deadly_source(killed, victim, seconds):
    """Rows for every run; the first time for a victim, a process is killed after so many seconds."""

    def source(run):  # travels by value: a worker cannot import this file
        import os
        import signal
        import threading
        from pathlib import Path

        import numpy as np

        from pbgnet.experiments.runs.batch import Rows, Table

        if run.dataset == "victim" and not Path(killed).exists():
            Path(killed).touch()
            process = os.getpid()
            if victim == "node":
                process = os.getppid()
                assert Path(f"/proc/{process}/comm").read_text().startswith("raylet")
            timer = threading.Timer(seconds, os.kill, (process, signal.SIGKILL))
            timer.start()
            timer.join(0 if seconds else 30)
        x = np.random.default_rng(0).normal(size=(90, 4))
        y = np.where(x[:, 0] > 0, 1.0, -1.0)
        return Rows(Table(x, y), np.arange(60), np.arange(60, len(x)))

    return source


@pytest.fixture
def four(spec):
    """Four batches, the longest of which is the victim."""
    runs = [spec("bound", "victim", hidden_size=9, max_epochs=500, stopping_patience=500)]
    runs += [spec("bound", "fine", hidden_size=size) for size in (2, 3, 4)]
    return Study("mine", "", ("victim", "fine"), ("pbgnet",), tuple(runs))


@quiet
@pytest.mark.parametrize("seconds", [0, 0.2])
def test_the_runs_of_a_worker_that_was_killed_are_done_in_the_end(ray, four, tmp_path, seconds):
    source = deadly_source(str(tmp_path / "killed"), "worker", seconds)
    with Store(tmp_path / "runs.sqlite") as store:
        state = run_study(four, store, source, RayEngine())
        assert (state.n_done, state.n_failed) == (4, 0)
        assert (tmp_path / "killed").exists()
        assert sorted(store.attempts().values()) == [(True, 1)] * 3 + [(True, 2)]


@quiet
@pytest.mark.skipif(sys.platform != "linux", reason="looks for the node among the processes of Linux")
def test_a_node_that_dies_stops_the_study_and_is_held_against_no_run(stopped_ray, four, tmp_path):
    source = deadly_source(str(tmp_path / "killed"), "node", 0)
    with Store(tmp_path / "runs.sqlite") as store:
        with pytest.raises(StudyStoppedError, match=r"The Ray cluster failed: .*Died"):
            run_study(four, store, source, RayEngine())
        assert (tmp_path / "killed").exists()
        assert all(record.done for record in store.records())
        state = run_study(four, store, source, RayEngine())  # in a new one
        assert (state.n_done, state.n_failed) == (4, 0)
        assert set(store.attempts().values()) == {(True, 1)}


@quiet
def test_a_fault_in_a_worker_that_is_not_of_the_run_stops_the_study(ray, four, tmp_path):
    def source(run):
        from pbgnet.exceptions import MissingDataError

        raise MissingDataError("ads is not here")

    with Store(tmp_path / "runs.sqlite") as store:
        with pytest.raises(StudyStoppedError, match=r"The data is not available, .* ads is not here"):
            run_study(four, store, source, RayEngine())
        assert store.records() == []
