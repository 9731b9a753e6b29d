"""The operations that take most of the training time: Numba on CPUs, Triton on GPUs, PyTorch anywhere."""

from pbgnet.kernels.digests import first_bits
from pbgnet.kernels.dispatch import BACKENDS, PROBES, backend_for, find_kernel, use_backend
from pbgnet.kernels.fourier_torch import nodes_of_reach
from pbgnet.kernels.nodes import FourierNodes
from pbgnet.kernels.threads import one_thread, take_turns, threads_for

__all__ = [
    "BACKENDS",
    "PROBES",
    "FourierNodes",
    "backend_for",
    "find_kernel",
    "first_bits",
    "nodes_of_reach",
    "one_thread",
    "take_turns",
    "threads_for",
    "use_backend",
]
