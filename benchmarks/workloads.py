"""What is timed: training steps of the package, those of a plain tanh network, and single layers."""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks import monte_carlo
from benchmarks.timing import Arm, Effort, time_once
from pbgnet.aggregation import Aggregation
from pbgnet.kernels import use_backend
from pbgnet.kernels.sampled import monte_carlo_torch
from pbgnet.networks import AggregatedNetwork, PreparedRows, prepare_rows
from pbgnet.networks.inputs import first_product_with_pullback
from pbgnet.preprocessing import TablePreprocessor
from pbgnet.training.steps import Batches, Portion, Seeger, Stepper, TrainingData

__all__ = [
    "BATCH",
    "N_FEATURES",
    "SHAPES",
    "Layer",
    "binned_runs",
    "layer_run",
    "make_layer",
    "make_stepper",
    "sampled_arms",
    "stepper_arm",
    "tanh_arms",
    "under_backend",
]

BATCH = 64
N_FEATURES = 784
SHAPES: dict[str, tuple[int, ...]] = {"784-10-1": (10,), "784-100-100-1": (100, 100)}
LEARNING_RATE = 1e-3
MOST_SECONDS_PER_STEP = 20.0


def make_stepper(
    hidden: Sequence[int],
    aggregation: str | Aggregation = "fourier",
    *,
    n_replicas: int = 1,
    n_rows: int = 32 * BATCH,
    device: torch.device | str = "cpu",
) -> Stepper:
    """Return the engine of the fit loop, ready to minimise the kl bound on random float32 data."""
    data = _data(n_rows, device)
    generator = torch.Generator(device).manual_seed(0)
    network = AggregatedNetwork.initialise(
        N_FEATURES,
        hidden,
        aggregation=aggregation,
        generator=generator,
        replicas=(n_replicas,),
        device=device,
    )
    objective = Seeger([w.detach().clone() for w in network.weights], n_rows, 0.05)
    batches = Batches(data, BATCH, torch.arange(n_replicas, device=device))
    running = torch.full((n_replicas,), 0.5, dtype=torch.float64, device=device)
    return Stepper(network, batches, objective, running, Portion(n_replicas, "networks"))


def stepper_arm(stepper: Stepper) -> Arm:
    """Return an arm whose call is one epoch and whose unit is one step."""
    rate = torch.full_like(stepper.running, LEARNING_RATE)
    n_steps, epochs = len(stepper.batches), itertools.count()
    ramp = [1.0] * n_steps
    return Arm(lambda: stepper.epoch(next(epochs), rate, ramp, ramp), n_steps)


def sampled_arms(
    hidden: Sequence[int], n_samples: int, effort: Effort, *, n_replicas: int = 1, most_bytes: float
) -> tuple[dict[str, Arm], list[str]]:
    """Return epochs with the two sampled layers in PyTorch, and why one is left out, if it is."""
    arms, reasons = {}, []
    layers = list(itertools.pairwise([*hidden, 1]))
    held = sum(monte_carlo.bytes_needed(n_replicas, BATCH, m, d + 1, n_samples) for d, m in layers)
    for name, kernel in {"all at once": monte_carlo, "in chunks": monte_carlo_torch}.items():
        if kernel is monte_carlo and held > most_bytes:
            reasons.append(f"{name}: would take {held / 1e9:.1f} GB")
            continue
        generator = torch.Generator(effort.device).manual_seed(0)
        aggregation = monte_carlo.SampledLayer(n_samples, generator, kernel)
        make = functools.partial(
            make_stepper, hidden, aggregation, n_replicas=n_replicas, device=effort.device
        )
        once = stepper_arm(make(n_rows=BATCH))
        once.run()
        seconds = time_once(once.run, effort.device)
        if seconds > MOST_SECONDS_PER_STEP:
            reasons.append(f"{name}: takes {seconds:.0f} s per step")
            continue
        arms[name] = stepper_arm(make(n_rows=effort.repeats(seconds) * BATCH))
    return arms, reasons


def tanh_arms(hidden: Sequence[int], *, n_rows: int = 32 * BATCH) -> dict[str, Arm]:
    """Return epochs of a plain tanh network on the CPU, with each form of Adam that PyTorch has."""
    forms: dict[str, dict[str, Any]] = {
        "Adam": {"foreach": False},
        "Adam, foreach": {"foreach": True},
        "Adam, fused": {"fused": True},
    }
    arms = {}
    for name, options in forms.items():
        try:
            arm = _tanh_arm(hidden, n_rows, options)
            arm.run()
        except (RuntimeError, ValueError):  # a form that this version of PyTorch does not have on CPUs
            continue
        arms[name] = arm
    return arms


