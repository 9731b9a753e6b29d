"""How the CPU kernels are compiled: for the processor at hand, once per machine.

Numba keeps the machine code in files beside the package (or where NUMBA_CACHE_DIR says), as pickles: whoever
can write there can run code, as whoever can write into the package itself. Nothing that comes with a model is
ever read from there. Files that are damaged are thrown away and made anew.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numba

from pbgnet.exceptions import DamagedCacheWarning
from pbgnet.stages import remark

COMPILED = "compiling kernels for this processor, once; this takes up to a minute"


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
        return numba.njit(**options)(function)  # type: ignore[no-any-return]
    if hasattr(dispatcher, "_cache"):  # not where NUMBA_DISABLE_JIT is set
        _forgive_damage(dispatcher._cache)
    return dispatcher


def _forgive_damage(cache: Any) -> None:
    """Let a cache that cannot be read, or written, count as empty, and say so."""
    load, save = cache.load_overload, cache.save_overload

    def load_or_none(*arguments: Any) -> Any:
        try:
            found = load(*arguments)
        except Exception as error:  # a pickle that was cut off or changed can raise anything
            _tell(cache, "cannot be read", error)
            _attempt(cache, cache.flush)
            return None
        if found is None:
            remark(COMPILED)
        return found

    cache.load_overload = load_or_none
    cache.save_overload = lambda *arguments: _attempt(cache, save, *arguments)


def _attempt(cache: Any, write: Callable[..., None], *arguments: Any) -> None:
    try:
        write(*arguments)
    except Exception as error:  # a full disk, say, or files that a damaged index names
        _tell(cache, "cannot be written", error)


def _tell(cache: Any, what: str, error: Exception) -> None:
    warnings.warn(
        f"The compiled kernels in {cache.cache_path} {what} ({type(error).__name__}: "
        f"{error!s:.80}). They are compiled again, which takes some seconds; remove that "
        "folder if this happens again.",
        DamagedCacheWarning,
        stacklevel=2,
    )
