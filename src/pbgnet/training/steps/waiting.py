"""Waiting for a GPU without standing in the way of other threads."""

import torch
from torch import Tensor


def wait_for(tensor: Tensor) -> Tensor:
    """Return a tensor once it and all that was launched before are computed; the thread sleeps until then.

    To be called before a number is read that takes a while. Where it is not computed yet, ``tensor.cpu()`` or
    ``bool(tensor)`` waits inside the driver, and calls of other threads have to get past it there: next to
    three such readers it took thirty times as long to instantiate a graph, and next to more it did not end.
    """
    if tensor.is_cuda:
        done = torch.cuda.Event(blocking=True)
        done.record(torch.cuda.current_stream(tensor.device))
        done.synchronize()
    return tensor
