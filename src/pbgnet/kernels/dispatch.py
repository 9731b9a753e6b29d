"""Which implementation of an operation runs where: one table, by device.

Every operation has a plain PyTorch implementation, the reference. CPUs use Numba and GPUs Triton if they can;
otherwise the reference is used, with a warning once.
"""

import functools
import importlib
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch

from pbgnet.exceptions import OptionError, SlowKernelWarning
from pbgnet.validation import check_name

BACKENDS = {
    "torch": "plain PyTorch, on any device",
    "numba": "compiled loops, on CPUs",
    "triton": "fused kernels, on NVIDIA GPUs of compute capability 8.0 and above",
}

# Operations and their implementations. If a backend has none of its own, PyTorch's is used.
KERNELS = {
    "binned": {
        "torch": "pbgnet.kernels.binned.binned_torch",
        "numba": "pbgnet.kernels.binned.binned_numba",
        "triton": "pbgnet.kernels.binned.binned_triton",
    },
    "bits": {
        "torch": "pbgnet.kernels.bits.bits_torch",
        "numba": "pbgnet.kernels.bits.bits_numba",
    },
    "digests": {
        "torch": "pbgnet.kernels.digests.sha256_plain",
        "numba": "pbgnet.kernels.digests.sha256_numba",
    },
    "fourier": {
        "torch": "pbgnet.kernels.fourier_torch",
        "numba": "pbgnet.kernels.fourier_numba",
        "triton": "pbgnet.kernels.fourier_triton",
    },
    "layers": {
        "torch": "pbgnet.kernels.layers_torch",
        "triton": "pbgnet.kernels.layers_triton",
    },
    "monte_carlo": {
        "torch": "pbgnet.kernels.sampled.monte_carlo_torch",
        "triton": "pbgnet.kernels.sampled.monte_carlo_triton",
    },
    "permute": {
        "torch": "pbgnet.kernels.orders.permute_torch",
        "numba": "pbgnet.kernels.orders.permute_numba",
    },
    "step": {
        "torch": "pbgnet.kernels.step_torch",
        "numba": "pbgnet.kernels.step_numba",
        "triton": "pbgnet.kernels.step_triton",
    },
}

PREFERRED = {"cpu": "numba", "cuda": "triton"}
OLDEST_CAPABILITY = (8, 0)
OLDEST_TRITON = (3, 3)
ENVIRONMENT_VARIABLE = "PBGNET_KERNELS"

_forced: ContextVar[str | None] = ContextVar("pbgnet_backend", default=None)


@contextmanager
def use_backend(name: str) -> Iterator[None]:
    """Use one backend for everything inside a ``with`` statement, on every device.

    Parameters
    ----------
    name : {"torch", "numba", "triton"}

    Examples
    --------
    >>> import torch
    >>> from pbgnet.kernels import backend_for, use_backend
    >>> with use_backend("torch"):
    ...     print(backend_for(torch.device("cpu")))
    torch
    """
    token = _forced.set(check_name("backend", name, BACKENDS))
    try:
        yield
    finally:
        _forced.reset(token)


def backend_for(device: torch.device) -> str:
    """Return the name of the backend that runs on a device.

    `use_backend` decides, then the environment variable PBGNET_KERNELS, then what the machine has.
    """
    forced = _forced.get()
    if forced is not None:
        return _suitable(forced, device.type)
    return _chosen(device.type, device.index)


def find_kernel(operation: str, device: torch.device) -> Any:
    """Return the module that implements an operation on a device."""
    return _load(operation, backend_for(device))


@functools.cache
def _load(operation: str, backend: str) -> Any:
    modules = KERNELS[operation]
    return importlib.import_module(modules.get(backend, modules["torch"]))


@functools.cache
def _chosen(device_type: str, index: int | None) -> str:
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    if named:
        return _suitable(check_name(f"backend in {ENVIRONMENT_VARIABLE}", named, BACKENDS), device_type)
    preferred = PREFERRED.get(device_type)
    problem: str | None = f"there are no kernels for {device_type} devices"
    if preferred is not None:
        place = device_type if index is None else f"{device_type}:{index}"
        problem = PROBES[preferred](torch.device(place))
    if preferred is None or problem is not None:
        warnings.warn(
            "Training and evaluation use plain PyTorch, which is 3 to 20 times slower: "
            f"{problem}. Set {ENVIRONMENT_VARIABLE}=torch to choose plain PyTorch and silence "
            "this warning.",
            SlowKernelWarning,
            stacklevel=2,
        )
        return "torch"
    return preferred


def _suitable(backend: str, device_type: str) -> str:
    """Return the requested backend, if the device can run it."""
    if backend not in ("torch", PREFERRED.get(device_type)):
        raise OptionError(
            f"The backend {backend!r} ({BACKENDS[backend]}) cannot run on a {device_type} device; "
            "use 'torch'."
        )
    return backend


def _numba_problem(device: torch.device) -> str | None:
    """Say why Numba cannot be used, or return None."""
    try:
        for operation in KERNELS:
            _load(operation, "numba")
    except Exception as error:  # no problem of an installation may stop a user
        return f"Numba cannot be used ({_in_words(error)}); install it with pip install numba"
    return None


def _triton_problem(device: torch.device) -> str | None:
    """Say why Triton cannot be used on a GPU, or return None; runs a small kernel to find out."""
    capability = torch.cuda.get_device_capability(device)
    if capability < OLDEST_CAPABILITY:
        found, needed = (".".join(map(str, version)) for version in (capability, OLDEST_CAPABILITY))
        return f"{torch.cuda.get_device_name(device)} has compute capability {found}, Triton needs {needed}"
    try:
        kernels = _load("step", "triton")
        version = getattr(sys.modules.get("triton"), "__version__", None)
        if version is not None and tuple(map(int, version.split(".")[:2])) < OLDEST_TRITON:
            needed = ".".join(map(str, OLDEST_TRITON))
            return f"Triton {version} is too old; version {needed} or later is needed"
        one = torch.ones(1, 1, 1, device=device)
        kernels.penalty([one], [one], [1.0])
    except Exception as error:
        return f"Triton cannot be used ({_in_words(error)}); it needs the package triton and a C compiler"
    return None


PROBES = {"numba": _numba_problem, "triton": _triton_problem}


def _in_words(error: Exception) -> str:
    first_line = (str(error).splitlines() or [""])[0].rstrip(".")
    return f"{type(error).__name__}: {first_line}"
