"""The two networks in ONNX operations: the plain sign network, and the aggregate by its Fourier sum.

Letters are those of ``docs/theory/aggregation.md``. The nodes of every layer are derived from its weights
when the file is written, as in `pbgnet.aggregation.Fourier`.
"""

import functools
import math

import numpy as np
import torch
from torch import Tensor

from pbgnet.aggregation import Fourier, FourierNodes, choose_nodes
from pbgnet.export.graph import Graph
from pbgnet.networks import AggregatedNetwork, Layer, PatchShape, SignNetwork

# Number of inputs whose product is written out as a polynomial in their means, for a matrix product.
GROUP = 4

# Beyond this, erf(x / sqrt 2) is 1 or -1 to the last bit; and the truncation error of its own Fourier sum.
ERF_REACH, ERF_TOLERANCE = 8.5, 1e-17

Complex = tuple[str, str]


def add_network(graph: Graph, x: str, network: AggregatedNetwork | SignNetwork) -> str:
    """Add the output of a network for rows of shape (n, d_0): shape (n,), or (n, r) for r > 1 outputs.

    Replicas are members: they are computed together, and the output is their mean. Values inside have the
    shape (M, n, m), with M = 1 for a single network.
    """
    if isinstance(network, SignNetwork):
        values = _add_sign_layers(graph, x, network)
    else:
        values = _add_means(graph, x, network)
    kind = "Squeeze" if n_members(network) is None else "ReduceMean"
    options = {} if kind == "Squeeze" else {"keepdims": 0}
    axes = [0, 2] if network.architecture.n_outputs == 1 else [0]
    return graph.op(kind, values, graph.indices(axes), **options)


def n_members(network: AggregatedNetwork | SignNetwork) -> int | None:
    """Return the number M of networks whose mean a file answers with; None without an axis for members."""
    leading = network.architecture.leading
    return leading[0] if leading else None


def workspace_per_row(network: AggregatedNetwork | SignNetwork, dtype: torch.dtype) -> int:
    """Return how many numbers the largest layer holds simultaneously for one row."""
    count = n_members(network) or 1
    if isinstance(network, SignNetwork):
        sizes = [(count if k else 1) * layer.weight.shape[-1] for k, layer in enumerate(network.layers)]
        return max(*sizes, _cut_size(network), count * network.layers[0].n_neurons)
    first, *rest = network.layers
    sizes = [first.n_neurons * _erf_nodes().largest_count, _cut_size(network)]
    # The product so far, a factor, and their products.
    sizes += [8 * layer.n_neurons * _nodes(layer.weight, dtype).largest_count for layer in rest]
    return count * max(sizes)


def _add_sign_layers(graph: Graph, x: str, network: SignNetwork) -> str:
    """f(x) = sgn(W_L sgn(... sgn(W_1 x))), with sgn 0 = -1 (paper, Eq. 1).

    The lengths of rows do not matter, so they are left as they are.
    """
    zero, plus, minus = (graph.constant(value) for value in (0.0, 1.0, -1.0))
    values = x
    for k, layer in enumerate(network.layers):
        # The operation Sign would return 0 at 0.
        if k == 0:
            product = _first_product(graph, values, network, unit=False)
        else:
            product = _product(graph, _inputs(graph, layer, values, n_axes=3), k, layer)
        values = graph.op("Where", graph.op("Greater", product, zero), plus, minus)
    return values


def _add_means(graph: Graph, x: str, network: AggregatedNetwork) -> str:
    """G(x), in [-1, 1] (paper, Eq. 4 and 16)."""
    mean = _erf(graph, _first_product(graph, x, network, unit=True))
    for k, layer in enumerate(network.layers[1:], start=1):
        mean = _fourier_layer(graph, _inputs(graph, layer, mean, n_axes=3), k, layer.weight.detach())
    return mean


def _first_product(graph: Graph, x: str, network: AggregatedNetwork | SignNetwork, *, unit: bool) -> str:
    """Rows (n, d_0), or all their patches, times the weights of the first layer: shape (M, n, m)."""
    layer, patches = network.layers[0], network.architecture.patches
    if patches is None:
        rows = _inputs(graph, layer, x, n_axes=2)
        return _product(graph, _unit_rows(graph, rows) if unit else rows, 0, layer)
    cut = _inputs(graph, layer, _cut(graph, x, patches), n_axes=3)  # shape: (n, P, inputs of a patch)
    weights = graph.op("Transpose", _stored(graph, 0, layer.weight.detach()), perm=[0, 2, 1])
    product = graph.op(
        "MatMul",
        _unit_rows(graph, cut, axis=2) if unit else cut,
        graph.op("Unsqueeze", weights, graph.indices([1])),
    )
    return graph.op("Reshape", product, graph.indices([0, 0, layer.n_neurons]))


