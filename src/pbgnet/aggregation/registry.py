"""The list of aggregation methods, and the one function that uses any of them by name."""

import dataclasses
from typing import Any

from torch import Tensor

from pbgnet.aggregation.base import Aggregation
from pbgnet.aggregation.enumeration import Enumeration
from pbgnet.aggregation.fourier import Fourier
from pbgnet.aggregation.monte_carlo import MonteCarlo
from pbgnet.exceptions import OptionError
from pbgnet.validation import check_name

METHODS: dict[str, type[Aggregation]] = {
    method.name: method  # one line per method
    for method in (
        Fourier,
        Enumeration,
        MonteCarlo,
    )
}


def make_aggregation(method: str | Aggregation = "fourier", **options: Any) -> Aggregation:
    """Return the aggregation with this name and these options; an `Aggregation` is returned as it is.

    Parameters
    ----------
    method : {"fourier", "enumeration", "monte_carlo"} or Aggregation, default="fourier"
    **options
        Options of the method: the fields of `Fourier`, `Enumeration` or `MonteCarlo`.

    Examples
    --------
    >>> from pbgnet.aggregation import make_aggregation
    >>> make_aggregation("fourier", tolerance=1e-8)
    Fourier(tolerance=1e-08, adaptive=False, most_nodes=None)
    """
    if isinstance(method, Aggregation):
        if options:
            raise OptionError(
                f"{method!r} is already configured and takes no further options: {sorted(options)}."
            )
        return method
    cls = METHODS[check_name("aggregation method", method, METHODS)]
    fields = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    if unknown := sorted(set(options) - set(fields)):
        raise OptionError(
            f"The aggregation method {cls.name!r} has no option {', '.join(unknown)}; "
            f"its options are {', '.join(fields)}."
        )
    required = {name for name, f in fields.items() if f.default is dataclasses.MISSING}
    if missing := sorted(required - set(options)):
        raise OptionError(f"The aggregation method {cls.name!r} needs the option {', '.join(missing)}.")
    return cls(**options)


def expected_sign(
    mean: Tensor,
    weight: Tensor,
    method: str | Aggregation = "fourier",
    *,
    validate_args: bool = True,
    **options: Any,
) -> Tensor:
    r"""Mean output of binary neurons over Gaussian weights and random binary inputs (paper, Eq. 16).

    .. math:: G_{ij} = \mathbb{E}_{s}\, \mathrm{erf}\!\left(\frac{w_j \cdot s}{\sqrt{2d}}\right),
              \qquad s_k \in \{-1, 1\} \text{ independent with means } g_{ik}

    Parameters
    ----------
    mean : Tensor, shape (..., n, d)
        Means of the d signs for each of n examples, in [-1, 1]; float32 or float64.
    weight : Tensor, shape (..., m, d)
        Weights of the m neurons. Leading axes broadcast: many networks side by side in one call.
    method : {"fourier", "enumeration", "monte_carlo"} or Aggregation, default="fourier"
        How to compute it.
    validate_args : bool, default=True
        Check the values, which on a GPU waits for the device. Shapes and types are always checked.
    **options
        ``tolerance`` and ``adaptive`` for "fourier" (tolerance 1e-6 in float32, 1e-10 in float64
        unless given); ``n_samples`` and ``generator`` for "monte_carlo"; ``max_width`` for
        "enumeration".

    Returns
    -------
    Tensor, shape (..., n, m)
        In [-1, 1]; differentiable once in both arguments.

    Raises
    ------
    ShapeError, DtypeError, DomainError
        For tensors that do not fit, or values outside their range.
    UnknownNameError, OptionError, WidthLimitError
        For a method that does not exist, an option it does not have, or too wide an enumeration.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.aggregation import expected_sign
    >>> mean = torch.tensor([[0.5, -0.2, 0.9]], dtype=torch.float64)
    >>> weight = torch.tensor([[1.0, -2.0, 0.5]], dtype=torch.float64)
    >>> expected_sign(mean, weight)
    tensor([[0.3577]], dtype=torch.float64)
    >>> expected_sign(mean, weight, method="enumeration")
    tensor([[0.3577]], dtype=torch.float64)
    """
    return make_aggregation(method, **options)(mean, weight, validate_args=validate_args)
