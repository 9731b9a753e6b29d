"""How many bytes and floating-point operations a training step takes, counted by hand."""

from dataclasses import dataclass

import torch

from pbgnet.aggregation import Fourier
from pbgnet.training.steps import Stepper

__all__ = ["BANDWIDTH", "FLOPS", "Work", "step_work"]

BANDWIDTH = 4.8e12  # bytes per second of an H200
FLOPS = 67e12  # float32 operations per second outside tensor cores

# A batch is gathered (read, written) and read by the forward and the backward pass.
PASSES_OVER_ROWS = 4
# A weight is read forward; its gradient is written; the divergence reads weight and anchor; Adam reads
# weight, gradient, two moments and anchor, and writes weight and moments. Upper layers read it backward too.
PASSES_OVER_WEIGHTS = 12
# Means, values and their gradients: written once and read once.
PASSES_OVER_VALUES = 4
ADAM_FLOPS = 20
# Per example, neuron, input and node: the product (a complex number times `c + 1j g s`), and in the
# backward pass the product again and the terms of the two gradients. Sines are shared by the examples.
FORWARD_FLOPS, BACKWARD_FLOPS, SINE_FLOPS = 8, 26, 25


@dataclass(frozen=True)
class Work:
    """Bytes moved and operations of one step of all replicas."""

    n_bytes: float
    n_flops: float


def step_work(stepper: Stepper) -> Work:
    """Count the work of a step of an exact network."""
    first, *rest = stepper.weights
    (n_replicas, width, n_inputs), b = first.shape, stepper.batches.size
    size = first.element_size()
    numbers = PASSES_OVER_ROWS * n_replicas * b * n_inputs
    numbers += PASSES_OVER_WEIGHTS * first.numel() + PASSES_OVER_VALUES * n_replicas * b * width
    flops = 2.0 * 2 * b * first.numel() + ADAM_FLOPS * first.numel()
    for weight in rest:
        n_nodes = float(Fourier().nodes(weight).count.to(torch.float64).mean())
        numbers += (PASSES_OVER_WEIGHTS + 1) * weight.numel()
        numbers += PASSES_OVER_VALUES * n_replicas * b * weight.shape[1]
        flops += (b * (FORWARD_FLOPS + BACKWARD_FLOPS) + 3 * SINE_FLOPS) * n_nodes * weight.numel()
        flops += ADAM_FLOPS * weight.numel()
    return Work(float(size * numbers), float(flops))
