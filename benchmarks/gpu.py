"""The tables for GPUs. They also run on a CPU, which tells whether they work but nothing about speed."""

import functools
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

import torch

from benchmarks import monte_carlo
from benchmarks.joined import joined_samples
from benchmarks.limits import BANDWIDTH, FLOPS, step_work
from benchmarks.profiling import top_kernels
from benchmarks.tables import Table
from benchmarks.timing import (
    MANY_SAMPLES,
    Arm,
    Effort,
    Sample,
    fastest,
    peak_device_memory,
    repeated,
    side_by_side,
)
from benchmarks.together import batches_together
from benchmarks.workloads import (
    BATCH,
    SHAPES,
    Layer,
    binned_runs,
    layer_run,
    make_layer,
    make_stepper,
    sampled_arms,
    stepper_arm,
    under_backend,
)
from pbgnet.aggregation import Fourier, MonteCarlo
from pbgnet.kernels import backend_for
from pbgnet.kernels.sampled import monte_carlo_torch

__all__ = ["TABLES"]

N_ROWS = 9000
COUNTS: dict[str, tuple[int, ...]] = {"784-10-1": (1, 8, 64, 512), "784-100-100-1": (1, 8, 64)}
FULL = {"784-10-1": 512, "784-100-100-1": 64}  # replicas that fill the device
LAYERS = ((512, 11, 1), (64, 101, 100))  # replicas, inputs, neurons
SAMPLED_REPLICAS = 64
SAMPLES = (100, 1000, 10000)
# The package's sampled layer in PyTorch takes chunks that suit a CPU; a GPU wants larger ones.
CHUNK_ELEMENTS = 1 << 27
# Share of the GPU's memory that holding all samples may take; a captured step holds its memory twice.
LAYER_SHARE, STEP_SHARE = 0.6, 0.3
CPU_BYTES = 8e9


def replica_steps(effort: Effort) -> Table:
    """Microseconds per replica and step."""
    table = Table(
        "Training steps of networks side by side",
        ("network", "R", "µs per step of all", "µs per replica step", "permuting, µs", "peak MB"),
        notes=[
            f"Batch {BATCH}, float32, {_n_rows(effort)} random rows, whole epochs in a CUDA graph over their "
            "steps. Drawing the permutation of the epoch is included; its share per replica step is shown. "
            "The peak includes everything: data, networks, moments and what a step needs.",
        ],
    )
    for name in SHAPES:
        for n_replicas in (1, 2) if effort.quick else COUNTS[name]:
            step, order, peak = _steps(name, n_replicas, effort)
            each = 1e6 * step.median / n_replicas
            table.add(name, n_replicas, 1e6 * step.median, each, 1e6 * order / n_replicas, _mega(peak))
    return table


def exact_layers(effort: Effort) -> Table:
    """The exact layer in Triton against plain PyTorch on the same device."""
    ours = backend_for(torch.device(effort.device))
    table = Table(
        "One exact layer, value and gradients, against plain PyTorch on the same device",
        ("R", "examples x (inputs -> neurons)", f"{ours}, µs", "in a graph, µs", "plain PyTorch, µs",
         "PyTorch / ours", "PyTorch / ours in a graph", "peak MB", "its peak MB"),
        notes=[
            "Standard normal weights, float32. Plain PyTorch reads the number of nodes from the device, "
            "so it cannot be captured in a graph.",
        ],
    )  # fmt: skip
    for n_replicas, d, m in LAYERS:
        count = 2 if effort.quick else n_replicas
        run = layer_run(Fourier(), make_layer(BATCH, d, m, n_replicas=count, device=effort.device))
        eager = {name: under_backend(name, run) for name in (ours, "torch")}
        peaks = [peak_device_memory(eager[name], effort.device) for name in (ours, "torch")]
        arms = {name: repeated(eager[name], effort) for name in (ours, "torch")}
        arms["graph"] = repeated(_captured(eager[ours], effort), effort)
        found = side_by_side(arms, effort)
        plain, mine, graph = found["torch"], found[ours], found["graph"]
        table.add(
            count, f"{BATCH} x ({d} -> {m})", 1e6 * mine.median, 1e6 * graph.median, 1e6 * plain.median,
            str(plain.over(mine)), str(plain.over(graph)), *map(_mega, peaks),
        )  # fmt: skip
        _release()
    return table


def sampled_layers(effort: Effort) -> Table:
    """The sampled layer of the package against plain PyTorch on the same device."""
    ours = backend_for(torch.device(effort.device))
    table = Table(
        "One Monte Carlo layer, value and gradients, against plain PyTorch on the same device",
        ("R", "examples x (inputs -> neurons)", "T", f"{ours}, µs", "plain PyTorch, µs", "faster of two",
         "PyTorch / ours", "peak MB", "its peak MB"),
        notes=["Plain PyTorch is the faster of two implementations: all samples at once, or in chunks."],
    )  # fmt: skip
    for _, d, m in LAYERS:
        for n_samples in _samples(effort):
            count = 2 if effort.quick else SAMPLED_REPLICAS
            layer = make_layer(BATCH, d, m, n_replicas=count, device=effort.device)
            with _larger_chunks(effort):
                _compare_sampled_layers(table, layer, n_samples, effort)
            _release()
    return table


