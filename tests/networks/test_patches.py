"""A convolution is a dense layer with tied means: outputs, divergence, errors and gradients are the same."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pbgnet.exceptions import DomainError, DtypeError, OptionError, ShapeError
from pbgnet.networks import (
    AggregatedNetwork,
    PatchRows,
    PatchShape,
    SignNetwork,
    initial_weights,
    prepare_rows,
)

TINY = PatchShape.of((4, 5, 2), kernel=(2, 3), stride=2, pixel_scale=4.0)  # 2 x 2 positions of 12 numbers


def make_weights(patches=TINY, filters=2, above=(), n_outputs=1, seed=0, replicas=()):
    return initial_weights(
        patches.n_features,
        (filters * patches.n_positions, *above),
        n_outputs=n_outputs,
        initialisation="standard_normal",
        generator=torch.Generator().manual_seed(seed),
        replicas=replicas,
        dtype=torch.float64,
        patches=patches,
    )


def make_images(patches=TINY, n=6, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return 3 * torch.randn(n, patches.n_features, generator=generator, dtype=torch.float64)


def long_rows(images, patches):
    """All unit patches of an image behind each other, cut by two plain loops: shape (n, P D)."""
    pixels = images.reshape(-1, patches.height, patches.width, patches.channels) / patches.pixel_scale
    kh, kw, step = patches.kernel_height, patches.kernel_width, patches.stride
    cut = []
    for top, left in itertools.product(
        range(0, patches.height - kh + 1, step), range(0, patches.width - kw + 1, step)
    ):
        patch = pixels[:, top : top + kh, left : left + kw].reshape(len(pixels), -1)
        patch = torch.cat([patch, torch.ones(len(pixels), 1, dtype=patch.dtype)], dim=1)
        cut.append(patch / patch.norm(dim=1, keepdim=True))
    return torch.cat(cut, dim=1)


def untied(weight, n_positions):
    """The filters as a dense matrix: a copy for each position, which reads its own patch alone."""
    return torch.block_diag(*[weight] * n_positions)


def dense_twin(weights, prior, patches, **options):
    """The network of the same neurons without anything shared; the constant of a patch is one more input."""
    first, *rest = (untied(weights[0], patches.n_positions), *weights[1:])
    before = [untied(prior[0], patches.n_positions), *prior[1:]]
    # Only the layers above have a constant of their own: the first is given a column of zeros for it.
    pad = torch.nn.functional.pad
    return AggregatedNetwork([pad(first, (0, 1)), *rest], [pad(before[0], (0, 1)), *before[1:]], **options)


shapes = st.builds(
    lambda h, w, c, kh, kw, stride: PatchShape.of((h, w, c), (min(kh, h), min(kw, w)), stride, 2.0),
    *[st.integers(1, 4)] * 2,
    st.integers(1, 2),
    *[st.integers(1, 3)] * 2,
    st.integers(1, 2),
)


@settings(max_examples=25, deadline=None)
@given(shapes, st.integers(1, 2), st.sampled_from([(), (3,)]), st.integers(1, 2), st.integers(0, 99))
def test_it_is_a_dense_network_with_tied_means(patches, filters, above, n_outputs, seed):
    aggregation = "enumeration" if filters * patches.n_positions <= 10 else "fourier"
    weights, prior = (make_weights(patches, filters, above, n_outputs, seed + k) for k in (0, 100))
    images = make_images(patches, seed=seed)
    network = AggregatedNetwork(weights, prior, aggregation=aggregation, patches=patches)
    twin = dense_twin(weights, prior, patches, aggregation=aggregation)
    rows = torch.nn.functional.pad(long_rows(images, patches), (0, 1))
    output, reference = network(images), twin.output(rows, validate_args=False)
    torch.testing.assert_close(output, reference, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(network.divergence(), twin.divergence())
    # Gradients: that of a filter is the sum over its copies.
    (output.square().sum() + network.divergence()).backward()
    (reference.square().sum() + twin.divergence()).backward()
    blocks = twin.weights[0].grad[:, :-1].unflatten(0, (patches.n_positions, -1))
    size = patches.n_inputs + 1
    total = sum(blocks[p, :, p * size : (p + 1) * size] for p in range(patches.n_positions))
    torch.testing.assert_close(network.weights[0].grad, total, rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(network.weights[1].grad, twin.weights[1].grad, rtol=1e-8, atol=1e-10)


def test_the_written_out_derivative_is_that_of_autograd():
    weights = make_weights(above=(3,), n_outputs=2, replicas=(3,))
    network = AggregatedNetwork(weights, patches=TINY)
    rows = network.prepare(make_images())
    output, pull_back = network.output_with_pullback(rows)
    slope = torch.randn(output.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    expected = torch.autograd.grad(network.output(rows), list(network.weights), slope)
    for ours, theirs in zip(pull_back(slope), expected, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_batches_of_their_own_for_every_replica():
    network = AggregatedNetwork(make_weights(replicas=(3,)), patches=TINY)
    rows = network.prepare(make_images(n=7))
    index = torch.tensor([[0, 1], [6, 2], [3, 3]])
    output, pull_back = network.output_with_pullback(rows.take(index))
    alone = network.output(rows)
    torch.testing.assert_close(output, alone.gather(1, index))
    assert [tuple(g.shape) for g in pull_back(output)] == [tuple(w.shape) for w in network.weights]


def test_the_proved_error_covers_float32():
    weights = make_weights(filters=3, n_outputs=2)
    images = make_images(n=50)
    exact = AggregatedNetwork(weights, patches=TINY)(images)
    single = AggregatedNetwork([w.float() for w in weights], patches=TINY)
    rounded = AggregatedNetwork([w.float().double() for w in weights], patches=TINY)(images.float().double())
    error = (single(images.float()).double() - rounded).abs().amax(dim=0)
    assert (error <= single.error_bound()).all()
    assert single.error_bound().max() < 1e-4
    assert not torch.equal(exact, rounded)
    assert single.layers[0].error_bound().shape == (12,)


def test_members_replicas_and_take():
    weights = make_weights(replicas=(2, 3))
    network = AggregatedNetwork(weights, members=True, patches=TINY)
    images = make_images()
    alone = [AggregatedNetwork([w[1, m] for w in weights], patches=TINY)(images) for m in range(3)]
    torch.testing.assert_close(network(images)[1], torch.stack(alone).mean(0))
    torch.testing.assert_close(network.take(torch.tensor([1]))(images)[0], network(images)[1])
    assert network.architecture.hidden_layer_sizes == (8,)
    assert "4x5x2 in 4 patches of 2x3" in repr(network)


def test_the_sign_network_is_the_limit_of_sharp_weights():
    weights = make_weights(n_outputs=2)
    images = make_images(n=40)
    plain = AggregatedNetwork(weights, patches=TINY).sign_network()
    sharp = AggregatedNetwork([1e3 * w for w in weights], patches=TINY)(images)
    sure = sharp.abs() > 0.999
    assert sure.float().mean() > 0.9
    assert torch.equal(plain(images)[sure], sharp.sign()[sure])
    side_by_side = SignNetwork([torch.stack([w, w]) for w in weights], patches=TINY)(images)
    assert torch.equal(side_by_side, torch.stack([plain(images)] * 2))


def test_a_patch_as_large_as_the_image_is_a_dense_layer():
    patches = PatchShape.of((3, 4))
    weights = make_weights(patches, filters=5)
    images = make_images(patches)
    torch.testing.assert_close(
        AggregatedNetwork(weights, patches=patches)(images), AggregatedNetwork(weights)(images)
    )


def test_a_filter_counts_once_per_position():
    weights = make_weights(above=(3,))
    prior = [w.clone() for w in weights]
    prior[0][0, 0] += 1.0
    network = AggregatedNetwork(weights, prior, patches=TINY)
    # In each tree of the 3 neurons above.
    assert math.isclose(network.divergence().item(), 0.5 * TINY.n_positions * 3)


def test_rows_of_any_kind_become_patches():
    images = make_images().numpy()
    options = {"unit": True, "intercept": True, "dtype": torch.float32, "device": "cpu", "patches": TINY}
    rows = prepare_rows(images, **options)
    assert isinstance(rows, PatchRows)
    assert (rows.shape, len(rows), rows.dtype) == ((6, 41), 6, torch.float32)
    np.testing.assert_allclose(rows.images, images / 4.0, rtol=1e-6)
    norms = torch.linalg.vector_norm(rows.unit_patches(), dim=-1)
    torch.testing.assert_close(norms, torch.ones_like(norms))


def of_ones(*shapes):
    return AggregatedNetwork([torch.ones(shape) for shape in shapes], patches=TINY)


@pytest.mark.parametrize(
    ("make", "error", "told"),
    [
        (lambda: PatchShape.of((4, 4), 5), ShapeError, "do not fit"),
        (lambda: PatchShape.of((4,)), ShapeError, r"\(height, width\[, channels\]\)"),
        (lambda: PatchShape.of((4, 4), (1, 2, 3)), ShapeError, "height and width"),
        (lambda: PatchShape.of((4, 4), 2, 0), DomainError, "stride"),
        (lambda: PatchShape.of((4, 4), 2, 1, 0.0), DomainError, "pixel_scale"),
        (lambda: AggregatedNetwork(make_weights(), intercept=False, patches=TINY), OptionError, "intercept"),
        (lambda: AggregatedNetwork(make_weights()[:1], patches=TINY), ShapeError, "a layer above"),
        (
            lambda: of_ones((2, 4), (1, 9)),
            ShapeError,
            "13 weights",
        ),
        (
            lambda: of_ones((2, 13), (1, 3)),
            ShapeError,
            "8 neurons",
        ),
        (lambda: initial_weights(40, (7,), initialisation="zero", patches=TINY), ShapeError, "4 positions"),
        (lambda: PatchRows.of(torch.full((1, 40), 1e17), TINY), DomainError, "scale"),
        (lambda: PatchRows.of(torch.full((1, 40), torch.nan), TINY), DomainError, "NaN"),
        (lambda: PatchRows.of(torch.ones(1, 39), TINY), ShapeError, "rows of 40 numbers"),
    ],
)
def test_what_does_not_fit_is_refused(make, error, told):
    with pytest.raises(error, match=told):
        make()


def test_rows_of_other_kinds_are_refused():
    network = AggregatedNetwork(make_weights(), patches=TINY)
    with pytest.raises(ShapeError, match="prepare"):
        network.output(torch.ones(2, 13, dtype=torch.float64))
    other = PatchShape.of((4, 5, 2), kernel=(2, 3), stride=2)
    with pytest.raises(ShapeError, match="prepare"):
        network.output(PatchRows.of(make_images(), other))
    with pytest.raises(DtypeError, match="float64"):
        network.output(PatchRows.of(make_images().float(), TINY))
