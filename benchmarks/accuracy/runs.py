"""One run: a table, a split, a method; each in a process of its own, so that its memory can be told."""

import json
import multiprocessing
import resource
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass

import numpy as np

from benchmarks.accuracy import data, methods
from benchmarks.accuracy.methods import OURS

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Run:
    """What was measured.

    Attributes
    ----------
    table, method : str
    seed : int
        Of the split into training and test rows, and of the method.
    certified : float
        Bound on the error rate from the errors on the rows set apart (Clopper-Pearson, 95 %).
    counted, tested : float
        Error rates on the rows set apart, and on test rows.
    seconds : float
        Processor time of the fit, one thread; what is compiled is compiled before.
    megabytes : float
        By which the fit raised the peak of the memory of its process.
    n_prior, n_certified, n_test : int
    note : str
        What the method chose.
    """

    table: str
    method: str
    seed: int
    certified: float
    counted: float
    tested: float
    seconds: float
    megabytes: float
    n_prior: int
    n_certified: int
    n_test: int
    note: str = ""


def run(table: str, method: str, seed: int) -> Run:
    """Fit a method on the training rows of a split, and judge it."""
    warnings.simplefilter("ignore")
    import torch

    from pbgnet.bounds import clopper_pearson_bound
    from pbgnet.certificates import LabelledRows
    from pbgnet.estimators import PBGNetClassifier, make_certified_pipeline
    from pbgnet.preprocessing import take_rows

    torch.set_num_threads(1)
    example = data.load(table)
    train, test = data.train_and_test(len(example.y), seed)
    rows, labels = take_rows(example.X, train), example.y[train]
    ours = PBGNetClassifier(random_state=seed)
    split = ours.split_rows(LabelledRows(rows, labels), ours.draw_seeds())
    prior, certified = split.prior_rows, split.certified_rows
    fresh = take_rows(example.X, test)
    if method == OURS:
        _compile()
    elif method == "gradient boosting":
        rows, fresh = methods.as_categories(rows), methods.as_categories(fresh)
    before, start, note = _peak(), time.process_time(), ""
    if method == OURS:
        fitted = make_certified_pipeline(ours).fit(rows, labels)
        seconds, note = time.process_time() - start, fitted.preprocessor_.numbers
        assert np.array_equal(fitted.prior_rows_, prior)
    else:
        fitted = methods.METHODS[method](rows, seed).fit(take_rows(rows, prior), labels[prior])
        seconds = time.process_time() - start
    megabytes = _peak() - before
    errors = methods.errors_of(fitted, take_rows(rows, certified), labels[certified])
    bound = float(clopper_pearson_bound(errors, len(certified), 1 - CONFIDENCE))
    assert method != OURS or abs(bound - fitted.certificate_.error_rate.value) < 1e-9
    return Run(
        table=table,
        method=method,
        seed=seed,
        certified=bound,
        counted=errors / len(certified),
        tested=methods.errors_of(fitted, fresh, example.y[test]) / len(test),
        seconds=seconds,
        megabytes=megabytes,
        n_prior=len(prior),
        n_certified=len(certified),
        n_test=len(test),
        note=note,
    )


def run_all(
    tables: Sequence[str], wanted: Sequence[str], seeds: Sequence[int], n_processes: int
) -> Iterator[Run]:
    """Run all combinations, the longest tables first, each in a fresh process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_processes, mp_context=context, max_tasks_per_child=1) as pool:
        waiting = [
            pool.submit(run, table, method, seed) for table in tables for seed in seeds for method in wanted
        ]
        for future in as_completed(waiting):
            yield future.result()


def to_lines(runs: Sequence[Run]) -> str:
    """Write runs as JSON, one per line, in a fixed order."""
    ordered = sorted(runs, key=lambda one: (one.table, one.method, one.seed))
    return "".join(json.dumps(asdict(one)) + "\n" for one in ordered)


def from_lines(text: str) -> list[Run]:
    """Read what `to_lines` wrote."""
    return [Run(**json.loads(line)) for line in text.splitlines() if line]


def _compile() -> None:
    """Let the kernels be compiled, or read, by a tiny fit of the same kind."""
    from pbgnet.estimators import PBGNetClassifier

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 2))
    PBGNetClassifier(random_state=0).fit(rows, rows[:, 0] > 0)


def _peak() -> float:
    """Peak memory of this process in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
