"""How the CPU kernels are compiled: for the processor in use, once per machine.

Numba stores the machine code in files beside the package (or where NUMBA_CACHE_DIR says), as pickles: anyone
who can write there can run code, like anyone who can write into the package itself. Nothing that comes with a
model is ever read from there. Damaged files are deleted and created again.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numba

from pbgnet.exceptions import DamagedCacheWarning
from pbgnet.stages import remark

COMPILED = "compiling kernels for this processor, once; this takes up to a minute"


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop whose sums may be reordered, as vectorising them requires.

    Contractions, and one reciprocal for two quotients, do not cost more accuracy than the error bounds allow.
    NaN and infinity keep their meaning.
    """
    return _compile(function, {"contract", "arcp", "nsz", "reassoc"})


def compiled_in_order(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile arithmetic that must happen in the written order."""
    return _compile(function, {"contract", "nsz"})


def _compile(function: Callable[..., Any], fastmath: set[str]) -> Callable[..., Any]:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    try:
        dispatcher: Callable[..., Any] = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no place for the machine code: compile it again in every process
        return numba.njit(**options)(function)  # type: ignore[no-any-return]
    if hasattr(dispatcher, "_cache"):  # not where NUMBA_DISABLE_JIT is set
        _forgive_damage(dispatcher._cache)
    return dispatcher


def _forgive_damage(cache: Any) -> None:
    """Treat a cache that cannot be read, or written, as empty, and warn about it."""
    load, save = cache.load_overload, cache.save_overload

    def load_or_none(*arguments: Any) -> Any:
        try:
            found = load(*arguments)
        except Exception as error:  # a truncated or changed pickle can raise anything
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
    except Exception as error:  # for example a full disk, or files that a damaged index names
        _tell(cache, "cannot be written", error)


def _tell(cache: Any, what: str, error: Exception) -> None:
    warnings.warn(
        f"The compiled kernels in {cache.cache_path} {what} ({type(error).__name__}: "
        f"{error!s:.80}). They are compiled again, which takes some seconds; remove that "
        "folder if this happens again.",
        DamagedCacheWarning,
        stacklevel=2,
    )
