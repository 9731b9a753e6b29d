"""Images cut into patches: a convolution is a first layer whose neurons each read one patch of the image.

Every position draws its own weights around a mean that all positions share. So the layer is an ordinary one,
of positions x filters neurons, with tied means; see docs/theory/convolution.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Self

import torch
from torch import Tensor

from pbgnet.exceptions import DomainError, ShapeError
from pbgnet.records import Limits, Record
from pbgnet.validation import check_finite, check_kind, positive_int

LARGEST_PIXEL = 1e15
"""Largest pixel divided by its scale; the sum of squares of a patch then also fits into float32."""

Side = Annotated[int, Limits(low=1, high=2**15)]


@dataclass(frozen=True)
class PatchShape(Record):
    """How images are cut into patches.

    Attributes
    ----------
    height, width, channels : int
        Size of an image, which is a row of numbers in this order: the channels of a pixel are neighbours.
    kernel_height, kernel_width : int
        Size of a patch, in pixels. A patch as large as the image makes a layer that reads all of it.
    stride : int
        Distance from one patch to the next, in pixels, down and to the right.
    pixel_scale : float
        What pixels are divided by. It decides how much the constant 1 beside a patch weighs relative to the
        patch.

    Examples
    --------
    >>> from pbgnet.networks import PatchShape
    >>> digits = PatchShape.of((28, 28), kernel=5, stride=2)
    >>> digits.n_features, digits.n_positions, digits.n_inputs
    (784, 144, 25)
    """

    height: Side
    width: Side
    channels: Side
    kernel_height: Side
    kernel_width: Side
    stride: Side = 1
    pixel_scale: Annotated[float, Limits(low=0.0, high=LARGEST_PIXEL, open_low=True)] = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kernel_height > self.height or self.kernel_width > self.width:
            raise ShapeError(
                f"Patches of {self.kernel_height} x {self.kernel_width} pixels do not fit into images of "
                f"{self.height} x {self.width}; use a smaller kernel."
            )

    @classmethod
    def of(
        cls,
        image_shape: Sequence[int],
        kernel: int | tuple[int, int] | None = None,
        stride: int = 1,
        pixel_scale: float = 1.0,
    ) -> Self:
        """Describe the patches of images (height, width) or (height, width, channels).

        A kernel is the side of a square, or height and width. Without one, a patch is the whole image.
        """
        check_kind("image_shape", image_shape, tuple, list)
        if len(image_shape) not in (2, 3):
            raise ShapeError(f"image_shape must be (height, width[, channels]), got {tuple(image_shape)}.")
        height, width, channels = (*(positive_int("image_shape", side) for side in image_shape), 1)[:3]
        sides = (height, width) if kernel is None else (kernel, kernel) if isinstance(kernel, int) else kernel
        check_kind("kernel", sides, tuple, list)
        if len(sides) != 2:
            raise ShapeError(f"kernel must be one number or two, height and width, got {kernel}.")
        return cls(height, width, channels, *sides, stride, pixel_scale)

    @property
    def n_features(self) -> int:
        """Number of values of an image."""
        return self.height * self.width * self.channels

    @property
    def grid(self) -> tuple[int, int]:
        """Number of patches in a column and in a row."""
        down, right = self.height - self.kernel_height, self.width - self.kernel_width
        return down // self.stride + 1, right // self.stride + 1

    @property
    def n_positions(self) -> int:
        """Number P of patches of an image."""
        return self.grid[0] * self.grid[1]

    @property
    def n_inputs(self) -> int:
        """Number of values of a patch, without the constant."""
        return self.kernel_height * self.kernel_width * self.channels

    def index(self, device: torch.device | str = "cpu") -> Tensor:
        """Where the values of each patch are in an image: int64, shape (P, n_inputs)."""
        places = torch.arange(self.n_features, device=device).reshape(self.height, self.width, self.channels)
        cut = places.unfold(0, self.kernel_height, self.stride).unfold(1, self.kernel_width, self.stride)
        return cut.permute(0, 1, 3, 4, 2).reshape(self.n_positions, self.n_inputs)

    def scaled(self, images: Tensor) -> Tensor:
        """Divide images (..., n, d) by their scale; raise an error for NaN or huge values."""
        if images.ndim < 2 or images.shape[-1] != self.n_features:
            raise ShapeError(
                f"Images of {self.height} x {self.width} pixels with {self.channels} channels are rows of "
                f"{self.n_features} numbers, got shape {tuple(images.shape)}."
            )
        check_finite("x", images, "Impute or drop such rows.")
        scaled = images / self.pixel_scale
        if scaled.numel() and float(scaled.abs().amax()) > LARGEST_PIXEL:
            raise DomainError(
                f"A pixel is more than {LARGEST_PIXEL:g} times the scale {self.pixel_scale:g} of the "
                "images. Check its units."
            )
        return scaled

    def __str__(self) -> str:
        size = f"{self.height}x{self.width}x{self.channels}"
        return f"{size} in {self.n_positions} patches of {self.kernel_height}x{self.kernel_width}"


class PatchRows:
    """Images prepared for the first layer, which cuts them into patches when needed.

    All patches together take many times the memory of their image, so only those of one batch exist at a
    time.

    Attributes
    ----------
    images : Tensor, shape (..., n, d)
        Divided by their scale.
    patches : PatchShape
    """

    def __init__(self, images: Tensor, patches: PatchShape, index: Tensor | None = None) -> None:
        self.images, self.patches = images, patches
        self._index = patches.index(images.device) if index is None else index

    @classmethod
    def of(cls, x: Tensor, patches: PatchShape) -> Self:
        """Prepare images (..., n, d) with their original values."""
        return cls(patches.scaled(x), patches)

    @property
    def shape(self) -> tuple[int, ...]:
        """Leading axes, number of images, and number of values of an image with the constant."""
        return (*self.images.shape[:-1], self.images.shape[-1] + 1)

    @property
    def dtype(self) -> torch.dtype:
        """The type of the products."""
        return self.images.dtype

    @property
    def device(self) -> torch.device:
        """The device of the images."""
        return self.images.device

    def __len__(self) -> int:
        return self.images.shape[0]

    def to(self, device: torch.device | str, dtype: torch.dtype) -> "PatchRows":
        """Return the same images on another device or in another precision."""
        return PatchRows(self.images.to(device, dtype), self.patches)

    def take(self, rows: Tensor | slice) -> "PatchRows":
        """Return some of the images: indices of any shape, or a slice."""
        return PatchRows(self.images[rows], self.patches, self._index)

    def with_images(self, images: Tensor) -> "PatchRows":
        """Return other images of the same shape, which are already divided by their scale."""
        return PatchRows(images, self.patches, self._index)

    def cut(self) -> Tensor:
        """Return all patches, each with the constant 1: shape (..., n, P, n_inputs + 1)."""
        cut = self.images.index_select(-1, self._index.flatten())
        return torch.constant_pad_nd(cut.unflatten(-1, tuple(self._index.shape)), (0, 1), 1.0)

    def unit_patches(self) -> Tensor:
        """Return all patches, each with the constant 1 and then scaled to length 1, as one long list.

        Shape (..., n P, n_inputs + 1). The constant keeps every length away from 0.
        """
        cut = self.cut()
        unit: Tensor = cut / torch.linalg.vector_norm(cut, dim=-1, keepdim=True)
        return unit.flatten(-3, -2)

    def times(self, weight: Tensor) -> Tensor:
        """Multiply with filters (..., f, n_inputs + 1): shape (..., n, P f), differentiable in them."""
        return self._by_image(self.unit_patches() @ weight.mT)

    def times_with_pullback(self, weight: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """Return the product with filters (R, f, n_inputs + 1), and what maps its gradient to theirs.

        A filter is at every position, so its gradient is the sum over its copies.
        """
        unit = self.unit_patches()

        def pull_back(grad: Tensor) -> Tensor:
            of_patches = grad.reshape(*grad.shape[:-2], -1, weight.shape[-2])
            return of_patches.mT @ unit

        return self._by_image(unit @ weight.mT), pull_back

    def _by_image(self, product: Tensor) -> Tensor:
        """Reshape products (..., n P, f) of patches to (..., n, P f)."""
        return product.reshape(*product.shape[:-2], -1, self.patches.n_positions * product.shape[-1])
