"""Runs a study: what is in the store is not trained again, and failed runs are tried once more."""

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pbgnet.experiments.runs import RunSpec, batches_of
from pbgnet.experiments.studies.claims import Claims
from pbgnet.experiments.studies.engines import Engine, RowSource
from pbgnet.experiments.studies.store import Store
from pbgnet.experiments.studies.study import Study

MOST_ATTEMPTS = 2

# Seconds between checks of a store in which other processes train all that is left.
PATIENCE = 0.5

Attempts = dict[RunSpec, tuple[bool, int]]
"""Whether each run is done, and how often it was tried."""


@dataclass(frozen=True)
class SweepState:
    """The progress of a study.

    Attributes
    ----------
    n_runs, n_done, n_failed : int
        All runs of the study, those with results, and those that were given up.
    work_done : float
        Share of the estimated time of this call that has passed; a run that failed and will be tried again
        does not count.
    """

    n_runs: int
    n_done: int
    n_failed: int
    work_done: float


def run_study(
    study: Study,
    store: Store,
    source: RowSource,
    engine: Engine,
    on_batch: Callable[[SweepState], None] = lambda state: None,
    *,
    retry_failed: bool = False,
    minutes: float = math.inf,
) -> SweepState:
    """Train the runs of a study that the store does not have yet, and append them batch by batch.

    A kill at any moment only loses the batches in progress; calling it again resumes. A run that fails on its
    own is recorded with its error and tried once more after all others. Several processes may do this with
    one store at the same time: each trains what no other has begun, and all return when the study is done.

    Parameters
    ----------
    study : Study
    store : Store
    source : callable
        Maps a run to its rows.
    engine : Engine
    on_batch : callable
        Called after every stored batch, and occasionally while other processes train the last ones.
    retry_failed : bool, default=False
        Try runs that were given up twice more.
    minutes : float, optional
        After this time no batch is begun, and the cheapest ones are trained first. Otherwise the longest are,
        so that all end at about the same time. An engine that requests all batches at once ends them all.

    Raises
    ------
    StudyStoppedError
        If something around a run failed: data, disk, memory, device or cluster. It is not recorded, so
        calling again resumes from there.
    """
    before = _attempts(study, store)
    limits = {run: MOST_ATTEMPTS + count * retry_failed for run, (_, count) in before.items()}
    total = _time(_pending(before, limits), engine.device)
    end = time.monotonic() + 60 * minutes

    def state() -> SweepState:
        return _state(_attempts(study, store), limits, engine.device, total)

    with Claims(store) as claims:
        while pending := _pending(known := _attempts(study, store), limits):
            batches = sorted(
                _batches(pending, engine.device), key=estimated_cost, reverse=math.isinf(minutes)
            )
            in_time = itertools.takewhile(lambda _: time.monotonic() < end, batches)
            n_stored = 0
            for records in engine.train(claims.taking(in_time, known), source):
                store.append(records)
                n_stored += 1
                on_batch(state())
            n_claimed = claims.release()
            if time.monotonic() >= end or (n_claimed and not n_stored):  # or an engine that does not train
                break
            if not n_claimed:
                time.sleep(PATIENCE)
                on_batch(state())
    return state()


def estimated_cost(batch: Sequence[RunSpec]) -> float:
    """Estimate the work of a batch, in arbitrary units."""
    run = batch[0]
    exact = 1 if run.training == "mlp" else 12
    nodes = sum(exact if one.n_samples is None else one.n_samples for one in batch)
    layers = run.hidden_size * (run.hidden_layers - 1) * run.hidden_size + run.hidden_size
    per_row = 300 * run.hidden_size + layers * nodes
    n_rows = run.n_train or DATASET_ROWS.get(run.dataset, 1000)
    return float(per_row * n_rows)


# Rows of the larger data sets, only for estimates.
DATASET_ROWS = {
    "ads": 2459,
    "adult": 36631,
    "mnist17": 11377,
    "mnist49": 10336,
    "mnist56": 9891,
    "mnistLH": 52500,
}


def _time(runs: Sequence[RunSpec], device: str) -> float:
    """Estimate the time of runs, in arbitrary units.

    Batches that share a GPU wait for each other, small ones longer than they compute. There the square root
    of the work is a better estimate.
    """
    costs = map(estimated_cost, _batches(runs, device))
    return sum(map(math.sqrt, costs) if device.startswith("cuda") else costs)


def _batches(runs: Sequence[RunSpec], device: str) -> list[list[RunSpec]]:
    """Group runs as suits a device: small networks fill a GPU only if there are hundreds of them.

    Within a batch those with most samples come first: the others then fill the places that are left.
    """
    if not device.startswith("cuda"):
        return batches_of(runs)
    return batches_of(sorted(runs, key=lambda run: -(run.n_samples or 0)), join=True)


def _attempts(study: Study, store: Store) -> Attempts:
    found = store.attempts()
    return {run: found.get(run.identity(), (False, 0)) for run in study.runs}


def _pending(attempts: Attempts, limits: dict[RunSpec, int]) -> list[RunSpec]:
    return [run for run, (done, count) in attempts.items() if not done and count < limits[run]]


def _state(attempts: Attempts, limits: dict[RunSpec, int], device: str, total: float) -> SweepState:
    pending = _pending(attempts, limits)
    n_done = sum(done for done, _ in attempts.values())
    return SweepState(
        n_runs=len(attempts),
        n_done=n_done,
        n_failed=len(attempts) - n_done - len(pending),
        work_done=1 - _time(pending, device) / total if pending else 1.0,
    )
