"""The tables for CPUs."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from benchmarks import time_to_bound
from benchmarks.layer_memory import peak_of_layer
from benchmarks.tables import Table
from benchmarks.timing import MANY_SAMPLES, Effort, Sample, fastest, repeated, side_by_side
from benchmarks.workloads import (
    BATCH,
    SHAPES,
    binned_runs,
    layer_run,
    make_layer,
    make_stepper,
    sampled_arms,
    stepper_arm,
    tanh_arms,
    under_backend,
)
from pbgnet.aggregation import Fourier
from pbgnet.kernels import backend_for

__all__ = ["TABLES"]

THREADS = (1, 2)
MOST_BYTES = 8e9
WIDTHS = (10, 30, 100, 300, 1000, 4000)


def step_against_tanh(effort: Effort) -> Table:
    """An exact training step against that of a tanh network of the same shape."""
    table = Table(
        "Exact training step against a tanh network of the same shape",
        ("network", "threads", "exact, µs", "tanh, µs", "fastest tanh", "exact / tanh"),
        notes=[
            f"Batch {BATCH}, float32, one network. The tanh network is `torch.nn.Sequential` with the linear "
            "loss, trained with the fastest of PyTorch's implementations of Adam.",
        ],
    )
    n_rows = BATCH * (4 if effort.quick else 32)
    for threads in _threads(effort):
        for name, hidden in SHAPES.items():
            with thread_count(threads):
                exact = stepper_arm(make_stepper(hidden, n_rows=n_rows))
                rivals = tanh_arms(hidden, n_rows=n_rows)
                found = side_by_side({"exact": exact, **rivals}, effort)
            best = fastest({rival: found[rival] for rival in rivals})
            ratio = found["exact"].over(found[best])
            table.add(name, threads, micro(found["exact"]), micro(found[best]), best, str(ratio))
    return table


def sampled_against_exact(effort: Effort) -> Table:
    """A training step with the paper's sampled layers against an exact one."""
    table = Table(
        "Training step with the paper's Monte Carlo layers against the exact one",
        ("network", "threads", "T", "Monte Carlo, ms", "which", "the other, ms", "exact, ms",
         "Monte Carlo / exact"),
        notes=[
            "Only the layer differs; data, bound and Adam are the same. Monte Carlo is the faster of two "
            "implementations in PyTorch: one that holds all T samples (`benchmarks/monte_carlo.py`), and "
            "pbgnet's own, which processes them in chunks.",
        ],
    )  # fmt: skip
    for threads in _threads(effort):
        for name, hidden in SHAPES.items():
            for n_samples in (10, 20) if effort.quick else (100, 1000, 10000):
                with thread_count(threads):
                    _compare_sampled(table, effort, name, hidden, n_samples, threads)
    return table


def _compare_sampled(
    table: Table, effort: Effort, name: str, hidden: tuple[int, ...], n_samples: int, threads: int
) -> None:
    rivals, reasons = sampled_arms(hidden, n_samples, effort, most_bytes=MOST_BYTES)
    table.notes += [f"Left out: {name}, T = {n_samples}, {reason}." for reason in reasons]
    if not rivals:
        return
    exact = stepper_arm(make_stepper(hidden, n_rows=BATCH * (2 if effort.quick else 32)))
    effort = effort.fewer() if n_samples >= MANY_SAMPLES else effort
    found = side_by_side({"exact": exact, **rivals}, effort, n_warm_up=1)
    best = fastest({rival: found[rival] for rival in rivals})
    ratio = found[best].over(found["exact"])
    other = next((1e3 * found[rival].median for rival in rivals if rival != best), None)
    mine, theirs = 1e3 * found["exact"].median, 1e3 * found[best].median
    table.add(name, threads, n_samples, theirs, best, other, mine, str(ratio))


