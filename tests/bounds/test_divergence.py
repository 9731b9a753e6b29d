"""The divergence of the tree network, against the tree itself."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import Normal, kl_divergence

from pbgnet.bounds import tree_divergence
from pbgnet.exceptions import DomainError, DtypeError, ShapeError

WIDTHS = [
    (1, [1]),
    (5, [1]),
    (2, [3, 1]),
    (4, [1, 1]),
    (3, [1, 4, 1]),
    (2, [3, 4, 2, 1]),
    (2, [2, 3]),
    (3, [2, 2, 2, 2, 1]),
]


def layers(
    inputs: int, widths: list[int], *, intercept: bool = False, replicas: tuple[int, ...] = (), seed: int = 0
) -> list[Tensor]:
    """Random weights, first layer first; an intercept is one more column."""
    generator = torch.Generator().manual_seed(seed)
    fan_in = [inputs, *widths[:-1]]
    return [
        torch.randn((*replicas, rows, columns + intercept), dtype=torch.float64, generator=generator)
        for rows, columns in zip(widths, fan_in, strict=True)
    ]


def subtree(weights: list[Tensor], level: int, neuron: int) -> list[Tensor]:
    """zeta_i(theta_1:k) of the paper: the neuron's weights, then a subtree for each neuron below."""
    edges = [weights[level][neuron]]
    if level > 0:
        for below in range(weights[level - 1].shape[0]):
            edges += subtree(weights, level - 1, below)
    return edges


def tree(weights: list[Tensor]) -> Tensor:
    """All the edges of the tree of one output neuron, every one with a parameter of its own."""
    return torch.cat(subtree(weights, len(weights) - 1, 0))


def divergence_of_trees(weights: list[Tensor], prior: list[Tensor]) -> Tensor:
    """The mean over the outputs of what their trees cost."""
    outputs = range(weights[-1].shape[0])
    each = []
    for j in outputs:
        posterior, reference = (
            tree([*(m.double() for m in part[:-1]), part[-1][j : j + 1].double()])
            for part in (weights, prior)
        )
        each.append(kl_divergence(Normal(posterior, 1.0), Normal(reference, 1.0)).sum())
    return torch.stack(each).mean()


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("inputs", "widths"), WIDTHS)
def test_equals_the_divergence_of_the_materialised_trees(inputs, widths, intercept):
    weights = layers(inputs, widths, intercept=intercept, seed=1)
    prior = layers(inputs, widths, intercept=intercept, seed=2)
    value = tree_divergence(weights, prior)
    assert value.shape == ()
    torch.testing.assert_close(value, divergence_of_trees(weights, prior), rtol=1e-13, atol=0.0)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.integers(1, 4),
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.integers(0, 10**6),
)
def test_any_architecture_even_with_intercepts_in_some_layers_only(inputs, widths, with_intercept, seed):
    columns = [size + extra for size, extra in zip([inputs, *widths[:-1]], with_intercept, strict=False)]
    rng = np.random.default_rng(seed)
    weights, prior = (
        [torch.tensor(rng.normal(size=shape)) for shape in zip(widths, columns, strict=True)]
        for _ in range(2)
    )
    torch.testing.assert_close(
        tree_divergence(weights, prior), divergence_of_trees(weights, prior), rtol=1e-13, atol=0.0
    )


def test_number_of_edges_is_that_of_the_paper():
    # D = sum of d_k ... d_L over the layers below the root, here 2*3*4*2 + 3*4*2 + 4*2 + 2.
    weights = [torch.ones(3, 2), torch.ones(4, 3), torch.ones(2, 4), torch.ones(1, 2)]
    zeros = [torch.zeros_like(w) for w in weights]
    edges = 2 * 3 * 4 * 2 + 3 * 4 * 2 + 4 * 2 + 2
    assert tree(weights).numel() == edges
    assert tree_divergence(weights, zeros).item() == edges / 2


