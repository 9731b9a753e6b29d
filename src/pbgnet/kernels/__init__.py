"""The operations that training spends its time in, fast: Numba on CPUs, Triton on GPUs, PyTorch anywhere."""

from pbgnet.kernels.dispatch import BACKENDS, PROBES, backend_for, find_kernel, use_backend
from pbgnet.kernels.fourier_torch import nodes_of_reach
from pbgnet.kernels.nodes import FourierNodes
from pbgnet.kernels.row_parts import compute_rows
from pbgnet.kernels.threads import one_thread, take_turns, threads_for

__all__ = [
    "BACKENDS",
    "PROBES",
    "FourierNodes",
    "backend_for",
    "compute_rows",
    "find_kernel",
    "nodes_of_reach",
    "one_thread",
    "take_turns",
    "threads_for",
    "use_backend",
]