def wide_layers(effort: Effort) -> Table:
    """Time and memory of one exact layer as it gets wider."""
    ours = backend_for(torch.device("cpu"))
    table = Table(
        "One exact layer, value and gradients, as it gets wider",
        ("width d", "nodes K", "ms", "ns / (d K)", "less the call", "peak MB", "plain PyTorch, ms",
         "its peak MB", "PyTorch / ours"),
        notes=[
            f"{BATCH} examples, one neuron, float32, one thread, standard normal weights, for which K grows "
            "like the square root of d. Memory is what the call adds to a process that has already computed "
            "a tiny layer.",
        ],
    )  # fmt: skip
    sizes, seconds, alone = [], [], []
    with thread_count(1):
        for width in WIDTHS[:3] if effort.quick else WIDTHS:
            layer = make_layer(BATCH, width, 1)
            runs = {name: under_backend(name, layer_run(Fourier(), layer)) for name in (ours, "torch")}
            runs["call"] = under_backend(ours, layer_run(Fourier(), make_layer(BATCH, 1, 1)))
            found = side_by_side({name: repeated(run, effort) for name, run in runs.items()}, effort)
            n_nodes = Fourier().nodes(layer.weight).largest_count
            peaks = [None if effort.quick else peak_of_layer(width, name) / 1e6 for name in (ours, "torch")]
            sizes.append(width * n_nodes)
            seconds.append(found[ours].median)
            alone.append(found[ours].median - found["call"].median)
            rest = 1e9 * alone[-1] / sizes[-1] if alone[-1] > 0 else None  # lost in the noise
            table.add(
                width, n_nodes, 1e3 * seconds[-1], 1e9 * seconds[-1] / sizes[-1], rest, peaks[0],
                1e3 * found["torch"].median, peaks[1], str(found["torch"].over(found[ours])),
            )  # fmt: skip
    n_left, call = sum(time > 0 for time in alone), 1e6 * found["call"].median
    whole, rest_of_it = _exponent(sizes, seconds), _exponent(sizes, alone)
    table.notes += [
        f"Time grows like (d K)^{whole:.2f} (fit in log-log over all {len(sizes)} widths; 1 is linear). "
        "The fixed cost of a call dominates in narrow layers, which makes the exponent small.",
        f'"Less the call" subtracts the time of a layer with one input, {call:.0f} µs. The rest grows like '
        f"(d K)^{rest_of_it:.2f}, fitted over the {n_left} of {len(sizes)} widths where it is above 0. "
        "For narrow layers it is a small difference of two noisy numbers.",
    ]
    return table


def _exponent(sizes: list[int], seconds: list[float]) -> float:
    """Fit seconds = c sizes^p in log-log and return p; what noise made negative is left out."""
    pairs = [(size, time) for size, time in zip(sizes, seconds, strict=True) if time > 0]
    if len(pairs) < 2:
        return float("nan")
    x, y = np.log(np.array(pairs)).T
    return float(np.polyfit(x, y, 1)[0])


def kernels(effort: Effort) -> Table:
    """The compiled kernels against plain PyTorch."""
    backend = backend_for(torch.device("cpu"))
    table = Table(
        "The compiled exact layer against plain PyTorch",
        (
            "examples x (inputs -> neurons)",
            "threads",
            f"{backend}, µs",
            "plain PyTorch, µs",
            "PyTorch / compiled",
        ),
        notes=["Value and gradients, float32, standard normal weights."],
    )
    for threads in _threads(effort):
        for d, m in ((11, 1), (11, 10)) if effort.quick else ((11, 1), (11, 10), (101, 100)):
            run = layer_run(Fourier(), make_layer(BATCH, d, m))
            with thread_count(threads):
                arms = {name: repeated(under_backend(name, run), effort) for name in (backend, "torch")}
                found = side_by_side(arms, effort)
            ours, plain = found[backend], found["torch"]
            table.add(f"{BATCH} x ({d} -> {m})", threads, micro(ours), micro(plain), str(plain.over(ours)))
    return table


