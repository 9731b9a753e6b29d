"""One fit on a large table in a process of its own: ``python -m benchmarks.scale_fit HOW FILE``.

What is compared starts from the same Parquet file and ends with a fitted classifier. Libraries are imported
and kernels compiled beforehand, by a fit on few rows, so that seconds and bytes are those of the fit.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.footprint import own_memory, watched
from pbgnet.estimators import PBGNetClassifier, make_certified_pipeline
from pbgnet.sources import scan_table

__all__ = ["HOW", "TARGET"]

TARGET = "label"
FEW = 2000


def in_memory(path: Path) -> Callable[[], Any]:
    """Fit the default classifier on the table, held as float32."""
    X, y = _read(path)  # noqa: N806
    return lambda: PBGNetClassifier(random_state=0).fit(X, y)


def streamed(path: Path) -> Callable[[], Any]:
    """Fit the default pipeline on the file, which is not held."""
    source = scan_table(path)
    pipeline = make_certified_pipeline(PBGNetClassifier(random_state=0))
    return lambda: pipeline.fit(source.drop(TARGET), source[TARGET])


def boosting(path: Path) -> Callable[[], Any]:
    """Fit scikit-learn's histogram boosting on all rows of the table, held as float32."""
    X, y = _read(path)  # noqa: N806
    return lambda: HistGradientBoostingClassifier(random_state=0).fit(X, y)


HOW = {"in memory": in_memory, "streamed": streamed, "boosting": boosting}


def _read(path: Path) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    frame = pd.read_parquet(path)
    y = frame.pop(TARGET).to_numpy()
    return frame.to_numpy(dtype=np.float32), y


def main() -> None:
    """Fit once, and print seconds, bytes and the error on the rows beside."""
    how, path = sys.argv[1], Path(sys.argv[2])
    few = path.with_name("few.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        HOW[how](few)()
        before = own_memory()
        with watched() as peaks:
            fit = HOW[how](path)
            start = time.perf_counter()
            fitted = fit()
            seconds = time.perf_counter() - start
        X, y = _read(path.with_name("test.parquet"))  # noqa: N806
        rows = X if how != "streamed" else scan_table(path.with_name("test.parquet")).drop(TARGET)
        error = float(np.mean(fitted.predict(rows) != y))
    outcome = {"seconds": seconds, "bytes": peaks[0] - before, "error": error}
    if how != "boosting":
        outcome["bound"] = fitted.certificate_.error_rate.value
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
