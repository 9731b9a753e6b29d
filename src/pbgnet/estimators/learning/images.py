"""Images as rows: their shape, how the first layer cuts them, and how prior rows are augmented."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pbgnet.certificates import PreparedTable
from pbgnet.exceptions import OptionError, ShapeError
from pbgnet.networks import PatchShape
from pbgnet.training import AUGMENTATIONS, Augmentation, Change
from pbgnet.validation import check_readable, positive_int

ImageShape = tuple[int, int, int]
"""Height, width and channels."""

# Second word of the seed of augmentation.
CHANGES = 3


def read_image_shape(given: Any, X: Any) -> ImageShape | None:  # noqa: N803
    """Return the shape of images, as given or from an array; None for rows of a table.

    An estimator that does not read images passes False.
    """
    if given is False:
        return None
    found = tuple(X.shape[1:]) if _is_images(X) else None
    if given is None and found is None:
        return None
    shape = _whole_numbers("image_shape", found if given is None else given)
    if len(shape) not in (2, 3):
        raise ShapeError(f"image_shape must be (height, width) or (height, width, channels), got {given!r}.")
    height, width, channels = (*shape, 1)[:3]
    return height, width, channels


def flat_images(X: Any, shape: ImageShape | None) -> Any:  # noqa: N803
    """Return images as rows, (n, height, width[, channels]) to (n, d); tables are left as they are.

    Raises
    ------
    ShapeError
        For images of another shape.
    """
    if shape is None or not _is_images(X):
        return X
    images = np.asarray(X)
    if (*images.shape[1:], 1)[:3] != shape:
        height, width, channels = shape
        raise ShapeError(
            f"The images have shape {images.shape[1:]}, but this classifier was fitted on images "
            f"of {height} x {width} pixels with {channels} channel{'s' * (channels > 1)}. Scale "
            "or crop them first."
        )
    return images.reshape(len(images), math.prod(shape))


@dataclass(frozen=True)
class Layout:
    """The hidden layers of a network and, for images, how they are cut and augmented.

    Attributes
    ----------
    hidden_layer_sizes : tuple of int
        Neurons, counting all positions of a convolution.
    patches : PatchShape or None
    augmentation : Augmentation or None
    """

    hidden_layer_sizes: tuple[int, ...]
    patches: PatchShape | None = None
    augmentation: Augmentation | None = None

    @property
    def n_positions(self) -> int:
        """Number of neurons that share the mean of each row of the first weights."""
        return 1 if self.patches is None else self.patches.n_positions


def image_deviation(patches: PatchShape) -> float:
    """Standard deviation of the first weights of an ensemble: 1, 2 and 3 for 25, 100 and 400 inputs or more.

    Neighbouring pixels are similar, so the larger a patch, the less random weights respond to it.
    """
    return min(max(1.0, 1.0 + math.log(patches.n_inputs / 25, 4)), 3.0)


def read_layout(
    classifier: Any, table: PreparedTable, sizes: tuple[int, ...], sets_rows_apart: bool, seed: int
) -> Layout:
    """Read the parameters of a `PBGNetClassifier` that are about images; sizes are those without images."""
    shape = getattr(classifier, "image_shape_", None)
    if shape is None and classifier.image_shape is not None:
        raise OptionError("A pipeline preprocesses tables; pass images to PBGNetClassifier directly.")
    used = [name for name in ("convolution", "augmentation") if getattr(classifier, name) is not None]
    if used and shape is None:
        raise OptionError(
            f"{used[0]} only applies to images; set image_shape, or pass X as an array of images."
        )
    if classifier.augmentation is not None and not sets_rows_apart:
        raise OptionError(
            f"augmentation varies the prior rows, and algorithm={classifier.algorithm!r} does not "
            "use any. Remove it."
        )
    if shape is None:
        return Layout(sizes)
    if classifier.algorithm == "mlp":
        raise OptionError(
            "algorithm='mlp' does not support images; remove image_shape and pass the rows of a table."
        )
    if table.features.shape[1] != math.prod(shape):
        raise ShapeError(
            f"Images of shape {shape} flatten to rows of {math.prod(shape)} numbers, but X has "
            f"{table.features.shape[1]} columns."
        )
    augmentation = make_augmentation(classifier.augmentation, seed)
    if classifier.convolution is None:
        return Layout(sizes, PatchShape.of(shape, pixel_scale=_pixel_scale(table)), augmentation)
    filters, kernel, stride = read_convolution(classifier.convolution)
    patches = PatchShape.of(shape, kernel, stride, _pixel_scale(table))
    above = () if isinstance(classifier.hidden_layer_sizes, str) else sizes  # "auto"
    return Layout((filters * patches.n_positions, *above), patches, augmentation)


def read_convolution(convolution: Any) -> tuple[int, int, int]:
    """Return the number of filters, the side of a patch and the stride."""
    numbers = _whole_numbers("convolution", convolution)
    if len(numbers) != 3:
        raise OptionError(f"convolution must be (filters, kernel_size, stride), got {convolution!r}.")
    filters, kernel, stride = numbers
    return filters, kernel, stride


def make_augmentation(augmentation: str | Change | None, seed: int) -> Augmentation | None:
    """Return how the images of the prior rows are augmented, by name or by a function."""
    if augmentation is None:
        return None
    change = AUGMENTATIONS[augmentation] if isinstance(augmentation, str) else augmentation
    return Augmentation(change, int(np.random.SeedSequence((seed, CHANGES)).generate_state(1)[0]))


def _whole_numbers(name: str, given: Any) -> list[int]:
    check_readable(name, given)
    return [positive_int(name, number) for number in np.atleast_1d(np.asarray(given, dtype=object)).tolist()]


def _is_images(X: Any) -> bool:  # noqa: N803
    return len(getattr(X, "shape", ())) in (3, 4)


def _pixel_scale(table: PreparedTable) -> float:
    """Largest pixel of the prior rows; 1 without any, because nothing may be learned from the others."""
    rows = table.split.prior_rows
    return (float(abs(table.features[rows]).max()) or 1.0) if rows.size else 1.0