def test_ten_outputs_cost_no_more_than_one():
    # One hidden layer: |W1 - U1|^2 / 2 as ever, and the mean of |w_j - u_j|^2 / 2.
    weights = [torch.ones(3, 2), torch.ones(10, 3)]
    zeros = [torch.zeros_like(w) for w in weights]
    assert tree_divergence(weights, zeros).item() == (6 + 3) / 2
    assert tree_divergence([weights[0], weights[1][:1]], [zeros[0], zeros[1][:1]]).item() == (6 + 3) / 2


def test_zero_for_the_prior_itself_and_symmetric():
    weights, prior = layers(3, [4, 2, 1], seed=3), layers(3, [4, 2, 1], seed=4)
    assert tree_divergence(weights, weights).item() == 0.0
    assert tree_divergence(weights, prior).item() == tree_divergence(prior, weights).item() > 0.0


@pytest.mark.parametrize("replicas", [(1,), (3,), (2, 3), (0,)])
def test_replicas_are_computed_side_by_side(replicas):
    weights = layers(3, [4, 2, 1], replicas=replicas, seed=5)
    prior = layers(3, [4, 2, 1], replicas=replicas, seed=6)
    value = tree_divergence(weights, prior)
    assert value.shape == replicas
    for index in np.ndindex(*replicas):
        one = tree_divergence([w[index] for w in weights], [u[index] for u in prior])
        torch.testing.assert_close(value[index], one, rtol=1e-14, atol=0.0)


def test_leading_axes_broadcast():
    weights = layers(3, [4, 1], replicas=(5, 1), seed=7)
    one_prior, priors = layers(3, [4, 1], seed=8), layers(3, [4, 1], replicas=(2,), seed=9)
    shared, grid = tree_divergence(weights, one_prior), tree_divergence(weights, priors)
    assert shared.shape == (5, 1)
    assert grid.shape == (5, 2)
    torch.testing.assert_close(
        grid[3, 1], tree_divergence([w[3, 0] for w in weights], [u[1] for u in priors]), rtol=1e-14, atol=0.0
    )
    # Replicas of one layer only: the others are shared.
    mixed = tree_divergence([weights[0], one_prior[1]], one_prior)
    torch.testing.assert_close(
        mixed[2, 0], tree_divergence([weights[0][2, 0], one_prior[1]], one_prior), rtol=1e-14, atol=0.0
    )


@pytest.mark.parametrize("replicas", [(), (2,)])
def test_gradient(replicas):
    weights = layers(2, [3, 2, 1], intercept=True, replicas=replicas, seed=10)
    prior = layers(2, [3, 2, 1], intercept=True, seed=11)
    variables = [w.requires_grad_() for w in weights + prior]
    assert torch.autograd.gradcheck(lambda *v: tree_divergence(v[:3], v[3:]), variables)
    assert torch.autograd.gradgradcheck(lambda *v: tree_divergence(v[:3], v[3:]), variables)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_low_precision_weights_lose_nothing(dtype):
    """Their values are exact; computing with them in their own precision would err by 1e-7 and more."""
    weights = [w.to(dtype) for w in layers(7, [5, 3, 1], seed=12)]
    prior = [u.to(dtype) for u in layers(7, [5, 3, 1], seed=13)]
    value = tree_divergence(weights, prior)
    assert value.dtype == torch.float64
    torch.testing.assert_close(value, divergence_of_trees(weights, prior), rtol=1e-14, atol=0.0)


def test_mixed_precisions():
    weights, prior = [torch.full((1, 2), 0.1)], [torch.zeros(1, 2, dtype=torch.float64)]
    expected = float(np.float32(0.1)) ** 2
    assert tree_divergence(weights, prior).item() == pytest.approx(expected, rel=1e-15)
    assert tree_divergence(prior, weights).item() == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("size", [1e-30, 1e20])
def test_squares_beyond_float32_neither_vanish_nor_overflow(size):
    weights, prior = [torch.full((1, 1), size)], [torch.zeros(1, 1)]
    assert tree_divergence(weights, prior).item() == pytest.approx(0.5 * size**2, rel=1e-6, abs=0.0)


