"""How the CPU kernels are compiled: for the processor at hand, once per machine."""

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop whose sums may be reordered, which vectorising them needs.

    Contractions and one reciprocal for two quotients cost no accuracy that the error bounds do not
    grant. NaN and infinity keep their meaning.
    """
    return _compile(function, {"contract", "arcp", "nsz", "reassoc"})


def compiled_in_order(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile arithmetic that has to happen in the order it is written in."""
    return _compile(function, {"contract", "nsz"})


def _compile(function: Callable[..., Any], fastmath: set[str]) -> Callable[..., Any]:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    try:
        dispatcher: Callable[..., Any] = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # nowhere to keep the machine code: compile it anew in every process
        dispatcher = numba.njit(**options)(function)
    return dispatcher
