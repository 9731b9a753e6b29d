"""What to do when memory runs out: process less at a time, warn once, continue."""

import warnings
from collections.abc import Callable

import torch

from pbgnet.exceptions import MemoryLimitError, SmallerChunksWarning

CPU_MESSAGES = ("can't allocate memory", "not enough memory")


class Portion:
    """How much is processed at a time; halved whenever memory runs out."""

    def __init__(self, size: int, what: str) -> None:
        self.size = max(1, size)  # the present number
        self.what = what  # what is counted, for messages
        self._told = False

    def attempt(self, run: Callable[[], None]) -> None:
        """Call `run`, again with half the size whenever memory runs out; it must start over each time.

        While a CUDA graph is recorded nothing can be tried again; that is left to the caller.
        """
        if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
            return run()
        while True:
            try:
                return run()
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                self._halve(error)

    def _halve(self, error: Exception) -> None:
        if self.size == 1:
            raise MemoryLimitError(
                f"There is not enough memory for even one of {self.what} at a time. Use smaller "
                "batches, narrower layers or a device with more memory."
            ) from error
        self.size = -(-self.size // 2)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if not self._told:
            warnings.warn(
                f"Memory ran out; continuing with {self.size} {self.what} at a time, or fewer if "
                "necessary. The results do not change.",
                SmallerChunksWarning,
                stacklevel=3,
            )
            self._told = True


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that a device or the machine has no memory left."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return any(message in str(error) for message in CPU_MESSAGES)