def _compare_sampled_layers(table: Table, layer: Layer, n_samples: int, effort: Effort) -> None:
    (count, n, d), m = layer.mean.shape, layer.weight.shape[1]
    generator = torch.Generator(effort.device).manual_seed(0)
    runs = {"ours": layer_run(MonteCarlo(n_samples, generator), layer)}
    kernels = {"in chunks": monte_carlo_torch}
    needed = monte_carlo.bytes_needed(count, n, m, d, n_samples)
    if needed <= _memory(effort, LAYER_SHARE):
        kernels["all at once"] = monte_carlo
    else:
        table.notes.append(f"Left out: {d} -> {m}, T = {n_samples}, all at once: {needed / 1e9:.0f} GB.")
    for name, kernel in kernels.items():
        runs[name] = layer_run(monte_carlo.SampledLayer(n_samples, generator, kernel), layer)
    peaks = {name: peak_device_memory(run, effort.device) for name, run in runs.items()}
    effort = effort.fewer() if n_samples >= MANY_SAMPLES else effort
    found = side_by_side({name: repeated(run, effort) for name, run in runs.items()}, effort)
    best = fastest({name: found[name] for name in kernels})
    table.add(
        count, f"{n} x ({d} -> {m})", n_samples, 1e6 * found["ours"].median, 1e6 * found[best].median, best,
        str(found[best].over(found["ours"])), _mega(peaks["ours"]), _mega(peaks[best]),
    )  # fmt: skip


def sampled_steps(effort: Effort) -> Table:
    """Training steps with sampled layers against exact ones."""
    ours = backend_for(torch.device(effort.device))
    table = Table(
        "Training steps with the paper's Monte Carlo layers against the exact ones",
        ("network", "R", "T", "exact, µs", f"Monte Carlo in {ours}, µs", "in PyTorch, µs", "faster of two",
         f"{ours} / exact", "PyTorch / exact"),
        notes=["Times are per step of all networks, all in CUDA graphs. Only the layer differs."],
    )  # fmt: skip
    for name, hidden in SHAPES.items():
        for n_samples in _samples(effort):
            with _larger_chunks(effort):
                _compare_sampled_steps(table, name, hidden, n_samples, effort)
            _release()
    return table


def _compare_sampled_steps(
    table: Table, name: str, hidden: tuple[int, ...], n_samples: int, effort: Effort
) -> None:
    count = 2 if effort.quick else SAMPLED_REPLICAS
    most_bytes = _memory(effort, STEP_SHARE)
    rivals, reasons = sampled_arms(hidden, n_samples, effort, n_replicas=count, most_bytes=most_bytes)
    table.notes += [f"Left out: {name}, T = {n_samples}, {reason}." for reason in reasons]
    n_steps = 2 if effort.quick or n_samples >= MANY_SAMPLES else 32

    def arm(aggregation: str | MonteCarlo, n_steps: int) -> Arm:
        n_rows = n_steps * BATCH
        return stepper_arm(
            make_stepper(hidden, aggregation, n_replicas=count, n_rows=n_rows, device=effort.device)
        )

    sampled = MonteCarlo(n_samples, torch.Generator(effort.device).manual_seed(0))
    arms = {"exact": arm("fourier", 2 if effort.quick else 32), "ours": arm(sampled, n_steps), **rivals}
    effort = effort.fewer() if n_samples >= MANY_SAMPLES else effort
    found = side_by_side(arms, effort, n_warm_up=1)
    exact, mine = found["exact"], found["ours"]
    best = fastest({rival: found[rival] for rival in rivals}) if rivals else None
    plain_cells: tuple[float | None, str | None] = (None, None)
    if best is not None:
        plain_cells = 1e6 * found[best].median, str(found[best].over(exact))
    table.add(
        name, count, n_samples, 1e6 * exact.median, 1e6 * mine.median, plain_cells[0], best,
        str(mine.over(exact)), plain_cells[1],
    )  # fmt: skip


