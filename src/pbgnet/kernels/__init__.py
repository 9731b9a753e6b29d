"""The operations that training spends its time in, fast: Numba on CPUs, Triton on GPUs, PyTorch anywhere."""

from pbgnet.kernels.dispatch import BACKENDS, backend_for, find_kernel, use_backend
from pbgnet.kernels.nodes import FourierNodes

__all__ = ["BACKENDS", "FourierNodes", "backend_for", "find_kernel", "use_backend"]
