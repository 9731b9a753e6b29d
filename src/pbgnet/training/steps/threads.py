"""How many threads a training step uses: one, unless it is large."""

from contextlib import AbstractContextManager, nullcontext

from pbgnet.kernels import threads_for
from pbgnet.networks import BinnedRows
from pbgnet.training.steps.data import Batches
from pbgnet.training.steps.evaluation import Trainable


def threads_for_steps(network: Trainable, batches: Batches) -> AbstractContextManager[None]:
    """Return a context for the steps of an epoch; on a CPU, small steps use one thread."""
    return nullcontext() if batches.seeds.is_cuda else threads_for(_multiplications(network, batches))


def _multiplications(network: Trainable, batches: Batches) -> int:
    """Return the approximate number of operations of a step, for all replicas; a look-up counts as one."""
    first, *rest = network.weights
    rows = batches.data.rows
    per_neuron = rows.codes.shape[-1] if isinstance(rows, BinnedRows) else first.shape[-1]
    n_neurons = first.numel() // first.shape[-1]
    return first.numel() + batches.size * (n_neurons * per_neuron + sum(weight.numel() for weight in rest))
