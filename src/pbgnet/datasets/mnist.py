"""MNIST: handwritten digits, some digits against others.

LeCun, Cortes, Burges: The MNIST database of handwritten digits. The rows are the 60000 of the training
files, then the 10000 of the test files, each in their order.
"""

import os
from collections.abc import Collection, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.datasets.dataset import Dataset
from pbgnet.datasets.files import SourceFile
from pbgnet.datasets.idx import read_idx
from pbgnet.datasets.sources import RawTable, Source, load_raw
from pbgnet.exceptions import DamagedFileError, DomainError, DtypeError
from pbgnet.validation import check_kind

SIDE = 28
PREFIX = "mnist"
FILES = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}


def load_mnist(
    negative: Collection[int],
    positive: Collection[int],
    data_dir: str | os.PathLike[str] | None = None,
    *,
    name: str | None = None,
    download: bool = True,
) -> Dataset:
    """Some digits of MNIST against some others, pixels in [0, 1].

    Parameters
    ----------
    negative, positive : collection of int
        The digits of class -1 and of class +1; rows of other digits are left out.
    data_dir : path, optional
        As for `load_dataset`, but a folder.
    name : str, optional
        Of the data set; by default ``mnist`` and the digits.
    download : bool, default=True
        Whether to download it from OpenML.

    Examples
    --------
    >>> from pbgnet.datasets import load_mnist
    >>> load_mnist([3, 5], [5])
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DomainError: A digit cannot be in both classes: 5.
    """
    low, high = _digits("negative", negative), _digits("positive", positive)
    if both := sorted(set(low) & set(high)):
        raise DomainError(f"A digit cannot be in both classes: {', '.join(map(str, both))}.")
    table, record = load_raw(MNIST, data_dir, download)
    chosen = np.flatnonzero(np.isin(table.labels, (*low, *high)))
    # Select rows before pixels take four times the memory, and avoid float64.
    images = table.features if chosen.size == len(table.labels) else table.features[chosen]
    texts = "".join(map(str, low)), "".join(map(str, high))
    single = len(low) == len(high) == 1
    return Dataset(
        name=name if name is not None else PREFIX + ("" if single else "_").join(texts),
        X=np.divide(images, np.float32(255), dtype=np.float32),
        y=np.where(np.isin(table.labels[chosen], high), 1, -1).astype(np.int64),
        label_names=texts,
        feature_names=tuple(f"pixel{k}" for k in range(SIDE * SIDE)),
        source=record,
    )


def pair_of(name: object) -> tuple[int, int] | None:
    """Return the two digits of a name such as ``mnist38``; None if it is not such a name."""
    digits = name.removeprefix(PREFIX) if isinstance(name, str) and name.startswith(PREFIX) else ""
    if len(digits) != 2 or not (digits.isascii() and digits.isdigit()) or digits[0] == digits[1]:
        return None
    return int(digits[0]), int(digits[1])


def _digits(name: str, values: Collection[int]) -> list[int]:
    check_kind(name, values, list, tuple, set, frozenset, range)
    if not all(isinstance(value, Integral) for value in values):
        raise DtypeError(f"{name} must hold digits, got {values!r:.60}.")
    digits = sorted({int(value) for value in values})
    if not digits or digits[0] < 0 or digits[-1] > 9:
        raise DomainError(f"{name} must hold digits between 0 and 9, at least one, got {list(values)!r:.60}.")
    return digits


def _parse(contents: Mapping[str, bytes]) -> RawTable:
    images, labels = [], []
    for part in ("train", "t10k"):
        images.append(read_idx(contents[f"{part}-images-idx3-ubyte"], f"{part}-images-idx3-ubyte", 3))
        labels.append(read_idx(contents[f"{part}-labels-idx1-ubyte"], f"{part}-labels-idx1-ubyte", 1))
        if images[-1].shape != (len(labels[-1]), SIDE, SIDE):
            raise DamagedFileError(
                f"The {part} images of MNIST have shape {images[-1].shape} for {len(labels[-1])} labels."
            )
    return RawTable(np.concatenate(images).reshape(-1, SIDE * SIDE), np.concatenate(labels))


def _convert(data: Any, target: Any) -> RawTable:
    pixels: NDArray[Any] = np.asarray(data)
    digits = np.array([int(label) for label in target])
    if pixels.ndim != 2 or pixels.shape[1] != SIDE * SIDE or not np.isin(digits, range(10)).all():
        raise ValueError(f"a table of shape {pixels.shape}, not of {SIDE * SIDE} pixels of the ten digits")
    features = pixels.astype(np.uint8)
    if not np.array_equal(features, pixels):
        raise ValueError("pixels that are not whole numbers between 0 and 255")
    return RawTable(features, digits.astype(np.uint8))


MNIST = Source(
    name=PREFIX,
    url="http://yann.lecun.com/exdb/mnist",
    files=tuple(SourceFile(name, sha256) for name, sha256 in FILES.items()),
    openml_id=554,
    rows_sha256="211c44732b21b49dcee3393c4c23e32fb3726964612715c16242f87231d975bd",
    parse=_parse,
    convert=_convert,
)
