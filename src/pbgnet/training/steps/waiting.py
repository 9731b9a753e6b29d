"""Waiting for a GPU without blocking other threads."""

import torch
from torch import Tensor


def wait_for(tensor: Tensor) -> Tensor:
    """Return a tensor once it and everything launched before is computed; the thread sleeps until then.

    Call it before reading a number that takes a while to compute. Otherwise
    ``tensor.cpu()`` or ``bool(tensor)`` waits inside the driver, and blocks calls of other threads there:
    next to three such readers, instantiating a graph took thirty times as long, and next to more it did not
    finish.
    """
    if tensor.is_cuda:
        done = torch.cuda.Event(blocking=True)
        done.record(torch.cuda.current_stream(tensor.device))
        done.synchronize()
    return tensor
