"""Images that are slightly different in every epoch, from which a classifier learns to ignore such changes.

Only the copies used for batches are changed. The examples stay as they are, so validation and certificates
never see a changed image.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from pbgnet.exceptions import OptionError, ShapeError
from pbgnet.networks import PatchRows, PreparedRows
from pbgnet.validation import check_finite

Change = Callable[[Tensor, torch.Generator], Tensor]
"""Maps images (n, height, width, channels), divided by their scale, and a generator to changed ones."""

# Number of images changed at a time.
CHUNK_IMAGES = 8192


@dataclass(frozen=True)
class AffineChange:
    """Rotate, stretch and shift each image by random amounts, with bilinear interpolation and zeros around.

    Attributes
    ----------
    rotation : float
        Largest angle, in degrees.
    stretch : float
        Largest change of height and of width, separately, as a share of them.
    shift : float
        Largest shift down and to the right, as a share of height and width.
    """

    rotation: float
    stretch: float
    shift: float

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """Change images (n, height, width, channels), each by its own random amounts."""
        n, height, width, _ = images.shape
        drawn = torch.rand(5, n, generator=generator, device=images.device, dtype=images.dtype) * 2 - 1
        angle = drawn[0] * math.radians(self.rotation)
        down, right = torch.exp(drawn[1:3] * math.log1p(self.stretch))
        cosine, sine, shifts = angle.cos(), angle.sin(), 2 * self.shift * drawn[3:]
        # Maps a pixel of the result to where it comes from, in coordinates from -1 to 1.
        rows = [
            torch.stack([right * cosine, -right * sine * (height / width), shifts[0]], dim=-1),
            torch.stack([down * sine * (width / height), down * cosine, shifts[1]], dim=-1),
        ]
        planes = images.permute(0, 3, 1, 2)
        grid = functional.affine_grid(torch.stack(rows, dim=1), list(planes.shape), align_corners=False)
        return functional.grid_sample(planes, grid, align_corners=False).permute(0, 2, 3, 1)


AUGMENTATIONS: dict[str, Change] = {"small": AffineChange(rotation=12.0, stretch=0.12, shift=0.07)}
"""Changes by name."""


@dataclass(frozen=True)
class Augmentation:
    """How images are changed, and the seed that determines the changes of every epoch."""

    change: Change
    seed: int

    def changed(self, rows: PatchRows, epoch: int) -> Tensor:
        """Return all images of an epoch: shape (n, d)."""
        shape = rows.patches
        (seed,) = np.random.SeedSequence((self.seed, epoch)).generate_state(1, np.uint64)
        generator = torch.Generator(rows.device).manual_seed(int(seed) >> 1)
        parts = []
        for images in rows.images.split(CHUNK_IMAGES):
            given = images.reshape(-1, shape.height, shape.width, shape.channels)
            made = self.change(given, generator)
            if not isinstance(made, Tensor) or made.shape != given.shape:
                found = tuple(made.shape) if isinstance(made, Tensor) else type(made).__name__
                raise ShapeError(
                    "An augmentation must return a tensor of the shape it receives, "
                    f"{tuple(given.shape)}; got {found}."
                )
            check_finite("The tensor returned by an augmentation", made)
            parts.append(made.reshape(images.shape).to(images))
        return torch.cat(parts) if parts else rows.images


class AugmentedImages:
    """Copies of images that are changed again at the beginning of every epoch, in place.

    All replicas see the same ones. A CUDA graph reads them where they are.
    """

    def __init__(self, rows: PreparedRows, augmentation: Augmentation) -> None:
        if not isinstance(rows, PatchRows):
            raise OptionError("Only images can be augmented; pass their image_shape.")
        self.original, self.augmentation = rows, augmentation
        self.rows = rows.with_images(rows.images.clone())

    def begin(self, epoch: int) -> None:
        """Make the images of an epoch."""
        self.rows.images.copy_(self.augmentation.changed(self.original, epoch))
