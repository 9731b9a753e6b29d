"""Images of several classes by name, some with test rows: the ten digits of MNIST, and small ones."""

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from pbgnet.datasets.dataset import SourceRecord
from pbgnet.datasets.files import given_path
from pbgnet.datasets.mnist import MNIST, SIDE
from pbgnet.datasets.sources import load_raw
from pbgnet.exceptions import MissingDataError, ShapeError
from pbgnet.validation import check_name

MNIST_TRAIN_ROWS = 60_000


@dataclass(frozen=True, eq=False, repr=False)
class ImageDataset:
    """Images, each of one of several classes.

    Attributes
    ----------
    name : str
    images : ndarray of uint8, shape (n, height, width)
    y : ndarray of int64, shape (n,)
        The digit shown.
    source : SourceRecord
    n_train : int or None
        Number of rows, the first ones, that the authors of the data set intended for training; the others are
        for testing. None if they did not say.

    Examples
    --------
    >>> from pbgnet.datasets import load_images
    >>> load_images("digits")
    ImageDataset('digits', n=1797, 8 x 8 pixels, 10 classes)
    """

    name: str
    images: NDArray[np.uint8]
    y: NDArray[np.int64]
    source: SourceRecord
    n_train: int | None = None

    def __post_init__(self) -> None:
        if self.images.ndim != 3 or self.y.shape != self.images.shape[:1]:
            raise ShapeError(
                f"Images and labels of {self.name!r} must have shapes (n, height, width) and (n,), got "
                f"{self.images.shape} and {self.y.shape}."
            )

    def __repr__(self) -> str:
        n, height, width = self.images.shape
        classes = len(np.unique(self.y))
        return f"ImageDataset({self.name!r}, n={n}, {height} x {width} pixels, {classes} classes)"


def load_mnist10(data_dir: str | os.PathLike[str] | None = None, *, download: bool = True) -> ImageDataset:
    """All ten digits of MNIST, in the order of the files: 60,000 rows to train, then 10,000 to test."""
    path = given_path(data_dir)
    if path is not None and path.is_file():
        raise MissingDataError(
            f"{path} is a packed file, which contains data sets with two classes; pass the folder "
            "with the files of MNIST."
        )
    table, record = load_raw(MNIST, path, download)
    images = table.features.reshape(-1, SIDE, SIDE)
    return ImageDataset("mnist10", images, table.labels.astype(np.int64), record, MNIST_TRAIN_ROWS)


def load_small_digits() -> ImageDataset:
    """1797 digits of 8 x 8 pixels between 0 and 16, which come with scikit-learn."""
    bunch = load_digits()
    return ImageDataset(
        "digits", bunch.images.astype(np.uint8), bunch.target.astype(np.int64), SourceRecord("scikit-learn")
    )


IMAGES: dict[str, Callable[..., ImageDataset]] = {"digits": load_small_digits, "mnist10": load_mnist10}
"""Loaders by name."""


def load_images(
    name: str, data_dir: str | os.PathLike[str] | None = None, *, download: bool = True
) -> ImageDataset:
    """Load images of several classes by name.

    Parameters
    ----------
    name : {"digits", "mnist10"}
    data_dir : path, optional
        Folder of MNIST's files, as for `load_dataset`.
    download : bool, default=True
        Whether to download MNIST from OpenML.

    Raises
    ------
    UnknownNameError
        For a name that does not exist.
    MissingDataError, DamagedFileError
        As for `load_dataset`.

    Examples
    --------
    >>> from pbgnet.datasets import load_images
    >>> digits = load_images("digits")
    >>> digits.images.shape, digits.y[:3].tolist(), digits.n_train
    ((1797, 8, 8), [0, 1, 2], None)
    """
    load = IMAGES[check_name("set of images", name, IMAGES)]
    return load() if load is load_small_digits else load(data_dir, download=download)