def test_gradient_returns_in_the_precision_of_the_weights():
    weight = torch.ones(1, 3, requires_grad=True)
    tree_divergence([weight], [torch.zeros(1, 3)]).backward()
    assert weight.grad.dtype == torch.float32
    assert weight.grad.tolist() == [[1.0, 1.0, 1.0]]


def test_divergence_too_large_for_a_double_is_infinite():
    big = [torch.full((1, 1), 1e200, dtype=torch.float64)]
    assert tree_divergence(big, [torch.zeros(1, 1, dtype=torch.float64)]).item() == math.inf


# ----- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("layer", [0, 1])
def test_weights_that_are_not_finite_are_refused(bad, layer):
    good = layers(2, [3, 1])
    broken = [w.clone() for w in good]
    broken[layer][0, 1] = bad
    with pytest.raises(DomainError, match=rf"^weights of layer {layer + 1} .*NaN or infinity"):
        tree_divergence(broken, good)
    with pytest.raises(DomainError, match=rf"^prior_weights of layer {layer + 1} .*NaN or infinity"):
        tree_divergence(good, broken)
    assert not torch.isfinite(tree_divergence(broken, good, validate_args=False))


@pytest.mark.parametrize(
    ("weights", "prior", "message"),
    [
        ([], [], "same number of layers, at least one"),
        ([(3, 2)], [(3, 2), (1, 3)], "same number of layers"),
        ([(3, 2)], [(2, 3)], r"Layer 1 .*\(3, 2\).*\(2, 3\)"),
        ([(3, 2)], [(1, 2)], "Layer 1"),
        ([(3, 2)], [(3, 1)], "Layer 1"),
        ([(3,)], [(3,)], "Layer 1"),
        ([(3, 2), (3,)], [(3, 2), (3,)], "Layer 2"),
        ([()], [()], "Layer 1"),
        ([(3, 2), (1, 2)], [(3, 2), (1, 2)], "Layer 2 takes 2 inputs but layer 1 has 3 neurons"),
        ([(3, 2), (1, 5)], [(3, 2), (1, 5)], "expected 3, or 4 with an intercept"),
        ([(1, 4), (4, 3)], [(1, 4), (4, 3)], "from the input to the output"),
        ([(2, 3, 2)], [(5, 3, 2)], "broadcast"),
        ([(2, 3, 2), (5, 1, 3)], [(3, 2), (1, 3)], "broadcast"),
        ([(2, 1, 3, 2)], [(3, 1, 3, 2)], "broadcast"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(weights, prior, message):
    with pytest.raises(ShapeError, match=message):
        tree_divergence([torch.ones(s) for s in weights], [torch.ones(s) for s in prior])


@pytest.mark.parametrize(
    "bad",
    [
        "weights",
        None,
        torch.ones(1, 2, dtype=torch.bool),
        torch.ones(1, 2, dtype=torch.complex64),
    ],
    ids=["string", "none", "bool", "complex"],
)
def test_what_holds_no_real_numbers_is_refused(bad):
    good = torch.ones(1, 2)
    with pytest.raises(DtypeError):
        tree_divergence([bad], [good])
    with pytest.raises(DtypeError):
        tree_divergence([good], [bad])


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int64])
def test_whole_numbers_do_not_wrap_around(dtype):
    small, large = torch.zeros(1, 2, dtype=dtype), torch.full((1, 2), 100, dtype=dtype)
    try:
        values = tree_divergence([small], [large]), tree_divergence([large], [small])
    except DtypeError:
        return
    assert [value.item() for value in values] == [1e4, 1e4]


@pytest.mark.parametrize("shape", [(0, 3), (1, 0)])
def test_layers_without_neurons_or_inputs_have_no_divergence_or_are_refused(shape):
    try:
        value = tree_divergence([torch.ones(shape)], [torch.ones(shape)])
    except ShapeError:
        return
    assert value.item() == 0.0


def test_a_bare_tensor_is_not_a_sequence_of_layers():
    with pytest.raises((DtypeError, ShapeError)):
        tree_divergence(torch.ones(2, 3), torch.ones(2, 3))