def _tanh_arm(hidden: Sequence[int], n_rows: int, options: dict[str, Any]) -> Arm:
    torch.manual_seed(0)
    sizes = [N_FEATURES, *hidden, 1]
    layers = [part for i, o in itertools.pairwise(sizes) for part in (nn.Linear(i, o), nn.Tanh())]
    model = nn.Sequential(*layers)
    optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, **options)
    x, y = _examples(n_rows)

    def epoch() -> None:
        for index in torch.randperm(n_rows).split(BATCH):
            optimiser.zero_grad(set_to_none=True)
            output = model(x.index_select(0, index))[:, 0]
            loss = ((1 - y.index_select(0, index) * output) / 2).mean()
            loss.backward()
            optimiser.step()

    return Arm(epoch, n_rows // BATCH)


class Layer(NamedTuple):
    """Means (R, n, d) and weights (R, m, d) of a layer, and a gradient (R, n, m) in its value."""

    mean: Tensor
    weight: Tensor
    grad: Tensor


def make_layer(n: int, d: int, m: int, *, n_replicas: int = 1, device: torch.device | str = "cpu") -> Layer:
    """Return a layer with d inputs, the last of them the constant 1, and standard normal weights, float32."""
    generator = torch.Generator().manual_seed(0)
    mean = 2 * torch.rand(n_replicas, n, d, generator=generator) - 1
    mean[..., -1] = 1.0
    weight = torch.randn(n_replicas, m, d, generator=generator)
    grad = torch.randn(n_replicas, n, m, generator=generator)
    return Layer(mean.to(device), weight.to(device), grad.to(device))


def layer_run(aggregation: Aggregation, layer: Layer) -> Callable[[], object]:
    """Return what computes a layer and its gradients, the way training does."""

    def run() -> tuple[Tensor, ...]:
        value, pull_back = aggregation.with_pullback(layer.mean, layer.weight)
        return value, *pull_back(layer.grad)

    return run


def binned_runs(
    n_replicas: int, m: int, batch: int, *, device: torch.device | str = "cpu", n_rows: int = 3000
) -> tuple[dict[str, Callable[[], object]], int]:
    """Return a first layer with its gradient on rows kept as codes and as numbers, and the number of inputs.

    Ten columns of numbers, as values and steps at up to 190 thresholds, and four of ten categories. Each
    replica takes its own batch out of the rows, as in training; weights and gradient are float32.
    """
    rng = np.random.default_rng(0)
    columns = [np.round(rng.normal(size=n_rows) * 50) for _ in range(10)]
    columns += [rng.choice(list("abcdefghij"), n_rows) for _ in range(4)]
    x = np.array([column.astype(object) for column in columns]).T
    table = TablePreprocessor("both").fit(x).encode(x)
    generator = torch.Generator().manual_seed(0)
    index = torch.randint(0, n_rows, (n_replicas, batch), generator=generator).to(device)
    weight = torch.randn(n_replicas, m, table.shape[1] + 1, generator=generator).to(device)
    grad = torch.randn(n_replicas, batch, m, generator=generator).to(device)

    def run(rows: PreparedRows) -> Callable[[], object]:
        def once() -> Tensor:
            if isinstance(rows, Tensor):
                batch_rows: PreparedRows = rows.index_select(0, index.flatten()).view(*index.shape, -1)
            else:
                batch_rows = rows.take(index)
            _, pull_back = first_product_with_pullback(batch_rows, weight)
            return pull_back(grad)

        return once

    rows = {"codes": table, "numbers": table.toarray()}
    prepare = functools.partial(prepare_rows, unit=True, intercept=True, dtype=torch.float32, device=device)
    return {name: run(prepare(x)) for name, x in rows.items()}, table.shape[1]


def under_backend(backend: str, run: Callable[[], object]) -> Callable[[], object]:
    """Return the same call with the kernels of one backend."""

    def forced() -> object:
        with use_backend(backend):
            return run()

    return forced


def _examples(n_rows: int) -> tuple[Tensor, Tensor]:
    x = torch.randn(n_rows, N_FEATURES, generator=torch.Generator().manual_seed(0))
    return x, torch.where(x[:, 0] > 0, 1.0, -1.0)


def _data(n_rows: int, device: torch.device | str) -> TrainingData:
    x, y = _examples(n_rows)
    rows = prepare_rows(x.numpy(), unit=True, intercept=True, dtype=torch.float32, device=device)
    return TrainingData(rows, y.to(device))
