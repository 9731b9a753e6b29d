"""What pbgnet's hand-written derivatives have in common."""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from pbgnet.exceptions import SecondDerivativeError

Pullback = Callable[[torch.Tensor], tuple[torch.Tensor, ...]]
"""Maps the gradient of a function's value to the gradients of its arguments."""


def full_precision(device: torch.device) -> AbstractContextManager[Any]:
    """Switch autocast off: it would round products to half precision, which no error bound allows for."""
    if not torch.is_autocast_enabled(device.type):
        return nullcontext()
    return torch.autocast(device.type, enabled=False)


def first_order_only(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Make a backward pass raise an error if it is differentiated itself.

    PyTorch's own `once_differentiable` only notices this if the incoming gradient requires a gradient. That
    of a mean of losses does not, and the second derivative would silently be 0.
    """

    @functools.wraps(backward)
    def guarded(ctx: Any, *gradients: torch.Tensor) -> Any:
        if torch.is_grad_enabled():  # only under create_graph=True
            raise SecondDerivativeError(
                "This function only supports first derivatives: call backward or grad without "
                "create_graph=True, or use method='enumeration', which can be differentiated any "
                "number of times."
            )
        return backward(ctx, *gradients)

    return guarded
