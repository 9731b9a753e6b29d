"""Keeps what is expensive to make and used by many batches; made once, also where threads ask together."""

import functools
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["kept"]

P = ParamSpec("P")
T = TypeVar("T")


def kept(most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keep the last results of a function; the other threads wait for the first that asks.

    Parameters
    ----------
    most : int
        Number of results that are kept.

    Examples
    --------
    >>> from pbgnet.experiments.keeping import kept
    >>> @kept(2)
    ... def square(x):
    ...     print("computed")
    ...     return x * x
    >>> square(3), square(3)
    computed
    (9, 9)
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        cached = functools.lru_cache(maxsize=most)(function)
        lock = threading.Lock()

        @functools.wraps(function)
        def locked(*args: P.args, **kwargs: P.kwargs) -> T:
            with lock:
                return cached(*args, **kwargs)  # type: ignore[arg-type]

        return locked

    return decorate
