"""Checks of user input, shared by the whole package.

They turn a wrong argument into a typed error with advice before any arithmetic happens, so that no function
silently returns NaN.
"""

import difflib
import math
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from pbgnet.exceptions import DomainError, DtypeError, ShapeError, UnknownNameError


def as_float64(name: str, value: ArrayLike | Tensor) -> Tensor:
    """Return a number, sequence, array or tensor as a float64 CPU tensor, outside autograd."""
    if isinstance(value, Tensor):
        if value.requires_grad:
            raise DtypeError(
                f"{name} requires a gradient, but this function does not support autograd: call the "
                f"function of the same name in pbgnet.bounds.differentiable, or pass {name}.detach()."
            )
        check_has_values(name, value)
        value = value.cpu().double().numpy() if value.is_floating_point() else value.cpu().numpy()
    try:
        array = np.asarray(value)
    except ValueError as error:  # lists of unequal lengths
        raise ShapeError(f"{name} must be a number or a regular array of numbers: {error}") from error
    if array.dtype.kind not in "iuf":
        raise DtypeError(f"{name} must hold real numbers, got {array.dtype} ({value!r:.60}).")
    return torch.tensor(np.ascontiguousarray(array, dtype=np.float64)).reshape(array.shape)


def as_double(name: str, value: Tensor) -> Tensor:
    """Return a tensor of real numbers in float64, on its device and inside autograd."""
    check_tensor(name, value)
    return value.double()


def check_tensor(name: str, value: object) -> None:
    """Raise `DtypeError` unless a value is a tensor of real numbers; their values are not checked."""
    if not isinstance(value, Tensor) or value.is_complex() or value.dtype == torch.bool:
        kind = value.dtype if isinstance(value, Tensor) else type(value).__name__
        raise DtypeError(f"{name} must be a tensor of real numbers, got {kind}.")
    check_has_values(name, value)


def check_has_values(name: str, value: Tensor) -> None:
    """Raise `DtypeError` for a tensor on the device "meta", which has a shape but no values."""
    if value.is_meta:
        raise DtypeError(f"{name} is a tensor without values (on the meta device); pass one with values.")


def check_kind(name: str, value: object, *kinds: type, advice: str = "") -> None:
    """Raise `DtypeError` unless a value is of one of the kinds."""
    if not isinstance(value, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise DtypeError(f"{name} must be a {wanted}, got {type(value).__name__}. {advice}".strip())


def check_layers(name: str, values: object) -> None:
    """Raise `DtypeError` unless a value is a list of tensors of real numbers, one per layer."""
    if not isinstance(values, list | tuple | torch.nn.ParameterList):
        raise DtypeError(f"{name} must be a list of tensors, one per layer, got {type(values).__name__}.")
    for k, value in enumerate(values, start=1):
        check_tensor(f"{name} of layer {k}", value)


def broadcast(**tensors: Tensor) -> tuple[Tensor, ...]:
    """Broadcast the named tensors against each other."""
    try:
        return tuple(torch.broadcast_tensors(*tensors.values()))
    except RuntimeError as error:
        shapes = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in tensors.items())
        raise ShapeError(f"Shapes do not broadcast: {shapes}.") from error


def check_interval(
    name: str,
    value: Tensor,
    low: float,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
    advice: str = "",
) -> None:
    """Raise `DomainError` unless every entry is in the interval; NaN never is."""
    inside = (value > low) if open_low else (value >= low)
    inside &= (value < high) if open_high else (value <= high)
    if bool(inside.all()):
        return
    first = value[~inside].flatten()[0].item()
    interval = f"{'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
    raise DomainError(f"{name} must lie in {interval}, got {first!r}. {advice}".strip())


def check_finite(name: str, value: Tensor, advice: str = "") -> None:
    """Raise `DomainError` if any entry is NaN or infinite."""
    check_has_values(name, value)
    if not bool(torch.isfinite(value).all()):
        raise DomainError(f"{name} must be finite, but holds NaN or infinity. {advice}".strip())


def refuse_masked(name: str, value: Any) -> None:
    """Raise `DomainError` if a masked array hides values, because masked values would count as values."""
    if np.ma.is_masked(value):
        hidden = int(np.ma.getmaskarray(value).sum())
        raise DomainError(
            f"{name} is masked in {hidden} of {np.ma.size(value)} places, and pbgnet does not "
            "support masks. Fill them (with NaN for missing values in a table), or drop those "
            "rows."
        )


def check_readable(name: str, value: Any) -> None:
    """Raise a typed error for what NumPy cannot read directly: tensors inside autograd, bfloat16, masks."""
    if isinstance(value, Tensor):
        if value.requires_grad:
            raise DtypeError(f"{name} requires a gradient; pass {name}.detach().")
        if value.dtype == torch.bfloat16:
            raise DtypeError(f"{name} is bfloat16, which NumPy does not support; pass {name}.float().")
        check_has_values(name, value)
    elif isinstance(value, list | tuple):
        try:
            np.shape(value)
        except ValueError as error:
            raise ShapeError(f"{name} has rows of unequal lengths.") from error
        except (RuntimeError, TypeError) as error:  # tensors inside autograd, or types unknown to NumPy
            raise DtypeError(f"{name} contains values that NumPy cannot read: {error!s:.100}") from error
    refuse_masked(name, value)


LARGEST_INT = int(np.finfo(np.float64).max)
"""Larger whole numbers do not fit into a double."""


def as_read_only(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return an array that nobody writes to: the one given if that is such a one, else a copy.

    Examples
    --------
    >>> from pbgnet.validation import as_read_only
    >>> once = as_read_only([1, 2], "int64")
    >>> as_read_only(once, "int64") is once
    True
    """
    array = np.asarray(values)
    if array.dtype == np.dtype(dtype) and not array.flags.writeable:
        return array
    copied = np.array(array, dtype=dtype)
    copied.setflags(write=False)
    return copied


def positive_int(name: str, value: object, largest: int = LARGEST_INT) -> int:
    """Return `value` as an int of at least 1, and at most the largest number that can be counted."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise DtypeError(f"{name} must be a whole number, got {value!r} of type {type(value).__name__}.")
    if int(value) < 1:
        raise DomainError(f"{name} must be at least 1, got {value!r:.60}.")
    if int(value) > largest:
        raise DomainError(
            f"{name} must be at most {float(largest):g}, got a number with {len(str(value))} digits."
        )
    return int(value)


def positive_real(name: str, value: object) -> float:
    """Return `value` as a finite float above 0."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise DtypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}.")
    try:
        number = float(value)
    except OverflowError:  # a whole number too large for a double
        number = math.inf
    if not 0 < number < math.inf:
        raise DomainError(f"{name} must be positive and finite, got {value!r:.60}.")
    return number


def check_name(kind: str, name: object, known: Collection[str]) -> str:
    """Return `name` if it is one of `known`, otherwise raise an error that lists them and the nearest."""
    if isinstance(name, str) and name in known:
        return name
    near = difflib.get_close_matches(str(name), known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise UnknownNameError(f"Unknown {kind} {name!r}; choose one of {', '.join(sorted(known))}.{hint}")
