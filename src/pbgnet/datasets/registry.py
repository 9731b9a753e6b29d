"""The list of data sets, and the function that loads any of them by name."""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pbgnet.datasets.ads import load_ads
from pbgnet.datasets.adult import load_adult
from pbgnet.datasets.bundled import load_breast, load_circles, load_moons
from pbgnet.datasets.dataset import Dataset
from pbgnet.datasets.files import given_path
from pbgnet.datasets.mnist import load_mnist, pair_of
from pbgnet.datasets.packed import load_packed
from pbgnet.exceptions import OptionError, UnknownNameError
from pbgnet.validation import check_name


@dataclass(frozen=True)
class DatasetEntry:
    """An entry of the registry; ``docs/reference/datasets.md`` lists the same with sources and licences."""

    load: Callable[..., Dataset]  # takes data_dir and download (data sets with files), or options of its own
    paper_rows: tuple[int, int] | None = None  # for training and testing in Table 2 of the paper


LOW, HIGH, EVEN, ODD = range(5), range(5, 10), range(0, 10, 2), range(1, 10, 2)

DATASETS = {
    "ads": DatasetEntry(load_ads, (2459, 820)),
    "adult": DatasetEntry(load_adult, (36631, 12211)),
    "mnist17": DatasetEntry(partial(load_mnist, (1,), (7,)), (11377, 3793)),
    "mnist49": DatasetEntry(partial(load_mnist, (4,), (9,)), (10336, 3446)),
    "mnist56": DatasetEntry(partial(load_mnist, (5,), (6,)), (9891, 3298)),
    "mnistLH": DatasetEntry(partial(load_mnist, LOW, HIGH), (52500, 17500)),
    "mnistEO": DatasetEntry(partial(load_mnist, EVEN, ODD)),
    "breast": DatasetEntry(load_breast),
    "moons": DatasetEntry(load_moons),
    "circles": DatasetEntry(load_circles),
}

PAPER_DATASETS = tuple(name for name, entry in DATASETS.items() if entry.paper_rows is not None)
"""The six data sets of the paper."""


def load_dataset(
    name: str, data_dir: str | os.PathLike[str] | None = None, *, download: bool = True, **options: Any
) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        One of `DATASETS`, or ``mnist`` followed by two digits, of which the first is class -1.
    data_dir : path, optional
        Folder with the original files, optionally in subfolders ``ads``, ``adult`` and ``mnist``; or a file
        written by `pack`. Default: the environment variable PBGNET_DATA. If neither is set, or the folder
        does not have the files, they are downloaded from OpenML once and cached.
    download : bool, default=True
        Whether to download from OpenML.
    **options
        ``n``, ``noise`` and ``seed`` for moons and circles.

    Raises
    ------
    UnknownNameError, OptionError
        For a name that does not exist, or an option the data set does not have.
    MissingDataError
        If the files are not found and cannot be downloaded.
    DamagedFileError
        If a file is not the expected one.

    Examples
    --------
    >>> from pbgnet.datasets import load_dataset
    >>> load_dataset("moons", n=100, seed=1)
    Dataset('moons', n=100, d=2, -1: upper, +1: lower)
    >>> load_dataset("circle")
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.UnknownNameError: Unknown data set 'circle'; choose one of ads, adult, breast, ...
    Did you mean 'circles'? Any two digits of MNIST also make a data set, such as mnist38.
    """
    load = _loader(name)
    if "data_dir" in inspect.signature(load).parameters:
        if options:
            raise OptionError(f"The data set {name!r} takes no options, got {', '.join(sorted(options))}.")
        path = given_path(data_dir)
        if path is not None and path.is_file():
            return load_packed(path, [name])[name]
        return load(data_dir=path, download=download)
    known = list(inspect.signature(load).parameters)
    if unknown := sorted(set(options) - set(known)):
        raise OptionError(
            f"The data set {name!r} has no option {', '.join(unknown)}; its options are "
            f"{', '.join(known) or 'none'}."
        )
    return load(**options)


def _loader(name: str) -> Callable[..., Dataset]:
    if isinstance(name, str) and name not in DATASETS and (pair := pair_of(name)) is not None:
        return partial(load_mnist, pair[:1], pair[1:])
    try:
        entry = DATASETS[check_name("data set", name, DATASETS)]
    except UnknownNameError as error:
        raise UnknownNameError(
            f"{error} Any two digits of MNIST also make a data set, such as mnist38."
        ) from None
    return partial(entry.load, name=name) if name.startswith("mnist") else entry.load
