"""Images are varied for the batches of an epoch, and nowhere else."""

import numpy as np
import pytest
import torch

from pbgnet.exceptions import DomainError, OptionError, ShapeError
from pbgnet.networks import AggregatedNetwork, PatchShape, initial_weights
from pbgnet.training.solvers import Course, Journal, Problem, fit
from pbgnet.training.steps import (
    AUGMENTATIONS,
    Augmentation,
    AugmentedImages,
    LinearLoss,
    TrainingData,
    empirical_loss,
)
from pbgnet.training.steps.augmentation import AffineChange

WHOLE = PatchShape.of((9, 12))


def blob(height=9, width=12, row=4, column=6):
    image = torch.zeros(1, height, width, 1, dtype=torch.float64)
    image[0, row, column] = 1.0
    return image


def make_data(patches=WHOLE, n=20, seed=0, device="cpu"):
    rng = np.random.default_rng(seed)
    x = rng.random((n, patches.n_features))
    return TrainingData.of(x, np.sign(rng.random(n) - 0.5), unit=True, device=device, patches=patches)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_no_change_is_the_image_itself():
    images = torch.rand(3, 9, 12, 2, generator=generator(), dtype=torch.float64)
    torch.testing.assert_close(AffineChange(0.0, 0.0, 0.0)(images, generator()), images)


def test_a_shift_moves_what_is_seen_by_a_share_of_the_sides():
    seen = AffineChange(0.0, 0.0, 0.25)(blob().expand(400, -1, -1, -1), generator())
    rows, columns = torch.arange(9.0).double(), torch.arange(12.0).double()
    mass = seen[..., 0].sum(dim=(1, 2))
    inside = mass > 0.999
    down = (seen[..., 0].sum(2) @ rows)[inside] - 4
    right = (seen[..., 0].sum(1) @ columns)[inside] - 6
    assert down.abs().max() <= 0.25 * 9 + 1e-9
    assert right.abs().max() <= 0.25 * 12 + 1e-9
    assert down.abs().max() > 0.2 * 9
    assert right.abs().max() > 0.2 * 12
    assert abs(np.corrcoef(down, right)[0, 1]) < 0.2


def test_a_rotation_keeps_distances_from_the_centre_also_where_sides_differ():
    seen = AffineChange(30.0, 0.0, 0.0)(blob(9, 13, 4, 9).expand(300, -1, -1, -1), generator())[..., 0]
    mass = seen.sum(dim=(1, 2))
    down = seen.sum(2) @ torch.arange(9.0).double() / mass - 4
    right = seen.sum(1) @ torch.arange(13.0).double() / mass - 6
    torch.testing.assert_close(
        (down**2 + right**2).sqrt(), torch.full((300,), 3.0).double(), atol=0.35, rtol=0
    )
    assert torch.atan2(down, right).abs().max() > np.radians(25)


def test_epochs_differ_and_can_be_repeated():
    data = make_data()
    augmentation = Augmentation(AUGMENTATIONS["small"], 7)
    first, again, second = (augmentation.changed(data.rows, epoch) for epoch in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    assert not torch.equal(first, Augmentation(AUGMENTATIONS["small"], 8).changed(data.rows, 0))
    assert first.shape == data.rows.images.shape


@pytest.mark.parametrize("kernel", [None, 3])
def test_training_sees_varied_copies_and_the_examples_stay_as_they_are(kernel, device):
    patches = PatchShape.of((9, 12), kernel, 2)
    data, seen = make_data(patches, device=device), []

    def darken(images, generator):
        seen.append(images.shape)
        return 0.0 * images

    def trained(augmentation):
        weights = initial_weights(
            patches.n_features,
            (2 * patches.n_positions,),
            generator=generator(),
            replicas=(2,),
            patches=patches,
        )
        network = AggregatedNetwork([w.to(device) for w in weights], patches=patches)
        rates = torch.full((2,), 0.1, dtype=torch.float64, device=device)
        objective = LinearLoss.of(list(network.weights), torch.zeros_like(rates))
        seeds = torch.tensor([1, 2], device=device)
        problem = Problem(network, data, objective, seeds, rates, augmentation=augmentation)
        journal = Journal()
        fit(problem, Course(10, 3), journal, "test")
        return network

    before = data.rows.images.clone()
    network = trained(Augmentation(darken, 0))
    assert seen == [(20, 9, 12, 1)] * 3  # once per epoch, for all replicas
    assert torch.equal(data.rows.images, before)
    # On black images nothing but the intercept can have been learned.
    start = initial_weights(
        patches.n_features, (2 * patches.n_positions,), generator=generator(), replicas=(2,), patches=patches
    )
    assert torch.equal(network.weights[0].detach().cpu()[..., :-1], start[0][..., :-1])
    assert not torch.equal(network.weights[0].detach().cpu()[..., -1], start[0][..., -1])
    plain, varied = trained(None), trained(Augmentation(AUGMENTATIONS["small"], 0))
    assert not torch.equal(plain.weights[0], varied.weights[0])
    assert empirical_loss(plain, data).max() < 0.5


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        (lambda images, generator: images[:, :-1], ShapeError, "of the shape it receives"),
        (lambda images, generator: None, ShapeError, "NoneType"),
        (lambda images, generator: images / 0.0, DomainError, "augmentation"),
    ],
)
def test_changes_that_return_no_images_are_refused(change, error, told):
    with pytest.raises(error, match=told):
        Augmentation(change, 0).changed(make_data().rows, 0)


def test_only_images_are_augmented():
    data = TrainingData.of(np.ones((3, 2)), np.ones(3), unit=True, device="cpu")
    with pytest.raises(OptionError, match="Only images"):
        AugmentedImages(data.rows, Augmentation(AUGMENTATIONS["small"], 0))