def _cut(graph: Graph, x: str, patches: PatchShape) -> str:
    """Images (n, d_0) over their scale, cut into patches: shape (n, P, inputs of a patch)."""
    scaled = graph.op("Div", x, graph.constant(patches.pixel_scale))
    return graph.op("Gather", scaled, graph.indices(patches.index().numpy()), axis=1)


def _cut_size(network: AggregatedNetwork | SignNetwork) -> int:
    """Number of values of all patches of an image, with their constants."""
    patches = network.architecture.patches
    return 0 if patches is None else patches.n_positions * (patches.n_inputs + 1)


def _inputs(graph: Graph, layer: Layer, values: str, n_axes: int) -> str:
    return graph.append(values, int(layer.intercept), 1.0, n_axes)


def _product(graph: Graph, inputs: str, k: int, layer: Layer) -> str:
    """Inputs (n, d) or (M, n, d) times the weights of each member: shape (M, n, m)."""
    weights = graph.op("Transpose", _stored(graph, k, layer.weight.detach()), perm=[0, 2, 1])
    return graph.op("MatMul", inputs, weights)


def _stored(graph: Graph, k: int, weight: Tensor) -> str:
    """The weights with an axis for members: shape (M, m, d)."""
    stored = graph.constant(weight.numpy(), f"weight_{k}")
    return stored if weight.ndim == 3 else graph.op("Unsqueeze", stored, graph.indices([0]))


def _nodes(weight: Tensor, dtype: torch.dtype) -> FourierNodes:
    return Fourier().nodes(weight.detach().to(dtype))


def _erf_nodes() -> FourierNodes:
    return choose_nodes(torch.tensor([[ERF_REACH]], dtype=torch.float64), ERF_TOLERANCE)


def _unit_rows(graph: Graph, rows: str, axis: int = 1) -> str:
    """Rows divided by their lengths, via the largest entry so that no square overflows or underflows."""
    along = graph.indices([axis])
    rows = graph.op("Div", rows, graph.op("ReduceMax", graph.op("Abs", rows), along, keepdims=1))
    squares = graph.op("ReduceSum", graph.op("Mul", rows, rows), along, keepdims=1)
    return graph.op("Div", rows, graph.op("Sqrt", squares))


def _erf(graph: Graph, value: str) -> str:
    """erf(value / sqrt 2) = E sgn(value + e), e ~ N(0, 1).

    The runtime has no erf in float64, so there it is computed as the Fourier sum of a neuron with one certain
    input: `(2/pi) sum_k exp(-t_k^2/2) sin(value t_k) / (k + 1/2)`.
    """
    if graph.dtype == np.float32:
        return graph.op("Erf", graph.op("Div", value, graph.constant(math.sqrt(2))))
    nodes = _erf_nodes()
    reach = graph.op("Clip", value, graph.constant(-ERF_REACH), graph.constant(ERF_REACH))
    angles = graph.op(
        "Mul",
        graph.op("Unsqueeze", reach, graph.indices([3])),
        graph.constant(nodes.positions().numpy()),
    )
    return graph.op("Squeeze", _weighted_sum(graph, graph.op("Sin", angles), nodes), graph.indices([3]))


def _fourier_layer(graph: Graph, mean: str, k: int, weight: Tensor) -> str:
    """`(2/pi) sum_k exp(-t_k^2/2) Im prod_i f_i(t_k) / (k + 1/2)`, shape (M, n, d) to (M, n, m).

    The factors are f_i(t) = cos(a_i t) + 1j g_i sin(a_i t), for means g and a = w / sqrt(d). Inputs are
    divided into groups. The product over a group is a polynomial in its means, real in the even monomials and
    imaginary in the odd ones. Its coefficients depend only on the weights, so a matrix product computes it.
    The groups are multiplied one after the other, so memory is O(M n m K) for any d.
    """
    nodes = _nodes(weight, torch.float32 if graph.dtype == np.float32 else torch.float64)
    nodes = nodes.reshape((-1,))  # of each member
    members, (m, d) = nodes.count.numel(), weight.shape[-2:]
    size = min(GROUP, d)
    n_groups = math.ceil(d / size)
    added = n_groups * size - d
    weights = graph.append(_stored(graph, k, weight), added, 0.0, n_axes=3)  # a weight of 0 has the factor 1
    scaled = graph.op("Mul", weights, graph.constant(1 / math.sqrt(d)))
    groups = zip(
        _monomials(graph, graph.append(mean, added, 0.0, n_axes=3), members, n_groups, size),
        _coefficients(graph, scaled, nodes, n_groups, size),
        strict=True,
    )
    # All factors are listed before any product, so onnxruntime computes each when it is needed. If they
    # alternated with products, all would be computed first and wait.
    factors = [
        (graph.op("MatMul", even, real), graph.op("MatMul", odd, imaginary))
        for (even, odd), (real, imaginary) in groups
    ]
    _, imaginary = functools.reduce(functools.partial(_times, graph), factors)
    values = graph.op("Reshape", imaginary, graph.indices([members, -1, nodes.largest_count]))
    return graph.op("Reshape", _weighted_sum(graph, values, nodes), graph.indices([members, -1, m]))


