"""Memory that nobody uses any more, given back to the system.

What is freed in small pieces stays with the process: the C library keeps it for what comes next. Between the
stages of a long computation that is hundreds of megabytes, and what comes next has other sizes.
"""

import ctypes
import functools
from collections.abc import Callable


def release_free_memory() -> None:
    """Give freed memory back to the system, where the C library can: that of GNU. It takes milliseconds."""
    trim = _trim()
    if trim is not None:
        trim(0)


@functools.cache
def _trim() -> Callable[[int], int] | None:
    """Return the function of the C library that does it; None where there is none."""
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another library, or Windows, which has no name None
        return None
    return found