def limits(effort: Effort) -> Table:
    """What the device allows at best when it is full, next to what was measured."""
    table = Table(
        "What the device allows: work of one step of all networks",
        ("network", "R", "MB moved", "GFLOP", "µs for the bytes", "µs for the flops",
         "µs per replica step at best", "measured"),
        notes=[
            f"At {BANDWIDTH / 1e12:g} TB/s and {FLOPS / 1e12:g} TFLOP/s in float32. The batch is read, "
            "written, and read by both passes; a weight with its gradient, moments and anchor takes 12 reads "
            "or writes in the first layer and 13 above (`benchmarks/limits.py` counts them). The best "
            "possible time is the larger of the two; caches can reduce the bytes moved.",
        ],
    )  # fmt: skip
    for name, n_replicas in FULL.items():
        count = 2 if effort.quick else n_replicas
        work = step_work(make_stepper(SHAPES[name], n_replicas=count, n_rows=BATCH, device=effort.device))
        step, _, _ = _steps(name, count, effort)
        for_bytes, for_flops = 1e6 * work.n_bytes / BANDWIDTH, 1e6 * work.n_flops / FLOPS
        table.add(
            name, count, work.n_bytes / 1e6, work.n_flops / 1e9, for_bytes, for_flops,
            max(for_bytes, for_flops) / count, 1e6 * step.median / count,
        )  # fmt: skip
        _release()
    return table


def profile(effort: Effort) -> Table:
    """Where the time of one step goes."""
    table = Table(
        "The kernels that take most of a step",
        ("network", "R", "kernel", "calls per step", "µs per step", "share"),
        printed_only=True,
    )
    for name, n_replicas in FULL.items():
        count = 2 if effort.quick else n_replicas
        n_rows = BATCH * (2 if effort.quick else 16)
        stepper = make_stepper(SHAPES[name], n_replicas=count, n_rows=n_rows, device=effort.device)
        for kernel in top_kernels(stepper_arm(stepper), effort.device):
            share = f"{kernel.share:.0%}"
            table.add(name, count, kernel.name, kernel.n_calls, 1e6 * kernel.seconds, share)
        _release()
    return table


def binned_layers(effort: Effort) -> Table:
    """The first layer on rows kept as codes against dense ones."""
    table = Table(
        "The first layer on a table kept as codes, and on the same table as numbers",
        ("R x batch x (inputs -> neurons)", "codes, µs", "numbers, µs", "numbers / codes"),
        notes=[
            "Gathering the batch, product and gradient in the weights, float32, in a CUDA graph. Ten columns "
            "of numbers with steps at up to 190 thresholds each, four of ten categories.",
        ],
    )
    for n_replicas in (1, 2) if effort.quick else (1, 64):
        runs, d = binned_runs(n_replicas, 100, 256, device=effort.device)
        arms = {name: repeated(_captured(run, effort), effort) for name, run in runs.items()}
        found = side_by_side(arms, effort)
        codes, dense = (1e6 * found[name].median for name in ("codes", "numbers"))
        ratio = found["numbers"].over(found["codes"])
        table.add(f"{n_replicas} x 256 x ({d} -> 100)", codes, dense, str(ratio))
    return table


TABLES: dict[str, Callable[[Effort], Table]] = {
    "steps": replica_steps,
    "exact-layers": exact_layers,
    "binned-layers": binned_layers,
    "sampled-layers": sampled_layers,
    "sampled-steps": sampled_steps,
    "joined-samples": joined_samples,
    "batches-together": batches_together,
    "limits": limits,
    "profile": profile,
}


@functools.cache
def _steps(name: str, n_replicas: int, effort: Effort) -> tuple[Sample, float, float | None]:
    """Measure steps: seconds per step, the share of the permutation in it, and the peak of memory."""
    try:
        return _measure_steps(name, n_replicas, effort)
    finally:
        _release()


def _measure_steps(name: str, n_replicas: int, effort: Effort) -> tuple[Sample, float, float | None]:
    n_rows = _n_rows(effort)
    made = []

    def begin() -> None:
        made.append(make_stepper(SHAPES[name], n_replicas=n_replicas, n_rows=n_rows, device=effort.device))
        stepper_arm(made[0]).run()

    peak = peak_device_memory(begin, effort.device)
    (stepper,) = made
    arm = stepper_arm(stepper)
    order = Arm(lambda: stepper.batches.order(0), arm.n_units)
    found = side_by_side({"step": arm, "order": order}, effort)
    return found["step"], found["order"].median, peak


def _captured(run: Callable[[], object], effort: Effort) -> Callable[[], object]:
    """Return what replays a call from a CUDA graph; the call itself where there is no GPU."""
    if torch.device(effort.device).type != "cuda":
        return run
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


@contextmanager
def _larger_chunks(effort: Effort) -> Iterator[None]:
    if torch.device(effort.device).type != "cuda":
        yield
        return
    with mock.patch.object(monte_carlo_torch, "CHUNK_ELEMENTS", CHUNK_ELEMENTS):
        yield


def _release() -> None:
    """Give memory back, so that what is measured next has all of it."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _memory(effort: Effort, share: float) -> float:
    if torch.device(effort.device).type != "cuda":
        return CPU_BYTES
    return share * float(torch.cuda.get_device_properties(effort.device).total_memory)


def _n_rows(effort: Effort) -> int:
    return 2 * BATCH if effort.quick else N_ROWS


def _samples(effort: Effort) -> tuple[int, ...]:
    return (10,) if effort.quick else SAMPLES


def _mega(n_bytes: float | None) -> float | None:
    return None if n_bytes is None else n_bytes / 1e6
