"""How many rows a second are answered: natively, and by onnxruntime from the exported files."""

import tempfile
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from benchmarks.cpu import thread_count
from benchmarks.tables import Table
from benchmarks.timing import Effort, repeated, side_by_side
from pbgnet.certificates import CertifiedModel, PriorRecord, certify_network
from pbgnet.export import OnnxClassifier, SignClassifier, export_onnx
from pbgnet.networks import AggregatedNetwork
from pbgnet.preprocessing import TablePreprocessor

__all__ = ["predicting"]

N_NUMBERS, N_WORDS, FITTED = 24, 6, 20_000
NETWORKS = {"5 members of 20": ((20,), 5), "100": ((100,), None), "100-100": ((100, 100), None)}
THREADS = (1, 2)
BATCHES = (100, 1 << 16)

Answer = Callable[[pd.DataFrame], Any]


def predicting(effort: Effort) -> Table:
    """Rows per second of all ways to answer, from a frame with numbers and words to labels."""
    table = Table(
        "Rows answered per second",
        ("network", "rows at a time", "threads", "aggregate", "its file", "sign network", "its file",
         "in float32", "its file in float32"),
        notes=[
            f"From a frame of {N_NUMBERS} columns of numbers and {N_WORDS} of words, cut into bins, to "
            "outputs. The aggregate is the certified one, in float64; the sign network is `SignClassifier`; "
            "files are run by onnxruntime, in float64 unless said otherwise.",
        ],
    )  # fmt: skip
    sizes = BATCHES[:1] if effort.quick else BATCHES
    networks = list(NETWORKS)[:1] if effort.quick else list(NETWORKS)
    frame = make_frame(max(FITTED, *sizes) if not effort.quick else 2000)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in networks:
            model = make_model(frame, *NETWORKS[name])
            for n_rows in sizes:
                for threads in THREADS[:1] if effort.quick else THREADS:
                    ways = ways_to_answer(model, Path(folder), threads)
                    with thread_count(threads):
                        seconds = _seconds(ways, frame.iloc[:n_rows], effort)
                    table.add(name, n_rows, threads, *(round(n_rows / each) for each in seconds))
    return table


def ways_to_answer(model: CertifiedModel, folder: Path, n_threads: int) -> list[Answer]:
    """Return all ways from rows to outputs, in the order of the table."""

    def file(network: str, dtype: str = "float64") -> Answer:
        path = folder / f"{network}-{dtype}.onnx"
        export_onnx(model, path, network=network, dtype=dtype, overwrite=True)
        return OnnxClassifier(path, n_threads=n_threads).output

    return [
        model.output,
        file("aggregate"),
        SignClassifier(model).output,
        file("sign"),
        SignClassifier(model, dtype="float32").output,
        file("sign", "float32"),
    ]


def make_frame(n_rows: int) -> pd.DataFrame:
    """Draw rows of numbers, some missing, and words."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"number {k}": rng.normal(size=n_rows) for k in range(N_NUMBERS)})
    words = np.array(["red", "green", "blue", "black", "white"], dtype=object)
    for k in range(N_WORDS):
        frame[f"word {k}"] = words[rng.integers(0, words.size, n_rows)]
    frame.loc[rng.random(n_rows) < 0.05, "number 0"] = np.nan
    return frame


def make_model(frame: pd.DataFrame, hidden: tuple[int, ...], n_members: int | None) -> CertifiedModel:
    """Certify a network with random weights; how fast it answers does not depend on them."""
    rows = frame.iloc[:FITTED]
    preprocessor = TablePreprocessor().fit(rows)
    sizes = [preprocessor.n_features_out_, *hidden, 1]
    generator, leading = torch.Generator().manual_seed(0), () if n_members is None else (n_members,)
    weights = [
        0.5 * torch.randn(*leading, m, d + 1, generator=generator, dtype=torch.float64)
        for d, m in pairwise(sizes)
    ]
    return certify_network(
        AggregatedNetwork(weights, members=n_members is not None),
        rows.iloc[:200],
        np.where(rows["number 1"].iloc[:200] > 0, "yes", "no"),
        classes=("no", "yes"),
        prior=PriorRecord("given", "random weights"),
        prior_rows=[],
        certified_rows=range(200),
        preprocessor=preprocessor,
        feature_names=tuple(frame.columns),
    )


def _seconds(ways: list[Answer], rows: pd.DataFrame, effort: Effort) -> list[float]:
    arms = {str(k): repeated(lambda way=way: way(rows), effort) for k, way in enumerate(ways)}  # type: ignore[misc]
    return [found.median for found in side_by_side(arms, effort.fewer(), n_warm_up=1).values()]
