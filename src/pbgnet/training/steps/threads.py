"""How many threads a training step uses: one, unless it is large."""

from contextlib import AbstractContextManager, nullcontext

from pbgnet.kernels import one_thread
from pbgnet.networks import BinnedRows
from pbgnet.training.steps.data import Batches
from pbgnet.training.steps.evaluation import Trainable

LARGE_STEP = 1 << 28
"""From so many multiplications on, about 30 ms on one core, a step is given all threads.

Where other programs kept both cores busy, steps of 0.03 to 200 million multiplications took 4 to 35 times as
long with two threads as with one, and steps of 1.6 billion 1.4 times. Two threads cannot gain more than
a factor of 2."""


def threads_for_steps(network: Trainable, batches: Batches) -> AbstractContextManager[None]:
    """Return a context for the steps of an epoch: `one_thread` where they are small, and run on a CPU."""
    large = batches.seeds.is_cuda or _multiplications(network, batches) >= LARGE_STEP
    return nullcontext() if large else one_thread()


def _multiplications(network: Trainable, batches: Batches) -> int:
    """Return about how many a step takes, of all replicas together; a look-up counts as one."""
    first, *rest = network.weights
    rows = batches.data.rows
    per_neuron = rows.codes.shape[-1] if isinstance(rows, BinnedRows) else first.shape[-1]
    n_neurons = first.numel() // first.shape[-1]
    return first.numel() + batches.size * (n_neurons * per_neuron + sum(weight.numel() for weight in rest))
