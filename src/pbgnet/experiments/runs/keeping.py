"""Caches what is expensive and used by many batches; computed once, even if several threads ask."""

import functools
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def kept(most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keep this many of the last results of a function; other threads wait for the first one that asks."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        cached = functools.lru_cache(maxsize=most)(function)
        lock = threading.Lock()

        @functools.wraps(function)
        def locked(*args: P.args, **kwargs: P.kwargs) -> T:
            with lock:
                return cached(*args, **kwargs)  # type: ignore[arg-type]

        return locked

    return decorate
