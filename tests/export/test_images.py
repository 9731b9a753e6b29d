"""Networks that read images: the file cuts them into patches as the network does."""

import numpy as np
import pytest
import torch

from pbgnet.certificates import PriorRecord, certify_network, load_model, save_model, verify
from pbgnet.networks import AggregatedNetwork, PatchShape, initial_weights

PATCHES = PatchShape.of((5, 6, 2), kernel=(2, 3), stride=2, pixel_scale=7.0)


def make_network(above=(), n_members=None, n_outputs=1, patches=PATCHES):
    weights = initial_weights(
        patches.n_features,
        (3 * patches.n_positions, *above),
        n_outputs=n_outputs,
        initialisation="standard_normal",
        generator=torch.Generator().manual_seed(0),
        replicas=() if n_members is None else (n_members,),
        dtype=torch.float64,
        patches=patches,
    )
    return AggregatedNetwork(weights, members=n_members is not None, patches=patches)


def make_images(n=40, patches=PATCHES):
    return np.random.default_rng(1).normal(size=(n, patches.n_features)) * 5


@pytest.mark.parametrize("above", [(), (4,)])
@pytest.mark.parametrize("n_members", [None, 3])
def test_both_networks_agree(ship, above, n_members):
    network, images = make_network(above, n_members), make_images()
    with torch.no_grad():
        exact = network(torch.as_tensor(images)).numpy()
        signs = network.sign_network()(torch.as_tensor(images)).numpy()
    shipped = ship(network)
    assert np.abs(shipped.decision_function(images) - exact).max() < 1e-9
    single = ship(network, dtype="float32").decision_function(images)
    assert np.abs(single - exact).max() < 2e-5
    plain = ship(network, "sign").decision_function(images)
    np.testing.assert_allclose(plain, signs if n_members is None else signs.mean(axis=0), atol=1e-15)
    assert shipped.decision_function(images[:0]).shape == (0,)
    assert "5x6x2 in 4 patches of 2x3" in shipped.metadata.architecture


def test_a_whole_image_is_a_patch(ship):
    patches = PatchShape.of((5, 6, 2), pixel_scale=3.0)
    network, images = make_network(patches=patches), make_images()
    with torch.no_grad():
        exact = network(torch.as_tensor(images)).numpy()
    assert np.abs(ship(network).decision_function(images) - exact).max() < 1e-9


def test_a_certified_network_is_verified_saved_and_exported(ship, tmp_path):
    network, images = make_network(n_members=2, n_outputs=3), make_images(90)
    y = np.random.default_rng(2).permutation(np.arange(90) % 3)
    model = certify_network(
        network,
        images,
        y,
        classes=(0, 1, 2),
        prior=PriorRecord("given", "for a test"),
        prior_rows=[],
        certified_rows=range(90),
        certificate="held-out",
    )
    assert verify(model, images, y).ok
    loaded = load_model(save_model(model, tmp_path / "model"))
    assert loaded.certificate.network.network.patches == PATCHES
    assert verify(loaded, images, y).ok
    np.testing.assert_array_equal(ship(loaded).predict(images), model.predict(images))


def test_a_changed_geometry_is_noticed(tmp_path):
    images, y = make_images(30), np.arange(30) % 2
    options = {
        "classes": (0, 1),
        "prior": PriorRecord("given"),
        "prior_rows": [],
        "certified_rows": range(30),
    }
    model = certify_network(make_network(), images, y, **options)
    other = PatchShape.of((5, 6, 2), kernel=(2, 3), stride=2)
    object.__setattr__(model, "network", AggregatedNetwork(list(model.network.weights), patches=other))
    assert "sizes" in model.mismatch()
