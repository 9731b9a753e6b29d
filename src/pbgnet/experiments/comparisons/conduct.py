"""Runs a comparison: finished runs are saved immediately, and not run again."""

import time
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pbgnet.datasets import ImageDataset, load_images
from pbgnet.exceptions import PBGNetError, PBGNetWarning
from pbgnet.experiments.comparisons.comparison import ComparedRun
from pbgnet.experiments.comparisons.finished import FinishedRun, append_finished, read_finished
from pbgnet.experiments.comparisons.material import Material, material_of
from pbgnet.experiments.comparisons.methods import make_estimator
from pbgnet.experiments.runs import CODE_THAT_COUNTS, code_version
from pbgnet.experiments.studies import machine_of, stopped

# Besides the code that decides what the paper's runs compute.
CODE = (*CODE_THAT_COUNTS, "certificates", "estimators", "experiments/comparisons", "preprocessing")


def run_comparison(
    runs: Sequence[ComparedRun],
    path: Path,
    *,
    data_dir: str | None = None,
    device: str = "cpu",
    on_run: Callable[[int], None] = lambda n_done: None,
) -> int:
    """Do the runs that are not in a file yet, one after the other; return how many are in it then.

    Parameters
    ----------
    runs : sequence of ComparedRun
    path : Path
        File of finished runs, created if it does not exist. Runs of other code stay in it, and do not count.
    data_dir : str, optional
        Folder of the data; see `pbgnet.datasets.load_images`.
    device : str
        Where networks are trained.
    on_run : callable
        Called before each run, and at the end, with the number of finished ones.

    Raises
    ------
    StudyStoppedError
        If a run fails for a reason that pbgnet does not know; finished runs are kept.
    """
    code = code_version(CODE)
    datasets: dict[str, ImageDataset] = {}

    def n_done() -> int:
        known = {one.run for one in read_finished([path]) if one.code == code}
        return sum(run.fingerprint() in known for run in runs)

    for run in runs:
        if any((one.run, one.code) == (run.fingerprint(), code) for one in read_finished([path])):
            continue
        on_run(n_done())
        if run.dataset not in datasets:
            datasets[run.dataset] = load_images(run.dataset, data_dir)
        append_finished(path, _finish(run, material_of(run, datasets[run.dataset]), device, code))
    on_run(n_done())
    return n_done()


def _finish(run: ComparedRun, rows: Material, device: str, code: str) -> FinishedRun:
    """Fit, certify and test."""
    estimator = make_estimator(run.estimator, run.parameters, run.seed, device)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PBGNetWarning)  # about duplicate rows and similar
            estimator.fit(rows.X, rows.y, prior_rows=rows.prior_rows)
            seconds = time.perf_counter() - start
            wrong = np.asarray(estimator.predict(rows.X_test)) != rows.y_test
    except PBGNetError:
        raise
    except Exception as problem:
        raise stopped(f"{run.estimator} on {run.dataset} with seed {run.seed} failed", problem) from problem
    certificate = estimator.certificate_
    return FinishedRun(
        run=run.fingerprint(),
        code=code,
        certified=certificate.error_rate.value,
        route=certificate.error_rate.route,
        test_error=float((wrong.any(axis=1) if wrong.ndim > 1 else wrong).mean()),
        certified_hamming=_hamming_bound(certificate) if wrong.ndim > 1 else None,
        test_hamming=float(wrong.mean()) if wrong.ndim > 1 else None,
        n_prior=rows.prior_rows.size,
        n_certified=int(certificate.inputs.n),
        n_test=len(wrong),
        seconds=seconds,
        machine=machine_of(torch.device(device)),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _hamming_bound(certificate: Any) -> float:
    return float(certificate.hamming_loss.value)