def binned_layers(effort: Effort) -> Table:
    """The first layer on rows kept as codes against dense ones."""
    table = Table(
        "The first layer on a table kept as codes, and on the same table as numbers",
        ("R x batch x (inputs -> neurons)", "codes, µs", "numbers, µs", "numbers / codes"),
        notes=[
            "Gathering the batch, product and gradient in the weights, float32, one thread. Ten columns of "
            "numbers with steps at up to 190 thresholds each, four of ten categories.",
        ],
    )
    shapes = ((1, 100, 256), (1, 20, 256), (10, 20, 64), (30, 20, 32))
    for n_replicas, m, batch in shapes[:2] if effort.quick else shapes:
        runs, d = binned_runs(n_replicas, m, batch)
        with thread_count(1):
            found = side_by_side({name: repeated(run, effort) for name, run in runs.items()}, effort)
        codes, dense = found["codes"], found["numbers"]
        shape = f"{n_replicas} x {batch} x ({d} -> {m})"
        table.add(shape, micro(codes), micro(dense), str(dense.over(codes)))
    return table


def bound_on_mnist(effort: Effort) -> Table:
    """Seconds from the start of Python to a certificate on MNIST 1 against 7."""
    table = Table(
        "From the start of Python to a certificate: MNIST 1 against 7",
        ("run", "threads", "seconds", "of which imports and reading", "bound"),
        notes=[
            "784-10-1, algorithm `pbgnet`, delta shared by nine architectures, the paper's constant, 11,377 "
            "rows read from an .npz file. Every run is a new process.",
        ],
    )
    folder = time_to_bound.find_data()
    if folder is None:
        table.notes.append(
            "Left out: the MNIST files are not here; set PBGNET_DATA to the folder that holds mnist/."
        )
        return table
    with tempfile.TemporaryDirectory() as scratch:
        path, cache = Path(scratch) / "mnist17.npz", Path(scratch) / "numba"
        cache.mkdir()
        time_to_bound.prepare(folder, path)
        outcomes = []
        for name in [
            "first, compiling everything",
            *(f"again, {i}" for i in range(1, 2 if effort.quick else 4)),
        ]:
            outcome = time_to_bound.run_once(path, 2, cache, small=effort.quick)
            outcomes.append(outcome)
            table.add(name, 2, outcome.seconds, outcome.starting, f"{outcome.bound:.4f}")
    slowest = max(outcome.seconds for outcome in outcomes[1:])
    bound = max(outcome.bound for outcome in outcomes)
    table.notes.append(
        f"The slowest run with compiled kernels took {slowest:.1f} s. The largest bound is {bound:.4f}."
    )
    return table


def replicas(effort: Effort) -> Table:
    """Networks trained side by side against one after another."""
    table = Table(
        "Networks trained side by side",
        (
            "network",
            "threads",
            "R",
            "ms per step of all",
            "networks x steps per second",
            "R alone / together",
        ),
        notes=["The last column is the time of R separate runs divided by that of one run with R networks."],
    )
    counts = {"784-10-1": (1, 4) if effort.quick else (1, 4, 16, 64), "784-100-100-1": (1, 4)}
    n_rows = BATCH * (2 if effort.quick else 16)
    for threads in _threads(effort):
        for name, hidden in SHAPES.items():
            for n_replicas in counts[name]:
                with thread_count(threads):
                    arms = {
                        "alone": stepper_arm(make_stepper(hidden, n_rows=n_rows)),
                        "together": stepper_arm(make_stepper(hidden, n_replicas=n_replicas, n_rows=n_rows)),
                    }
                    found = side_by_side(arms, effort)
                together = found["together"]
                rate = n_replicas / together.median
                gain = str(found["alone"].times(n_replicas).over(together))
                table.add(name, threads, n_replicas, 1e3 * together.median, rate, gain)
    return table


TABLES: dict[str, Callable[[Effort], Table]] = {
    "tanh": step_against_tanh,
    "sampled": sampled_against_exact,
    "wide": wide_layers,
    "kernels": kernels,
    "binned": binned_layers,
    "bound": bound_on_mnist,
    "replicas": replicas,
}


@contextmanager
def thread_count(n_threads: int) -> Iterator[None]:
    """Give PyTorch and the kernels so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _threads(effort: Effort) -> tuple[int, ...]:
    """Return the numbers of threads to measure with; two of them crawl where others use the cores too."""
    return THREADS[:1] if effort.quick else THREADS


def micro(sample: Sample) -> float:
    """Median in microseconds."""
    return 1e6 * sample.median