def _monomials(graph: Graph, mean: str, members: int, n_groups: int, size: int) -> list[Complex]:
    """Even and odd monomials of the means of each group, shapes (1, M, n, 2^(size - 1))."""
    grouped = graph.op("Reshape", mean, graph.indices([members, -1, n_groups, size]))
    grouped = graph.append(graph.op("Transpose", grouped, perm=[2, 0, 1, 3]), 1, 1.0, n_axes=4)
    first, *others, one = graph.split(grouped, size + 1, axis=3)
    even, odd = one, first
    for g in others:
        even, odd = (
            graph.op("Concat", even, graph.op("Mul", odd, g), axis=3),
            graph.op("Concat", odd, graph.op("Mul", even, g), axis=3),
        )
    return _by_group(graph, (even, odd), n_groups)


def _coefficients(graph: Graph, a: str, nodes: FourierNodes, n_groups: int, size: int) -> list[Complex]:
    """The coefficients of the monomials, in their order: shapes (1, M, 2^(size - 1), m K) for each group.

    From (E + 1j O)(cos + 1j g sin): E cos - g O sin, and O cos + g E sin. They are computed from the weights
    when a runtime loads the file, which keeps the file small.
    """
    members = nodes.count.numel()
    shape = graph.indices([n_groups, size, members, -1, 1])
    grouped = graph.op("Reshape", graph.op("Transpose", a, perm=[2, 0, 1]), shape)
    angles = graph.op("Mul", grouped, graph.constant(nodes.positions().numpy()[:, None]))
    cosines = graph.split(graph.op("Cos", angles), size, axis=1)
    sines = graph.split(graph.op("Sin", angles), size, axis=1)
    even, odd = cosines[0], sines[0]
    for cosine, sine in zip(cosines[1:], sines[1:], strict=True):
        against = graph.op("Neg", graph.op("Mul", odd, sine))
        even, odd = (
            graph.op("Concat", graph.op("Mul", even, cosine), against, axis=1),
            graph.op("Concat", graph.op("Mul", odd, cosine), graph.op("Mul", even, sine), axis=1),
        )
    flat = graph.indices([n_groups, members, 2 ** (size - 1), -1])
    by_member = (graph.op("Transpose", values, perm=[0, 2, 1, 3, 4]) for values in (even, odd))
    real, imaginary = (graph.op("Reshape", values, flat) for values in by_member)
    return _by_group(graph, (real, imaginary), n_groups)


def _by_group(graph: Graph, values: Complex, n_groups: int) -> list[Complex]:
    real, imaginary = (graph.split(value, n_groups, axis=0) for value in values)
    return list(zip(real, imaginary, strict=True))


def _times(graph: Graph, left: Complex, right: Complex) -> Complex:
    (a, b), (c, d) = left, right
    real = graph.op("Sub", graph.op("Mul", a, c), graph.op("Mul", b, d))
    return real, graph.op("Add", graph.op("Mul", a, d), graph.op("Mul", b, c))


def _weighted_sum(graph: Graph, values: str, nodes: FourierNodes) -> str:
    """The sum over the nodes, (..., K) to (..., 1), cut to [-1, 1], the range of the exact value.

    Nodes of members take values (M, l, K).
    """
    # As a matrix of one column, because the runtime does not accept a vector here if there are no rows.
    sums = graph.op("MatMul", values, graph.constant(nodes.coefficients().numpy()[..., None]))
    return graph.op("Clip", sums, graph.constant(-1.0), graph.constant(1.0))
