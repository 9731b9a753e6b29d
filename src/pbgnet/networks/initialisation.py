"""First weights of a network, drawn from an explicit generator.

An initialisation maps the sizes of a network to a list of matrices.
"""

import itertools
import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from pbgnet.exceptions import DtypeError, MemoryLimitError, OptionError, ShapeError
from pbgnet.networks.patches import PatchShape
from pbgnet.validation import check_kind, check_name, positive_int

Fill = Callable[[int, Tensor, torch.Generator | None], None]

# With 10 neurons below, a neuron that reads its counterpart with this weight repeats it in 99 of 100 draws:
# nearly a copy, but it can still learn from the others.
COUNTERPART = 9.0
LARGEST_MATRIX = 2**40
"""Most weights of a layer; more are a mistake."""


def _draw(weight: Tensor, deviation: float, generator: torch.Generator | None) -> None:
    if not isinstance(generator, torch.Generator) or generator.device.type != weight.device.type:
        raise OptionError(
            f"Random weights are drawn on {weight.device}: pass "
            "generator=torch.Generator(device).manual_seed(seed)."
        )
    weight.normal_(0.0, deviation, generator=generator)


def _xavier_normal(layer: int, weight: Tensor, generator: torch.Generator | None) -> None:
    m, d = weight.shape[-2:]
    _draw(weight, math.sqrt(2.0 / (m + d)), generator)


def _standard_normal(layer: int, weight: Tensor, generator: torch.Generator | None) -> None:
    _draw(weight, 1.0, generator)


def _pass_through(layer: int, weight: Tensor, generator: torch.Generator | None) -> None:
    if layer == 0:
        _xavier_normal(layer, weight, generator)
    else:
        weight.diagonal(dim1=-2, dim2=-1).fill_(COUNTERPART)


def _zero(layer: int, weight: Tensor, generator: torch.Generator | None) -> None:
    weight.zero_()


INITIALISATIONS: dict[str, Fill] = {
    "xavier_normal": _xavier_normal,
    "standard_normal": _standard_normal,
    "pass_through": _pass_through,
    "zero": _zero,
}


def initial_weights(
    n_features: int,
    hidden_layer_sizes: Sequence[int],
    *,
    n_outputs: int = 1,
    initialisation: str = "xavier_normal",
    generator: torch.Generator | None = None,
    replicas: Sequence[int] = (),
    intercept: bool = True,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
    patches: PatchShape | None = None,
) -> list[Tensor]:
    """Make the weight matrices of a network, first layer first.

    Parameters
    ----------
    n_features : int
    hidden_layer_sizes : sequence of int
        Neurons per hidden layer; empty for the linear classifier.
    n_outputs : int, default=1
        Neurons of the last layer.
    initialisation : {"xavier_normal", "standard_normal", "pass_through", "zero"}, default="xavier_normal"
        - "xavier_normal": variance 2 / (inputs + neurons), with which the aggregate is nearly linear;
        - "standard_normal": variance 1, as that of the posterior's weights, with which it is not;
        - "pass_through": Xavier in the first layer, while every other neuron receives only the neuron of the
          same number in the layer below: the aggregate of one linear classifier, times a constant;
        - "zero".

        Intercepts start at 0 in all.
    generator : torch.Generator, optional
        Source of randomness; required unless all weights are zero.
    replicas : sequence of int, default=()
        Leading axes: many networks side by side, each drawn independently.
    intercept : bool, default=True
        Add a column for a constant input to each matrix.
    dtype, device
        Type and device of the matrices; by default those of PyTorch.
    patches : PatchShape, optional
        How the first layer cuts images; its neurons, filters times positions, share the means of the filters.

    Returns
    -------
    list of Tensor
        One of shape ``(*replicas, d_k, d_{k-1} + intercept)`` for each layer; with `patches` the first is
        ``(*replicas, filters, inputs of a patch + intercept)``.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.networks import initial_weights
    >>> weights = initial_weights(784, (10,), generator=torch.Generator().manual_seed(0))
    >>> [tuple(weight.shape) for weight in weights]
    [(10, 785), (1, 11)]
    """
    fill = INITIALISATIONS[check_name("initialisation", initialisation, INITIALISATIONS)]
    hidden = _counts("hidden_layer_sizes", hidden_layer_sizes)
    sizes = [positive_int("n_features", n_features), *hidden, positive_int("n_outputs", n_outputs)]
    leading = _counts("replicas", replicas)
    check_kind("intercept", intercept, bool)
    check_kind("dtype", dtype, torch.dtype, type(None))
    check_kind("device", device, torch.device, str, type(None))
    if dtype is not None and not dtype.is_floating_point:
        raise DtypeError(f"Weights must be float32 or float64, got {dtype}.")
    shapes = [(m, d) for d, m in itertools.pairwise(sizes)]
    if patches is not None:
        shapes[0] = _filters(patches, sizes)
    weights = []
    for layer, (m, d) in enumerate(shapes):
        weight = _zeros((*leading, m, d + intercept), dtype, device)
        fill(layer, weight[..., :d], generator)
        weights.append(weight)
    return weights


def _filters(patches: PatchShape, sizes: Sequence[int]) -> tuple[int, int]:
    """Return the number of filters, and the number of inputs of each."""
    check_kind("patches", patches, PatchShape)
    n_features, n_neurons = sizes[:2]
    if n_features != patches.n_features or n_neurons % patches.n_positions:
        raise ShapeError(
            f"Images of {patches} have {patches.n_features} features, and a first layer of some filters at "
            f"each of {patches.n_positions} positions; got {n_features} features and {n_neurons} neurons."
        )
    return n_neurons // patches.n_positions, patches.n_inputs


def _zeros(shape: tuple[int, ...], dtype: torch.dtype | None, device: torch.device | str | None) -> Tensor:
    if math.prod(shape) > LARGEST_MATRIX:
        raise MemoryLimitError(f"Weights of shape {shape} do not fit into memory; make the layers narrower.")
    try:
        return torch.zeros(shape, dtype=dtype, device=device)
    except (RuntimeError, AssertionError) as error:  # which error depends on the device
        reason = str(error).splitlines()[0]
        if "alloc" in reason or "memory" in reason:
            raise MemoryLimitError(
                f"There is not enough memory for weights of shape {shape}: {reason}"
            ) from error
        raise OptionError(f"Weights cannot be created on device {device!r}: {reason}") from error


def _counts(name: str, values: object) -> list[int]:
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise DtypeError(f"{name} must be a sequence of whole numbers, e.g. (10,), got {values!r}.")
    return [positive_int(name, value) for value in values]
