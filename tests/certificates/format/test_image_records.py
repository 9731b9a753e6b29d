"""The geometry of images in a certificate: read strictly, and part of what is sealed."""

import json

import numpy as np
import pytest
import torch

from pbgnet.certificates import PriorRecord, certify_network, load_model, save_model
from pbgnet.certificates.format import NetworkRecord
from pbgnet.exceptions import DamagedFileError, DomainError
from pbgnet.networks import AggregatedNetwork, PatchShape, initial_weights

PATCHES = PatchShape.of((4, 4), kernel=2, stride=2, pixel_scale=2.0)


@pytest.fixture
def folder(tmp_path):
    weights = initial_weights(
        16, (8,), generator=torch.Generator().manual_seed(0), dtype=torch.float64, patches=PATCHES
    )
    rng = np.random.default_rng(0)
    model = certify_network(
        AggregatedNetwork(weights, patches=PATCHES),
        rng.random((20, 16)),
        rng.permutation(np.arange(20) % 2),
        classes=(0, 1),
        prior=PriorRecord("given", "for a test"),
        prior_rows=[],
        certified_rows=range(20),
    )
    return save_model(model, tmp_path / "model")


@pytest.mark.parametrize(
    "changes",
    [
        {"stride": 1},  # other shapes of weights
        {"pixel_scale": 3.0},  # the same shapes, and another seal
        {"height": 2, "width": 8},
        {"kernel_height": 5},
        {"channels": 0},
        {"colour": 1},
    ],
    ids=str,
)
def test_a_changed_geometry_is_refused(folder, changes):
    path = folder / "certificate.json"
    data = json.loads(path.read_text())
    assert data["subject"]["network"]["patches"]["stride"] == 2
    data["subject"]["network"]["patches"].update(changes)
    path.write_text(json.dumps(data))
    with pytest.raises(DamagedFileError):
        load_model(folder)


def test_the_geometry_comes_back(folder):
    assert load_model(folder).network.architecture.patches == PATCHES


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ((15, (8,), True), "as many features"),
        ((16, (8,), False), "intercept"),
        ((16, (7,), True), "4 patch positions"),
        ((16, (), True), "4 patch positions"),
    ],
)
def test_sizes_must_fit(sizes, told):
    with pytest.raises(DomainError, match=told):
        NetworkRecord(*sizes, patches=PATCHES)
